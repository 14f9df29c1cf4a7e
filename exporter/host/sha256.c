// In plain C, a direct implementation of the standard, one block of 64 bytes at
// a time; with instructions for SHA-256 where the processor has them.

#include "exporter/host/sha256.h"

#include <string.h>

#include "exporter/host/sha256_internal.h"

const uint32_t etx_sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned bits) {
  return x >> bits | x << (32 - bits);
}

static void schedule(const uint8_t* block, uint32_t words[64]) {
  for (size_t i = 0; i < 16; ++i) {
    words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t a = words[i - 15], b = words[i - 2];
    const uint32_t low = rotate(a, 7) ^ rotate(a, 18) ^ a >> 3;
    const uint32_t high = rotate(b, 17) ^ rotate(b, 19) ^ b >> 10;
    words[i] = words[i - 16] + low + words[i - 7] + high;
  }
}

static void hash_block(const uint32_t* constants, uint32_t state[8],
                       const uint8_t* block) {
  uint32_t words[64];
  schedule(block, words);
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t high = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const uint32_t choice = (e & f) ^ (~e & g);
    const uint32_t first = h + high + choice + constants[i] + words[i];
    const uint32_t low = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + low + majority;
  }
  const uint32_t added[8] = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state[i] += added[i];
}

void etx_sha256_plain(const uint32_t* constants, uint32_t state[8],
                      const uint8_t* blocks, size_t count) {
  for (size_t i = 0; i < count; ++i)
    hash_block(constants, state, blocks + 64 * i);
}

// To ask the processor takes about as long as a few KB: in a virtual machine,
// the host answers.
static void hash_blocks(uint32_t state[8], const uint8_t* blocks,
                        size_t count) {
  enum { MANY = 256 };
  etx_sha256_blocks* const instructions =
      count >= MANY ? etx_sha256_instructions() : NULL;
  if (instructions != NULL) {
    instructions(etx_sha256_constants, state, blocks, count);
  } else {
    etx_sha256_plain(etx_sha256_constants, state, blocks, count);
  }
}

void etx_sha256_init(etx_sha256* hash) {
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                    0xa54ff53a, 0x510e527f, 0x9b05688c,
                                    0x1f83d9ab, 0x5be0cd19};
  memset(hash, 0, sizeof *hash);
  memcpy(hash->state, start, sizeof start);
}

void etx_sha256_add(etx_sha256* hash, const void* data, size_t size) {
  const uint8_t* bytes = data;
  size_t used = (size_t)(hash->size % 64);
  hash->size += size;
  while (size > 0) {
    if (used == 0 && size >= 64) {
      const size_t whole = size / 64;
      hash_blocks(hash->state, bytes, whole);
      bytes += 64 * whole;
      size -= 64 * whole;
      continue;
    }
    const size_t part = size < 64 - used ? size : 64 - used;
    memcpy(hash->block + used, bytes, part);
    bytes += part;
    size -= part;
    used = (used + part) % 64;
    if (used == 0) hash_blocks(hash->state, hash->block, 1);
  }
}

void etx_sha256_finish(etx_sha256* hash, uint8_t out_digest[ETX_SHA256_BYTES]) {
  const uint64_t bits = 8 * hash->size;
  const uint8_t one = 0x80, zero = 0;
  uint8_t length[8];
  for (size_t i = 0; i < 8; ++i) length[i] = (uint8_t)(bits >> (56 - 8 * i));
  etx_sha256_add(hash, &one, 1);
  while (hash->size % 64 != 56) etx_sha256_add(hash, &zero, 1);
  etx_sha256_add(hash, length, sizeof length);
  for (size_t i = 0; i < ETX_SHA256_BYTES; ++i) {
    out_digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
  }
}
