// Attention and KV caches: properties that the recorded vectors of tests/ops do
// not cover, such as independence of threads, and refusals.

#include <math.h>
#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"
#include "tests/support/assert_message.h"

static etx_diag diag;

enum { HEADS = 3, QUERIES = 21, KEYS = 130, WIDTH = 40 };

static float query[HEADS * QUERIES * WIDTH], key[HEADS * KEYS * WIDTH];
static float value[HEADS * KEYS * WIDTH], mask[QUERIES * KEYS];
static uint16_t halves[3][HEADS * KEYS * WIDTH];

static float infinity(void) {
  const uint32_t bits = 0x7f800000;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void fill_operands(void) {
  test_random_floats(query, sizeof query / sizeof *query, 1);
  test_random_floats(key, sizeof key / sizeof *key, 1);
  test_random_floats(value, sizeof value / sizeof *value, 1);
  test_random_floats(mask, sizeof mask / sizeof *mask, 1);
  for (size_t i = 0; i < 3; ++i) {
    for (size_t k = 0; k < HEADS * KEYS * WIDTH; ++k) {
      halves[i][k] = (uint16_t)(test_random_bits() & 0xbbff);  // below 1
    }
  }
}

static void add_sdpa_options(test_call* c, bool is_causal) {
  test_call_real(c, 0);
  test_call_boolean(c, is_causal);
  test_call_none(c);
  test_call_boolean(c, false);
}

static void run_attention(test_call* c, etx_dtype dtype, bool is_causal,
                          size_t threads) {
  static const int32_t short_sizes[] = {1, HEADS, QUERIES, WIDTH};
  static const int32_t long_sizes[] = {1, HEADS, KEYS, WIDTH};
  const bool is_half = dtype != ETX_DTYPE_FLOAT32;
  const void* const data[] = {is_half ? (void*)halves[0] : query,
                              is_half ? (void*)halves[1] : key,
                              is_half ? (void*)halves[2] : value};
  test_call_begin(c, "etx::scaled_dot_product_attention.out");
  c->threads = threads;
  for (size_t i = 0; i < 3; ++i) {
    test_call_tensor(c, dtype, 4, i == 0 ? short_sizes : long_sizes, NULL,
                     data[i]);
  }
  if (is_causal) {
    test_call_none(c);
  } else {
    test_call_floats(c, 2, (const int32_t[]){QUERIES, KEYS}, mask);
  }
  add_sdpa_options(c, is_causal);
  assert_ok(test_call_run(c, dtype));
}

static void results_do_not_depend_on_thread_count(void** state) {
  (void)state;
  static const etx_dtype types[] = {ETX_DTYPE_FLOAT32, ETX_DTYPE_FLOAT16,
                                    ETX_DTYPE_BFLOAT16};
  fill_operands();
  for (size_t i = 0; i < 6; ++i) {
    test_call one;
    run_attention(&one, types[i / 2], i % 2 == 1, 1);
    for (size_t threads = 2; threads < 6; ++threads) {
      test_call many;
      run_attention(&many, types[i / 2], i % 2 == 1, threads);
      assert_memory_equal(test_call_result(&one, 0)->data,
                          test_call_result(&many, 0)->data,
                          etx_tensor_bytes(test_call_result(&one, 0)));
      test_call_end(&many);
    }
    test_call_end(&one);
  }
}

// The rows of a tile have the same bits as when they are computed one by one.
static void a_row_gives_the_same_bits_alone_and_in_a_tile(void** state) {
  (void)state;
  test_call all;
  fill_operands();
  run_attention(&all, ETX_DTYPE_FLOAT32, false, 1);
  const float* together = test_call_result(&all, 0)->data;
  for (size_t row = 0; row < HEADS * QUERIES; ++row) {
    const size_t head = row / QUERIES;
    test_call c;
    test_call_begin(&c, "etx::scaled_dot_product_attention.out");
    test_call_floats(&c, 2, (const int32_t[]){1, WIDTH}, query + row * WIDTH);
    test_call_floats(&c, 2, (const int32_t[]){KEYS, WIDTH},
                     key + head * KEYS * WIDTH);
    test_call_floats(&c, 2, (const int32_t[]){KEYS, WIDTH},
                     value + head * KEYS * WIDTH);
    test_call_floats(&c, 2, (const int32_t[]){1, KEYS},
                     mask + row % QUERIES * KEYS);
    add_sdpa_options(&c, false);
    assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
    assert_memory_equal(test_call_result(&c, 0)->data, together + row * WIDTH,
                        WIDTH * sizeof(float));
    test_call_end(&c);
  }
  test_call_end(&all);
}

enum { CAUSAL_ROWS = 420, KEY_HEADS = 2, HEADS_PER_GROUP = 2, MAX_WIDTH = 80 };

// Row `row` of causal attention, in doubles.
static void reference_row(const float* q, const float* k, const float* v,
                          size_t row, size_t width, double* out) {
  double sum = 0, largest = -1e300, scores[CAUSAL_ROWS];
  for (size_t i = 0; i <= row; ++i) {
    scores[i] = 0;
    for (size_t d = 0; d < width; ++d) {
      scores[i] += (double)q[row * width + d] * (double)k[i * width + d];
    }
    scores[i] /= sqrt((double)width);
    if (scores[i] > largest) largest = scores[i];
  }
  for (size_t d = 0; d < width; ++d) out[d] = 0;
  for (size_t i = 0; i <= row; ++i) {
    const double weight = exp(scores[i] - largest);
    sum += weight;
    for (size_t d = 0; d < width; ++d) {
      out[d] += weight * (double)v[i * width + d];
    }
  }
  for (size_t d = 0; d < width; ++d) out[d] /= sum;
}

// More rows than fit a tile, with two heads per key head. Tiles share
// transposed key blocks and see different numbers of keys; how many tiles share
// a block depends on the number of threads. Keys of width 80 are transposed in
// two steps; widths 24, 41 and 6 need accumulators outside the result.
static void causal_tiles_that_share_a_key_block_match_the_reference(
    void** state) {
  (void)state;
  enum { ALL = KEY_HEADS * HEADS_PER_GROUP * CAUSAL_ROWS * MAX_WIDTH };
  static float q[ALL], k[ALL], v[ALL], first[ALL];
  static const int32_t widths[] = {48, 80, 24, 41, 6};
  test_random_floats(q, ALL, 3);
  test_random_floats(k, ALL, 3);
  test_random_floats(v, ALL, 1);
  for (size_t i = 0; i < TEST_ROUNDS(sizeof widths / sizeof *widths); ++i) {
    const size_t width = (size_t)widths[i], head = CAUSAL_ROWS * width;
    const size_t bytes = KEY_HEADS * HEADS_PER_GROUP * head * sizeof(float);
    const int32_t heads[] = {1, KEY_HEADS * HEADS_PER_GROUP, CAUSAL_ROWS,
                             widths[i]};
    const int32_t groups[] = {1, KEY_HEADS, CAUSAL_ROWS, widths[i]};
    for (size_t threads = 1; threads < 6; ++threads) {
      test_call c;
      test_call_begin(&c, "etx::scaled_dot_product_attention.out");
      c.threads = threads;
      test_call_floats(&c, 4, heads, q);
      test_call_floats(&c, 4, groups, k);
      test_call_floats(&c, 4, groups, v);
      test_call_none(&c);
      test_call_real(&c, 0);
      test_call_boolean(&c, true);  // causal
      test_call_none(&c);
      test_call_boolean(&c, true);  // enable_gqa
      assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
      const float* got = test_call_result(&c, 0)->data;
      if (threads == 1) memcpy(first, got, bytes);
      assert_memory_equal(got, first, bytes);
      test_call_end(&c);
    }
    for (size_t at = 0; at < KEY_HEADS * HEADS_PER_GROUP * CAUSAL_ROWS;
         at += 7) {
      double expected[MAX_WIDTH];
      const size_t h = at / CAUSAL_ROWS, group = h / HEADS_PER_GROUP;
      reference_row(q + h * head, k + group * head, v + group * head,
                    at % CAUSAL_ROWS, width, expected);
      for (size_t d = 0; d < width; ++d) {
        assert_true(fabs((double)first[at * width + d] - expected[d]) < 2e-5);
      }
    }
  }
}

// Whole key blocks that are masked, before and after one that is not.
static void fully_masked_key_blocks_are_skipped(void** state) {
  (void)state;
  test_call c;
  fill_operands();
  for (size_t i = 0; i < QUERIES * KEYS; ++i) {
    const size_t at = i % KEYS;
    mask[i] = at >= 70 && at < 74 ? 0 : -infinity();
  }
  for (size_t i = 0; i < HEADS * KEYS * WIDTH; ++i) value[i] = 3;
  run_attention(&c, ETX_DTYPE_FLOAT32, false, 1);
  const float* got = test_call_result(&c, 0)->data;
  for (size_t i = 0; i < HEADS * QUERIES * WIDTH; ++i) {
    assert_true(got[i] > 2.99999f && got[i] < 3.00001f);
  }
  test_call_end(&c);
}

static void attention_over_no_keys_gives_zeros(void** state) {
  (void)state;
  test_call c;
  fill_operands();
  test_call_begin(&c, "etx::scaled_dot_product_attention.out");
  test_call_floats(&c, 2, (const int32_t[]){QUERIES, WIDTH}, query);
  test_call_floats(&c, 2, (const int32_t[]){0, WIDTH}, key);
  test_call_floats(&c, 2, (const int32_t[]){0, WIDTH}, value);
  test_call_none(&c);
  add_sdpa_options(&c, true);
  assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
  const float* got = test_call_result(&c, 0)->data;
  for (size_t i = 0; i < QUERIES * WIDTH; ++i) assert_true(got[i] == 0);
  test_call_end(&c);
}

// ------------------------------------------------ caches

static etx_status update(test_call* c, int64_t start, int64_t first_index) {
  const bool is_indexed = first_index != INT64_MAX;
  const int64_t indices[2] = {first_index, 1};
  test_call_begin(c, is_indexed ? "llama::update_cache_with_indices.out"
                                : "llama::update_cache.out");
  test_call_floats(c, 4, (const int32_t[]){1, 2, 1, 4}, key);
  test_call_floats(c, 4, (const int32_t[]){1, 6, 1, 4}, value);
  test_call_integer(c, start);
  if (is_indexed) {
    test_call_tensor(c, ETX_DTYPE_INT64, 2, (const int32_t[]){1, 2}, NULL,
                     indices);
  }
  return test_call_run(c, TEST_CALL_RULE_DTYPE);
}

// A start position or an index outside of the cache is refused, and the cache
// keeps its content.
static void a_refused_update_leaves_the_cache_unchanged(void** state) {
  (void)state;
  static const int64_t starts[] = {-1,        5,         6,
                                   INT64_MIN, INT64_MAX, (int64_t)1 << 32};
  fill_operands();
  for (size_t i = 0; i < 2 * sizeof starts / sizeof *starts; ++i) {
    const bool is_indexed = i % 2 == 1;
    // Index 5 is the last one.
    const int64_t index = starts[i / 2] == 5 ? 6 : starts[i / 2];
    test_call c;
    assert_int_not_equal(is_indexed
                             ? update(&c, 0, index - (index == INT64_MAX))
                             : update(&c, starts[i / 2], INT64_MAX),
                         ETX_OK);
    assert_memory_equal(c.values[1].as.tensor.data, value, 24 * sizeof(float));
    test_call_end(&c);
  }
}

static void kv_update_may_write_in_place(void** state) {
  (void)state;
  float expected[24];
  test_call c;
  fill_operands();
  memcpy(expected, value, sizeof expected);
  memcpy(expected + 8, key, 8 * sizeof(float));
  test_call_begin(&c, "etx::kv_update.out");
  etx_tensor* cache = test_call_floats(&c, 2, (const int32_t[]){6, 4}, value);
  test_call_floats(&c, 2, (const int32_t[]){2, 4}, key);
  test_call_integer(&c, 0);
  test_call_integer(&c, 2);
  test_call_floats(&c, 2, (const int32_t[]){6, 4}, value)->data = cache->data;
  static const etx_parallel none = {.thread_count = 1};
  for (size_t i = 0; i < c.count; ++i) c.arguments[i] = &c.values[i];
  c.call = (etx_call){.op = c.op,
                      .arguments = c.arguments,
                      .argument_count = c.count,
                      .parallel = &none,
                      .diag = &c.diag};
  assert_ok(etx_kernel_find(&etx_all_kernels, c.op->id)->prepare(&c.call));
  assert_ok(c.call.run(&c.call));
  assert_memory_equal(cache->data, expected, sizeof expected);
  test_call_end(&c);
}

// ------------------------------------------------ etx::attention

enum {
  BATCH = 2,
  GROUPS = 2,
  GROUP_HEADS = 3,
  ROWS = 9,
  KEY_ROWS = 130,
  WIDE = 20
};

// The random elements of all operands.
static float elements[BATCH * GROUPS * GROUP_HEADS * KEY_ROWS * WIDE];

// Adds an operand [BATCH, heads, rows, WIDE] whose dimension i is dimension
// order[i] in memory.
static void add_permuted(test_call* c, int32_t heads, int32_t rows,
                         const int64_t order[4], size_t from) {
  const int32_t sizes[] = {BATCH, heads, rows, WIDE};
  static float moved[BATCH * GROUPS * GROUP_HEADS * KEY_ROWS * WIDE];
  int32_t stored[4], strides[4] = {1, 1, 1, 1};
  for (size_t i = 0; i < 4; ++i) stored[order[i]] = sizes[i];
  for (size_t i = 3; i-- > 0;) strides[i] = strides[i + 1] * stored[i + 1];
  const size_t count = (size_t)(BATCH * heads * rows * WIDE);
  for (size_t i = 0; i < count; ++i) {
    size_t rest = i, at = 0;
    for (size_t d = 4; d-- > 0; rest /= (size_t)sizes[d]) {
      at += rest % (size_t)sizes[d] * (size_t)strides[order[d]];
    }
    moved[at] = elements[(from + i) % (sizeof elements / sizeof *elements)];
  }
  test_call_floats(c, 4, stored, moved);
}

// The options of etx::attention that follow the permutations.
typedef struct attention_options {
  double masked_score;
  bool is_causal, is_guarded;
} attention_options;

static void run_permuted(test_call* c, const int64_t orders[4][4],
                         const float* own_mask, const int64_t* last,
                         attention_options r, size_t threads) {
  test_call_begin(c, "etx::attention.out");
  c->threads = threads;
  add_permuted(c, GROUPS * GROUP_HEADS, ROWS, orders[0], 0);
  add_permuted(c, GROUPS, KEY_ROWS, orders[1], 7);
  add_permuted(c, GROUPS, KEY_ROWS, orders[2], 13);
  if (own_mask == NULL) {
    test_call_none(c);
  } else {
    test_call_floats(c, 2, (const int32_t[]){ROWS, KEY_ROWS}, own_mask);
  }
  if (last == NULL) {
    test_call_none(c);
  } else {
    test_call_tensor(c, ETX_DTYPE_INT64, 2, (const int32_t[]){ROWS, 1}, NULL,
                     last);
  }
  for (size_t i = 0; i < 4; ++i) test_call_integers(c, 4, orders[i]);
  test_call_real(c, 0.25);
  test_call_real(c, r.masked_score);
  test_call_boolean(c, r.is_causal);
  test_call_boolean(c, r.is_guarded);
  assert_ok(test_call_run(c, ETX_DTYPE_FLOAT32));
}

// The same attention by scaled_dot_product_attention, without permutations.
static void run_sdpa(test_call* c, const float* own_mask) {
  static const int64_t identity[] = {0, 1, 2, 3};
  test_call_begin(c, "etx::scaled_dot_product_attention.out");
  add_permuted(c, GROUPS * GROUP_HEADS, ROWS, identity, 0);
  add_permuted(c, GROUPS, KEY_ROWS, identity, 7);
  add_permuted(c, GROUPS, KEY_ROWS, identity, 13);
  test_call_floats(c, 2, (const int32_t[]){ROWS, KEY_ROWS}, own_mask);
  test_call_real(c, 0);
  test_call_boolean(c, false);
  test_call_real(c, 0.25);
  test_call_boolean(c, true);
  assert_ok(test_call_run(c, ETX_DTYPE_FLOAT32));
}

// The position in memory of element i of a result [BATCH, heads, ROWS, WIDE]
// that is permuted by `order`.
static size_t stored_at(size_t i, const int64_t order[4]) {
  const size_t sizes[] = {BATCH, GROUPS * GROUP_HEADS, ROWS, WIDE};
  size_t stored[4], strides[4] = {1, 1, 1, 1}, at = 0;
  for (size_t d = 0; d < 4; ++d) stored[order[d]] = sizes[d];
  for (size_t d = 3; d-- > 0;) strides[d] = strides[d + 1] * stored[d + 1];
  for (size_t d = 4; d-- > 0; i /= sizes[d]) {
    at += i % sizes[d] * strides[order[d]];
  }
  return at;
}

static void assert_same_result(test_call* plain, test_call* ordered,
                               const int64_t order[4]) {
  const float* expected = test_call_result(plain, 0)->data;
  const float* got = test_call_result(ordered, 0)->data;
  for (size_t i = 0; i < BATCH * GROUPS * GROUP_HEADS * ROWS * WIDE; ++i) {
    const size_t at = stored_at(i, order);
    assert_memory_equal(&got[at], &expected[i], sizeof(float));
  }
}

// The last key of each row, and the same limit as a mask.
static int64_t last_keys[ROWS];
static float last_mask[ROWS * KEY_ROWS];

static void fill_permuted(void) {
  test_random_floats(elements, sizeof elements / sizeof *elements, 1);
  for (size_t r = 0; r < ROWS; ++r) {
    last_keys[r] = (int64_t)(test_random_bits() % (KEY_ROWS + 20));
    for (size_t k = 0; k < KEY_ROWS; ++k) {
      last_mask[r * KEY_ROWS + k] =
          (int64_t)k <= last_keys[r] ? 0 : -infinity();
    }
  }
}

static void permuted_operands_give_the_same_bits(void** state) {
  (void)state;
  static const int64_t orders[][4][4] = {
      {{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}},
      {{0, 2, 1, 3}, {0, 2, 1, 3}, {0, 2, 1, 3}, {0, 2, 1, 3}},
      {{1, 2, 0, 3}, {0, 1, 3, 2}, {3, 2, 1, 0}, {1, 2, 0, 3}},
      {{3, 1, 2, 0}, {2, 1, 0, 3}, {0, 1, 3, 2}, {2, 3, 0, 1}},
  };
  fill_permuted();
  test_random_floats(mask, ROWS * KEY_ROWS, 1);
  test_call plain, bounded;
  run_sdpa(&plain, mask);
  run_sdpa(&bounded, last_mask);
  for (size_t i = 0; i < sizeof orders / sizeof *orders; ++i) {
    for (size_t threads = 1; threads < 4; ++threads) {
      test_call c;
      const attention_options r = {-infinity(), false, true};
      run_permuted(&c, orders[i], mask, NULL, r, threads);
      assert_same_result(&plain, &c, orders[i][3]);
      test_call_end(&c);
      run_permuted(&c, orders[i], NULL, last_keys, r, threads);
      assert_same_result(&bounded, &c, orders[i][3]);
      test_call_end(&c);
      // A finite masked score this low gives a weight of zero, too.
      run_permuted(&c, orders[i], NULL, last_keys,
                   (attention_options){-1e9, false, false}, threads);
      assert_same_result(&bounded, &c, orders[i][3]);
      test_call_end(&c);
    }
  }
  test_call_end(&plain);
  test_call_end(&bounded);
}

static void a_row_without_keys_gives_nan_zero_or_the_mean(void** state) {
  (void)state;
  static const int64_t orders[4][4] = {
      {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}};
  static const int64_t none[ROWS] = {-1, 5, -1, 5, -7, 5, 5, 5, 5};
  fill_permuted();
  for (size_t i = 0; i < sizeof elements / sizeof *elements; ++i)
    elements[i] = 1;
  for (int option = 0; option < 3; ++option) {
    test_call c;
    const attention_options r = {option == 2 ? -1e9 : -infinity(), false,
                                 option == 1};
    run_permuted(&c, orders, NULL, none, r, 1);
    const float* got = test_call_result(&c, 0)->data;
    for (size_t row = 0; row < ROWS; ++row) {
      const float x = got[row * WIDE];
      const bool is_one = x > 0.99999f && x < 1.00001f;
      if (none[row] >= 0 || option == 2) assert_true(is_one);
      if (none[row] < 0 && option == 0) assert_true(x != x);
      if (none[row] < 0 && option == 1) assert_true(x == 0);
    }
    test_call_end(&c);
  }
}

static void causal_equals_last_keys_of_the_row_number(void** state) {
  (void)state;
  static const int64_t orders[4][4] = {
      {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}};
  fill_permuted();
  for (size_t r = 0; r < ROWS; ++r) last_keys[r] = (int64_t)r;
  test_call causal, bounded;
  run_permuted(&causal, orders, NULL, NULL,
               (attention_options){-infinity(), true, false}, 1);
  run_permuted(&bounded, orders, NULL, last_keys,
               (attention_options){-infinity(), false, false}, 1);
  assert_same_result(&causal, &bounded, orders[3]);
  test_call_end(&causal);
  test_call_end(&bounded);
}

// Keys behind the last visible one are not read: they are NaN here.
static void keys_behind_the_last_key_are_not_read(void** state) {
  (void)state;
  enum { CAPACITY = 700, SEEN = 5 };
  static float cache[CAPACITY * 4];
  static const int64_t position = SEEN - 1;
  static const int64_t order[] = {0, 1, 2, 3};
  const float one[] = {1, 2, 3, 4};
  for (size_t i = 0; i < CAPACITY * 4; ++i) {
    cache[i] = i < 4 * SEEN ? 1 : infinity() - infinity();
  }
  test_call c;
  test_call_begin(&c, "etx::attention.out");
  test_call_floats(&c, 4, (const int32_t[]){1, 1, 1, 4}, one);
  test_call_floats(&c, 4, (const int32_t[]){1, 1, CAPACITY, 4}, cache);
  test_call_floats(&c, 4, (const int32_t[]){1, 1, CAPACITY, 4}, cache);
  test_call_none(&c);
  test_call_tensor(&c, ETX_DTYPE_INT64, 1, (const int32_t[]){1}, NULL,
                   &position);
  for (size_t i = 0; i < 4; ++i) test_call_integers(&c, 4, order);
  test_call_real(&c, 1);
  test_call_real(&c, -1e9);
  test_call_boolean(&c, false);
  test_call_boolean(&c, false);
  assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
  const float* got = test_call_result(&c, 0)->data;
  for (size_t i = 0; i < 4; ++i) {
    assert_true(got[i] > 0.99999f && got[i] < 1.00001f);
  }
  test_call_end(&c);
}

enum { CACHED = 5 };

// Attention of three rows with keys and values of some types.
static etx_status run_typed(test_call* c, const etx_dtype types[3],
                            const void* const data[3]) {
  static const int64_t order[] = {0, 1, 2, 3};
  test_call_begin(c, "etx::attention.out");
  for (size_t i = 0; i < 3; ++i) {
    test_call_tensor(c, types[i], 4,
                     (const int32_t[]){1, 1, i == 0 ? 3 : CACHED, WIDTH}, NULL,
                     data[i]);
  }
  test_call_none(c);
  test_call_none(c);
  for (size_t i = 0; i < 4; ++i) test_call_integers(c, 4, order);
  test_call_real(c, 1 / sqrt((double)WIDTH));
  test_call_real(c, -1e9);
  test_call_boolean(c, true);
  test_call_boolean(c, false);
  return test_call_run(c, types[0]);
}

static float float_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// The elements of a float16 that is not a subnormal, and of a bfloat16.
static float float_of_half(etx_dtype dtype, uint16_t half) {
  if (dtype == ETX_DTYPE_BFLOAT16) return float_of_bits((uint32_t)half << 16);
  const uint32_t rest = (uint32_t)(half & 0x7fff) << 13;
  return float_of_bits(((uint32_t)(half & 0x8000) << 16) |
                       (rest + (UINT32_C(112) << 23)));
}

// Queries of float32 read keys and values of a half type as they are stored.
static void caches_of_halves_match_the_reference(void** state) {
  (void)state;
  static const etx_dtype types[] = {ETX_DTYPE_FLOAT16, ETX_DTYPE_BFLOAT16};
  static float expanded[2][CACHED * WIDTH];
  fill_operands();
  for (size_t t = 0; t < 2; ++t) {
    const etx_dtype type = types[t];
    for (size_t i = 0; i < 2 * CACHED * WIDTH; ++i) {
      uint16_t* const half = &halves[1 + i % 2][i / 2];
      // About 0.03 to 2 in size.
      *half = type == ETX_DTYPE_FLOAT16
                  ? (uint16_t)(0x2800 + (*half & 0x8000) + (*half & 0x17ff))
                  : (uint16_t)(0x3d00 + (*half & 0x8000) + (*half & 0x02ff));
      expanded[i % 2][i / 2] = float_of_half(type, *half);
    }
    test_call c;
    assert_ok(run_typed(&c, (const etx_dtype[]){ETX_DTYPE_FLOAT32, type, type},
                        (const void*[]){query, halves[1], halves[2]}));
    const float* const got = test_call_result(&c, 0)->data;
    for (size_t row = 0; row < 3; ++row) {
      double expected[WIDTH];
      reference_row(query, expanded[0], expanded[1], row, WIDTH, expected);
      for (size_t d = 0; d < WIDTH; ++d) {
        assert_true(fabs((double)got[row * WIDTH + d] - expected[d]) < 2e-5);
      }
    }
    test_call_end(&c);
  }
}

static void other_mixtures_of_types_are_refused(void** state) {
  (void)state;
  static const etx_dtype mixtures[][3] = {
      {ETX_DTYPE_FLOAT32, ETX_DTYPE_FLOAT16, ETX_DTYPE_BFLOAT16},
      {ETX_DTYPE_FLOAT32, ETX_DTYPE_FLOAT16, ETX_DTYPE_FLOAT32},
      {ETX_DTYPE_FLOAT16, ETX_DTYPE_FLOAT32, ETX_DTYPE_FLOAT32},
      {ETX_DTYPE_FLOAT16, ETX_DTYPE_BFLOAT16, ETX_DTYPE_BFLOAT16},
      {ETX_DTYPE_FLOAT32, ETX_DTYPE_FLOAT64, ETX_DTYPE_FLOAT64},
  };
  static double zeros[CACHED * WIDTH];
  for (size_t i = 0; i < sizeof mixtures / sizeof *mixtures; ++i) {
    test_call c;
    assert_status(
        run_typed(&c, mixtures[i], (const void*[]){zeros, zeros, zeros}),
        ETX_BAD_ARGUMENT);
    test_call_end(&c);
  }
}

static void lists_that_are_no_permutation_are_refused(void** state) {
  (void)state;
  static const int64_t good[] = {0, 1, 2, 3}, twice[] = {0, 1, 1, 3};
  static const int64_t far[] = {0, 1, 2, 4}, below[] = {0, 1, 2, -1};
  static const int64_t* const bad[] = {twice, far, below, good};
  for (size_t i = 0; i < 4; ++i) {
    test_call c;
    test_call_begin(&c, "etx::attention.out");
    for (size_t operand = 0; operand < 3; ++operand) {
      test_call_floats(&c, 4, (const int32_t[]){1, 1, 2, 4}, query);
    }
    test_call_none(&c);
    test_call_none(&c);
    for (size_t operand = 0; operand < 4; ++operand) {
      test_call_integers(&c, i == 3 && operand == 2 ? 3 : 4,
                         operand == 2 ? bad[i] : good);
    }
    test_call_real(&c, 1);
    test_call_real(&c, 0);
    test_call_boolean(&c, false);
    test_call_boolean(&c, false);
    assert_int_equal(test_call_run(&c, ETX_DTYPE_FLOAT32), ETX_BAD_ARGUMENT);
    test_call_end(&c);
  }
}

// Four rows over five keys, all alike, with a mask of `rows` x `keys`.
static etx_status run_with_mask(test_call* c, int32_t rows, int32_t keys) {
  static const int64_t order[] = {0, 1, 2, 3};
  static float ramp[100];
  for (size_t i = 0; i < 100; ++i) ramp[i] = (float)(i * i % 17) / 8;
  test_call_begin(c, "etx::attention.out");
  test_call_floats(c, 4, (const int32_t[]){1, 1, 4, 2}, ramp + 3);
  test_call_floats(c, 4, (const int32_t[]){1, 1, 5, 2}, ramp + 20);
  test_call_floats(c, 4, (const int32_t[]){1, 1, 5, 2}, ramp + 40);
  test_call_floats(c, 2, (const int32_t[]){rows, keys}, ramp);
  test_call_none(c);
  for (size_t i = 0; i < 4; ++i) test_call_integers(c, 4, order);
  test_call_real(c, 1);
  test_call_real(c, -infinity());
  test_call_boolean(c, false);
  test_call_boolean(c, false);
  return test_call_run(c, ETX_DTYPE_FLOAT32);
}

// The weights of the keys are computed here in double.
static void of_a_larger_mask_the_first_rows_and_keys_are_read(void** state) {
  (void)state;
  static const int32_t sizes[][2] = {{4, 5}, {4, 9}, {7, 5}, {9, 11},
                                     {1, 5}, {1, 8}, {4, 1}, {6, 1}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const int32_t rows = sizes[i][0], keys = sizes[i][1];
    test_call c;
    assert_ok(run_with_mask(&c, rows, keys));
    const float* const got = test_call_result(&c, 0)->data;
    for (size_t r = 0; r < 4; ++r) {
      double sum = 0, wanted[2] = {0, 0};
      for (size_t k = 0; k < 5; ++k) {
        const size_t at =
            (rows == 1 ? 0 : r * (size_t)keys) + (keys == 1 ? 0 : k);
        double score = (double)(at * at % 17) / 8;
        for (size_t d = 0; d < 2; ++d) {
          const size_t q = 3 + 2 * r + d, key_at = 20 + 2 * k + d;
          score += (double)(q * q % 17) * (double)(key_at * key_at % 17) / 64;
        }
        sum += exp(score);
        for (size_t d = 0; d < 2; ++d) {
          const size_t v = 40 + 2 * k + d;
          wanted[d] += exp(score) * (double)(v * v % 17) / 8;
        }
      }
      for (size_t d = 0; d < 2; ++d) {
        assert_true(fabs((double)got[2 * r + d] - wanted[d] / sum) < 1e-5);
      }
    }
    test_call_end(&c);
  }
}

static void smaller_masks_are_refused(void** state) {
  (void)state;
  static const int32_t sizes[][2] = {{3, 5}, {4, 4}, {2, 8}, {8, 2}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    test_call c;
    assert_int_equal(run_with_mask(&c, sizes[i][0], sizes[i][1]),
                     ETX_BAD_ARGUMENT);
    test_call_end(&c);
  }
}

static void softcaps_of_zero_or_less_are_refused(void** state) {
  (void)state;
  static const int64_t order[] = {0, 1, 2, 3};
  const double caps[] = {0, -1, infinity() - infinity()};
  for (size_t i = 0; i < 3; ++i) {
    test_call c;
    test_call_begin(&c, "etx::attention_capped.out");
    for (size_t operand = 0; operand < 3; ++operand) {
      test_call_floats(&c, 4, (const int32_t[]){1, 1, 2, 4}, query);
    }
    test_call_none(&c);
    test_call_none(&c);
    for (size_t operand = 0; operand < 4; ++operand)
      test_call_integers(&c, 4, order);
    test_call_real(&c, 1);
    test_call_real(&c, 0);
    test_call_boolean(&c, false);
    test_call_boolean(&c, false);
    test_call_real(&c, caps[i]);
    assert_int_equal(test_call_run(&c, ETX_DTYPE_FLOAT32), ETX_BAD_ARGUMENT);
    test_call_end(&c);
  }
}

static void int8_without_scales_is_refused(void** unused) {
  (void)unused;
  static const int8_t bytes[8] = {0};
  test_call c;
  test_call_begin(&c, "llama::custom_quantized_sdpa.out");
  for (size_t operand = 0; operand < 3; ++operand) {
    test_call_tensor(&c, ETX_DTYPE_INT8, 4, (const int32_t[]){1, 2, 1, 4}, NULL,
                     bytes);
  }
  test_call_integer(&c, 0);
  test_call_none(&c);
  test_call_real(&c, 0);
  test_call_boolean(&c, false);
  for (size_t i = 0; i < 7; ++i) test_call_none(&c);
  test_call_boolean(&c, false);
  assert_int_equal(test_call_run(&c, ETX_DTYPE_FLOAT32), ETX_BAD_ARGUMENT);
  assert_true(test_message_has(&c.diag, "without scales or zero points"));
  test_call_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(int8_without_scales_is_refused),
      cmocka_unit_test(results_do_not_depend_on_thread_count),
      cmocka_unit_test(a_row_gives_the_same_bits_alone_and_in_a_tile),
      cmocka_unit_test(causal_tiles_that_share_a_key_block_match_the_reference),
      cmocka_unit_test(fully_masked_key_blocks_are_skipped),
      cmocka_unit_test(attention_over_no_keys_gives_zeros),
      cmocka_unit_test(a_refused_update_leaves_the_cache_unchanged),
      cmocka_unit_test(kv_update_may_write_in_place),
      cmocka_unit_test(permuted_operands_give_the_same_bits),
      cmocka_unit_test(a_row_without_keys_gives_nan_zero_or_the_mean),
      cmocka_unit_test(causal_equals_last_keys_of_the_row_number),
      cmocka_unit_test(keys_behind_the_last_key_are_not_read),
      cmocka_unit_test(caches_of_halves_match_the_reference),
      cmocka_unit_test(other_mixtures_of_types_are_refused),
      cmocka_unit_test(lists_that_are_no_permutation_are_refused),
      cmocka_unit_test(of_a_larger_mask_the_first_rows_and_keys_are_read),
      cmocka_unit_test(smaller_masks_are_refused),
      cmocka_unit_test(softcaps_of_zero_or_less_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
