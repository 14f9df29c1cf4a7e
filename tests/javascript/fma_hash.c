// A hash of many fused multiply-adds, which must be the same with the function
// for WebAssembly and with the FMA instruction of the machine that compiles.
// scripts/ci_wasm.sh compares both.

#include <stdint.h>
#include <string.h>

#ifdef __wasm__
#include "runtime/kernels/simd/vector/f32_fma_wasm.h"
typedef etx_wasm_floats four_floats;
#define FMA etx_f32_fma_wasm
#else
#include <math.h>
#include <stdio.h>
typedef float four_floats __attribute__((vector_size(16)));
#define FMA fma_of_machine

static four_floats fma_of_machine(four_floats a, four_floats b, four_floats c) {
  for (int i = 0; i < 4; ++i) c[i] = fmaf(a[i], b[i], c[i]);
  return c;
}
#endif

static uint64_t next(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 32;
}

// Few bits of a fraction make sums that lie between two floats, exponents near
// the smallest make denormal results.
static float draw(uint64_t* state, uint32_t kind) {
  uint32_t bits = (uint32_t)next(state);
  if (kind & 1) bits &= 0xffffffffu << (next(state) % 24);
  if (kind & 2)
    bits = (bits & 0x80ffffffu) | (uint32_t)(63 + next(state) % 4) << 24;
  if (kind & 4)
    bits = (bits & 0x807fffffu) | (uint32_t)(next(state) % 64) << 23;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

#ifdef __wasm__
__attribute__((export_name("hash")))
#else
static
#endif
uint64_t
hash(uint32_t rounds) {
  uint64_t state = 1, sum = 0;
  for (uint32_t i = 0; i < rounds; ++i) {
    four_floats a, b, c;
    for (int lane = 0; lane < 4; ++lane) {
      a[lane] = draw(&state, i);
      b[lane] = draw(&state, i >> 3 & 3);
      c[lane] = draw(&state, i >> 5);
      if (i % 4 == 3) {  // a denormal, and just below half of its last place
        a[lane] = 0x1.000002p-75f;
        b[lane] = 0x1.fffffcp-76f;
        c[lane] = draw(&state, 0) < 0 ? 0x1p-127f : 0x1p-128f;
        c[lane] += (float)(next(&state) % 4096) * 0x1p-149f;
      }
    }
    const four_floats r = FMA(a, b, c);
    for (int lane = 0; lane < 4; ++lane) {
      const float value = r[lane];
      uint32_t bits = 0x7fc00000;  // NaNs have many bits
      if (value == value) memcpy(&bits, &value, sizeof bits);
      sum = (sum ^ bits) * 1099511628211u;
    }
  }
  return sum;
}

#ifndef __wasm__
int main(void) {
  printf("%llu\n", (unsigned long long)hash(1000000));
  return 0;
}
#endif
