#include "exporter/quantize/weight_rounding.h"

#include <float.h>
#include <stdbool.h>
#include <string.h>

enum { LARGEST_INT8 = 127, LANES = 8 };

// Rounds to the nearest integer, ties to even; exact for magnitudes below 2^22.
static float round_to_even(float x) {
  const float shift = 12582912.0f;  // 1.5 * 2^23
  return (x + shift) - shift;
}

static float magnitude(float x) { return x < 0 ? -x : x; }

static void add_error(double value, double rounded,
                      etx_weight_rounding_error* error) {
  const double difference = value - rounded;
  error->signal += value * value;
  error->noise += difference * difference;
}

float etx_weight_round_int8(const float* row, size_t inner, int8_t* out,
                            etx_weight_rounding_error* error) {
  float largest = 0;
  for (size_t i = 0; i < inner; ++i) {
    const float size = magnitude(row[i]);
    largest = size > largest ? size : largest;
  }
  float scale = largest / (float)LARGEST_INT8;
  if (scale < FLT_MIN) scale = 1;  // zeros, or too small to divide by
  for (size_t i = 0; i < inner; ++i) {
    out[i] = (int8_t)round_to_even(row[i] / scale);
    add_error((double)row[i], (double)out[i] * (double)scale, error);
  }
  return scale;
}

// ------------------------------------------------ int4

// The integers nearest to the group times `factor`.
static void round_group(const float* group, size_t count, float factor,
                        float* out) {
  for (size_t i = 0; i < count; ++i) {
    const float q = round_to_even(group[i] * factor);
    const float high = q > 7 ? 7 : q;
    out[i] = high < -8 ? -8 : high;
  }
}

typedef struct products {
  float cross;   // sum of float * integer
  float square;  // sum of integer * integer
} products;

// Sums in eight lanes, so that compilers can vectorise them.
static products multiply_group(const float* group, const float* integers,
                               size_t count) {
  float cross[LANES] = {0}, square[LANES] = {0};
  size_t i = 0;
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
  products sum = {0, 0};
  for (size_t k = 0; k < LANES; ++k) {
    sum.cross += cross[k];
    sum.square += square[k];
  }
  return sum;
}

// Keeps the candidate integers if their best scale has a smaller error than the
// best so far. For given integers the best scale is cross / square, and it
// reduces the squared error by `gain` = cross^2 / square compared with all
// zeros.
static void try_integers(const float* group, const float* integers,
                         size_t count, float* kept, double* gain,
                         double* scale) {
  const products sum = multiply_group(group, integers, count);
  if (!(sum.square > 0)) return;
  const double best = (double)sum.cross / (double)sum.square;
  if (!((double)sum.cross * best > *gain)) return;
  *gain = (double)sum.cross * best;
  *scale = best;
  memcpy(kept, integers, count * sizeof(float));
}

// The element of the largest magnitude.
static float largest_of(const float* group, size_t count) {
  float largest = 0;
  for (size_t i = 0; i < count; ++i) {
    if (magnitude(group[i]) > magnitude(largest)) largest = group[i];
  }
  return largest;
}

// Tries scales that map the largest element near -8 or near 7, then once more
// the best scale found. Writes the integers to `kept` and returns the scale.
static double find_scale(const float* group, size_t count, float largest,
                         float* kept) {
  static const float targets[] = {-8.0f, -8.4f, -7.7f, -7.4f, -7.0f,
                                  -8.8f, -6.6f, -6.2f, 7.0f,  7.4f,
                                  6.6f,  6.2f,  5.8f,  7.8f};
  float integers[ETX_WEIGHT_ROUNDING_LARGEST_GROUP];
  double gain = 0, scale = 1;
  for (size_t t = 0; t < sizeof targets / sizeof *targets; ++t) {
    round_group(group, count, targets[t] / largest, integers);
    try_integers(group, integers, count, kept, &gain, &scale);
  }
  round_group(group, count, (float)(1 / scale), integers);
  try_integers(group, integers, count, kept, &gain, &scale);
  return scale;
}

// True if all numbers of the group are integers in -8..7 times `scale`,
// exactly.
static bool is_on_grid(const float* group, size_t count, float scale,
                       float* integers) {
  for (size_t i = 0; i < count; ++i) {
    const float q = round_to_even(group[i] / scale);
    if (q < -8 || q > 7 || q * scale != group[i]) return false;
    integers[i] = q;
  }
  return true;
}

// Finds the scale of a group that was int4 before and is not to be rounded a
// second time, such as q4_0 of a GGUF file: the largest number divided by one
// of the integers. 0 if there is no such scale.
static float find_grid(const float* group, size_t count, float largest,
                       float* integers) {
  for (int q = 8; q > 0; --q) {
    const float negative = -largest / (float)q, positive = largest / (float)q;
    if (is_on_grid(group, count, negative, integers)) return negative;
    if (is_on_grid(group, count, positive, integers)) return positive;
  }
  return 0;
}

float etx_weight_round_int4(const float* group, size_t count, uint8_t* out,
                            etx_weight_rounding_error* error) {
  // For smaller magnitudes target / largest may overflow.
  const float least = 16 * FLT_MIN;
  float integers[ETX_WEIGHT_ROUNDING_LARGEST_GROUP] = {0};
  const float largest = largest_of(group, count);
  float scale = 1;
  if (magnitude(largest) >= least) {
    scale = find_grid(group, count, largest, integers);
    if (scale == 0) {
      scale = (float)find_scale(group, count, largest, integers);
    }
  }
  for (size_t i = 0; i < count; i += 2) {
    const int even = (int)integers[i] + 8, odd = (int)integers[i + 1] + 8;
    out[i / 2] = (uint8_t)(even << 4 | odd);
  }
  for (size_t i = 0; i < count; ++i) {
    add_error((double)group[i], (double)integers[i] * (double)scale, error);
  }
  return scale;
}
