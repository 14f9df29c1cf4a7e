#include "exporter/quantize/rounding/offset_rounding.h"

#include <float.h>

#include "exporter/quantize/rounding/group_sums.h"

enum {
  GROUP = ETX_OFFSET_GROUP,
  TRIED = 4,  // candidates that are tried together, one in each lane
  MOST = 15,  // the largest integer
  PARTS = 16,
  MOST_FACTOR = 255,
};

// A number for each candidate. Sums over a group add one element after the
// other.
typedef float tried_floats __attribute__((vector_size(TRIED * sizeof(float))));
typedef int32_t tried_masks __attribute__((vector_size(TRIED * sizeof(float))));

static inline tried_floats all_tried(float x) {
  return (tried_floats){x, x, x, x};
}

// Numbers of the first where the mask is set, of the second elsewhere.
static inline tried_floats choose_tried(tried_masks mask, tried_floats a,
                                        tried_floats b) {
  return (tried_floats)((mask & (tried_masks)a) | (~mask & (tried_masks)b));
}

// The nearest integers from 0 to 15.
static inline tried_floats whole_tried(tried_floats x) {
  const tried_floats shift = all_tried(12582912.0f);  // 1.5 * 2^23
  const tried_floats most = all_tried(MOST), q = (x + shift) - shift;
  const tried_floats low = (tried_floats)((tried_masks)q & (q > all_tried(0)));
  return choose_tried(low < most, low, most);
}

static float clamp(float x, float low, float high) {  // NaN: the lower bound
  x = x > low ? x : low;
  return x < high ? x : high;
}

static float sum_of(const float* group) {
  float sum = 0;
  for (int i = 0; i < GROUP; ++i) sum += group[i];
  return sum;
}

// Smallest and largest element, with 0 between them.
static void range_of(const float* group, float* low, float* high) {
  *low = *high = 0;
  for (int i = 0; i < GROUP; ++i) {
    *low = group[i] < *low ? group[i] : *low;
    *high = group[i] > *high ? group[i] : *high;
  }
}

// ------------------------------------------------ lines

typedef struct tried_lines {
  tried_floats step, least;
} tried_lines;

// The best lines through the integers that given lines have, and how much they
// reduce the squared error compared with the mean: 0 where all integers are
// equal.
static tried_floats improve(const float* group, float sum, tried_lines* lines) {
  const tried_floats inverse = 1 / lines->step, count = all_tried(GROUP);
  tried_floats ones = {0}, squares = {0}, products = {0};
  for (int i = 0; i < GROUP; ++i) {
    const tried_floats x = all_tried(group[i]);
    const tried_floats q = whole_tried((x - lines->least) * inverse);
    ones += q;
    squares += q * q;
    products += q * x;
  }
  const tried_floats spread = count * squares - ones * ones;
  const tried_floats shared = count * products - ones * all_tried(sum);
  lines->step = shared / spread;
  lines->least = (all_tried(sum) - lines->step * ones) / count;
  return choose_tried(spread > all_tried(0), shared * lines->step,
                      all_tried(0));
}

// The best line for a few ranges, or one from the largest magnitude if there is
// none.
static etx_offset_line find_line(const float* group) {
  enum { RANGES = 2, AGAIN = 2 };
  static const tried_floats parts[RANGES] = {{1.0f, 0.97f, 0.94f, 0.91f},
                                             {0.875f, 0.84f, 0.8f, 0.75f}};
  float low, high, best_gain = 0;
  range_of(group, &low, &high);
  const float sum = sum_of(group);
  etx_offset_line best = {(high - low) / 7, (high - low) / 7 * -8};
  if (high - low < 256 * FLT_MIN) return best;
  for (int i = 0; i < RANGES; ++i) {
    const tried_floats size = parts[i] * all_tried(high - low);
    tried_lines lines = {size / all_tried(MOST),
                         all_tried((low + high) / 2) - size / all_tried(2)};
    for (int k = 0; k < AGAIN; ++k) {
      const tried_floats gain = improve(group, sum, &lines);
      for (int t = 0; t < TRIED; ++t) {
        if (!(gain[t] > best_gain) || !(lines.step[t] > 0)) continue;
        best_gain = gain[t];
        best = (etx_offset_line){lines.step[t], lines.least[t]};
      }
    }
  }
  return best;
}

// ------------------------------------------------ groups

// The squared error with given offsets, in squares of the unit, and the offsets
// that would be the best for the same integers.
static tried_floats try_offsets(const float* group, tried_floats inverse,
                                tried_floats* offsets) {
  tried_floats errors = {0}, rests = {0};
  for (int i = 0; i < GROUP; ++i) {
    const tried_floats x = all_tried(group[i]) * inverse + all_tried(8 * PARTS);
    const tried_floats q = whole_tried((x - *offsets) * all_tried(0.0625f));
    const tried_floats rest = x - q * all_tried(PARTS);
    rests += rest;
    errors += (rest - *offsets) * (rest - *offsets);
  }
  *offsets = rests / all_tried(GROUP);
  return errors;
}

static float whole_offset(float x) {
  return clamp(etx_group_round_to_even(x), INT8_MIN, INT8_MAX);
}

// Tries factors near that of the line, and offset 0, which keeps zeros.
etx_offset_params etx_offset_choose(const float* group,
                                    const etx_offset_line* line, float scale) {
  const etx_offset_line found = line == NULL ? find_line(group) : *line;
  const float wanted = etx_group_round_to_even(found.step / (scale * PARTS));
  static const float nearby[TRIED] = {-1, 0, 1, 0};
  etx_offset_params best = {.factor = 0};
  tried_floats factors, units, offsets;
  float best_error = 0;
  for (int t = 0; t < TRIED; ++t) {
    factors[t] = clamp(wanted + nearby[t], 1, MOST_FACTOR);
    units[t] = scale * factors[t];
    offsets[t] =
        t == TRIED - 1 ? 0 : whole_offset(found.least / units[t] + 8 * PARTS);
  }
  for (int again = 0; again < 2; ++again) {
    tried_floats next = offsets;
    const tried_floats error =
        try_offsets(group, 1 / units, &next) * factors * factors;
    for (int t = 0; t < TRIED; ++t) {
      if (best.factor == 0 || error[t] < best_error) {
        best_error = error[t];
        best.factor = (int)factors[t];
        best.offset = offsets[t];
      }
      offsets[t] = whole_offset(next[t]);
    }
  }
  return best;
}

// ------------------------------------------------ elements

int etx_offset_round(const etx_offset_params* params, float scale, float x) {
  const float inverse = 1 / (scale * (float)params->factor);
  x = x * inverse + 8 * PARTS;
  return (int)clamp(etx_group_round_to_even((x - params->offset) * 0.0625f), 0,
                    MOST);
}

float etx_offset_value(const etx_offset_params* params, float scale, int q) {
  const float whole = (float)(PARTS * (q - 8)) + params->offset;
  return whole * (scale * (float)params->factor);
}

static void round_elements(const float* group, const etx_offset_params* params,
                           float scale, uint8_t* out,
                           etx_weight_rounding_error* error) {
  const double unit = (double)(scale * (float)params->factor);
  int integers[GROUP];
  for (int i = 0; i < GROUP; ++i) {
    integers[i] = etx_offset_round(params, scale, group[i]);
    const double w = group[i];
    const float whole = (float)(PARTS * (integers[i] - 8)) + params->offset;
    const double difference = w - (double)whole * unit;
    error->signal += w * w;
    error->noise += difference * difference;
  }
  for (int i = 0; i < GROUP; i += 2) {
    out[i / 2] = (uint8_t)(integers[i] << 4 | integers[i + 1]);
  }
}

// ------------------------------------------------ rows

float etx_offset_row_scale(const float* row, size_t groups,
                           etx_offset_line* lines) {
  float most = 0;
  for (size_t g = 0; g < groups; ++g) {
    lines[g] = find_line(row + g * GROUP);
    most = lines[g].step > most ? lines[g].step : most;
  }
  // The largest step has the largest factor.
  const float scale = most / (PARTS * MOST_FACTOR);
  return scale < FLT_MIN ? 1 : scale;  // 1: zeros, or too small to divide by
}

float etx_offset_round_row(const float* row, size_t groups,
                           etx_offset_line* lines, const etx_offset_row* out,
                           etx_weight_rounding_error* error) {
  const float scale = etx_offset_row_scale(row, groups, lines);
  for (size_t g = 0; g < groups; ++g) {
    const float* const group = row + g * GROUP;
    const etx_offset_params params = etx_offset_choose(group, &lines[g], scale);
    round_elements(group, &params, scale, out->integers + g * GROUP / 2, error);
    out->params[g] = etx_offset_params_store(&params);
  }
  return scale;
}
