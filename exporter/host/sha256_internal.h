// The step of SHA-256 that processors may have instructions for. One file for
// each kind of machine; included by sha256.c and those files alone.

#ifndef ETX_EXPORTER_HOST_SHA256_INTERNAL_H
#define ETX_EXPORTER_HOST_SHA256_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

// Adds `count` blocks of 64 bytes to the state. `constants` are the 64 round
// constants of FIPS 180-4, section 4.2.2.
typedef void etx_sha256_blocks(const uint32_t* constants, uint32_t state[8],
                               const uint8_t* blocks, size_t count);

extern const uint32_t etx_sha256_constants[64];
etx_sha256_blocks etx_sha256_plain;  // in C

// The function that uses instructions of this processor for SHA-256; NULL if it
// has none.
etx_sha256_blocks* etx_sha256_instructions(void);

#endif
