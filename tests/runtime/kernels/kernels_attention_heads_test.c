// Attention of a few queries of many heads, as in decoding: each row has the
// same bits as when it is computed alone with the base instruction set. Tested
// on every instruction set of this machine.

#include <string.h>

#include "runtime/kernels/attention/attention.h"
#include "runtime/kernels/attention/attention_tile.h"
#include "runtime/kernels/core/convert.h"
#include "tests/support/assert_status.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

enum {
  ROUNDS = TEST_ROUNDS(100),
  BATCHES = 2,
  HEADS = 12,
  QUERIES = 12,
  CAPACITY = 140,
  WIDTH = 128,
  ROWS = BATCHES * HEADS,
  CACHE = ROWS * CAPACITY * WIDTH,
};

// Random floats before they are converted to an operand's type.
static float random[CACHE];
static float query[ROWS * QUERIES * WIDTH], key[CACHE], value[CACHE];
static float mask[ROWS * QUERIES * CAPACITY];
static float batched[ROWS * QUERIES * WIDTH], single[ROWS * QUERIES * WIDTH];
static int64_t last[ROWS * QUERIES];
static float temporary[1 << 18] __attribute__((aligned(64)));

static void fill(etx_attention_view* operand, void* out, size_t count) {
  test_random_floats(random, count, 1);
  etx_convert(operand->dtype, out, 1, ETX_DTYPE_FLOAT32, random, 1, count);
  operand->data = out;
}

// An operand [BATCHES, heads, rows, width], or [BATCHES, rows, heads, width] in
// memory.
static etx_attention_view random_operand(etx_dtype dtype, size_t heads,
                                         size_t rows, size_t width) {
  const bool is_exchanged = test_random_bits() % 2 == 0;
  const size_t row = is_exchanged ? heads * width : width;
  const size_t head = is_exchanged ? width : rows * width;
  return (etx_attention_view){
      .dtype = dtype,
      .batch = {(ptrdiff_t)(heads * rows * width), (ptrdiff_t)head},
      .repeat = HEADS / heads,
      .row = (ptrdiff_t)row,
      .inner = 1};
}

// The best instruction set of this machine.
static size_t best_set(void) {
  return (size_t)etx_instruction_set_within(ETX_SET_ANY);
}

static etx_attention random_attention(void) {
  static const etx_dtype types[] = {ETX_DTYPE_FLOAT32, ETX_DTYPE_FLOAT32,
                                    ETX_DTYPE_FLOAT16, ETX_DTYPE_BFLOAT16};
  // Widths whose groups of 16 columns fill a row, overlap, or are incomplete.
  static const size_t widths[] = {16, 20, 48, 64, 64, 128,
                                  1,  7,  12, 30, 41, 72};
  static const size_t groups[] = {HEADS, HEADS, 4, 1};
  static const size_t counts[] = {1, 1, 1, 2, 7, QUERIES};
  const etx_dtype dtype = types[test_random_bits() % 4];
  const size_t width = widths[test_random_bits() % 12];
  const size_t values = widths[test_random_bits() % 12];
  const size_t shared = groups[test_random_bits() % 4];
  etx_attention a = {.batch_rank = 2,
                     .batch = {BATCHES, HEADS},
                     .queries = counts[test_random_bits() % 6],
                     .keys = (size_t)test_random_integer(1, CAPACITY),
                     .width = width,
                     .value_width = values,
                     .scale = 0.25,
                     .cap = test_random_bits() % 4 == 0 ? 0.75 : 0,
                     .masked_score = -(double)__builtin_inff()};
  a.query = random_operand(dtype, HEADS, a.queries, width);
  a.out = random_operand(dtype, HEADS, a.queries, values);
  a.key = random_operand(dtype, shared, a.keys, width);
  a.value = random_operand(dtype, shared, a.keys, values);
  fill(&a.query, query, ROWS * a.queries * width);
  fill(&a.key, key, BATCHES * shared * a.keys * width);
  fill(&a.value, value, BATCHES * shared * a.keys * values);
  return a;
}

// Limits the visible keys by a mask, by a last key for each row, or not at all.
static void limit_visible_keys(etx_attention* a) {
  const uint32_t kind = test_random_bits() % 4;
  if (kind == 0) {
    a->mask = random_operand(ETX_DTYPE_FLOAT32, HEADS, a->queries, a->keys);
    fill(&a->mask, mask, ROWS * a->queries * a->keys);
    a->has_mask = true;
  }
  if (kind == 0 || kind == 3) return;
  if (kind == 1) a->masked_score = -1e9;  // scores are scaled before the mask
  a->last_key = random_operand(ETX_DTYPE_INT64, HEADS, a->queries, 1);
  if (test_random_bits() % 2 == 0)
    a->last_key.batch[1] = 0;  // equal for all heads
  for (size_t i = 0; i < ROWS * QUERIES; ++i) {
    last[i] = test_random_integer(-1, (int64_t)a->keys + 2);
  }
  a->last_key.data = last;
}

// Writes NaN to the keys and values that a row does not see, to prove that they
// are not read. Only for keys that no other row sees.
static void write_nan_to_hidden_keys(const etx_attention* a) {
  static const float none = __builtin_nanf("");
  if (a->last_key.data == NULL || a->queries != 1) return;
  const size_t bytes = etx_dtype_bytes(a->key.dtype);
  for (size_t row = 0; row < ROWS; ++row) {
    const int64_t visible =
        last[etx_attention_row_offset(a, &a->last_key, row, 0)] + 1;
    // If masked_score is finite, a row that sees no key gives all keys the same
    // weight.
    for (size_t k = (size_t)visible; visible > 0 && k < a->keys; ++k) {
      etx_convert(a->key.dtype,
                  (char*)key + etx_attention_row_offset(a, &a->key, row, k) *
                                   (ptrdiff_t)bytes,
                  1, ETX_DTYPE_FLOAT32, &none, 0, a->width);
      etx_convert(
          a->value.dtype,
          (char*)value +
              etx_attention_row_offset(a, &a->value, row, k) * (ptrdiff_t)bytes,
          1, ETX_DTYPE_FLOAT32, &none, 0, a->value_width);
    }
  }
}

static void run_serially(void* context, void (*task)(void*, size_t),
                         void* argument, size_t count) {
  (void)context;
  for (size_t i = 0; i < count; ++i) task(argument, i);
}

static void run(etx_attention a, float* out, size_t threads, size_t set) {
  const etx_parallel parallel = {.parallel_for = run_serially,
                                 .thread_count = threads,
                                 .instruction_set = (etx_instruction_set)set};
  size_t bytes;
  a.out.data = out;
  assert_true(etx_attention_bytes(&a, threads, &bytes));
  assert_true(bytes <= sizeof temporary);
  etx_attention_run(&a, temporary, &parallel);
}

static void advance_to(const etx_attention* a, etx_attention_view* operand,
                       size_t batch, size_t row) {
  if (operand->data == NULL) return;
  operand->data = (const char*)operand->data +
                  etx_attention_row_offset(a, operand, batch, row) *
                      (ptrdiff_t)etx_dtype_bytes(operand->dtype);
}

static void run_rows_singly(const etx_attention* a) {
  for (size_t i = 0; i < ROWS * a->queries; ++i) {
    const size_t batch = i / a->queries, row = i % a->queries;
    const ptrdiff_t out = etx_attention_row_offset(a, &a->out, batch, row) *
                          (ptrdiff_t)etx_dtype_bytes(a->out.dtype);
    etx_attention one = *a;
    advance_to(a, &one.query, batch, row);
    advance_to(a, &one.key, batch, 0);
    advance_to(a, &one.value, batch, 0);
    advance_to(a, &one.mask, batch, row);
    advance_to(a, &one.last_key, batch, row);
    one.batch_rank = 0;
    one.queries = 1;
    run(one, (float*)(void*)((char*)single + out), 1, ETX_SET_BASE);
  }
}

static void a_head_gives_the_same_bits_alone_and_in_a_batch(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    etx_attention a = random_attention();
    limit_visible_keys(&a);
    if (a.key.repeat == 1 || a.last_key.batch[1] == 0)
      write_nan_to_hidden_keys(&a);
    memset(single, 0, sizeof single);
    run_rows_singly(&a);
    for (size_t set = ETX_SET_BASE; set <= best_set();
         set = (size_t)test_next_instruction_set((int)set)) {
      memset(batched, 0, sizeof batched);
      run(a, batched, (size_t)test_random_integer(1, 5), set);
      assert_memory_equal(batched, single, sizeof single);
    }
  }
}

// With last keys that differ between heads, masks that hide all keys, and NaN,
// results are the same for any number of threads.
static void results_do_not_depend_on_thread_count(void** state) {
  static const size_t threads[] = {2, 3, 8};
  static uint8_t kept[ROWS * CAPACITY];
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    etx_attention a = random_attention();
    limit_visible_keys(&a);
    if (!a.has_mask && test_random_bits() % 2 == 0) {
      a.mask = random_operand(ETX_DTYPE_BOOL, HEADS, a.queries, a.keys);
      a.mask.data = kept;
      a.has_mask = a.queries == 1;
      for (size_t i = 0; i < sizeof kept; ++i) {
        kept[i] = i / a.keys % 2 == 0 && test_random_bits() % 8 != 0;
      }
    }
    write_nan_to_hidden_keys(&a);
    for (size_t set = ETX_SET_BASE; set <= best_set();
         set = (size_t)test_next_instruction_set((int)set)) {
      memset(single, 0, sizeof single);
      run(a, single, 1, set);
      for (size_t i = 0; i < sizeof threads / sizeof threads[0]; ++i) {
        memset(batched, 0, sizeof batched);
        run(a, batched, threads[i], set);
        assert_memory_equal(batched, single, sizeof single);
      }
    }
  }
}

// INT64_MIN as the last key means the same as -1.
static void int64_min_as_last_key_hides_all_keys(void** state) {
  (void)state;
  test_random_start();
  etx_attention a = random_attention();
  a.queries = 1;
  a.keys = CAPACITY;
  a.masked_score = -1e9;
  a.last_key = (etx_attention_view){
      .dtype = ETX_DTYPE_INT64, .data = last, .repeat = 1, .inner = 1};
  for (size_t set = ETX_SET_BASE; set <= best_set();
       set = (size_t)test_next_instruction_set((int)set)) {
    memset(single, 0, sizeof single);
    memset(batched, 0, sizeof batched);
    last[0] = -1;
    run(a, single, 1, set);
    last[0] = INT64_MIN;
    run(a, batched, 1, set);
    assert_memory_equal(batched, single, sizeof single);
  }
}

// ------------------------------------------------ long caches

enum {
  LONG_HEADS = 40,  // more than a tile has
  SHARED = 5,       // caches that they share
  LONG_WIDTH = 64,
  SHARED_KEYS = 2100,  // so many that float16 is prefetched, too
  OWN_KEYS = 1030,     // the same where each head has a cache
  LONG_ROWS = LONG_HEADS * OWN_KEYS,
};
static float long_key[LONG_ROWS * LONG_WIDTH];
static float long_value[LONG_ROWS * LONG_WIDTH];

// Rows of all heads side by side, or heads one after the other.
static etx_attention_view long_operand(etx_dtype dtype, size_t heads,
                                       size_t rows, bool is_exchanged) {
  const size_t row = is_exchanged ? heads * LONG_WIDTH : LONG_WIDTH;
  const size_t head = is_exchanged ? LONG_WIDTH : rows * LONG_WIDTH;
  return (etx_attention_view){.dtype = dtype,
                              .batch = {(ptrdiff_t)head},
                              .repeat = LONG_HEADS / heads,
                              .row = (ptrdiff_t)row,
                              .inner = 1};
}

static void fill_long(etx_attention_view* operand, float* out, size_t count) {
  static float floats[LONG_ROWS * LONG_WIDTH];
  test_random_floats(floats, count, 1);
  etx_convert(operand->dtype, out, 1, ETX_DTYPE_FLOAT32, floats, 1, count);
  operand->data = out;
}

static etx_attention long_attention(etx_dtype dtype, size_t caches,
                                    bool is_exchanged) {
  const size_t keys = caches == SHARED ? SHARED_KEYS : OWN_KEYS;
  etx_attention a = {.batch_rank = 1,
                     .batch = {LONG_HEADS},
                     .queries = 1,
                     .keys = keys,
                     .width = LONG_WIDTH,
                     .value_width = LONG_WIDTH,
                     .scale = 0.25,
                     .masked_score = -(double)__builtin_inff(),
                     .query = long_operand(dtype, LONG_HEADS, 1, false),
                     .key = long_operand(dtype, caches, keys, is_exchanged),
                     .value = long_operand(dtype, caches, keys, is_exchanged),
                     .out = long_operand(dtype, LONG_HEADS, 1, false)};
  fill_long(&a.query, query, (size_t)LONG_HEADS * LONG_WIDTH);
  fill_long(&a.key, long_key, caches * keys * LONG_WIDTH);
  fill_long(&a.value, long_value, caches * keys * LONG_WIDTH);
  return a;
}

static void run_heads_singly(const etx_attention* a) {
  for (size_t i = 0; i < LONG_HEADS; ++i) {
    const ptrdiff_t out = etx_attention_row_offset(a, &a->out, i, 0) *
                          (ptrdiff_t)etx_dtype_bytes(a->out.dtype);
    etx_attention one = *a;
    advance_to(a, &one.query, i, 0);
    advance_to(a, &one.key, i, 0);
    advance_to(a, &one.value, i, 0);
    one.batch_rank = 0;
    run(one, (float*)(void*)((char*)single + out), 1, ETX_SET_BASE);
  }
}

// More heads than a tile has. Their caches, some of which are shared, are read
// ahead.
static void heads_of_long_caches_give_the_same_bits(void** state) {
  static const etx_dtype types[] = {ETX_DTYPE_FLOAT32, ETX_DTYPE_FLOAT16,
                                    ETX_DTYPE_BFLOAT16};
  static const size_t threads[] = {1, 2, 3};
  (void)state;
  test_random_start();
  for (size_t i = 0; i < 2 * sizeof types / sizeof types[0]; ++i) {
    const etx_attention a =
        long_attention(types[i / 2], i % 2 == 0 ? SHARED : LONG_HEADS, i != 2);
    memset(single, 0, sizeof single);
    run_heads_singly(&a);
    for (size_t k = 0; k < sizeof threads / sizeof threads[0]; ++k) {
      memset(batched, 0, sizeof batched);
      run(a, batched, threads[k], best_set());
      assert_memory_equal(batched, single, sizeof single);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_head_gives_the_same_bits_alone_and_in_a_batch),
      cmocka_unit_test(results_do_not_depend_on_thread_count),
      cmocka_unit_test(int64_min_as_last_key_hides_all_keys),
      cmocka_unit_test(heads_of_long_caches_give_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
