// Rounding to int4 with offsets, held against sums in double and against
// rounding without a search.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "exporter/quantize/rounding/offset_rounding.h"

enum { GROUPS = 5, GROUP = ETX_OFFSET_GROUP, COUNT = GROUPS * GROUP };

typedef struct rounded_row {
  uint8_t integers[COUNT / 2];
  int16_t params[GROUPS];
  float scale;
  etx_weight_rounding_error error;
} rounded_row;

static void round_row(const float* row, rounded_row* out) {
  etx_offset_line lines[GROUPS];
  const etx_offset_row to = {out->integers, out->params};
  out->error = (etx_weight_rounding_error){0, 0};
  out->scale = etx_offset_round_row(row, GROUPS, lines, &to, &out->error);
}

// What the row stands for.
static double value_at(const rounded_row* row, size_t i) {
  const uint8_t byte = row->integers[i / 2];
  const int whole = (i % 2 == 0 ? byte >> 4 : byte & 15) - 8;
  const int params = row->params[i / GROUP], factor = params & 255;
  const int offset = (params - factor) / 256;
  return (16 * whole + offset) * ((double)row->scale * factor);
}

static double noise_of(const float* row, const rounded_row* rounded) {
  double noise = 0;
  for (size_t i = 0; i < COUNT; ++i) {
    noise += pow((double)row[i] - value_at(rounded, i), 2);
  }
  return noise;
}

// Numbers from -1 to 1: even, or many small and few large ones.
static void fill(uint32_t seed, bool is_even, float* out) {
  for (size_t i = 0; i < COUNT; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const double x = (double)(seed >> 8) / 8388608.0 - 1.0;
    out[i] = (float)(is_even ? x : x * x * x);
  }
}

// Without a search, the ends of a group are the smallest and largest integer.
static double plain_noise(const float* row) {
  double noise = 0;
  for (size_t g = 0; g < GROUPS; ++g) {
    const float* group = row + g * GROUP;
    double low = 0, high = 0;
    for (size_t i = 0; i < GROUP; ++i) {
      low = fmin(low, (double)group[i]);
      high = fmax(high, (double)group[i]);
    }
    for (size_t i = 0; i < GROUP; ++i) {
      const double step = (high - low) / 15, x = (double)group[i];
      noise += pow(x - (rint((x - low) / step) * step + low), 2);
    }
  }
  return noise;
}

static void reports_its_error_and_beats_plain_rounding(void** state) {
  (void)state;
  for (int is_even = 0; is_even < 2; ++is_even) {
    double plain = 0, searched = 0;
    for (uint32_t seed = 0; seed < 200; ++seed) {
      float row[COUNT];
      rounded_row rounded;
      double signal = 0;
      fill(seed, is_even != 0, row);
      round_row(row, &rounded);
      for (size_t i = 0; i < COUNT; ++i) signal += pow((double)row[i], 2);
      const double noise = noise_of(row, &rounded);
      assert_true(fabs(rounded.error.signal - signal) <= 1e-9 * signal);
      assert_true(fabs(rounded.error.noise - noise) <= 1e-5 * noise);
      plain += plain_noise(row);
      searched += noise;
    }
    assert_true(searched < (is_even != 0 ? 0.95 : 0.9) * plain);
  }
}

// Groups on a grid that the format has, the first with the largest step.
static void numbers_of_the_format_are_exact(void** state) {
  (void)state;
  static const int factors[GROUPS] = {255, 200, 128, 77, 255};
  static const int offsets[GROUPS] = {0, 5, -40, 100, -112};
  float row[COUNT];
  rounded_row rounded;
  for (size_t i = 0; i < COUNT; ++i) {
    const size_t g = i / GROUP;
    const int whole = (int)(i * 7 % 16) - 8;
    row[i] = (float)((16 * whole + offsets[g]) * factors[g]) / 1024;
  }
  round_row(row, &rounded);
  assert_true(noise_of(row, &rounded) <= 1e-9 * rounded.error.signal);
}

static void extreme_numbers_are_rounded(void** state) {
  (void)state;
  static const float sizes[] = {ETX_WEIGHT_ROUNDING_LARGEST, 1, 1e-20f, 1e-30f};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    float row[COUNT];
    rounded_row rounded;
    // Random numbers, one far from the others, zeros, and equal numbers of both
    // signs.
    fill(3, true, row);
    for (size_t i = 0; i < GROUP; ++i) {
      row[GROUP + i] = i == 9 ? 1 : row[i] * 1e-3f;
      row[2 * GROUP + i] = 0;
      row[3 * GROUP + i] = 0.75f;
      row[4 * GROUP + i] = -0.5f;
    }
    for (size_t i = 0; i < COUNT; ++i) row[i] *= sizes[s];
    round_row(row, &rounded);
    assert_true(rounded.scale > 0 && isfinite(rounded.scale));
    assert_true(noise_of(row, &rounded) <= 0.005 * rounded.error.signal);
    for (size_t i = 2 * GROUP; i < 3 * GROUP; ++i) {
      assert_true(value_at(&rounded, i) == 0);
    }
  }
}

// Zeros and numbers that are too small to divide by.
static void numbers_next_to_zero_are_zeros(void** state) {
  (void)state;
  for (int i = 0; i < 2; ++i) {
    float row[COUNT];
    rounded_row rounded;
    for (size_t k = 0; k < COUNT; ++k) row[k] = i == 0 ? 0 : FLT_MIN;
    round_row(row, &rounded);
    assert_true(rounded.scale == 1);
    for (size_t k = 0; k < COUNT; ++k) {
      assert_true(value_at(&rounded, k) == 0);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reports_its_error_and_beats_plain_rounding),
      cmocka_unit_test(numbers_of_the_format_are_exact),
      cmocka_unit_test(extreme_numbers_are_rounded),
      cmocka_unit_test(numbers_next_to_zero_are_zeros),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
