#include "exporter/quantize/rounding/weight_rounding.h"

#include <float.h>
#include <stdbool.h>
#include <string.h>

#include "exporter/host/half_bits.h"
#include "exporter/quantize/rounding/group_sums.h"

enum { LARGEST_INT8 = 127 };

_Static_assert((int)ETX_WEIGHT_ROUNDING_LARGEST_GROUP ==
                   (int)ETX_GROUP_SUM_LARGEST,
               "sums take every group");

static float magnitude(float x) { return x < 0 ? -x : x; }

// Four numbers at a time.
typedef float rounding_floats __attribute__((vector_size(16)));
typedef int32_t rounding_masks __attribute__((vector_size(16)));

static inline rounding_floats load_rounding(const float* from) {
  rounding_floats out;
  memcpy(&out, from, sizeof out);
  return out;
}

// The first element of the largest magnitude. The magnitude is found without
// branches.
static float largest_of(const float* group, size_t count) {
  rounding_masks most_bits = {0};
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    // Magnitudes are in the order of their bits.
    const rounding_masks bits =
        (rounding_masks)load_rounding(group + i) & INT32_MAX;
    const rounding_masks is_more = bits > most_bits;
    most_bits = (bits & is_more) | (most_bits & ~is_more);
  }
  const rounding_floats lanes = (rounding_floats)most_bits;
  float most = 0;
  for (int k = 0; k < 4; ++k) most = lanes[k] > most ? lanes[k] : most;
  for (; i < count; ++i) {
    most = magnitude(group[i]) > most ? magnitude(group[i]) : most;
  }
  for (i = 0; most > 0; ++i) {
    if (magnitude(group[i]) == most) return group[i];
  }
  return 0;
}

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
    out[i] = (int8_t)etx_group_round_to_even(row[i] / scale);
    add_error((double)row[i], (double)out[i] * (double)scale, error);
  }
  return scale;
}

void etx_weight_round_half(const float* row, size_t inner, bool is_bfloat,
                           uint8_t* out, etx_weight_rounding_error* error) {
  for (size_t i = 0; i < inner; ++i, out += 2) {
    const uint16_t half =
        is_bfloat ? etx_to_bfloat16(row[i]) : etx_to_float16(row[i]);
    out[0] = (uint8_t)half;
    out[1] = (uint8_t)(half >> 8);
    add_error(
        (double)row[i],
        (double)(is_bfloat ? etx_from_bfloat16(out) : etx_from_float16(out)),
        error);
  }
}

// ------------------------------------------------ int8 in groups

// True if all numbers of the group are integers in -128..127 times `scale`,
// exactly.
static bool is_on_byte_grid(const float* group, size_t count, float scale,
                            int8_t* out) {
  for (size_t i = 0; i < count; ++i) {
    const float q = etx_group_round_to_even(group[i] / scale);
    if (q < INT8_MIN || q > INT8_MAX ||
        (double)q * (double)scale != (double)group[i]) {
      return false;
    }
    out[i] = (int8_t)q;
  }
  return true;
}

// True if the low bits of all numbers are 0, as those of a float16 times an
// integer of eight bits: nothing else is worth the search for a grid.
static bool has_few_bits(const float* group, size_t count) {
  enum { LOW_BITS = 31 };  // 24 of a float32 less 11 and 8
  uint32_t all = 0;
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, &group[i], sizeof bits);
    all |= bits;
  }
  return (all & LOW_BITS) == 0;
}

// Finds the scale of a group that was int8 before, such as q8_0 of a GGUF file:
// the largest number divided by one of the integers, most likely 127. 0 if
// there is no such scale.
static float find_byte_grid(const float* group, size_t count, float largest,
                            int8_t* out) {
  const float size = magnitude(largest);
  if (!has_few_bits(group, count)) return 0;
  for (int q = LARGEST_INT8; q > 0; --q) {
    const float scale = size / (float)q;
    if (is_on_byte_grid(group, count, scale, out)) return scale;
  }
  const float last = largest / (float)INT8_MIN;
  return is_on_byte_grid(group, count, last, out) ? last : 0;
}

float etx_weight_round_int8_group(const float* group, size_t count, int8_t* out,
                                  etx_weight_rounding_error* error) {
  const float least = 256 * FLT_MIN;
  const float largest = largest_of(group, count);
  const float scale = magnitude(largest) < least
                          ? 0
                          : find_byte_grid(group, count, largest, out);
  if (scale == 0) return etx_weight_round_int8(group, count, out, error);
  for (size_t i = 0; i < count; ++i) {
    add_error((double)group[i], (double)out[i] * (double)scale, error);
  }
  return scale;
}

// ------------------------------------------------ int4

// The best factor so far and its scale. For given integers the best scale is
// cross / square, and it reduces the squared error by `gain` = cross^2 / square
// compared with all zeros.
typedef struct best_factor {
  float factor;
  double gain;
  double scale;
} best_factor;

static void try_factor(float factor, const etx_group_sums* sum,
                       best_factor* best) {
  if (!(sum->square > 0)) return;
  const double scale = (double)sum->cross / (double)sum->square;
  const double gain = (double)sum->cross * scale;
  if (gain > best->gain) *best = (best_factor){factor, gain, scale};
}

// Tries scales that map the largest element near -8 or near 7, then once more
// the best scale found. Writes the integers to `kept` and returns the scale.
static double find_scale(const float* group, size_t count, float largest,
                         float* kept) {
  // Fourteen targets. Factors of 0 give no integers but 0, which are not
  // tried; with them there are whole registers of factors.
  enum { TARGETS = 14, FACTORS = 16 };
  static const float targets[TARGETS] = {-8.0f, -8.4f, -7.7f, -7.4f, -7.0f,
                                         -8.8f, -6.6f, -6.2f, 7.0f,  7.4f,
                                         6.6f,  6.2f,  5.8f,  7.8f};
  float factors[FACTORS] = {0};
  etx_group_sums sums[FACTORS];
  best_factor best = {0, 0, 1};
  for (size_t t = 0; t < TARGETS; ++t) factors[t] = targets[t] / largest;
  etx_group_sums_find(group, count, factors, FACTORS, sums);
  for (size_t t = 0; t < TARGETS; ++t) try_factor(factors[t], &sums[t], &best);
  const float again = (float)(1 / best.scale);
  etx_group_sums_find(group, count, &again, 1, sums);
  try_factor(again, sums, &best);
  etx_group_round(group, count, best.factor, kept);
  return best.scale;
}

// True if all numbers of the group are integers in -8..7 times `scale`,
// exactly.
static bool is_on_grid(const float* group, size_t count, float scale,
                       float* integers) {
  for (size_t i = 0; i < count; ++i) {
    const float q = etx_group_round_to_even(group[i] / scale);
    if (q < -8 || q > 7 || q * scale != group[i]) return false;
    integers[i] = q;
  }
  return true;
}

#define ROUNDING 12582912.0f  // 1.5 * 2^23

enum { GRIDS = 8 };

// False if no scale of find_grid is one of which all numbers are integers times
// it. Scales and integers of the other sign have the same products, so one of
// each pair is tried. Most groups are on no grid, which a few numbers show.
static bool may_be_on_grid(const float* group, size_t count, float largest) {
  const rounding_floats most = {largest, largest, largest, largest};
  const rounding_floats low = most / (rounding_floats){1, 2, 3, 4};
  const rounding_floats high = most / (rounding_floats){5, 6, 7, 8};
  const rounding_floats shift = {ROUNDING, ROUNDING, ROUNDING, ROUNDING};
  rounding_masks on_low = low == low, on_high = high == high;
  for (size_t i = 0; i < count; ++i) {
    const rounding_floats x = {group[i], group[i], group[i], group[i]};
    const rounding_floats a = ((x / low + shift) - shift) * low;
    const rounding_floats b = ((x / high + shift) - shift) * high;
    on_low &= a == x;
    on_high &= b == x;
    const rounding_masks on = on_low | on_high;
    if ((on[0] | on[1] | on[2] | on[3]) == 0) return false;
  }
  return true;
}

// Finds the scale of a group that was int4 before and is not to be rounded a
// second time, such as q4_0 of a GGUF file: the largest number divided by one
// of the integers. 0 if there is no such scale.
static float find_grid(const float* group, size_t count, float largest,
                       float* integers) {
  if (!may_be_on_grid(group, count, largest)) return 0;
  for (int q = GRIDS; q > 0; --q) {
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
  float integers[ETX_WEIGHT_ROUNDING_LARGEST_GROUP];
  const float largest = largest_of(group, count);
  float scale = 0;
  if (magnitude(largest) < least) {
    memset(integers, 0, count * sizeof *integers);
    scale = 1;
  } else {
    scale = find_grid(group, count, largest, integers);
  }
  if (scale == 0) scale = (float)find_scale(group, count, largest, integers);
  for (size_t i = 0; i < count; i += 2) {
    const int even = (int)integers[i] + 8, odd = (int)integers[i + 1] + 8;
    out[i / 2] = (uint8_t)(even << 4 | odd);
  }
  for (size_t i = 0; i < count; ++i) {
    add_error((double)group[i], (double)integers[i] * (double)scale, error);
  }
  return scale;
}
