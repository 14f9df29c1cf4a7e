// Tests the loops for registers of 64 bytes on every machine: the same template
// is compiled with vectors that the compiler splits, and with the fused
// multiply-add written in C. Results are compared with the base set bit by bit.

#include <string.h>

#include "tests/format/fixtures/format_test.h"
#include "tests/runtime/kernels/split_vectors.h"
#include "tests/support/test_instruction_sets.h"
#include "tests/support/test_random.h"

static __attribute__((noinline)) void copy_some(const float* from, float* to,
                                                unsigned lanes) {
  for (unsigned lane = 0; lane < 16; ++lane) {
    if (lanes >> lane & 1) to[lane] = from[lane];
  }
}

#define ROW_LOAD_SOME(from, lanes)           \
  __extension__({                            \
    row_piece some = {0};                    \
    copy_some((from), (float*)&some, lanes); \
    some;                                    \
  })
#define ROW_STORE_SOME(to, x, lanes) \
  copy_some((const float*)&(x), (to), (lanes))

#define etx_f32_microkernels_avx512 loops_of_64_bytes
#include "runtime/kernels/arch/x86/f32_microkernels_avx512.c"

enum { ROUNDS = TEST_ROUNDS(300), MOST = 70, PITCH = 96 };

static float left[MOST * PITCH], right[MOST * PITCH];
static float one[MOST * PITCH], other[MOST * PITCH];

static void start_round(void) {
  test_random_floats(left, MOST * PITCH, 2);
  left[test_random_bits() % PITCH] = -0.0f;
  test_random_floats(right, MOST * PITCH, 2);
  test_random_floats(one, MOST * PITCH, 2);
  memcpy(other, one, sizeof(one));
}

static void check_panel_products(const etx_f32_microkernels* loops) {
  for (int round = 0; round < ROUNDS; ++round) {
    ptrdiff_t offsets[PITCH];
    start_round();
    for (size_t k = 0; k < PITCH; ++k) {
      offsets[k] = test_random_integer(0, MOST * PITCH - 96);
    }
    etx_gemm_block b = {.sums = one,
                        .sum_row = PITCH,
                        .weights = left,
                        .weight_row = PITCH,
                        .panel = right,
                        .panel_row = PITCH,
                        .panel_group = 16 * test_random_integer(1, 30),
                        .rows = (size_t)test_random_integer(0, MOST),
                        .taps = (size_t)test_random_integer(0, PITCH / 2),
                        .lanes = test_random_bits() % 2 == 0
                                     ? (size_t)test_random_integer(1, 63)
                                     : (size_t)test_random_integer(64, 80),
                        .starts = test_random_bits() % 2 == 0,
                        .ahead = (const char*)right,
                        .ahead_row = test_random_integer(0, 200),
                        .ahead_pieces = (size_t)test_random_integer(0, 5),
                        .ahead_step = (size_t)test_random_integer(1, 1024),
                        .prefetches_to_l1 = test_random_bits() % 2 == 0};
    if (test_random_bits() % 2 == 0) {
      b.offsets = offsets;
      b.panel_group = 16;
    }
    for (uint32_t i = test_random_bits() % 3; i > 0; --i) {
      b.added[i - 1] = i == 1 ? left + 5 : right + 7;
      b.added_row[i - 1] = i == 1 ? 0 : PITCH / 4;  // rows of i64, too
    }
    for (int wide = 0; wide < 3; ++wide) {
      // Rows are compared as integers, because the fill has any bits. A double
      // has two lanes.
      etx_gemm_block c = b;
      if (wide != ETX_COMPUTE_F32) {
        c.panel_group = 8;
        c.sum_row = c.weight_row = c.panel_row = PITCH / 2;
        c.lanes = c.lanes / 2 + 1;
      }
      c.sums = one;
      etx_f32_microkernels_base.gemm_by_type[wide](&c);
      c.sums = other;
      loops->gemm_by_type[wide](&c);
      assert_memory_equal(one, other, sizeof(one));
    }
  }
}

static void panel_products_are_bit_equal(void** state) {
  (void)state;
  test_random_start();
  check_panel_products(&loops_of_64_bytes);
}

// Sets have code of their own, in inline assembly.
static void panel_products_of_all_sets_are_bit_equal(void** state) {
  (void)state;
  test_random_start();
  for (int set = test_next_instruction_set(-1); set < ETX_SET_COUNT;
       set = test_next_instruction_set(set)) {
    check_panel_products(etx_f32_microkernels_of((etx_instruction_set)set));
  }
}

static void attention_weights_are_bit_equal(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    float largest[2][96], factor[2][96] = {{0}}, shift[2][96];
    float totals[2][96][ETX_ATTENTION_SCORE_LANES];
    start_round();
    test_random_floats(largest[0], 96, 3);
    test_random_floats(totals[0][0], 96 * ETX_ATTENTION_SCORE_LANES, 3);
    memcpy(largest[1], largest[0], sizeof largest[0]);
    memcpy(totals[1], totals[0], sizeof totals[0]);
    etx_attention_score_rows s = {
        .scores = one,
        .row = PITCH,
        .rows = (size_t)test_random_integer(1, MOST),
        .count = (size_t)test_random_integer(1, 6) * 16,
        .scale = (float)test_random_integer(1, 64) *
                 (test_random_bits() % 4 == 0 ? 3e5f : 0.1f),
        .largest = largest[0],
        .factor = factor[0],
        .shift = shift[0],
        .totals = totals[0]};
    etx_f32_microkernels_base.attention_weights(&s);
    s.scores = other;
    s.largest = largest[1];
    s.factor = factor[1];
    s.shift = shift[1];
    s.totals = totals[1];
    loops_of_64_bytes.attention_weights(&s);
    assert_memory_equal(one, other, sizeof(one));
    assert_memory_equal(largest[0], largest[1], sizeof largest[0]);
    assert_memory_equal(totals[0], totals[1], sizeof totals[0]);
    assert_memory_equal(factor[0], factor[1], s.rows * sizeof(float));
    assert_memory_equal(shift[0], shift[1], s.rows * sizeof(float));
  }
}

static void dot_products_are_bit_equal(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    start_round();
    etx_gemm_nt b = {.out = one,
                     .out_row = PITCH,
                     .left = left,
                     .left_row = PITCH,
                     .right = right,
                     .right_row = PITCH,
                     .rows = (size_t)test_random_integer(0, MOST),
                     .columns = (size_t)test_random_integer(0, MOST),
                     .count = (size_t)test_random_integer(1, PITCH)};
    // A single row of whole vectors, as attention has it.
    if (round % 2 == 0) b.rows = 1;
    if (round % 4 == 0) b.count = (b.count + 15) / 16 * 16 % PITCH;
    etx_f32_microkernels_base.dots(&b);
    b.out = other;
    loops_of_64_bytes.dots(&b);
    assert_memory_equal(one, other, sizeof(one));
  }
}

static void dot_products_of_halves_are_bit_equal(void** state) {
  static uint16_t halves[2][MOST * PITCH];
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    start_round();
    // Two bits of the exponent are cleared: all are numbers, in both types.
    for (size_t i = 0; i < MOST * PITCH; ++i) {
      halves[0][i] = (uint16_t)(test_random_bits() & 0xbbff);
      halves[1][i] = (uint16_t)(test_random_bits() & 0xbbff);
    }
    etx_gemm_nt b = {.out = one,
                     .out_row = PITCH,
                     .left = halves[0],
                     .left_row = PITCH,
                     .right = halves[1],
                     .right_row = PITCH,
                     .rows = (size_t)test_random_integer(0, 13),
                     .columns = (size_t)test_random_integer(0, MOST),
                     .count = (size_t)test_random_integer(16, PITCH)};
    if (round % 4 == 0) b.rows = 1;
    if (round % 2 == 0) {
      etx_f32_microkernels_base.dots_bf16(&b);
      b.out = other;
      loops_of_64_bytes.dots_bf16(&b);
    } else {
      etx_f32_microkernels_base.dots_f16(&b);
      b.out = other;
      loops_of_64_bytes.dots_f16(&b);
    }
    assert_memory_equal(one, other, sizeof(one));
  }
}

// Weights of halves beside float32, in rows of any length.
static void dot_products_with_half_weights_are_bit_equal(void** state) {
  static uint16_t halves[MOST * PITCH];
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    start_round();
    // Two bits of the exponent are cleared: all are numbers, in both types.
    for (size_t i = 0; i < MOST * PITCH; ++i) {
      halves[i] = (uint16_t)(test_random_bits() & 0xbbff);
    }
    etx_gemm_nt b = {.out = one,
                     .out_row = PITCH,
                     .left = left,
                     .left_row = PITCH,
                     .right = halves,
                     .right_row = PITCH,
                     .rows = (size_t)test_random_integer(0, 13),
                     .columns = (size_t)test_random_integer(0, MOST),
                     .count = (size_t)test_random_integer(16, PITCH)};
    if (round % 4 == 0) b.rows = 1;
    if (round % 2 == 0) {
      etx_f32_microkernels_base.mixed_dots_bf16(&b);
      b.out = other;
      loops_of_64_bytes.mixed_dots_bf16(&b);
    } else {
      etx_f32_microkernels_base.mixed_dots_f16(&b);
      b.out = other;
      loops_of_64_bytes.mixed_dots_f16(&b);
    }
    assert_memory_equal(one, other, sizeof(one));
  }
}

static void small_products_are_bit_equal(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    start_round();
    const bool is_turned = test_random_bits() % 2 == 0;
    etx_gemm p = {
        .rows = (size_t)test_random_integer(1, 9),
        .columns = (size_t)test_random_integer(1, 40),
        .inner = (size_t)test_random_integer(1, ETX_GEMM_SMALL_INNER),
        .dtype = ETX_DTYPE_FLOAT32,
        .right_dtype = ETX_DTYPE_FLOAT32,
        .left = (const char*)left,
        .left_row = PITCH,
        .left_inner = 1,
        .right = (const char*)right,
        .right_inner = is_turned ? 1 : PITCH,
        .right_column = is_turned ? PITCH : 1,
        .out = (char*)one,
        .out_row = PITCH,
        .added = test_random_bits() % 2 == 0 ? (const char*)left : NULL,
        .added_row = PITCH,
        .added_column = 1};
    etx_f32_microkernels_base.gemm_small(&p);
    p.out = (char*)other;
    loops_of_64_bytes.gemm_small(&p);
    assert_memory_equal(one, other, sizeof(one));
  }
}

static void row_transpositions_are_equal(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    start_round();
    const size_t rows = (size_t)test_random_integer(0, ETX_TRANSPOSE_ROWS);
    const size_t count = (size_t)test_random_integer(0, PITCH);
    etx_f32_microkernels_base.transpose_pack(left, PITCH, rows, count, one);
    loops_of_64_bytes.transpose_pack(left, PITCH, rows, count, other);
    assert_memory_equal(one, other, sizeof(one));
  }
}

static void row_copies_are_equal(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    start_round();
    etx_row_copy c = {.from = left,
                      .from_row = PITCH,
                      .step = test_random_integer(1, 3),
                      .to = one,
                      .to_row = PITCH / 2,
                      .rows = (size_t)test_random_integer(0, MOST),
                      .count = (size_t)test_random_integer(0, PITCH / 3)};
    etx_f32_microkernels_base.copy_rows(&c);
    c.to = other;
    loops_of_64_bytes.copy_rows(&c);
    assert_memory_equal(one, other, sizeof(one));
  }
}

static etx_row_store random_store(void) {
  const bool is_relu = test_random_bits() % 2 == 0;
  return (etx_row_store){.sums = left,
                         .sum_row = PITCH,
                         .out = one,
                         .out_row = PITCH,
                         .rows = (size_t)test_random_integer(0, MOST - 1),
                         .count = (size_t)test_random_integer(0, PITCH / 2),
                         .bias = is_relu ? -0.0f : 0.25f,
                         .added = test_random_bits() % 2 == 0 ? right : NULL,
                         .below = is_relu ? 0x1p-149f : -INFINITY,
                         .low = is_relu ? 0 : -INFINITY,
                         .high = test_random_bits() % 2 == 0 ? 1 : INFINITY};
}

static void row_stores_are_equal(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    start_round();
    etx_row_store s = random_store();
    etx_f32_microkernels_base.store_rows(&s);
    s.out = other;
    loops_of_64_bytes.store_rows(&s);
    assert_memory_equal(one, other, sizeof(one));
  }
}

static void depthwise_planes_are_bit_equal(void** state) {
  (void)state;
  static const size_t counts[] = {1, 4, 9, 25};
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    ptrdiff_t offsets[25];
    start_round();
    for (size_t i = 0; i < 25; ++i) offsets[i] = test_random_integer(0, 30);
    etx_depthwise_row p = {.store = random_store(),
                           .weights = right + MOST,
                           .offsets = offsets,
                           .taps = counts[test_random_bits() % 4]};
    if (test_random_bits() % 2 == 0) {
      p.store.out_row = (ptrdiff_t)p.store.count;
      p.store.added = NULL;
    }
    etx_f32_microkernels_base.depthwise_row(&p);
    p.store.out = other;
    loops_of_64_bytes.depthwise_row(&p);
    assert_memory_equal(one, other, sizeof(one));
  }
}

static float largest_of(const etx_max_pool_row* m, size_t i) {
  float best = -INFINITY;
  for (size_t k = 0; k < m->rows * m->taps; ++k) {
    const ptrdiff_t column =
        m->first + (ptrdiff_t)i * m->stride + (ptrdiff_t)(k % m->taps) * m->tap;
    if (column < 0 || column >= m->columns) continue;
    const float x = m->in[(ptrdiff_t)(k / m->taps) * m->in_row + column];
    if (x > best || isnan(x)) best = x;
  }
  return best;
}

static void maxima_are_bit_equal(void** state) {
  static float third[sizeof(one) / sizeof(float)];
  (void)state;
  const etx_f32_microkernels* avx2 =
      etx_f32_microkernels_of(etx_instruction_set_within(ETX_SET_AVX2));
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    start_round();
    etx_max_pool_row m = {.in = left,
                          .in_row = PITCH,
                          .first = test_random_integer(-5, 3),
                          .columns = test_random_integer(0, PITCH),
                          .tap = test_random_integer(1, 3),
                          .stride = test_random_integer(1, 2),
                          .rows = (size_t)test_random_integer(0, 4),
                          .taps = (size_t)test_random_integer(0, 4),
                          .out = one,
                          .count = (size_t)test_random_integer(0, MOST)};
    left[test_random_integer(0, 2 * PITCH)] = NAN;
    memcpy(third, other, sizeof(third));
    etx_f32_microkernels_base.max_pool_row(&m);
    m.out = other;
    loops_of_64_bytes.max_pool_row(&m);
    assert_memory_equal(one, other, sizeof(one));
    m.out = third;
    avx2->max_pool_row(&m);
    assert_memory_equal(one, third, sizeof(one));
    for (size_t i = 0; i < m.count; ++i) one[i] = largest_of(&m, i);
    assert_memory_equal(one, other, sizeof(one));
  }
}

static float seen_at(const etx_depthwise_planes* p, ptrdiff_t y, ptrdiff_t x) {
  const bool is_inside =
      y >= 0 && y < p->in_rows && x >= 0 && x < p->in_columns;
  return is_inside ? p->in[y * p->in_row + x] : 0;
}

static float window_sum(const etx_depthwise_planes* p, ptrdiff_t y,
                        ptrdiff_t x) {
  float sum = 0;
  for (ptrdiff_t k = 0; k < p->kernel * p->kernel; ++k) {
    sum = fmaf(p->weights[k],
               seen_at(p, p->row + y * p->stride + k / p->kernel,
                       p->column + x * p->stride + k % p->kernel),
               sum);
  }
  return sum;
}

// At most two planes, whose rows are half rows of an image or follow each
// other. Also on 32-byte registers where the machine has them, whose rows end
// differently.
static void windows_are_summed_one_by_one(void** state) {
  static float sums[MOST * PITCH], third[sizeof(one) / sizeof(float)];
  (void)state;
  const etx_f32_microkernels* avx2 =
      etx_f32_microkernels_of(etx_instruction_set_within(ETX_SET_AVX2));
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    start_round();
    etx_row_store s = random_store();
    const bool is_dense = test_random_bits() % 2 == 0;
    if (is_dense) {
      s.out_row = (ptrdiff_t)s.count;
      s.added = NULL;
    }
    etx_depthwise_planes p = {
        .store = s,
        .planes = (size_t)test_random_integer(1, 2),
        .out_plane = is_dense ? (ptrdiff_t)(s.rows * s.count) : PITCH / 2,
        .bias = test_random_bits() % 3 == 0 ? NULL : right,
        .bias_step = test_random_integer(0, 3),
        .weights = left + MOST,
        .weight_plane = test_random_integer(0, 20),
        .in = left,
        .in_plane = test_random_integer(0, PITCH),
        .in_row = PITCH,
        .in_rows = test_random_integer(1, MOST - 1),
        .in_columns = test_random_integer(1, PITCH),
        .row = test_random_integer(-4, 1),
        .column = test_random_integer(-4, 1),
        .stride = test_random_integer(1, 2),
        .kernel = 2 * test_random_integer(1, 3) + 1};
    if (p.kernel == 7) p.stride = 1;
    etx_depthwise_planes wide = p;
    memcpy(third, other, sizeof(third));
    wide.store.out = other;
    loops_of_64_bytes.depthwise_planes(&wide);
    wide.store.out = third;
    const bool has_avx2 = (size_t)p.kernel <= avx2->max_depthwise_kernel;
    if (has_avx2) avx2->depthwise_planes(&wide);
    for (size_t plane = 0; plane < p.planes; ++plane) {
      for (size_t i = 0; i < s.rows * PITCH; ++i) {
        sums[i] =
            window_sum(&p, (ptrdiff_t)(i / PITCH), (ptrdiff_t)(i % PITCH));
      }
      s.sums = sums;
      s.bias = p.bias == NULL ? -0.0f : *p.bias;
      etx_f32_microkernels_base.store_rows(&s);
      s.out += p.out_plane;
      if (s.added != NULL) s.added += p.out_plane;
      if (p.bias != NULL) p.bias += p.bias_step;
      p.weights += p.weight_plane;
      p.in += p.in_plane;
    }
    assert_memory_equal(one, other, sizeof(one));
    if (has_avx2) assert_memory_equal(one, third, sizeof(one));
  }
}

// Results have positions in the rows of `one`, and channels in its columns.
static void spots_are_summed_one_by_one(void** state) {
  enum { PLACES = 300 };
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    ptrdiff_t places[MOST], offsets[MOST], weight_places[MOST];
    start_round();
    for (size_t i = 0; i < MOST; ++i) {
      places[i] = test_random_integer(0, PLACES);
      offsets[i] = test_random_integer(0, PLACES);
    }
    const size_t taps = (size_t)test_random_integer(0, MOST);
    for (size_t k = 0; k < taps; ++k) {
      weight_places[k] =
          test_random_integer(0, (int64_t)taps - 1) * ETX_TRANSPOSE_ROWS;
    }
    const etx_conv_oc s = {
        .input = left,
        .places = places,
        .offsets = offsets,
        .weights = right,
        .weight_group = (ptrdiff_t)(taps * ETX_TRANSPOSE_ROWS),
        .weight_places = weight_places,
        .sums = other,
        .sum_row = PITCH,
        .positions = (size_t)test_random_integer(0, MOST),
        .taps = taps,
        .groups = (size_t)test_random_integer(1, 4),
        .starts = test_random_bits() % 2 == 0,
        .ahead = (const char*)right,
        .ahead_row = 4,
        .ahead_rows = (size_t)test_random_integer(0, 64)};
    for (size_t i = 0; i < s.positions * s.groups * ETX_TRANSPOSE_ROWS; ++i) {
      const size_t position = i / (s.groups * ETX_TRANSPOSE_ROWS);
      const size_t channel = i % (s.groups * ETX_TRANSPOSE_ROWS);
      const float* const weights =
          right + channel / ETX_TRANSPOSE_ROWS * (size_t)s.weight_group +
          channel % ETX_TRANSPOSE_ROWS;
      float* const sum = one + position * PITCH + channel;
      if (s.starts) *sum = 0;
      for (size_t k = 0; k < taps; ++k) {
        *sum = fmaf(weights[weight_places[k]],
                    left[places[position] + offsets[k]], *sum);
      }
    }
    loops_of_64_bytes.conv_oc(&s);
    assert_memory_equal(one, other, sizeof(one));
  }
}

static void spots_are_stored_as_rows(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    float turned[ETX_TRANSPOSE_ROWS][MOST];
    start_round();
    etx_row_store s = random_store();
    const size_t channels = (size_t)test_random_integer(1, ETX_TRANSPOSE_ROWS);
    etx_conv_oc_store spots = {
        .store = s, .out_channel = PITCH, .bias = right, .channels = channels};
    if (s.count > 50) continue;  // whole groups are read
    spots.store.out = other;
    loops_of_64_bytes.conv_oc_store(&spots);
    for (size_t c = 0; c < channels; ++c) {
      for (size_t i = 0; i < s.count; ++i) turned[c][i] = left[i * PITCH + c];
    }
    s.sums = turned[0];
    s.sum_row = MOST;
    s.rows = 1;
    for (size_t c = 0; c < channels; ++c, s.sums += MOST, s.out += PITCH) {
      s.bias = right[c];
      etx_f32_microkernels_base.store_rows(&s);
      if (s.added != NULL) s.added += PITCH;
    }
    assert_memory_equal(one, other, sizeof(one));
  }
}

// The expected result for a row of a channel that begins at `input`.
static float point_sum(const etx_conv_pixels* p, size_t channel,
                       const float* input) {
  const ptrdiff_t tap = p->has_panels ? ETX_CONV_OC_CHANNELS : 1;
  const float* weights =
      p->weights + (ptrdiff_t)channel * (p->has_panels ? 1 : p->weight_row);
  float sum = 0;
  for (size_t piece = 0; piece < p->pieces; ++piece, input += p->piece) {
    const size_t taps = piece + 1 < p->pieces ? p->taps : p->last_taps;
    for (size_t k = 0; k < taps; ++k, weights += tap) {
      sum = fmaf(*weights, input[p->offsets[k]], sum);
    }
  }
  return sum;
}

static void points_are_summed_one_by_one(void** state) {
  enum { TAPS = 12, ROWS = 3, CHANNELS = 16, PLANE = ROWS * PITCH };
  static float sums[PLANE];
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    ptrdiff_t offsets[TAPS];
    start_round();
    for (size_t k = 0; k < TAPS; ++k) offsets[k] = test_random_integer(0, 300);
    etx_row_store s = random_store();
    s.rows = (size_t)test_random_integer(1, ROWS);
    s.count = (size_t)test_random_integer(17, PITCH);
    s.sums = left;
    s.out = other;
    if (s.added != NULL) s.added = right;
    etx_conv_pixels p = {
        .store = s,
        .out_channel = PLANE,
        .channels = test_random_bits() % 2 == 0 ? CHANNELS : CHANNELS / 2,
        .bias = test_random_bits() % 3 == 0 ? NULL : right,
        .bias_step = test_random_integer(1, 3),
        .weights = right + PITCH,
        .has_panels = test_random_bits() % 2 == 0,
        .weight_row = PITCH,
        .offsets = offsets,
        .taps = (size_t)test_random_integer(1, TAPS),
        .last_taps = (size_t)test_random_integer(1, TAPS),
        .pieces = (size_t)test_random_integer(1, 3),
        .piece = test_random_integer(0, 300)};
    if (p.last_taps > p.taps) p.last_taps = p.taps;
    loops_of_64_bytes.conv_pixel(&p);
    s.out = one;
    s.sums = sums;
    for (size_t c = 0; c < p.channels; ++c, s.out += PLANE) {
      for (size_t i = 0; i < s.rows * s.count; ++i) {
        const ptrdiff_t y = (ptrdiff_t)(i / s.count);
        const ptrdiff_t x = (ptrdiff_t)(i % s.count);
        sums[y * s.sum_row + x] = point_sum(&p, c, left + y * s.sum_row + x);
      }
      s.bias = p.bias == NULL ? -0.0f : p.bias[(ptrdiff_t)c * p.bias_step];
      etx_f32_microkernels_base.store_rows(&s);
      if (s.added != NULL) s.added += PLANE;
    }
    assert_memory_equal(one, other, sizeof(one));
  }
}

// The results of each loop are in columns of `one` and `other`.
static void winograd_loops_are_bit_equal(void** state) {
  enum { COUNT = 10, CHANNELS = 32, ROOM = MOST * PITCH / 16 };
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    start_round();
    etx_winograd_input input = {.patch = left,
                                .patch_row = PITCH,
                                .rows = (size_t)test_random_integer(1, COUNT),
                                .columns = (size_t)test_random_integer(1, 20),
                                .out = one,
                                .place = ROOM};
    etx_f32_microkernels_base.winograd.input(&input);
    input.out = other;
    loops_of_64_bytes.winograd.input(&input);
    // Memory behind the last tile may be written.
    const size_t tiles = input.rows * input.columns;
    for (size_t i = 0; i < MOST * PITCH; ++i) {
      if (i % ROOM >= tiles) one[i] = other[i];
    }
    assert_memory_equal(one, other, sizeof(one));
    const size_t count = (size_t)test_random_integer(1, COUNT);
    etx_f32_microkernels_base.winograd.weights(right, count, one);
    loops_of_64_bytes.winograd.weights(right, count, other);
    assert_memory_equal(one, other, sizeof(one));
    etx_conv_oc_dense sum = {.input = left,
                             .next = left,
                             .input_row = PITCH,
                             .weights = right,
                             .weight_panel = ETX_CONV_OC_CHANNELS * COUNT,
                             .sums = one,
                             .sum_row = PITCH,
                             .positions = (size_t)test_random_integer(1, 50),
                             .taps = count,
                             .panels = (size_t)test_random_integer(1, 3),
                             .starts = test_random_bits() % 2 == 0,
                             .ahead = (const char*)right,
                             .ahead_piece = 64,
                             .ahead_pieces = (size_t)test_random_integer(0, 3),
                             .ahead_lines = (size_t)test_random_integer(0, 9)};
    etx_f32_microkernels_base.conv_oc_dense(&sum);
    sum.sums = other;
    loops_of_64_bytes.conv_oc_dense(&sum);
    // A panel that stands alone may write sums beside its own.
    for (size_t i = 0; i < sum.positions && sum.panels % 2 == 1; ++i) {
      const size_t at = i * PITCH + sum.panels * ETX_CONV_OC_CHANNELS;
      memcpy(one + at, other + at, ETX_CONV_OC_CHANNELS * sizeof *one);
    }
    assert_memory_equal(one, other, sizeof(one));
    etx_winograd_output output = {.sums = left,
                                  .place = ROOM,
                                  .tile = CHANNELS,
                                  .channels = CHANNELS,
                                  .height = (size_t)test_random_integer(1, 5),
                                  .width = (size_t)test_random_integer(1, 8),
                                  .out = one};
    etx_f32_microkernels_base.winograd.output(&output);
    output.out = other;
    loops_of_64_bytes.winograd.output(&output);
    assert_memory_equal(one, other, sizeof(one));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(panel_products_are_bit_equal),
      cmocka_unit_test(panel_products_of_all_sets_are_bit_equal),
      cmocka_unit_test(attention_weights_are_bit_equal),
      cmocka_unit_test(dot_products_are_bit_equal),
      cmocka_unit_test(dot_products_of_halves_are_bit_equal),
      cmocka_unit_test(dot_products_with_half_weights_are_bit_equal),
      cmocka_unit_test(small_products_are_bit_equal),
      cmocka_unit_test(row_transpositions_are_equal),
      cmocka_unit_test(row_copies_are_equal),
      cmocka_unit_test(row_stores_are_equal),
      cmocka_unit_test(depthwise_planes_are_bit_equal),
      cmocka_unit_test(maxima_are_bit_equal),
      cmocka_unit_test(windows_are_summed_one_by_one),
      cmocka_unit_test(spots_are_summed_one_by_one),
      cmocka_unit_test(spots_are_stored_as_rows),
      cmocka_unit_test(points_are_summed_one_by_one),
      cmocka_unit_test(winograd_loops_are_bit_equal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
