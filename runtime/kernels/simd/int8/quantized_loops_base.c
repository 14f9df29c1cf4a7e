#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/simd/int8/group_params.h"
#include "runtime/kernels/simd/int8/quantized_loops.h"

#include <string.h>

#define VECTOR_BYTES 16
#define WIDEN(bytes) widen(bytes)
#define HALVES(bytes, zero, even, odd) halves(bytes, zero, even, odd)

#ifdef __AARCH64EL__
// Four bytes in the high ends of lanes, which are shifted by numbers of their
// own there: of vectors of four bytes gcc makes single elements.

static inline etx_u32x4 high_ends(const void* from) {
  uint32_t x;
  memcpy(&x, from, sizeof x);
  return (etx_u32x4){x, x, x, x} << (etx_u32x4){24, 16, 8, 0};
}

static inline etx_f32x4 widen(const int8_t* w) {
  return __builtin_convertvector((etx_i32x4)high_ends(w) >> 24, etx_f32x4);
}

static inline void halves(const uint8_t* w, int32_t zero, etx_f32x4* even,
                          etx_f32x4* odd) {
  const etx_u32x4 both = high_ends(w) >> 24;
  *even = __builtin_convertvector((etx_i32x4)(both >> 4) - zero, etx_f32x4);
  *odd = __builtin_convertvector((etx_i32x4)(both & 15) - zero, etx_f32x4);
}
#else
static inline etx_f32x4 widen(const int8_t* w) {
  return (etx_f32x4){(float)w[0], (float)w[1], (float)w[2], (float)w[3]};
}

static inline void halves(const uint8_t* w, int32_t zero, etx_f32x4* even,
                          etx_f32x4* odd) {
  for (int i = 0; i < 4; ++i) {
    (*even)[i] = (float)((w[i] >> 4) - zero);
    (*odd)[i] = (float)((w[i] & 15) - zero);
  }
}
#endif

#include "runtime/kernels/simd/int8/quantized_floats_template.h"

//   @whole8  int16 x int8 | GEMM NT | 1 x 1 dot products
static void whole8(const etx_quantized_block* b) {
  const uint8_t* right = b->right;
  for (size_t c = 0; c < b->columns; ++c, right += b->right_row) {
    const int16_t* left = b->left;
    for (size_t r = 0; r < b->rows; ++r, left += b->left_row) {
      int32_t sum = 0;
      for (size_t k = 0; k < b->count; ++k) {
        sum += (int32_t)left[k] * ((const int8_t*)right)[k];
      }
      ((int32_t*)b->sums)[(ptrdiff_t)r * b->sum_row + (ptrdiff_t)c] = sum;
    }
  }
}

// The sum of the groups' partial sums.
static inline float group_total(const float* sums) {
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
         ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// The sum of one group of 4-bit weights.
static float sum_groups(const etx_quantized_block* b, size_t row,
                        size_t column) {
  const int16_t* x = (const int16_t*)b->left + (ptrdiff_t)row * b->left_row;
  const uint8_t* w = b->right + (ptrdiff_t)column * b->right_row;
  float sums[GROUPS] = {0};
  size_t k = 0;
  for (size_t g = 0; g < b->groups; ++g) {
    const size_t at = column * b->groups + g;
    const int32_t params = b->params == NULL ? 0 : b->params[at];
    const int32_t zero = 8 + (b->zeros == NULL ? 0 : b->zeros[at]);
    const size_t chunk = k - k % FLOAT_CHUNK, rest = b->count - chunk;
    const int16_t* even = x + chunk + (k - chunk) / 2;
    const int16_t* odd = even + (rest < FLOAT_CHUNK ? rest : FLOAT_CHUNK) / 2;
    int32_t whole = 0, all = 0;
    for (size_t i = 0; i < b->group / 2; ++i) {
      whole += even[i] * ((w[k / 2 + i] >> 4) - zero);
      whole += odd[i] * ((w[k / 2 + i] & 15) - zero);
      all += even[i] + odd[i];
    }
    if (b->params == NULL) {
      sums[g % GROUPS] += b->scales[at] * (float)whole;
    } else {
      const float scale = b->scales[column] * (float)etx_group_factor(params);
      sums[g % GROUPS] += scale * (float)(ETX_GROUP_PARTS * whole +
                                          etx_group_offset(params) * all);
    }
    k += b->group;
  }
  return group_total(sums);
}

//   @groups4  int16 x int4 | GEMM NT per group | 1 x 1 dot products
static void groups4(const etx_quantized_block* b) {
  for (size_t r = 0; r < b->rows; ++r) {
    float* sums = (float*)b->sums + (ptrdiff_t)r * b->sum_row;
    for (size_t c = 0; c < b->columns; ++c) sums[c] = sum_groups(b, r, c);
  }
}

// The number that makes doubles whole, to the nearest and halves to even.
//
//   @quantize  float32 to int16 | quantize rows | 1 element
static void quantize(const float* x, size_t count, double inverse, double zero,
                     int16_t* out) {
  const double whole = 6755399441055744.0;
  for (size_t i = 0; i < count; ++i) {
    double y = (double)x[i] * inverse + zero;
    const int32_t is_number = y == y ? -1 : 0;
    y = y > -128.0 ? y : -128.0;
    y = y < 127.0 ? y : 127.0;
    y = (y + whole) - whole;
    out[i] = (int16_t)((int32_t)(y - zero) & is_number);
  }
}

const etx_quantized_loops etx_quantized_loops_base = {
    "base", whole8, groups4, floats8, floats4, quantize, NULL};
