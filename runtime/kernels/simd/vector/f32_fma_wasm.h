// A fused multiply-add of four floats for WebAssembly, whose SIMD128 has none.
// The same method as in f32_vec_template.h, with instructions that SIMD128 has:
// double arithmetic, and a slow path where rounding twice may differ from
// rounding once. These cases are seen in the last 29 bits of the double (it
// lies exactly between two floats), or in a result of at most 2^-126 that is
// not 0. A result of 0 is right: a sum that small is exact in double.

#ifndef ETX_RUNTIME_KERNELS_SIMD_VECTOR_F32_FMA_WASM_H
#define ETX_RUNTIME_KERNELS_SIMD_VECTOR_F32_FMA_WASM_H

#include <stdint.h>

#ifdef __wasm_simd128__

typedef float etx_wasm_floats __attribute__((vector_size(16)));
typedef double etx_wasm_doubles __attribute__((vector_size(16)));
typedef uint32_t etx_wasm_words __attribute__((vector_size(16)));
typedef uint64_t etx_wasm_bits __attribute__((vector_size(16)));
typedef float etx_wasm_float_pair __attribute__((vector_size(8)));

static inline etx_wasm_doubles etx_wasm_low(etx_wasm_floats x) {
  return __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1),
                                 etx_wasm_doubles);
}

static inline etx_wasm_doubles etx_wasm_high(etx_wasm_floats x) {
  return __builtin_convertvector(__builtin_shufflevector(x, x, 2, 3),
                                 etx_wasm_doubles);
}

static inline etx_wasm_floats etx_wasm_round(etx_wasm_doubles low,
                                             etx_wasm_doubles high) {
  const etx_wasm_float_pair a =
      __builtin_convertvector(low, etx_wasm_float_pair);
  const etx_wasm_float_pair b =
      __builtin_convertvector(high, etx_wasm_float_pair);
  return __builtin_shufflevector(a, b, 0, 1, 2, 3);
}

// p + d, rounded to odd: an inexact sum with an even last bit moves towards its
// error (2Sum, NaN if the sum is not finite).
static inline etx_wasm_doubles etx_wasm_add_to_odd(etx_wasm_doubles p,
                                                   etx_wasm_doubles d) {
  const etx_wasm_doubles sum = p + d;
  const etx_wasm_doubles back = sum - p;
  const etx_wasm_doubles lost = (p - (sum - back)) + (d - back);
  const etx_wasm_bits is_lossy = (etx_wasm_bits)((lost < 0) | (lost > 0));
  const etx_wasm_bits is_down =
      ((etx_wasm_bits)lost ^ (etx_wasm_bits)sum) >> 63;
  const etx_wasm_bits is_even = ((etx_wasm_bits)sum & 1) - 1;
  return (etx_wasm_doubles)((etx_wasm_bits)sum +
                            ((1 - (is_down << 1)) & is_lossy & is_even));
}

static __attribute__((noinline, unused)) etx_wasm_floats etx_f32_fma_wasm(
    etx_wasm_floats a, etx_wasm_floats b, etx_wasm_floats c) {
  const etx_wasm_doubles p0 = etx_wasm_low(a) * etx_wasm_low(b);
  const etx_wasm_doubles p1 = etx_wasm_high(a) * etx_wasm_high(b);
  const etx_wasm_doubles d0 = etx_wasm_low(c);
  const etx_wasm_doubles d1 = etx_wasm_high(c);
  const etx_wasm_doubles sum0 = p0 + d0;
  const etx_wasm_doubles sum1 = p1 + d1;
  const etx_wasm_floats rounded = etx_wasm_round(sum0, sum1);
  const etx_wasm_words last = __builtin_shufflevector(
      (etx_wasm_words)sum0, (etx_wasm_words)sum1, 0, 2, 4, 6);
  // Shifts drop the three bits above the 29, and the sign.
  const etx_wasm_words is_between = (etx_wasm_words)(last << 3 == 0x80000000);
  const etx_wasm_words is_tiny =
      (etx_wasm_words)(((etx_wasm_words)rounded << 1) - 1 < 0x01000000);
  if (__builtin_expect(!__builtin_wasm_any_true_v128(is_between | is_tiny),
                       1)) {
    return rounded;
  }
  return etx_wasm_round(etx_wasm_add_to_odd(p0, d0),
                        etx_wasm_add_to_odd(p1, d1));
}

#endif
#endif
