#include "exporter/quantize/rounding/group_sums.h"

enum { LANES = ETX_GROUP_SUM_LANES };

static float round_element(float x, float factor) {
  const float q = etx_group_round_to_even(x * factor);
  const float high = q > 7 ? 7 : q;
  return high < -8 ? -8 : high;
}

void etx_group_round(const float* group, size_t count, float factor,
                     float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = round_element(group[i], factor);
}

// Rounds a group first and multiplies then, so that compilers can vectorise
// both loops.
static etx_group_sums sums_of(const float* group, size_t count, float factor) {
  float integers[ETX_GROUP_SUM_LARGEST], cross[LANES] = {0},
                                         square[LANES] = {0};
  size_t i = 0;
  etx_group_round(group, count, factor, integers);
  for (; i + LANES <= count; i += LANES) {
    for (size_t k = 0; k < LANES; ++k) {
      cross[k] += group[i + k] * integers[i + k];
      square[k] += integers[i + k] * integers[i + k];
    }
  }
  for (size_t k = 0; i < count; ++i, ++k) {
    cross[k] += group[i] * integers[i];
    square[k] += integers[i] * integers[i];
  }
  etx_group_sums sum = {0, 0};
  for (size_t k = 0; k < LANES; ++k) {
    sum.cross += cross[k];
    sum.square += square[k];
  }
  return sum;
}

void etx_group_sums_plain(const float* group, size_t count,
                          const float* factors, size_t factor_count,
                          etx_group_sums* out) {
  for (size_t i = 0; i < factor_count; ++i) {
    out[i] = sums_of(group, count, factors[i]);
  }
}

void etx_group_sums_find(const float* group, size_t count, const float* factors,
                         size_t factor_count, etx_group_sums* out) {
  etx_group_sums_function* const instructions =
      count % LANES == 0 ? etx_group_sums_instructions() : NULL;
  if (instructions != NULL) {
    instructions(group, count, factors, factor_count, out);
  } else {
    etx_group_sums_plain(group, count, factors, factor_count, out);
  }
}
