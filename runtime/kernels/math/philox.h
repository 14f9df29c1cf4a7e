// The counter-based generator Philox 4x32 with ten rounds (Salmon and others,
// "Parallel random numbers: as easy as 1, 2, 3", 2011): block n of a key is a
// function of n alone.

#ifndef ETX_RUNTIME_KERNELS_MATH_PHILOX_H
#define ETX_RUNTIME_KERNELS_MATH_PHILOX_H

#include <stdint.h>

typedef struct etx_philox_block {
  uint32_t words[4];
} etx_philox_block;

static inline etx_philox_block etx_philox(uint64_t key, uint64_t counter) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  etx_philox_block x = {{(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0}};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = (uint64_t)UINT32_C(0xd2511f53) * x.words[0];
    const uint64_t b = (uint64_t)UINT32_C(0xcd9e8d57) * x.words[2];
    const etx_philox_block next = {
        {(uint32_t)(b >> 32) ^ x.words[1] ^ k0, (uint32_t)b,
         (uint32_t)(a >> 32) ^ x.words[3] ^ k1, (uint32_t)a}};
    x = next;
    k0 += UINT32_C(0x9e3779b9);
    k1 += UINT32_C(0xbb67ae85);
  }
  return x;
}

#endif
