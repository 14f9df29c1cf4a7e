// Four words of 64 bits are multiplied side by side, as a multiplication takes
// several cycles and a processor begins one in each: weights of gigabytes are
// hashed about as fast as memory delivers them.

#include "exporter/host/content_hash.h"

#include <string.h>

enum { LANES = 4 };

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 32;
}

uint64_t etx_content_hash(etx_bytes bytes) {
  uint64_t lanes[LANES] = {1, 2, 3, 4};
  size_t at = 0;
  for (; bytes.size - at >= sizeof lanes; at += sizeof lanes) {
    uint64_t words[LANES];
    memcpy(words, bytes.data + at, sizeof words);
    for (size_t i = 0; i < LANES; ++i) lanes[i] = mix(lanes[i], words[i]);
  }
  uint64_t hash = bytes.size;
  for (size_t i = 0; i < LANES; ++i) hash = mix(hash, lanes[i]);
  for (; at < bytes.size; ++at) hash = mix(hash, bytes.data[at]);
  return mix(hash, 0);
}
