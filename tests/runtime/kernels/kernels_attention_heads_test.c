// A few queries of many heads: the bits that each of them has alone, with the
// plain loops, whatever is computed beside it, on every instruction set that
// this machine has.

#include <string.h>

#include "runtime/kernels/attention/attention.h"
#include "runtime/kernels/attention/attention_tile.h"
#include "runtime/kernels/core/convert.h"
#include "tests/support/assert_status.h"
#include "tests/support/test_random.h"
#include "tests/support/test_instruction_sets.h"

enum {
  ROUNDS = 100,
  BATCHES = 2,
  HEADS = 12,
  QUERIES = 12,
  CAPACITY = 140,
  WIDTH = 128,
  ROWS = BATCHES * HEADS,
  CACHE = ROWS * CAPACITY * WIDTH,
};

// Of each side, as floats and as what it has.
static float drawn[CACHE];
static float query[ROWS * QUERIES * WIDTH], key[CACHE], value[CACHE];
static float mask[ROWS * QUERIES * CAPACITY];
static float together[ROWS * QUERIES * WIDTH], alone[ROWS * QUERIES * WIDTH];
static int64_t last[ROWS * QUERIES];
static float temporary[1 << 18] __attribute__((aligned(64)));

static void fill(etx_attention_side* side, void* out, size_t count) {
  test_random_floats(drawn, count, 1);
  etx_convert(side->dtype, out, 1, ETX_DTYPE_FLOAT32, drawn, 1, count);
  side->data = out;
}

// Rows [BATCHES, heads, rows, width], or with heads and rows exchanged.
static etx_attention_side side_of(etx_dtype dtype, size_t heads, size_t rows,
                                  size_t width) {
  const bool is_exchanged = test_random_bits() % 2 == 0;
  const size_t row = is_exchanged ? heads * width : width;
  const size_t head = is_exchanged ? width : rows * width;
  return (etx_attention_side){
      .dtype = dtype,
      .batch = {(ptrdiff_t)(heads * rows * width), (ptrdiff_t)head},
      .repeat = HEADS / heads,
      .row = (ptrdiff_t)row,
      .inner = 1};
}

// The sets above it that a machine does not have are this one again.
static size_t best_set(void) {
  return (size_t)etx_instruction_set_within(ETX_SET_ANY);
}

static etx_attention draw(void) {
  static const etx_dtype types[] = {ETX_DTYPE_FLOAT32, ETX_DTYPE_FLOAT32,
                                    ETX_DTYPE_FLOAT16, ETX_DTYPE_BFLOAT16};
  // Groups of columns that fill a row, overlap or stand alone.
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
                     .hidden = -(double)__builtin_inff()};
  a.query = side_of(dtype, HEADS, a.queries, width);
  a.out = side_of(dtype, HEADS, a.queries, values);
  a.key = side_of(dtype, shared, a.keys, width);
  a.value = side_of(dtype, shared, a.keys, values);
  fill(&a.query, query, ROWS * a.queries * width);
  fill(&a.key, key, BATCHES * shared * a.keys * width);
  fill(&a.value, value, BATCHES * shared * a.keys * values);
  return a;
}

// What rows see: up to a key of their own, or what a mask says, or all.
static void hide(etx_attention* a) {
  const uint32_t way = test_random_bits() % 4;
  if (way == 0) {
    a->mask = side_of(ETX_DTYPE_FLOAT32, HEADS, a->queries, a->keys);
    fill(&a->mask, mask, ROWS * a->queries * a->keys);
    a->has_mask = true;
  }
  if (way == 0 || way == 3) return;
  if (way == 1) a->hidden = -1e9;  // scores are scaled first
  a->last = side_of(ETX_DTYPE_INT64, HEADS, a->queries, 1);
  if (test_random_bits() % 2 == 0) a->last.batch[1] = 0;  // all heads alike
  for (size_t i = 0; i < ROWS * QUERIES; ++i) {
    last[i] = test_random_integer(-1, (int64_t)a->keys + 2);
  }
  a->last.data = last;
}

// Where a row does not look, there is no number: neither key nor value is read
// for it. Another one that shares them may look there.
static void spoil(const etx_attention* a) {
  static const float none = __builtin_nanf("");
  if (a->last.data == NULL || a->queries != 1) return;
  const size_t bytes = etx_dtype_bytes(a->key.dtype);
  for (size_t row = 0; row < ROWS; ++row) {
    const int64_t seen = last[etx_attention_at(a, &a->last, row, 0)] + 1;
    // A row that sees none sees all alike if `hidden` is a number.
    for (size_t k = (size_t)seen; seen > 0 && k < a->keys; ++k) {
      etx_convert(
          a->key.dtype,
          (char*)key + etx_attention_at(a, &a->key, row, k) * (ptrdiff_t)bytes,
          1, ETX_DTYPE_FLOAT32, &none, 0, a->width);
      etx_convert(a->value.dtype,
                  (char*)value +
                      etx_attention_at(a, &a->value, row, k) * (ptrdiff_t)bytes,
                  1, ETX_DTYPE_FLOAT32, &none, 0, a->value_width);
    }
  }
}

static void in_turn(void* context, void (*task)(void*, size_t), void* argument,
                    size_t count) {
  (void)context;
  for (size_t i = 0; i < count; ++i) task(argument, i);
}

static void run(etx_attention a, float* out, size_t threads, size_t set) {
  const etx_parallel parallel = {.parallel_for = in_turn,
                                 .thread_count = threads,
                                 .instruction_set = (etx_instruction_set)set};
  size_t bytes;
  a.out.data = out;
  assert_true(etx_attention_bytes(&a, threads, &bytes));
  assert_true(bytes <= sizeof temporary);
  etx_attention_run(&a, temporary, &parallel);
}

static void move(const etx_attention* a, etx_attention_side* side, size_t batch,
                 size_t row) {
  if (side->data == NULL) return;
  side->data =
      (const char*)side->data + etx_attention_at(a, side, batch, row) *
                                    (ptrdiff_t)etx_dtype_bytes(side->dtype);
}

static void run_one_by_one(const etx_attention* a) {
  for (size_t i = 0; i < ROWS * a->queries; ++i) {
    const size_t batch = i / a->queries, row = i % a->queries;
    const ptrdiff_t out = etx_attention_at(a, &a->out, batch, row) *
                          (ptrdiff_t)etx_dtype_bytes(a->out.dtype);
    etx_attention one = *a;
    move(a, &one.query, batch, row);
    move(a, &one.key, batch, 0);
    move(a, &one.value, batch, 0);
    move(a, &one.mask, batch, row);
    move(a, &one.last, batch, row);
    one.batch_rank = 0;
    one.queries = 1;
    run(one, (float*)(void*)((char*)alone + out), 1, ETX_SET_BASE);
  }
}

static void heads_do_not_depend_on_their_neighbours(void** state) {
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    etx_attention a = draw();
    hide(&a);
    if (a.key.repeat == 1 || a.last.batch[1] == 0) spoil(&a);
    memset(alone, 0, sizeof alone);
    run_one_by_one(&a);
    for (size_t set = ETX_SET_BASE; set <= best_set();
         set = (size_t)test_next_instruction_set((int)set)) {
      memset(together, 0, sizeof together);
      run(a, together, (size_t)test_random_integer(1, 5), set);
      assert_memory_equal(together, alone, sizeof alone);
    }
  }
}

// Rows whose heads end at keys of their own, masks that leave nothing, numbers
// that are none: results are the same for any number of threads.
static void threads_do_not_matter(void** state) {
  static const size_t threads[] = {2, 3, 8};
  static uint8_t kept[ROWS * CAPACITY];
  (void)state;
  test_random_start();
  for (int round = 0; round < ROUNDS; ++round) {
    etx_attention a = draw();
    hide(&a);
    if (!a.has_mask && test_random_bits() % 2 == 0) {
      a.mask = side_of(ETX_DTYPE_BOOL, HEADS, a.queries, a.keys);
      a.mask.data = kept;
      a.has_mask = a.queries == 1;
      for (size_t i = 0; i < sizeof kept; ++i) {
        kept[i] = i / a.keys % 2 == 0 && test_random_bits() % 8 != 0;
      }
    }
    spoil(&a);
    for (size_t set = ETX_SET_BASE; set <= best_set();
         set = (size_t)test_next_instruction_set((int)set)) {
      memset(alone, 0, sizeof alone);
      run(a, alone, 1, set);
      for (size_t i = 0; i < sizeof threads / sizeof threads[0]; ++i) {
        memset(together, 0, sizeof together);
        run(a, together, threads[i], set);
        assert_memory_equal(together, alone, sizeof alone);
      }
    }
  }
}

// The least number there is lies before the first key like any other.
static void the_least_position_sees_nothing(void** state) {
  (void)state;
  test_random_start();
  etx_attention a = draw();
  a.queries = 1;
  a.keys = CAPACITY;
  a.hidden = -1e9;
  a.last = (etx_attention_side){
      .dtype = ETX_DTYPE_INT64, .data = last, .repeat = 1, .inner = 1};
  for (size_t set = ETX_SET_BASE; set <= best_set();
       set = (size_t)test_next_instruction_set((int)set)) {
    memset(alone, 0, sizeof alone);
    memset(together, 0, sizeof together);
    last[0] = -1;
    run(a, alone, 1, set);
    last[0] = INT64_MIN;
    run(a, together, 1, set);
    assert_memory_equal(together, alone, sizeof alone);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(heads_do_not_depend_on_their_neighbours),
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(the_least_position_sees_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
