// The inner loops of elementwise operators, with all instruction sets and
// lengths, and the float16 and bfloat16 conversions around them.

#include <math.h>

#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/math/half_float.h"
#include "runtime/kernels/simd/elementwise/half_loops.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/core/loop_apply.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"
#include "runtime/kernels/views/strided_copy.h"
#include "tests/format/fixtures/format_test.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

#define VECTOR_BYTES 16
#include "runtime/kernels/simd/vector/f32_vec_template.h"

enum { COUNT = 4096 };

// Floats of any bits, and numbers of usual sizes.
static void fill(float* out) {
  for (size_t i = 0; i < COUNT; ++i) {
    const uint32_t bits = test_random_bits();
    const double usual = ((double)bits * 0x1p-31 - 1) * 8;
    out[i] = i % 3 == 0 ? etx_f32_of_bits(bits) : (float)usual;
    if (i % 17 == 0) out[i] = i % 2 == 0 ? 0.0f : -1.0f;
  }
}

static bool same_floats(const float* a, const float* b) {
  for (size_t i = 0; i < COUNT; ++i) {
    const bool both_nan = a[i] != a[i] && b[i] != b[i];
    if (!both_nan && memcmp(&a[i], &b[i], sizeof a[i]) != 0) return false;
  }
  return true;
}

// The widest instruction set of this processor.
static etx_instruction_set widest(void) {
  return etx_instruction_set_within(ETX_SET_ANY);
}

// Truth values have one byte per result and fill a quarter of the memory; the
// rest is 0.
static void same_floats_as_base(const etx_float_loops* loops, const float* x,
                                const float* y) {
  static float one[COUNT], other[COUNT];
  const etx_float_loops* base = &etx_float_loops_base;
  const etx_scalar parameters[ETX_UNARY_PARAMETERS] = {
      {.f32 = 0.2f}, {.f32 = 0.8f}, {.f32 = 1.5f}};
  for (size_t row = 0; row < ETX_UNARY_COUNT; ++row) {
    memset(one, 0, sizeof one);
    memset(other, 0, sizeof other);
    base->unary[row](one, x, COUNT, parameters);
    loops->unary[row](other, x, COUNT, parameters);
    if (!same_floats(one, other)) fail_msg("unary row %zu differs", row);
  }
  for (size_t row = 0; row < ETX_BINARY_COUNT; ++row) {
    if (base->binary[row] == NULL) continue;
    memset(one, 0, sizeof one);
    memset(other, 0, sizeof other);
    base->binary[row](one, x, y, COUNT, parameters[0]);
    loops->binary[row](other, x, y, COUNT, parameters[0]);
    if (!same_floats(one, other)) fail_msg("binary row %zu differs", row);
  }
}

static void every_instruction_set_gives_the_same_bits(void** state) {
  static float x[COUNT], y[COUNT];
  (void)state;
  test_random_start();
  fill(x);
  fill(y);
  for (int set = test_next_instruction_set(ETX_SET_BASE); set <= (int)widest();
       set = test_next_instruction_set(set)) {
    same_floats_as_base(etx_float_loops_of((etx_instruction_set)set), x, y);
  }
}

// Functions whose steps are rounded once, for floats of every magnitude.
static void rounded_steps_give_the_same_bits(void** state) {
  static const etx_unary_function rows[] = {ETX_UNARY_gelu, ETX_UNARY_gelu_tanh,
                                            ETX_UNARY_sigmoid, ETX_UNARY_silu,
                                            ETX_UNARY_tanh};
  static float x[COUNT], one[COUNT], other[COUNT];
  const etx_scalar none[ETX_UNARY_PARAMETERS] = {{0}};
  (void)state;
  for (uint32_t part = 0; part < 64; ++part) {
    for (uint32_t i = 0; i < COUNT; ++i) {
      x[i] = etx_f32_of_bits(part << 26 | i << 14 | (i * 2654435761u) >> 18);
    }
    for (size_t row = 0; row < sizeof rows / sizeof *rows; ++row) {
      etx_float_loops_base.unary[rows[row]](one, x, COUNT, none);
      for (int set = test_next_instruction_set(ETX_SET_BASE);
           set <= (int)widest(); set = test_next_instruction_set(set)) {
        etx_float_loops_of((etx_instruction_set)set)
            ->unary[rows[row]](other, x, COUNT, none);
        if (!same_floats(one, other)) fail_msg("row %zu differs", row);
      }
    }
  }
}

// silu, too: a graph of both operators has the bits of one silu.
static void gates_are_products_with_a_sigmoid(void** state) {
  static float x[COUNT], y[COUNT], gate[COUNT], sigmoid[COUNT], silu[COUNT];
  static float product[COUNT];
  const etx_scalar none[ETX_UNARY_PARAMETERS] = {{0}};
  (void)state;
  test_random_start();
  fill(x);
  fill(y);
  for (int set = ETX_SET_BASE; set <= (int)widest();
       set = test_next_instruction_set(set)) {
    const etx_float_loops* loops = etx_float_loops_of((etx_instruction_set)set);
    loops->unary[ETX_UNARY_sigmoid](sigmoid, y, COUNT, none);
    loops->unary[ETX_UNARY_silu](silu, y, COUNT, none);
    loops->binary[ETX_BINARY_gate](gate, x, y, COUNT, none[0]);
    for (size_t i = 0; i < COUNT; ++i) product[i] = x[i] * sigmoid[i];
    assert_true(same_floats(product, gate));
    for (size_t i = 0; i < COUNT; ++i) product[i] = y[i] * sigmoid[i];
    assert_true(same_floats(product, silu));
  }
}

// Sums that lie at the middle between two floats, or near it, or among denormal
// ones: c plus half a unit of its last place, or a neighbour of that.
static void steps_are_rounded_once(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < 200000; ++round) {
    etx_f32_vec a, b, c;
    const int power = (int)test_random_integer(-20, 20);
    for (int i = 0; i < ETX_F32_LANES; ++i) {
      const uint32_t bits = test_random_bits();
      // Also the smallest normal numbers and denormal ones.
      const float any = etx_f32_of_bits(bits & 0xbfffffff);
      c[i] = round % 3 == 0 ? any * 0x1p-126f : any;
      b[i] = ldexpf((float)(1 + round % 2 * (int)(bits % 5000)), power);
      const float size = fabsf(c[i]);
      const float half = (nextafterf(size, INFINITY) - size) * 0.5f;
      a[i] = half / b[i];
      if (bits % 3 == 0) a[i] = nextafterf(a[i], 0);
      if (bits % 3 == 1) a[i] = nextafterf(a[i], INFINITY);
      if (bits % 2 == 0) a[i] = -a[i];
    }
    const etx_f32_vec sum = ETX_F32_FMA(a, b, c);
    for (int i = 0; i < ETX_F32_LANES; ++i) {
      const float want = fmaf(a[i], b[i], c[i]), got = sum[i];
      if (isnan(want) ? !isnan(got) : memcmp(&got, &want, sizeof got) != 0) {
        fail_msg("%a * %a + %a is %a", a[i], b[i], c[i], got);
      }
    }
  }
}

// Computes the steps one by one. Memory behind a line is unchanged.
static void try_line(const etx_row_loops* loops, const float* x, size_t count,
                     float least) {
  float out[700], want[700], largest = least;
  for (size_t i = 0; i < 700; ++i) out[i] = want[i] = -1;
  for (size_t i = 0; i < count; ++i) {
    want[i] = x[i] * 0.3f;
    largest = want[i] > largest ? want[i] : largest;
  }
  assert_true(loops->scale(out, x, count, 0.3f, least) == largest);
  assert_memory_equal(out, want, sizeof out);
  for (size_t i = 0; i < count; ++i) want[i] = etx_exp_f32(want[i] - largest);
  const float sum = loops->raise(out, out, count, largest);
  const float wanted = etx_striped_sum_f32(want, count);
  assert_memory_equal(&sum, &wanted, sizeof sum);
  assert_memory_equal(out, want, sizeof out);
}

static void lines_of_any_length_give_the_same_bits(void** state) {
  static float x[COUNT];
  (void)state;
  test_random_start();
  for (size_t i = 0; i < COUNT; ++i) {
    x[i] = (float)(((double)test_random_bits() * 0x1p-31 - 1) * 100);
  }
  for (int set = ETX_SET_BASE; set <= (int)widest();
       set = test_next_instruction_set(set)) {
    const etx_row_loops* loops =
        &etx_float_loops_of((etx_instruction_set)set)->rows;
    for (size_t count = 0; count < 600; count += count < 80 ? 1 : 13) {
      try_line(loops, x + count, count, -1e30f);
      try_line(loops, x + count, count, 20);
    }
    // NaN is not taken as the largest element, but is in the sum.
    float with_nan[20] = {1, NAN, 3};
    assert_true(loops->scale(with_nan, with_nan, 20, 1, 2) == 3);
    assert_true(isnan(with_nan[1]));
    assert_true(isnan(loops->raise(with_nan, with_nan, 20, 3)));
  }
}

// Normalises each row step by step. Memory behind the rows is unchanged.
static void try_norm(const etx_row_loops* loops, const float* x, size_t rows,
                     size_t count) {
  static float out[COUNT], want[COUNT];
  float means[9] = {0}, scales[9] = {0}, mean, scale;
  const float* const weight = x + 7;
  const float* const bias = x + 5;
  for (size_t i = 0; i < COUNT; ++i) out[i] = want[i] = -1;
  const etx_layer_norm_rows n = {x,      out,  weight, bias, means,
                                 scales, rows, count,  0.25f};
  loops->normalize(&n);
  for (size_t r = 0; r < rows; ++r) {
    const float* row = x + r * count;
    mean = etx_striped_sum_f32(row, count) / (float)count;
    const float squares = etx_striped_squares_f32(row, mean, count);
    scale = 1.0f / etx_sqrt_f32(squares / (float)count + 0.25f);
    for (size_t i = 0; i < count; ++i) {
      want[r * count + i] = (row[i] - mean) * scale * weight[i] + bias[i];
    }
    assert_memory_equal(&means[r], &mean, sizeof mean);
    assert_memory_equal(&scales[r], &scale, sizeof scale);
  }
  assert_memory_equal(out, want, sizeof out);
  assert_true(means[rows] == 0 && scales[rows] == 0);
}

static void rows_of_any_length_are_normalised(void** state) {
  static float x[COUNT];
  (void)state;
  test_random_start();
  test_random_floats(x, COUNT, 3);
  for (int set = ETX_SET_BASE; set <= (int)widest();
       set = test_next_instruction_set(set)) {
    const etx_row_loops* loops =
        &etx_float_loops_of((etx_instruction_set)set)->rows;
    for (size_t count = 1; count < 300; count += count < 80 ? 1 : 13) {
      try_norm(loops, x, 1 + count % 8, count);
    }
    // The output may be the input.
    float own[3 * 20], out[3 * 20], means[3], scales[3];
    memcpy(own, x, sizeof own);
    const etx_layer_norm_rows apart = {x, out, x, x, means, scales, 3, 20, 0};
    const etx_layer_norm_rows same = {own, own, x, x, means, scales, 3, 20, 0};
    loops->normalize(&apart);
    loops->normalize(&same);
    assert_memory_equal(own, out, sizeof out);
    // The mean of a row with an infinity is NaN.
    own[0] = INFINITY;
    loops->normalize(&same);
    assert_true(isnan(means[0]) && !isnan(means[1]));
  }
}

enum { SCORES = 6, SCORE_ROW = 100 };

// Six rows of `count` scores, each the second block of its row. One column is
// masked. One row's largest score grows only a little, one row is fully masked.
// Scores after `count` must not change.
static void try_scores(const etx_f32_microkernels* loops, size_t count) {
  const float scale = 0.37f, log2_scale = scale * 1.44269504f;
  float x[SCORES * SCORE_ROW], was[SCORES * SCORE_ROW];
  float largest[ETX_ATTENTION_SCORE_LANES] = {30, -40,       5,
                                              35, -INFINITY, -INFINITY};
  float before[ETX_ATTENTION_SCORE_LANES],
      factor[ETX_ATTENTION_SCORE_LANES] = {0};
  float shift[ETX_ATTENTION_SCORE_LANES] = {0},
        totals[SCORES][ETX_ATTENTION_SCORE_LANES];
  for (size_t i = 0; i < SCORES * SCORE_ROW; ++i) {
    const float score = (float)test_random_integer(-30000, 4000) * 0.01f;
    x[i] = i >= (SCORES - 1) * SCORE_ROW ? -INFINITY : score;
    if (i % SCORE_ROW == 3) x[i] = -INFINITY;
  }
  memcpy(was, x, sizeof was);
  memcpy(before, largest, sizeof before);
  for (size_t i = 0; i < SCORES * ETX_ATTENTION_SCORE_LANES; ++i) {
    totals[i / ETX_ATTENTION_SCORE_LANES][i % ETX_ATTENTION_SCORE_LANES] = 1;
  }
  const etx_attention_score_rows s = {.scores = x,
                                      .row = SCORE_ROW,
                                      .rows = SCORES,
                                      .count = count,
                                      .scale = scale,
                                      .largest = largest,
                                      .factor = factor,
                                      .shift = shift,
                                      .totals = totals};
  loops->attention_weights(&s);
  for (size_t r = 0; r < SCORES; ++r) {
    float most = before[r], sums[ETX_ATTENTION_SCORE_LANES];
    for (size_t k = 0; k < count; ++k) {
      most = fmaxf(most, was[r * SCORE_ROW + k]);
    }
    const bool has_grown =
        (most - before[r]) * log2_scale > ETX_ATTENTION_SCORE_GROWTH;
    assert_true(largest[r] == (has_grown ? most : before[r]));
    const float off = largest[r] == -INFINITY ? 0 : largest[r];
    assert_true(shift[r] == off * log2_scale);
    // The loop computes exponents as floats, so the expected factor does, too.
    const double earlier = (double)(before[r] * log2_scale);
    const double down = earlier - (double)shift[r], wanted = exp2(down);
    assert_true(fabs(factor[r] - wanted) <=
                (1.8e-7 + fmin(-down, 200) * 0x1p-24) * wanted + 2e-38);
    for (size_t i = 0; i < ETX_ATTENTION_SCORE_LANES; ++i) sums[i] = factor[r];
    for (size_t k = 0; k < SCORE_ROW; ++k) {
      const float weight = x[r * SCORE_ROW + k];
      const double score = was[r * SCORE_ROW + k];
      if (k >= count) {
        assert_true(weight == was[r * SCORE_ROW + k]);
        continue;
      }
      const double exponent = score * (double)log2_scale - (double)shift[r];
      assert_true(exponent <= (double)ETX_ATTENTION_SCORE_GROWTH + 1e-4);
      const double power = exp2(exponent);
      const double most_off = (1.8e-7 + fabs(exponent) * 0x1p-24) * power;
      assert_true(exponent < -126 ? weight <= 2e-38
                                  : fabs(weight - power) <= most_off);
      assert_true(exponent > -126.6 || weight == 0);
      sums[k % ETX_ATTENTION_SCORE_LANES] += weight;
    }
    assert_memory_equal(totals[r], sums, sizeof sums);
  }
}

// The largest score has the weight 1, whatever its magnitude.
static void try_enormous_scores(const etx_f32_microkernels* loops) {
  static const float sizes[] = {2e10f, -2e10f, 1e38f, 3e38f, -3e38f};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
    float scores[16], largest[16] = {-INFINITY}, factor[16] = {0}, shift[16];
    float totals[1][ETX_ATTENTION_SCORE_LANES] = {{0}};
    for (size_t i = 0; i < 16; ++i) {
      scores[i] = sizes[k] - fabsf(sizes[k]) * 5e-5f * (float)i;
    }
    const etx_attention_score_rows s = {
        scores, 16, 1, 16, 0.1118034f, largest, factor, shift, totals};
    loops->attention_weights(&s);
    for (size_t i = 0; i < 16; ++i) {
      assert_true(scores[i] == (i == 0 ? 1.0f : 0.0f));
    }
    // First a larger block of scores, then one that is not larger.
    for (size_t i = 0; i < 16; ++i) scores[i] = sizes[k];
    scores[5] += fabsf(sizes[k]) * 0.1f;
    loops->attention_weights(&s);
    assert_true(factor[0] == 0 && totals[0][5] == 1 && totals[0][0] == 0);
    for (size_t i = 0; i < 16; ++i) scores[i] = sizes[k];
    loops->attention_weights(&s);
    assert_true(factor[0] == 1 && totals[0][5] == 1);
  }
}

// Sums are scaled by the difference of the shifts that were really used, which
// are exact or rounded on the two sides of ETX_ATTENTION_SCORE_FAR.
static void try_far_shifts(const etx_f32_microkernels* loops) {
  static const float scores[][2] = {{-726818.9375f, -726805},
                                    {726812.9375f, 726824.75f},
                                    {500000.1f, 500010},
                                    {900000.1f, 900010.5f}};
  const float log2_scale = 1.44269504f;
  for (size_t k = 0; k < sizeof scores / sizeof *scores; ++k) {
    float largest[16] = {-INFINITY}, factor[16] = {0}, shift[16] = {0};
    float x[16], totals[1][ETX_ATTENTION_SCORE_LANES] = {{0}};
    double exact[2];
    for (size_t block = 0; block < 2; ++block) {
      const float score = scores[k][block];
      for (size_t i = 0; i < 16; ++i) x[i] = score;
      loops->attention_weights(&(etx_attention_score_rows){
          x, 16, 1, 16, 1, largest, factor, shift, totals});
      exact[block] = fabsf(shift[0]) <= ETX_ATTENTION_SCORE_FAR
                         ? (double)shift[0]
                         : (double)score * (double)log2_scale;
      const double off = (double)score * (double)log2_scale - exact[block];
      assert_true(fabs(x[0] - exp2(off)) <= 2e-6);
    }
    const double wanted = exp2(exact[0] - exact[1]);
    assert_true(fabs(factor[0] - wanted) <= 4e-6 * wanted);
  }
}

static void scores_become_weights(void** state) {
  (void)state;
  test_random_start();
  for (int set = ETX_SET_BASE; set <= (int)widest();
       set = test_next_instruction_set(set)) {
    const etx_f32_microkernels* loops =
        etx_f32_microkernels_of((etx_instruction_set)set);
    for (size_t count = 16; count <= 96; count += 16) {
      for (int round = 0; round < 20; ++round) try_scores(loops, count);
    }
    // NaN is not taken as the largest score, but is in the sum.
    float x[16] = {1, NAN, 3}, largest[16] = {-INFINITY}, factor[16] = {0};
    float shift[16], totals[1][ETX_ATTENTION_SCORE_LANES] = {{0}};
    const etx_attention_score_rows s = {x,       16,     1,     16,    1,
                                        largest, factor, shift, totals};
    loops->attention_weights(&s);
    assert_true(largest[0] == 3 && factor[0] == 0);
    assert_true(fabsf(x[2] - 1) < 1e-6f && totals[0][2] == x[2]);
    assert_true(isnan(x[1]) && isnan(totals[0][1]));
    try_enormous_scores(loops);
    try_far_shifts(loops);
  }
}

// Includes every shift count, and no divisor of 0.
static void integer_loops_give_the_same_bits(void** state) {
  static int64_t x[COUNT], y[COUNT], one[COUNT], other[COUNT];
  const etx_scalar bits = {.i64 = 63};
  (void)state;
  test_random_start();
  for (size_t i = 0; i < COUNT; ++i) {
    x[i] = (int64_t)((uint64_t)test_random_bits() << 33 ^ test_random_bits());
    y[i] = i % 2 == 0 ? (int64_t)(i % 140) - 71 : x[COUNT - 1 - i] | 1;
  }
  for (int set = test_next_instruction_set(ETX_SET_BASE); set <= (int)widest();
       set = test_next_instruction_set(set)) {
    const etx_float_loops* loops = etx_float_loops_of((etx_instruction_set)set);
    for (size_t row = 0; row < ETX_BINARY_COUNT; ++row) {
      if (etx_float_loops_base.whole[row] == NULL) continue;
      memset(one, 0, sizeof one);
      memset(other, 0, sizeof other);
      etx_float_loops_base.whole[row](one, x, y, COUNT, bits);
      loops->whole[row](other, x, y, COUNT, bits);
      if (memcmp(one, other, sizeof one) != 0) fail_msg("row %zu differs", row);
    }
  }
  etx_float_loops_base.whole[ETX_BINARY_shift_right](one, x, y, COUNT, bits);
  for (size_t i = 0; i < COUNT; ++i) {
    const int64_t count = y[i] < 0 || y[i] > 63 ? 63 : y[i];
    assert_true(one[i] == x[i] >> count);
  }
}

// Elements of every size in short and long rows. Memory behind them is
// unchanged.
static void fills_write_each_element(void** state) {
  enum { MOST = 300 };
  static char out[(MOST + 1) * 16];
  (void)state;
  test_random_start();
  for (size_t bytes = 1; bytes <= 16; bytes *= 2) {
    for (size_t count = 1; count < MOST; ++count) {
      char element[16];
      for (size_t i = 0; i < 16; ++i) element[i] = (char)test_random_bits();
      memset(out, 1, sizeof out);
      etx_fill_dense(out, element, bytes, count);
      for (size_t i = 0; i < count; ++i) {
        assert_memory_equal(out + i * bytes, element, bytes);
      }
      for (size_t i = count * bytes; i < sizeof out; ++i) {
        assert_int_equal(out[i], 1);
      }
      if (bytes > 8) continue;
      memset(out, 1, sizeof out);
      etx_fill_elements(out, element, count, bytes);
      for (size_t i = 0; i < count; ++i) {
        assert_memory_equal(out + i * bytes, element, bytes);
      }
      for (size_t i = count * bytes; i < sizeof out; ++i) {
        assert_int_equal(out[i], 1);
      }
    }
  }
}

// Memory behind the result is unchanged. The result may be the operand.
static void bitwise_loops_give_the_same_bits(void** state) {
  uint64_t x[70], out[70];
  (void)state;
  test_random_start();
  for (int set = ETX_SET_BASE; set <= (int)widest();
       set = test_next_instruction_set(set)) {
    const etx_float_loops* loops = etx_float_loops_of((etx_instruction_set)set);
    for (size_t count = 0; count < 70; ++count) {
      const uint64_t keep = (uint64_t)test_random_bits() << 32 | 0xf0f0u;
      const uint64_t turn = (uint64_t)test_random_bits() << 16;
      for (size_t i = 0; i < 70; ++i) {
        x[i] = (uint64_t)test_random_bits() << 32 | test_random_bits();
        out[i] = i;
      }
      loops->bits((char*)out, (const char*)x, count, keep, turn);
      for (size_t i = 0; i < 70; ++i) {
        assert_true(out[i] == (i < count ? (x[i] & keep) ^ turn : i));
      }
      loops->bits((char*)x, (const char*)x, count, keep, turn);
      assert_memory_equal(x, out, count * sizeof *x);
    }
  }
}

// Floats of any bits, NaN included. Memory beside the columns is unchanged.
static void tile_transpositions_are_equal(void** state) {
  enum { SIDE = 16, PITCH = 21, ALL = SIDE * PITCH };
  uint32_t x[ALL], out[ALL];
  (void)state;
  test_random_start();
  for (int set = ETX_SET_BASE; set <= (int)widest();
       set = test_next_instruction_set(set)) {
    const etx_float_loops* loops = etx_float_loops_of((etx_instruction_set)set);
    for (size_t pitch = SIDE; pitch <= PITCH; ++pitch) {
      for (size_t i = 0; i < ALL; ++i) {
        x[i] = (uint32_t)test_random_bits() | (i % 3 == 0 ? 0x7f800000u : 0);
        out[i] = (uint32_t)i;
      }
      loops->transpose_16x16((char*)out, (ptrdiff_t)(pitch * sizeof *out),
                             (const char*)x, PITCH * sizeof *x);
      for (size_t i = 0; i < ALL; ++i) {
        const size_t row = i / pitch, column = i % pitch;
        const bool is_there = row < SIDE && column < SIDE;
        assert_int_equal(out[i], is_there ? x[column * PITCH + row] : i);
      }
    }
  }
}

static void check_quotients(const etx_float_loops* loops, const int64_t* x,
                            const int64_t* y) {
  static int64_t rests[COUNT], signed_rests[COUNT], floors[COUNT];
  const etx_scalar none = {0};
  loops->whole[ETX_BINARY_remainder](rests, x, y, COUNT, none);
  loops->whole[ETX_BINARY_fmod](signed_rests, x, y, COUNT, none);
  loops->whole[ETX_BINARY_divide_floor](floors, x, y, COUNT, none);
  for (size_t i = 0; i < COUNT; ++i) {
    const int64_t rest = y[i] == -1 ? 0 : x[i] % y[i];
    const bool is_off = rest != 0 && (rest < 0) != (y[i] < 0);
    const int64_t whole = y[i] == -1 ? -x[i] : x[i] / y[i];
    assert_true(signed_rests[i] == rest);
    assert_true(rests[i] == (is_off ? rest + y[i] : rest));
    assert_true(floors[i] == (is_off ? whole - 1 : whole));
  }
}

// Dividends of every length, those at both ends of the range that is divided in
// double, and multiples of the divisor plus or minus one.
static void integers_divide_exactly(void** state) {
  static int64_t x[COUNT], y[COUNT];
  const int64_t edge = INT64_C(1) << 51;
  (void)state;
  test_random_start();
  for (int bits = 1; bits < 64; ++bits) {
    for (size_t i = 0; i < COUNT; ++i) {
      const uint64_t a =
          (uint64_t)test_random_bits() << 32 | test_random_bits();
      const uint64_t b =
          (uint64_t)test_random_bits() << 32 | test_random_bits();
      x[i] = (int64_t)(a << 1) >> (63 - bits) >> (i & 1);
      y[i] = (int64_t)b >> (64 - bits) >> (i % 5 * 8 % bits);
      if (i % 3 == 0 && bits < 32)
        x[i] = y[i] * (x[i] >> 8) + (int64_t)(i % 9) - 4;
      if (i % 64 == 1 && bits < 52) x[i] = i % 128 == 1 ? -edge : edge - 1;
      if (i % 64 == 2 && bits < 52) y[i] = i % 128 == 2 ? -edge : edge - 1;
      if (x[i] == INT64_MIN) x[i] = 1;
      if (y[i] == 0) y[i] = i % 2 == 0 ? 1 : -1;
    }
    for (int set = ETX_SET_BASE; set <= (int)widest();
         set = test_next_instruction_set(set)) {
      check_quotients(etx_float_loops_of((etx_instruction_set)set), x, y);
    }
  }
}

// Memory behind the result is unchanged.
static void try_length(size_t count, bool a_moves, bool b_moves) {
  float a[600], b[600], out[600];
  for (size_t i = 0; i < 600; ++i) {
    a[i] = (float)i + 1;
    b[i] = (float)(i * i) + 2;
    out[i] = -1;
  }
  const etx_binary_job job = {
      .loop = etx_float_loops_base.binary[ETX_BINARY_subtract],
      .bytes = etx_loop_bytes_of(ETX_COMPUTE_F32, false),
      .out = out,
      .a = a,
      .b = b,
      .count = count,
      .a_is_array = a_moves,
      .b_is_array = b_moves};
  etx_binary_apply(&job);
  for (size_t i = 0; i < 600; ++i) {
    const float want = a[a_moves ? i : 0] - b[b_moves ? i : 0];
    if (out[i] != (i < count ? want : -1)) {
      fail_msg("element %zu of %zu is %g", i, count, out[i]);
    }
  }
  etx_unary_apply(etx_float_loops_base.unary[ETX_UNARY_neg],
                  etx_loop_bytes_of(ETX_COMPUTE_F32, false), a, a, count,
                  (etx_scalar[ETX_UNARY_PARAMETERS]){{0}});
  for (size_t i = 0; i < 600; ++i) {
    assert_true(a[i] == (i < count ? -1 : 1) * ((float)i + 1));
  }
}

static void loops_take_any_number_of_elements(void** state) {
  (void)state;
  for (size_t count = 0; count < 600; count += count < 40 ? 1 : 13) {
    try_length(count, true, true);
    try_length(count, true, false);
    try_length(count, false, true);
    try_length(count, false, false);
  }
}

// Vectors are padded: a division by a padding of 0 would stop the process.
static void padding_is_not_divided_by_zero(void** state) {
  int64_t a[5] = {7, 8, 9, 10, 11}, b[5] = {1, 2, 3, 4, 5}, out[5];
  const etx_binary_job job = {
      .loop = etx_float_loops_base.whole[ETX_BINARY_divide_trunc],
      .bytes = etx_loop_bytes_of(ETX_COMPUTE_I64, false),
      .out = out,
      .a = a,
      .b = b,
      .count = 5,
      .a_is_array = true,
      .b_is_array = true};
  (void)state;
  etx_binary_apply(&job);
  assert_int_equal(out[0], 7);
  assert_int_equal(out[4], 2);
}

// The value of a float16, computed in double from its fields.
static double value_of_half(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 0x3ff;
  double value = exponent == 0 ? ldexp(fraction, -24)
                               : ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31) value = fraction == 0 ? INFINITY : NAN;
  return half >> 15 != 0 ? -value : value;
}

static void every_float16_converts_exactly(void** state) {
  (void)state;
  for (uint32_t half = 0; half < 65536; ++half) {
    const float x = etx_f32_of_half((uint16_t)half);
    const double want = value_of_half((uint16_t)half);
    if (isnan(want)) {
      assert_true(x != x);
      assert_true((etx_half_of_f32(x) & 0x7fff) > 0x7c00);
      continue;
    }
    assert_true((double)x == want && !signbit(x) == !signbit(want));
    assert_int_equal(etx_half_of_f32(x), half);
  }
}

// Around each pair of neighbours: below the middle, the middle, and above it.
static void floats_round_to_the_nearest_float16(void** state) {
  (void)state;
  for (uint32_t half = 0; half < 0x7bff; ++half) {
    const double low = value_of_half((uint16_t)half);
    const double high = value_of_half((uint16_t)(half + 1));
    const float middle = (float)((low + high) / 2);
    const uint32_t even = half % 2 == 0 ? half : half + 1;
    assert_int_equal(etx_half_of_f32(middle), even);
    assert_int_equal(etx_half_of_f32(nextafterf(middle, 0)), half);
    assert_int_equal(etx_half_of_f32(nextafterf(middle, 1e9f)), half + 1);
    assert_int_equal(etx_half_of_f32(-middle), even | 0x8000);
  }
  assert_int_equal(etx_half_of_f32(65519.996f), 0x7bff);
  assert_int_equal(etx_half_of_f32(65520.0f), 0x7c00);
  assert_int_equal(etx_half_of_f32(1e30f), 0x7c00);
}

// Includes the payload of NaN, and arrays of any length with and without NaN.
static void check_float16_loops(const etx_half_loops* loops) {
  static float x[COUNT], one[COUNT], other[COUNT];
  uint16_t halves[2][COUNT];
  enum { RUN = 64 };  // a whole number of the widest vectors
  const etx_half_loops* base = &etx_half_loops_base;
  fill(x);
  for (uint32_t half = 0; half < 65536; half += RUN) {
    for (size_t i = 0; i < RUN; ++i) halves[0][i] = (uint16_t)(half + i);
    base->read(one, halves[0], RUN);
    loops->read(other, halves[0], RUN);
    assert_memory_equal(one, other, RUN * sizeof *one);
  }
  for (size_t at = 0, count = 0; at + count < COUNT; at += count, ++count) {
    memset(halves, 0xcd, sizeof halves);
    base->write(halves[0], x + at, count);
    loops->write(halves[1], x + at, count);
    assert_memory_equal(halves[0], halves[1], sizeof halves[0]);
    memset(one, 0xcd, sizeof one);
    memset(other, 0xcd, sizeof other);
    base->read(one, halves[0], count);
    loops->read(other, halves[0], count);
    assert_memory_equal(one, other, sizeof one);
    memset(halves, 0xcd, sizeof halves);
    base->write_bfloats(halves[0], x + at, count);
    loops->write_bfloats(halves[1], x + at, count);
    assert_memory_equal(halves[0], halves[1], sizeof halves[0]);
    base->read_bfloats(one, halves[0], count);
    loops->read_bfloats(other, halves[0], count);
    assert_memory_equal(one, other, sizeof one);
    loops->read_bytes(other, (const int8_t*)(halves[0] + 1), count);
    for (size_t i = 0; i < count; ++i) {
      assert_true(other[i] == ((const int8_t*)(halves[0] + 1))[i]);
    }
    for (size_t i = 0; i < count; ++i) {
      assert_int_equal(halves[1][i], etx_bfloat_of_f32(x[at + i]));
    }
  }
}

static void every_instruction_set_converts_float16_to_the_same_bits(
    void** state) {
  (void)state;
  test_random_start();
  for (int set = ETX_SET_BASE; set <= (int)widest();
       set = test_next_instruction_set(set)) {
    check_float16_loops(etx_half_loops_of((etx_instruction_set)set));
  }
}

static void floats_round_to_the_nearest_bfloat16(void** state) {
  (void)state;
  assert_int_equal(etx_bfloat_of_f32(1.0f), 0x3f80);
  assert_int_equal(etx_bfloat_of_f32(etx_f32_of_bits(0x3f808000)), 0x3f80);
  assert_int_equal(etx_bfloat_of_f32(etx_f32_of_bits(0x3f818000)), 0x3f82);
  assert_int_equal(etx_bfloat_of_f32(etx_f32_of_bits(0x3f808001)), 0x3f81);
  assert_int_equal(etx_bfloat_of_f32(3.4e38f), 0x7f80);
  assert_true(etx_f32_of_bfloat(etx_bfloat_of_f32(NAN)) !=
              etx_f32_of_bfloat(etx_bfloat_of_f32(NAN)));
  assert_int_equal(etx_bfloat_of_f32(etx_f32_of_bits(0x7f800001)), 0x7fc0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_instruction_set_gives_the_same_bits),
      cmocka_unit_test(rounded_steps_give_the_same_bits),
      cmocka_unit_test(gates_are_products_with_a_sigmoid),
      cmocka_unit_test(steps_are_rounded_once),
      cmocka_unit_test(lines_of_any_length_give_the_same_bits),
      cmocka_unit_test(rows_of_any_length_are_normalised),
      cmocka_unit_test(scores_become_weights),
      cmocka_unit_test(integer_loops_give_the_same_bits),
      cmocka_unit_test(fills_write_each_element),
      cmocka_unit_test(bitwise_loops_give_the_same_bits),
      cmocka_unit_test(tile_transpositions_are_equal),
      cmocka_unit_test(integers_divide_exactly),
      cmocka_unit_test(loops_take_any_number_of_elements),
      cmocka_unit_test(padding_is_not_divided_by_zero),
      cmocka_unit_test(every_float16_converts_exactly),
      cmocka_unit_test(floats_round_to_the_nearest_float16),
      cmocka_unit_test(every_instruction_set_converts_float16_to_the_same_bits),
      cmocka_unit_test(floats_round_to_the_nearest_bfloat16),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
