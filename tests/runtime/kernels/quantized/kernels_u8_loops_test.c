// The uint8 loops of every instruction set of this machine give the results of
// the base set for every number of elements, and read and write nothing past
// the end: operands end at a guard page.

#include <string.h>

#include "runtime/kernels/simd/int8/u8_loops.h"
#include "tests/format/fixtures/format_test.h"
#include "tests/support/guarded_memory.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

enum {
  MAX_COUNT = 70,  // elements: several vectors and a tail
  MAX_BLOCKS = 16,
  ROUNDS = TEST_ROUNDS(400),
};

static test_block blocks[MAX_BLOCKS];
static size_t block_count;

// Random bytes, freed by end_blocks.
static void* random_bytes(size_t size, size_t alignment) {
  assert_true(block_count < MAX_BLOCKS);
  test_block* block = &blocks[block_count++];
  *block = test_block_new(size, alignment);
  for (size_t i = 0; i < size; ++i) {
    block->bytes.data[i] = (uint8_t)test_random_bits();
  }
  return block->bytes.data;
}

static float* random_floats(size_t count, float scale) {
  float* out = random_bytes(count * sizeof *out, sizeof *out);
  test_random_floats(out, count, scale);
  return out;
}

static void end_blocks(void) {
  while (block_count > 0) assert_true(test_block_end(&blocks[--block_count]));
}

static size_t random_between(int64_t low, int64_t high) {
  return (size_t)test_random_integer(low, high);
}

// Calls `check` with the loops of each set except the base set.
static void for_each_set(void (*check)(const etx_u8_loops* loops, size_t count),
                         size_t first, size_t end) {
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  for (int set = test_next_instruction_set(ETX_SET_BASE); set <= (int)best;
       set = test_next_instruction_set(set)) {
    for (size_t count = first; count < end; ++count) {
      check(etx_u8_loops_of((etx_instruction_set)set), count);
      end_blocks();
    }
  }
}

// ------------------------------------------------ elements

static void check_conversion(const etx_u8_loops* loops, size_t count) {
  const int32_t zero = (int32_t)random_between(0, 255);
  const etx_u8_qparams qparams = {.zero = zero,
                                  .inverse = 1.7f,
                                  .low = (float)-zero,
                                  .high = (float)(255 - zero)};
  const uint8_t* bytes = random_bytes(count, 1);
  const float* floats = random_floats(count, 300);
  float* actual = random_floats(count, 1);
  float* reference = random_floats(count, 1);
  loops->to_floats(bytes, count, zero, 0.37f, actual);
  etx_u8_loops_base.to_floats(bytes, count, zero, 0.37f, reference);
  assert_memory_equal(actual, reference, count * sizeof *actual);
  uint8_t* out = random_bytes(count, 1);
  uint8_t* expected = random_bytes(count, 1);
  loops->to_bytes(floats, count, &qparams, out);
  etx_u8_loops_base.to_bytes(floats, count, &qparams, expected);
  assert_memory_equal(out, expected, count);
  assert_false(loops->has_nan(floats, count));
}

static void check_binary(const etx_u8_loops* loops, size_t count) {
  const int32_t zero = (int32_t)random_between(0, 255);
  const etx_u8_binary_qparams n = {
      {(int32_t)random_between(0, 255), (int32_t)random_between(0, 255)},
      {0.31f, 0.77f},
      zero,
      1.3f,
      (float)-zero,
      (float)(255 - zero)};
  const uint8_t* a = random_bytes(count, 1);
  const uint8_t* b = random_bytes(count, 1);
  const float* factors = random_floats(count, 2);
  const uint8_t* table = random_bytes(256, 1);
  uint8_t* out = random_bytes(count, 1);
  uint8_t* expected = random_bytes(count, 1);
  loops->add(&n, a, b, count, out);
  etx_u8_loops_base.add(&n, a, b, count, expected);
  assert_memory_equal(out, expected, count);
  loops->multiply(&n, a, factors, count, out);
  etx_u8_loops_base.multiply(&n, a, factors, count, expected);
  assert_memory_equal(out, expected, count);
  loops->look_up(table, a, count, out);
  etx_u8_loops_base.look_up(table, a, count, expected);
  assert_memory_equal(out, expected, count);
}

static void check_pooling(const etx_u8_loops* loops, size_t count) {
  const size_t pitch = count + random_between(0, 3),
               columns = random_between(1, 4);
  const uint8_t* in = random_bytes((columns - 1) * pitch + count, 1);
  const uint8_t* const rows[] = {in, in};
  int32_t* sums = random_bytes(count * sizeof *sums, sizeof *sums);
  int32_t* expected = random_bytes(count * sizeof *sums, sizeof *sums);
  memset(sums, 0, count * sizeof *sums);
  memset(expected, 0, count * sizeof *sums);
  loops->add_rows(in, columns, pitch, count, sums);
  etx_u8_loops_base.add_rows(in, columns, pitch, count, expected);
  assert_memory_equal(sums, expected, count * sizeof *sums);
  uint8_t* actual = random_bytes(count, 1);
  uint8_t* best = random_bytes(count, 1);
  memset(actual, 0, count);
  memset(best, 0, count);
  loops->max_of_rows(rows, 2, columns, pitch, count, actual);
  etx_u8_loops_base.max_of_rows(rows, 2, columns, pitch, count, best);
  assert_memory_equal(actual, best, count);
}

static void elementwise_loops_match_the_base_set(void** state) {
  (void)state;
  test_random_start();
  for_each_set(check_conversion, 0, MAX_COUNT);
  for_each_set(check_binary, 0, MAX_COUNT);
  for_each_set(check_pooling, 0, MAX_COUNT);
}

// ------------------------------------------------ sums

static etx_u8_requantize random_requantize(size_t channels) {
  const int32_t zero = (int32_t)random_between(0, 255);
  int32_t* offsets = random_bytes(channels * sizeof *offsets, sizeof *offsets);
  for (size_t c = 0; c < channels; ++c) {
    offsets[c] = (int32_t)test_random_integer(-20000, 20000);
  }
  return (etx_u8_requantize){.offsets = offsets,
                             .scales = random_floats(channels, 0.01f),
                             .bias = random_floats(channels, 9),
                             .low = (float)-zero,
                             .high = (float)(255 - zero),
                             .zero = zero,
                             .is_float = random_between(0, 1) == 1};
}

// Depthwise windows with rows inside and outside of the image.
static void check_depthwise(const etx_u8_loops* loops, size_t round) {
  enum { MAX_ROWS = 8 };
  const size_t channels = random_between(1, MAX_COUNT),
               columns = random_between(1, 12);
  const etx_u8_requantize results = random_requantize(channels);
  const size_t bytes = results.is_float ? sizeof(float) : 1;
  const uint8_t* rows[MAX_ROWS];
  etx_u8_depthwise w = {
      .rows = rows,
      .columns = columns,
      .outside = random_bytes(channels, 1),
      .channels = channels,
      .first = round % 2 == 0 ? 0 : random_between(0, 1) % channels,
      .kernel_y = random_between(1, 5),
      .kernel_x = random_between(1, 5),
      .stride_y = 1,
      .stride_x = random_between(1, 3),
      .dilation_y = 1,
      .dilation_x = random_between(1, 3),
      .padding = test_random_integer(0, 3),
      .results_y = random_between(1, 3),
      .results_x = random_between(1, 9),
      .results = &results};
  w.count = channels - w.first;
  w.weights = random_bytes(w.kernel_y * w.kernel_x * channels, 1);
  for (size_t i = 0; i < w.results_y + w.kernel_y - 1; ++i) {
    rows[i] =
        random_between(0, 3) == 0 ? NULL : random_bytes(columns * channels, 1);
  }
  const size_t size = w.results_y * w.results_x * channels * bytes;
  uint8_t* out = random_bytes(size, bytes);
  uint8_t* expected = random_bytes(size, bytes);
  memcpy(expected, out, size);
  static _Alignas(64) uint8_t tile[ETX_U8_DEPTHWISE_TILE];
  w.out = out;
  w.tile = round % 8 == 7 ? NULL : tile;
  loops->windows(&w);
  w.out = expected;
  etx_u8_loops_base.windows(&w);
  assert_memory_equal(out, expected, size);
}

// Blocks of rows and columns whose sums are complete.
static void check_block(const etx_u8_loops* loops, size_t round) {
  enum { PANEL = ETX_U8_COLUMNS * ETX_U8_INTERLEAVE };
  const size_t columns = random_between(1, ETX_U8_PANELS * ETX_U8_COLUMNS);
  const size_t panels = (columns + ETX_U8_COLUMNS - 1) / ETX_U8_COLUMNS;
  const etx_u8_requantize results = random_requantize(columns);
  const size_t bytes = results.is_float ? sizeof(float) : 1;
  const uint8_t* input[3 * ETX_U8_ROWS];
  int32_t sums[ETX_U8_ROWS * ETX_U8_PANELS * ETX_U8_COLUMNS];
  etx_u8_block b = {.input = input,
                    .pitch = ETX_U8_ROWS,
                    .taps = 1 + round % 3,
                    .fours = random_between(1, 11),
                    .rows = random_between(1, ETX_U8_ROWS),
                    .columns = columns,
                    .sums = sums,
                    .starts = true,
                    .ends = true,
                    .results = &results,
                    .out_row = columns};
  b.panel_bytes = b.taps * b.fours * PANEL;
  b.panels = random_bytes(panels * b.panel_bytes, 1);
  const uint8_t* pieces[] = {random_bytes(b.fours * ETX_U8_INTERLEAVE, 1),
                             random_bytes(b.fours * ETX_U8_INTERLEAVE, 1)};
  for (size_t i = 0; i < 3 * ETX_U8_ROWS; ++i)
    input[i] = pieces[random_between(0, 1)];
  const size_t size = b.rows * columns * bytes;
  uint8_t* out = random_bytes(size, bytes);
  uint8_t* expected = random_bytes(size, bytes);
  b.out = out;
  loops->block(&b);
  b.out = expected;
  etx_u8_loops_base.block(&b);
  assert_memory_equal(out, expected, size);
}

static void convolution_loops_match_the_base_set(void** state) {
  (void)state;
  test_random_start();
  for_each_set(check_depthwise, 0, ROUNDS);
  for_each_set(check_block, 0, ROUNDS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elementwise_loops_match_the_base_set),
      cmocka_unit_test(convolution_loops_match_the_base_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
