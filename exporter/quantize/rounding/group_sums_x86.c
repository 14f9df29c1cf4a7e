// The sums with AVX2. Registers hold the lanes of one factor; eight factors at
// a time, transposed, are added from the first lane to the last.

#include "exporter/quantize/rounding/group_sums_internal.h"

#include <immintrin.h>

#define USES_AVX2 __attribute__((target("avx2")))

enum { LANES = ETX_GROUP_SUM_LANES };

typedef struct lane_sums {
  __m256 cross;
  __m256 square;
} lane_sums;

// A product and a sum are rounded one after the other, as in C.
USES_AVX2 static lane_sums lanes_of(const float* group, size_t count,
                                    float factor) {
  const __m256 times = _mm256_set1_ps(factor);
  const __m256 shift = _mm256_set1_ps(12582912.0f);
  const __m256 highest = _mm256_set1_ps(7), lowest = _mm256_set1_ps(-8);
  lane_sums sum = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  for (size_t i = 0; i < count; i += LANES) {
    const __m256 x = _mm256_loadu_ps(group + i);
    __m256 q = _mm256_add_ps(_mm256_mul_ps(x, times), shift);
    q = _mm256_min_ps(_mm256_sub_ps(q, shift), highest);
    q = _mm256_max_ps(q, lowest);
    sum.cross = _mm256_add_ps(sum.cross, _mm256_mul_ps(x, q));
    sum.square = _mm256_add_ps(sum.square, _mm256_mul_ps(q, q));
  }
  return sum;
}

// Element i of the result is the sum of the lanes of rows[i].
USES_AVX2 static __m256 add_lanes(const __m256 rows[LANES]) {
  __m256 pairs[LANES], fours[LANES], sum = _mm256_setzero_ps();
  for (int i = 0; i < LANES; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < LANES; i += 4) {
    fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
    fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    sum = _mm256_add_ps(sum,
                        _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20));
  }
  for (int i = 0; i < 4; ++i) {
    sum = _mm256_add_ps(sum,
                        _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31));
  }
  return sum;
}

USES_AVX2 static void sums_of_eight(const float* group, size_t count,
                                    const float* factors, etx_group_sums* out) {
  __m256 cross[LANES], square[LANES];
  float crosses[LANES], squares[LANES];
  for (size_t i = 0; i < LANES; ++i) {
    const lane_sums sum = lanes_of(group, count, factors[i]);
    cross[i] = sum.cross;
    square[i] = sum.square;
  }
  _mm256_storeu_ps(crosses, add_lanes(cross));
  _mm256_storeu_ps(squares, add_lanes(square));
  for (size_t i = 0; i < LANES; ++i) {
    out[i] = (etx_group_sums){crosses[i], squares[i]};
  }
}

USES_AVX2 static void sums_of_one(const float* group, size_t count,
                                  float factor, etx_group_sums* out) {
  float crosses[LANES], squares[LANES];
  const lane_sums lanes = lanes_of(group, count, factor);
  _mm256_storeu_ps(crosses, lanes.cross);
  _mm256_storeu_ps(squares, lanes.square);
  etx_group_sums sum = {0, 0};
  for (size_t k = 0; k < LANES; ++k) {
    sum.cross += crosses[k];
    sum.square += squares[k];
  }
  *out = sum;
}

USES_AVX2 static void find_sums(const float* group, size_t count,
                                const float* factors, size_t factor_count,
                                etx_group_sums* out) {
  size_t i = 0;
  for (; i + LANES <= factor_count; i += LANES) {
    sums_of_eight(group, count, factors + i, out + i);
  }
  for (; i < factor_count; ++i) sums_of_one(group, count, factors[i], out + i);
}

etx_group_sums_function* etx_group_sums_instructions(void) {
  return __builtin_cpu_supports("avx2") ? find_sums : NULL;
}
