// SHA-256 (FIPS 180-4).

#ifndef ETX_EXPORTER_HOST_SHA256_H
#define ETX_EXPORTER_HOST_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { ETX_SHA256_BYTES = 32 };

typedef struct etx_sha256 {
  uint32_t state[8];
  uint64_t size;      // bytes hashed so far
  uint8_t block[64];  // the last size % 64 of them, not hashed yet
} etx_sha256;

void etx_sha256_init(etx_sha256* hash);
void etx_sha256_add(etx_sha256* hash, const void* data, size_t size);
// The digest of what was added; `hash` must be initialised again afterwards.
void etx_sha256_finish(etx_sha256* hash, uint8_t out_digest[ETX_SHA256_BYTES]);

#endif
