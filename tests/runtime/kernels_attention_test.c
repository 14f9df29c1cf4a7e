// Attention and caches, where vectors of right calls show nothing.

#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"

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

static void draw(void) {
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

static void end_arguments(test_call* c, bool is_causal) {
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
  end_arguments(c, is_causal);
  assert_ok(test_call_run(c, dtype));
}

static void threads_do_not_change_a_bit(void** state) {
  (void)state;
  static const etx_dtype types[] = {ETX_DTYPE_FLOAT32, ETX_DTYPE_FLOAT16,
                                    ETX_DTYPE_BFLOAT16};
  draw();
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

// A tile of rows is no more than its rows: the same bits one by one.
static void rows_do_not_depend_on_their_neighbours(void** state) {
  (void)state;
  test_call all;
  draw();
  memset(mask, 0, sizeof mask);
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
    test_call_none(&c);
    end_arguments(&c, false);
    assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
    assert_memory_equal(test_call_result(&c, 0)->data, together + row * WIDTH,
                        WIDTH * sizeof(float));
    test_call_end(&c);
  }
  test_call_end(&all);
}

// A whole block without a key, before and after one that has some.
static void blocks_without_a_key_are_passed_over(void** state) {
  (void)state;
  test_call c;
  draw();
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

// Causal rows end where the keys do, and where they start.
static void fewer_keys_than_queries_are_seen_by_all_later_rows(void** state) {
  (void)state;
  test_call c;
  draw();
  test_call_begin(&c, "etx::scaled_dot_product_attention.out");
  test_call_floats(&c, 2, (const int32_t[]){QUERIES, WIDTH}, query);
  test_call_floats(&c, 2, (const int32_t[]){0, WIDTH}, key);
  test_call_floats(&c, 2, (const int32_t[]){0, WIDTH}, value);
  test_call_none(&c);
  end_arguments(&c, true);
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
  return test_call_run(c, ETX_DTYPE_COUNT);
}

// A start or an index outside of the cache, however far, changes nothing.
static void a_refused_update_leaves_the_cache_alone(void** state) {
  (void)state;
  static const int64_t starts[] = {-1,        5,         6,
                                   INT64_MIN, INT64_MAX, (int64_t)1 << 32};
  draw();
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

static void a_new_content_may_lie_on_the_old_one(void** state) {
  (void)state;
  float wanted[24];
  test_call c;
  draw();
  memcpy(wanted, value, sizeof wanted);
  memcpy(wanted + 8, key, 8 * sizeof(float));
  test_call_begin(&c, "etx::kv_update.out");
  etx_tensor* cache = test_call_floats(&c, 2, (const int32_t[]){6, 4}, value);
  test_call_floats(&c, 2, (const int32_t[]){2, 4}, key);
  test_call_integer(&c, 0);
  test_call_integer(&c, 2);
  test_call_floats(&c, 2, (const int32_t[]){6, 4}, value)->data = cache->data;
  static const etx_parallel none = {NULL, NULL, 1};
  for (size_t i = 0; i < c.count; ++i) c.arguments[i] = &c.values[i];
  c.call = (etx_call){.op = c.op,
                      .arguments = c.arguments,
                      .argument_count = c.count,
                      .parallel = &none,
                      .diag = &c.diag};
  assert_ok(etx_kernel_find(&etx_all_kernels, c.op->id)->prepare(&c.call));
  assert_ok(c.call.run(&c.call));
  assert_memory_equal(cache->data, wanted, sizeof wanted);
  test_call_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_do_not_change_a_bit),
      cmocka_unit_test(rows_do_not_depend_on_their_neighbours),
      cmocka_unit_test(blocks_without_a_key_are_passed_over),
      cmocka_unit_test(fewer_keys_than_queries_are_seen_by_all_later_rows),
      cmocka_unit_test(a_refused_update_leaves_the_cache_alone),
      cmocka_unit_test(a_new_content_may_lie_on_the_old_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
