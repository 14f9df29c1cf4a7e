// Attention over keys and values of int8: every instruction set gives the bits
// of the baseline, and these are near sums in double.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "runtime/kernels/simd/int8/attention_byte_loops.h"
#include "tests/support/test_instruction_sets.h"
#include "tests/support/test_random.h"

enum {
  ROWS = 11,
  KEYS = ETX_ATTENTION_BYTE_KEYS,
  WIDEST = ETX_ATTENTION_BYTE_WIDEST,
  ROW = ETX_ATTENTION_BYTE_ROW(WIDEST),
};

// A block of keys, or of values, and what rows make of it.
typedef struct byte_block {
  size_t rows, keys, width;
  int8_t bytes[KEYS * WIDEST];
  float factors[KEYS];
  float queries[ROWS][WIDEST];
  float weights[ROWS][KEYS];
} byte_block;

typedef struct byte_results {
  float scores[ROWS][KEYS];
  float values[ROWS][WIDEST];
} byte_results;

static uint8_t rounded[ROWS * ROW];
static int8_t panel[KEYS * WIDEST];

static void fill(byte_block* b) {
  memset(b->factors, 0, sizeof b->factors);
  memset(b->weights, 0, sizeof b->weights);
  for (size_t i = 0; i < sizeof b->bytes; ++i) {
    b->bytes[i] = (int8_t)test_random_integer(-127, 127);
  }
  for (size_t k = 0; k < b->keys; ++k)
    b->factors[k] = fabsf(test_random_float(1));
  for (size_t r = 0; r < b->rows; ++r) {
    for (size_t k = 0; k < b->width; ++k) {
      b->queries[r][k] = test_random_float(3);
    }
    for (size_t k = 0; k < b->keys; ++k) {
      b->weights[r][k] = fabsf(test_random_float(1));
    }
  }
}

static void run(const etx_attention_byte_loops* loops, const byte_block* b,
                byte_results* out) {
  float factors[ROWS];
  const size_t row = ETX_ATTENTION_BYTE_ROW(b->width);
  const size_t taps = (b->keys + 3) / 4 * 4;
  memset(out, 0, sizeof *out);
  for (size_t r = 0; r < b->rows; ++r) {
    factors[r] = loops->round_query(b->queries[r], b->width, rounded + r * row);
  }
  loops->pack_keys(b->bytes, (ptrdiff_t)b->width, b->keys, b->width, panel);
  etx_attention_byte_product p = {.left = rounded,
                                  .left_row = row,
                                  .rows = b->rows,
                                  .count = b->width,
                                  .panel = panel,
                                  .groups = 4,
                                  .row_factors = factors,
                                  .lane_factors = b->factors,
                                  .out = out->scores[0],
                                  .out_row = KEYS};
  loops->scores(&p);
  p.left_row = ETX_ATTENTION_BYTE_ROW(KEYS);
  for (size_t r = 0; r < b->rows; ++r) {
    factors[r] = loops->round_weights(b->weights[r], b->factors, taps,
                                      rounded + r * p.left_row);
  }
  loops->pack_values(b->bytes, (ptrdiff_t)b->width, b->keys, b->width, panel);
  p.count = taps;
  p.groups = b->width / ETX_ATTENTION_BYTE_LANES;
  p.lane_factors = NULL;
  p.out = out->values[0];
  p.out_row = WIDEST;
  p.starts = true;
  loops->values(&p);
  p.starts = false;
  loops->values(&p);
}

static void check_sets(const byte_block* b, const byte_results* wanted) {
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  for (int set = test_next_instruction_set(ETX_SET_BASE); set <= (int)best;
       set = test_next_instruction_set(set)) {
    byte_results found;
    const etx_attention_byte_loops* loops =
        etx_attention_byte_loops_of((etx_instruction_set)set);
    run(loops, b, &found);
    if (memcmp(&found, wanted, sizeof found) != 0) {
      fail_msg("%s: %zu rows, %zu keys of %zu differ from the baseline",
               loops->name, b->rows, b->keys, b->width);
    }
  }
}

static void check_sums(const byte_block* b, const byte_results* found) {
  for (size_t r = 0; r < b->rows; ++r) {
    for (size_t k = 0; k < b->keys; ++k) {
      double sum = 0;
      for (size_t i = 0; i < b->width; ++i) {
        sum += (double)b->queries[r][i] * b->bytes[k * b->width + i];
      }
      const double error = fabs(sum * b->factors[k] - found->scores[r][k]);
      assert_true(error <= 3.01 / 254 * 127 * (double)b->width);
    }
    for (size_t c = 0; c < b->width; ++c) {
      double sum = 0;
      for (size_t k = 0; k < b->keys; ++k) {
        sum += (double)b->weights[r][k] * b->factors[k] *
               b->bytes[k * b->width + c];
      }
      // The values were added twice.
      assert_true(fabs(2 * sum - found->values[r][c]) <=
                  2.02 / 65534 * 127 * (double)b->keys + 1e-4);
    }
  }
}

static void all_sets_give_the_same_bits(void** state) {
  (void)state;
  static const size_t widths[] = {32, 64, 96, 128, 256};
  static byte_block b;
  byte_results wanted;
  test_random_start();
  for (size_t i = 0; i < sizeof widths / sizeof *widths; ++i) {
    for (b.rows = 1; b.rows <= ROWS; b.rows += 2) {
      b.width = widths[i];
      b.keys = (size_t)test_random_integer(1, KEYS);
      if (b.rows == 9) b.keys = KEYS;
      fill(&b);
      run(&etx_attention_byte_loops_base, &b, &wanted);
      check_sums(&b, &wanted);
      check_sets(&b, &wanted);
    }
  }
}

// Rows of zeros, of subnormal numbers, and of what is not finite.
static void rows_without_numbers_are_the_same(void** state) {
  (void)state;
  static const float fills[] = {0.0f, 1e-42f, INFINITY, NAN};
  static byte_block b;
  byte_results wanted;
  b = (byte_block){.rows = 2, .keys = 20, .width = 64};
  for (size_t i = 0; i < sizeof fills / sizeof *fills; ++i) {
    fill(&b);
    for (size_t k = 0; k < b.width; ++k) b.queries[0][k] = fills[i];
    b.weights[1][3] = fills[i];
    run(&etx_attention_byte_loops_base, &b, &wanted);
    assert_int_equal(isnan(wanted.scores[0][0]), !isfinite(fills[i]));
    assert_int_equal(isnan(wanted.values[1][0]), !isfinite(fills[i]));
    check_sets(&b, &wanted);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_sets_give_the_same_bits),
      cmocka_unit_test(rows_without_numbers_are_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
