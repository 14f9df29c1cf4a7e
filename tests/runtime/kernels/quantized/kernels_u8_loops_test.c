// The loops over bytes of every instruction set that this machine has: they
// give what the plain ones give, for every number of elements, and read and
// write nothing behind the last. What they are given ends where a page begins
// that nobody may touch.

#include <string.h>

#include "runtime/kernels/simd/int8/u8_loops.h"
#include "tests/format/fixtures/format_test.h"
#include "tests/support/guarded_memory.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

enum {
  MOST_COUNT = 70,  // elements: some registers and what is left of them
  MOST_BLOCKS = 16,
  ROUNDS = 400,
};

static test_block blocks[MOST_BLOCKS];
static size_t block_count;

// Random bytes that live until end_blocks.
static void* some_bytes(size_t size, size_t alignment) {
  assert_true(block_count < MOST_BLOCKS);
  test_block* block = &blocks[block_count++];
  *block = test_block_new(size, alignment);
  for (size_t i = 0; i < size; ++i) {
    block->bytes.data[i] = (uint8_t)test_random_bits();
  }
  return block->bytes.data;
}

static float* some_floats(size_t count, float scale) {
  float* out = some_bytes(count * sizeof *out, sizeof *out);
  test_random_floats(out, count, scale);
  return out;
}

static void end_blocks(void) {
  while (block_count > 0) assert_true(test_block_end(&blocks[--block_count]));
}

static size_t between(int64_t low, int64_t high) {
  return (size_t)test_random_integer(low, high);
}

// Called with the loops of each set but the plain one.
static void with_sets(void (*check)(const etx_u8_loops* loops, size_t count),
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

static void convert(const etx_u8_loops* loops, size_t count) {
  const int32_t zero = (int32_t)between(0, 255);
  const float low = (float)-zero, high = (float)(255 - zero);
  const uint8_t* bytes = some_bytes(count, 1);
  const float* floats = some_floats(count, 300);
  float* one = some_floats(count, 1);
  float* other = some_floats(count, 1);
  loops->to_floats(bytes, count, zero, 0.37f, one);
  etx_u8_loops_base.to_floats(bytes, count, zero, 0.37f, other);
  assert_memory_equal(one, other, count * sizeof *one);
  uint8_t* out = some_bytes(count, 1);
  uint8_t* wanted = some_bytes(count, 1);
  loops->to_bytes(floats, count, zero, 1.7f, low, high, out);
  etx_u8_loops_base.to_bytes(floats, count, zero, 1.7f, low, high, wanted);
  assert_memory_equal(out, wanted, count);
  assert_false(loops->has_nan(floats, count));
}

static void join(const etx_u8_loops* loops, size_t count) {
  const int32_t zero = (int32_t)between(0, 255);
  const etx_u8_binary_qparams n = {
      {(int32_t)between(0, 255), (int32_t)between(0, 255)},
      {0.31f, 0.77f},
      zero,
      1.3f,
      (float)-zero,
      (float)(255 - zero)};
  const uint8_t* a = some_bytes(count, 1);
  const uint8_t* b = some_bytes(count, 1);
  const float* factors = some_floats(count, 2);
  const uint8_t* table = some_bytes(256, 1);
  uint8_t* out = some_bytes(count, 1);
  uint8_t* wanted = some_bytes(count, 1);
  loops->add(&n, a, b, count, out);
  etx_u8_loops_base.add(&n, a, b, count, wanted);
  assert_memory_equal(out, wanted, count);
  loops->multiply(&n, a, factors, count, out);
  etx_u8_loops_base.multiply(&n, a, factors, count, wanted);
  assert_memory_equal(out, wanted, count);
  loops->look_up(table, a, count, out);
  etx_u8_loops_base.look_up(table, a, count, wanted);
  assert_memory_equal(out, wanted, count);
}

static void pool(const etx_u8_loops* loops, size_t count) {
  const size_t pitch = count + between(0, 3), columns = between(1, 4);
  const uint8_t* in = some_bytes((columns - 1) * pitch + count, 1);
  const uint8_t* const rows[] = {in, in};
  int32_t* sums = some_bytes(count * sizeof *sums, sizeof *sums);
  int32_t* wanted = some_bytes(count * sizeof *sums, sizeof *sums);
  memset(sums, 0, count * sizeof *sums);
  memset(wanted, 0, count * sizeof *sums);
  loops->add_rows(in, columns, pitch, count, sums);
  etx_u8_loops_base.add_rows(in, columns, pitch, count, wanted);
  assert_memory_equal(sums, wanted, count * sizeof *sums);
  uint8_t* most = some_bytes(count, 1);
  uint8_t* best = some_bytes(count, 1);
  memset(most, 0, count);
  memset(best, 0, count);
  loops->max_of_rows(rows, 2, columns, pitch, count, most);
  etx_u8_loops_base.max_of_rows(rows, 2, columns, pitch, count, best);
  assert_memory_equal(most, best, count);
}

static void elements_end_where_they_end(void** state) {
  (void)state;
  test_random_start();
  with_sets(convert, 0, MOST_COUNT);
  with_sets(join, 0, MOST_COUNT);
  with_sets(pool, 0, MOST_COUNT);
}

// ------------------------------------------------ sums

static etx_u8_requantize results_of(size_t channels) {
  const int32_t zero = (int32_t)between(0, 255);
  int32_t* offsets = some_bytes(channels * sizeof *offsets, sizeof *offsets);
  for (size_t c = 0; c < channels; ++c) {
    offsets[c] = (int32_t)test_random_integer(-20000, 20000);
  }
  return (etx_u8_requantize){.offsets = offsets,
                             .scales = some_floats(channels, 0.01f),
                             .bias = some_floats(channels, 9),
                             .low = (float)-zero,
                             .high = (float)(255 - zero),
                             .zero = zero,
                             .is_float = between(0, 1) == 1};
}

// Windows of some channels, whose rows are inside of the image or not.
static void depthwise_planes(const etx_u8_loops* loops, size_t round) {
  enum { MOST_ROWS = 8 };
  const size_t channels = between(1, MOST_COUNT), columns = between(1, 12);
  const etx_u8_requantize results = results_of(channels);
  const size_t bytes = results.is_float ? sizeof(float) : 1;
  const uint8_t* rows[MOST_ROWS];
  etx_u8_depthwise w = {.rows = rows,
                        .columns = columns,
                        .outside = some_bytes(channels, 1),
                        .channels = channels,
                        .first = round % 2 == 0 ? 0 : between(0, 1) % channels,
                        .kernel_y = between(1, 5),
                        .kernel_x = between(1, 5),
                        .stride_y = 1,
                        .stride_x = between(1, 3),
                        .dilation_y = 1,
                        .dilation_x = between(1, 3),
                        .padding = test_random_integer(0, 3),
                        .results_y = between(1, 3),
                        .results_x = between(1, 9),
                        .results = &results};
  w.count = channels - w.first;
  w.weights = some_bytes(w.kernel_y * w.kernel_x * channels, 1);
  for (size_t i = 0; i < w.results_y + w.kernel_y - 1; ++i) {
    rows[i] = between(0, 3) == 0 ? NULL : some_bytes(columns * channels, 1);
  }
  const size_t size = w.results_y * w.results_x * channels * bytes;
  uint8_t* out = some_bytes(size, bytes);
  uint8_t* wanted = some_bytes(size, bytes);
  memcpy(wanted, out, size);
  w.out = out;
  loops->windows(&w);
  w.out = wanted;
  etx_u8_loops_base.windows(&w);
  assert_memory_equal(out, wanted, size);
}

// Blocks of some rows and columns, all of whose sums are here.
static void sum_block(const etx_u8_loops* loops, size_t round) {
  enum { PANEL = ETX_U8_COLUMNS * ETX_U8_INTERLEAVE };
  const size_t columns = between(1, ETX_U8_PANELS * ETX_U8_COLUMNS);
  const size_t panels = (columns + ETX_U8_COLUMNS - 1) / ETX_U8_COLUMNS;
  const etx_u8_requantize results = results_of(columns);
  const size_t bytes = results.is_float ? sizeof(float) : 1;
  const uint8_t* seen[3 * ETX_U8_ROWS];
  int32_t sums[ETX_U8_ROWS * ETX_U8_PANELS * ETX_U8_COLUMNS];
  etx_u8_block b = {.seen = seen,
                    .pitch = ETX_U8_ROWS,
                    .taps = 1 + round % 3,
                    .fours = between(1, 11),
                    .rows = between(1, ETX_U8_ROWS),
                    .columns = columns,
                    .sums = sums,
                    .starts = true,
                    .ends = true,
                    .results = &results,
                    .out_row = columns};
  b.panel_bytes = b.taps * b.fours * PANEL;
  b.panels = some_bytes(panels * b.panel_bytes, 1);
  const uint8_t* pieces[] = {some_bytes(b.fours * ETX_U8_INTERLEAVE, 1),
                             some_bytes(b.fours * ETX_U8_INTERLEAVE, 1)};
  for (size_t i = 0; i < 3 * ETX_U8_ROWS; ++i) seen[i] = pieces[between(0, 1)];
  const size_t size = b.rows * columns * bytes;
  uint8_t* out = some_bytes(size, bytes);
  uint8_t* wanted = some_bytes(size, bytes);
  b.out = out;
  loops->block(&b);
  b.out = wanted;
  etx_u8_loops_base.block(&b);
  assert_memory_equal(out, wanted, size);
}

static void sums_see_what_there_is(void** state) {
  (void)state;
  test_random_start();
  with_sets(depthwise_planes, 0, ROUNDS);
  with_sets(sum_block, 0, ROUNDS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_end_where_they_end),
      cmocka_unit_test(sums_see_what_there_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
