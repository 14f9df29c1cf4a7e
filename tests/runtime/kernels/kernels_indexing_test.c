// Index tensors: which elements they select and write. A wrong index is
// reported and changes nothing.

#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"
#include "tests/support/assert_message.h"

static etx_diag diag;

enum { ROUNDS = TEST_ROUNDS(100) };

static int32_t counting[4096];

static etx_tensor* counted(test_call* c, size_t rank, const int32_t* sizes) {
  return test_call_tensor(c, ETX_DTYPE_INT32, rank, sizes, NULL, counting);
}

static etx_tensor* indices(test_call* c, size_t rank, const int32_t* sizes,
                           const int64_t* elements) {
  return test_call_tensor(c, ETX_DTYPE_INT64, rank, sizes, NULL, elements);
}

static void embedding_copies_rows(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::embedding.out");
  counted(&c, 2, (int32_t[]){5, 2});
  test_call_tensor(&c, ETX_DTYPE_INT32, 2, (int32_t[]){1, 3}, NULL,
                   (int32_t[]){4, 0, 4});
  test_call_integer(&c, -1);
  test_call_boolean(&c, false);
  test_call_boolean(&c, false);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t want[] = {8, 9, 0, 1, 8, 9};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void a_row_out_of_range_is_reported(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::embedding.out");
  counted(&c, 2, (int32_t[]){5, 2});
  indices(&c, 1, (int32_t[]){2}, (int64_t[]){1, 5});
  test_call_integer(&c, -1);
  test_call_boolean(&c, false);
  test_call_boolean(&c, false);
  assert_int_equal(test_call_run(&c, TEST_CALL_RULE_DTYPE), ETX_BAD_ARGUMENT);
  assert_true(test_message_is(
      &c.diag, "index 5 is not in 0..4, in 'aten::embedding.out'"));
  test_call_end(&c);
}

static void an_index_without_dimensions_needs_an_element(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::scatter.src_out");
  counted(&c, 0, NULL);
  test_call_integer(&c, 0);
  indices(&c, 0, NULL, (int64_t[]){0});
  counted(&c, 1, (int32_t[]){0});
  assert_int_equal(test_call_run(&c, TEST_CALL_RULE_DTYPE), ETX_BAD_ARGUMENT);
  assert_true(test_message_is(&c.diag,
                              "size 1 of 'index' exceeds size 0 of 'src', in "
                              "'aten::scatter.src_out'"));
  test_call_end(&c);
}

// self [3, 4, 5] at two broadcast index tensors in random places.
static void random_indices_select_elements(void** unused) {
  (void)unused;
  const int32_t sizes[] = {3, 4, 5};
  for (int round = 0; round < ROUNDS; ++round) {
    const size_t without = test_random_bits() % 3;  // dimension without index
    int64_t column[2], row[3];
    test_call c;
    test_call_begin(&c, "aten::index.Tensor_out");
    counted(&c, 3, sizes);
    const int64_t* given[3] = {NULL};
    size_t first = 3;
    for (size_t d = 0; d < 3; ++d) {
      if (d == without) {
        test_call_none(&c);
        continue;
      }
      int64_t* to = first == 3 ? column : row;
      for (size_t i = 0; i < (first == 3 ? 2 : 3); ++i) {
        to[i] = test_random_integer(-sizes[d], sizes[d] - 1);
      }
      given[d] = to;
      if (first == 3) {
        indices(&c, 2, (int32_t[]){2, 1}, column);
        first = d;
      } else {
        indices(&c, 1, (int32_t[]){3}, row);
      }
    }
    test_call_gather_list(&c, 3);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    const int32_t* got = test_call_result(&c, 0)->data;
    const int32_t left = sizes[without];
    for (int32_t i = 0; i < 2 * 3 * left; ++i) {
      // The result has sizes [left, 2, 3] if dimension 0 has no index.
      // Otherwise the indices are first or apart, and it has [2, 3, left].
      const bool is_left_first = without == 0;
      const int32_t n = is_left_first ? i / 6 : i % left;
      const int32_t pair = is_left_first ? i % 6 : i / left;
      int64_t position[3];
      for (size_t d = 0; d < 3; ++d) {
        position[d] =
            d == without ? n : given[d][d == first ? pair / 3 : pair % 3];
        if (position[d] < 0) position[d] += sizes[d];
      }
      assert_int_equal(got[i],
                       (position[0] * 4 + position[1]) * 5 + position[2]);
    }
    test_call_end(&c);
  }
}

static void put_index(test_call* c, const char* name, bool adds,
                      const int64_t* at, size_t count) {
  test_call_begin(c, name);
  counted(c, 2, (int32_t[]){4, 3});
  indices(c, 1, (int32_t[]){(int32_t)count}, at);
  test_call_gather_list(c, 1);
  test_call_tensor(c, ETX_DTYPE_INT32, 1, (int32_t[]){3}, NULL,
                   (int32_t[]){100, 200, 300});
  test_call_boolean(c, adds);
}

static void index_put_writes_broadcast_rows(void** unused) {
  (void)unused;
  test_call c;
  put_index(&c, "aten::index_put.out", false, (int64_t[]){-1, 0}, 2);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t want[] = {100, 200, 300, 3, 4, 5, 6, 7, 8, 100, 200, 300};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void index_put_adds_equal_indices_twice(void** unused) {
  (void)unused;
  test_call c;
  put_index(&c, "aten::index_put_", true, (int64_t[]){1, 1}, 2);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t want[] = {0, 1, 2, 203, 404, 605, 6, 7, 8, 9, 10, 11};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void a_refused_index_writes_nothing(void** unused) {
  (void)unused;
  test_call c;
  put_index(&c, "aten::index_put_", false, (int64_t[]){0, 1, 4}, 3);
  assert_int_equal(test_call_run(&c, TEST_CALL_RULE_DTYPE), ETX_BAD_ARGUMENT);
  assert_true(test_message_is(
      &c.diag, "index 4 is not in -4..3, in 'aten::index_put_'"));
  assert_memory_equal(c.values[0].as.tensor.data, counting,
                      12 * sizeof(int32_t));
  test_call_end(&c);
}

// The gradients of four results, each of which goes to the element of a 4 x 4
// plane that `chosen` names. -1 drops the gradient.
static etx_status pool_back(test_call* c, etx_dtype dtype,
                            const int64_t* chosen) {
  static const double zeros[16] = {0};
  static const float gradients[4] = {1, 2, 3, 4};
  static const uint16_t half_gradients[4] = {0x3c00, 0x4000, 0x4200, 0x4400};
  const int64_t two[] = {2, 2}, zero[] = {0, 0}, one[] = {1, 1};
  test_call_begin(c, "aten::max_pool2d_with_indices_backward.grad_input");
  test_call_tensor(
      c, dtype, 4, (int32_t[]){1, 1, 2, 2}, NULL,
      dtype == ETX_DTYPE_FLOAT32 ? (const void*)gradients : half_gradients);
  test_call_tensor(c, dtype, 4, (int32_t[]){1, 1, 4, 4}, NULL, zeros);
  test_call_integers(c, 2, two);
  test_call_integers(c, 2, two);
  test_call_integers(c, 2, zero);
  test_call_integers(c, 2, one);
  test_call_boolean(c, false);
  indices(c, 4, (int32_t[]){1, 1, 2, 2}, chosen);
  return test_call_run(c, dtype);
}

static void gradients_go_to_chosen_elements_of_the_plane(void** unused) {
  (void)unused;
  static const etx_dtype dtypes[] = {ETX_DTYPE_FLOAT32, ETX_DTYPE_FLOAT16};
  static const int64_t wrong[] = {16, -2, INT64_MAX, INT64_MIN};
  for (size_t d = 0; d < 2; ++d) {
    test_call c;
    assert_ok(pool_back(&c, dtypes[d], (int64_t[]){0, 15, -1, 15}));
    const void* sums = test_call_result(&c, 0)->data;
    if (d == 0) {
      assert_true(((const float*)sums)[0] == 1 &&
                  ((const float*)sums)[15] == 6);
    } else {
      assert_int_equal(((const uint16_t*)sums)[0], 0x3c00);
      assert_int_equal(((const uint16_t*)sums)[15], 0x4600);
    }
    test_call_end(&c);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
      const int64_t chosen[] = {0, 5, wrong[i], 15};
      assert_int_equal(pool_back(&c, dtypes[d], chosen), ETX_BAD_ARGUMENT);
      assert_true(test_message_has(&c.diag, "expected less than 16"));
      test_call_end(&c);
    }
  }
}

static void a_mask_selects_elements(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::index_put.out");
  counted(&c, 2, (int32_t[]){2, 3});
  test_call_tensor(&c, ETX_DTYPE_BOOL, 2, (int32_t[]){2, 3}, NULL,
                   (uint8_t[]){0, 1, 0, 1, 0, 1});
  test_call_gather_list(&c, 1);
  test_call_tensor(&c, ETX_DTYPE_INT32, 1, (int32_t[]){3}, NULL,
                   (int32_t[]){70, 80, 90});
  test_call_boolean(&c, false);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t want[] = {0, 70, 2, 80, 4, 90};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void values_must_be_as_many_as_the_mask_has(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::index_put_");
  counted(&c, 1, (int32_t[]){3});
  test_call_tensor(&c, ETX_DTYPE_BOOL, 1, (int32_t[]){3}, NULL,
                   (uint8_t[]){1, 1, 1});
  test_call_gather_list(&c, 1);
  test_call_tensor(&c, ETX_DTYPE_INT32, 1, (int32_t[]){2}, NULL,
                   (int32_t[]){70, 80});
  test_call_boolean(&c, false);
  assert_int_equal(test_call_run(&c, TEST_CALL_RULE_DTYPE), ETX_BAD_ARGUMENT);
  assert_memory_equal(c.values[0].as.tensor.data, counting,
                      3 * sizeof(int32_t));
  test_call_end(&c);
}

static void gather_reads_along_a_dimension(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::gather.out");
  counted(&c, 2, (int32_t[]){2, 3});
  test_call_integer(&c, 1);
  indices(&c, 2, (int32_t[]){2, 2}, (int64_t[]){2, 0, 1, 1});
  test_call_boolean(&c, false);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t want[] = {2, 0, 4, 4};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void scatter_writes_along_a_dimension(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::scatter_add.out");
  counted(&c, 1, (int32_t[]){3});
  test_call_integer(&c, 0);
  indices(&c, 1, (int32_t[]){3}, (int64_t[]){0, 0, 2});
  test_call_tensor(&c, ETX_DTYPE_INT32, 1, (int32_t[]){3}, NULL,
                   (int32_t[]){10, 20, 30});
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t want[] = {30, 1, 32};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void scatter_writes_a_number(void** unused) {
  (void)unused;
  const int32_t sizes[] = {3, 4};
  for (int round = 0; round < 2 * ROUNDS; ++round) {
    const int64_t dim = round % 2;
    const bool is_narrow = test_random_bits() % 2 == 0;
    int64_t wide[12];
    int32_t narrow[12], want[12];
    for (int32_t i = 0; i < 12; ++i) want[i] = i;
    for (int32_t i = 0; i < 12; ++i) {
      narrow[i] = (int32_t)test_random_integer(0, sizes[dim] - 1);
      wide[i] = narrow[i];
      want[dim == 0 ? narrow[i] * 4 + i % 4 : i / 4 * 4 + narrow[i]] = 77;
    }
    test_call c;
    test_call_begin(&c, "aten::scatter.value_out");
    counted(&c, 2, sizes);
    test_call_integer(&c, dim);
    if (is_narrow) {
      test_call_tensor(&c, ETX_DTYPE_INT32, 2, sizes, NULL, narrow);
    } else {
      indices(&c, 2, sizes, wide);
    }
    test_call_integer(&c, 77);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
    test_call_end(&c);
  }
}

static void index_select_keeps_the_rank(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::index_select.out");
  counted(&c, 2, (int32_t[]){2, 3});
  test_call_integer(&c, -1);
  indices(&c, 1, (int32_t[]){2}, (int64_t[]){2, 2});
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const int32_t want[] = {2, 2, 5, 5};
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

static void empty_indices_select_nothing(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::index.Tensor_out");
  counted(&c, 2, (int32_t[]){2, 3});
  indices(&c, 1, (int32_t[]){0}, NULL);
  test_call_gather_list(&c, 1);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  assert_int_equal(test_call_result(&c, 0)->sizes[0], 0);
  test_call_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(embedding_copies_rows),
      cmocka_unit_test(a_row_out_of_range_is_reported),
      cmocka_unit_test(an_index_without_dimensions_needs_an_element),
      cmocka_unit_test(random_indices_select_elements),
      cmocka_unit_test(index_put_writes_broadcast_rows),
      cmocka_unit_test(index_put_adds_equal_indices_twice),
      cmocka_unit_test(a_refused_index_writes_nothing),
      cmocka_unit_test(gradients_go_to_chosen_elements_of_the_plane),
      cmocka_unit_test(a_mask_selects_elements),
      cmocka_unit_test(values_must_be_as_many_as_the_mask_has),
      cmocka_unit_test(gather_reads_along_a_dimension),
      cmocka_unit_test(scatter_writes_along_a_dimension),
      cmocka_unit_test(scatter_writes_a_number),
      cmocka_unit_test(index_select_keeps_the_rank),
      cmocka_unit_test(empty_indices_select_nothing),
  };
  test_random_start();
  for (int32_t i = 0; i < 4096; ++i) counting[i] = i;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
