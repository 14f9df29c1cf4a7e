#include "runtime/kernels/arch/x86/int8/quantize_input_avx2.h"

#include <string.h>

#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/arch/x86/int8/quantize_four_template.h"

enum {
  SIDE = 8,    // floats of a register
  BYTES = 32,  // bytes of a register
};

// ------------------------------------------------ the range

// The smallest and the largest numbers of eight lanes, and where NaN was.
typedef struct avx2_extent {
  etx_f32x8 low, high;
  etx_i32x8 no_number;
} avx2_extent;

static inline void extend(avx2_extent* e, const float* x) {
  etx_f32x8 v;
  memcpy(&v, x, sizeof(v));
  e->low = __builtin_ia32_minps256(v, e->low);
  e->high = __builtin_ia32_maxps256(v, e->high);
  e->no_number |= v != v;
}

void etx_int8_range_avx2(const float* x, size_t count, float* low,
                         float* high) {
  avx2_extent e = {{0}, {0}, {0}};
  float rest[SIDE] = {0};
  int32_t is_no_number = 0;
  for (; count >= SIDE; count -= SIDE, x += SIDE) extend(&e, x);
  memcpy(rest, x, count * sizeof(float));
  extend(&e, rest);
  float least = 0, most = 0;
  for (int i = 0; i < SIDE; ++i) {
    if (e.low[i] < least) least = e.low[i];
    if (e.high[i] > most) most = e.high[i];
    is_no_number |= e.no_number[i];
  }
  *low = is_no_number != 0 ? __builtin_nanf("") : least;
  *high = is_no_number != 0 ? __builtin_nanf("") : most;
}

// ------------------------------------------------ bytes

static inline void quantize_eight(const float* x, etx_f64x4 inverse,
                                  etx_f64x4 zero, uint8_t* out) {
  const etx_i16x8 words =
      __builtin_ia32_packssdw128(quantize_four(x, inverse, zero),
                                 quantize_four(x + SIDE / 2, inverse, zero)) +
      128;
  const etx_longx2 bytes = (etx_longx2)__builtin_ia32_packuswb128(words, words);
  memcpy(out, &bytes, SIDE);
}

void etx_int8_quantize_avx2(const float* x, size_t count, double inverse,
                            double zero, uint8_t* out) {
  const etx_f64x4 factor = {inverse, inverse, inverse, inverse};
  const etx_f64x4 shift = {zero, zero, zero, zero};
  size_t i = 0;
  for (; i + SIDE <= count; i += SIDE) {
    quantize_eight(x + i, factor, shift, out + i);
  }
  if (i < count) {
    float rest[SIDE] = {0};
    uint8_t made[SIDE];
    memcpy(rest, x + i, (count - i) * sizeof(float));
    quantize_eight(rest, factor, shift, made);
    memcpy(out + i, made, count - i);
  }
}

void etx_int8_quantize_and_range_avx2(const etx_int8_quantize* quantize,
                                      const float* other, float* low,
                                      float* high) {
  etx_int8_quantize_avx2(quantize->x, quantize->count, quantize->inverse,
                         quantize->zero, quantize->out);
  etx_int8_range_avx2(other, quantize->count, low, high);
}

// Of each 64 bytes, those of even elements are placed first.
void etx_int4_order_avx2(uint8_t* row, size_t count) {
  const etx_u16x16 low = (etx_u16x16){0} + 255;
  for (size_t k = 0; k < count; k += 2 * BYTES, row += 2 * BYTES) {
    etx_u16x16 a, b;
    memcpy(&a, row, sizeof(a));
    memcpy(&b, row + BYTES, sizeof(b));
    const etx_longx4 even = (etx_longx4)__builtin_ia32_packuswb256(
        (etx_i16x16)(a & low), (etx_i16x16)(b & low));
    const etx_longx4 odd = (etx_longx4)__builtin_ia32_packuswb256(
        (etx_i16x16)(a >> 8), (etx_i16x16)(b >> 8));
    const etx_longx4 first = __builtin_shufflevector(even, even, 0, 2, 1, 3);
    const etx_longx4 second = __builtin_shufflevector(odd, odd, 0, 2, 1, 3);
    memcpy(row, &first, sizeof(first));
    memcpy(row + BYTES, &second, sizeof(second));
  }
}
