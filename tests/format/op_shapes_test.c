#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/format/fixtures/shape_query.h"
#include "tests/support/assert_message.h"

static const etx_dtype F32 = ETX_DTYPE_FLOAT32, I64 = ETX_DTYPE_INT64;

static shape_query a;

static void assert_refused(const char* part) {
  assert_int_not_equal(asker_infer(&a), ETX_OK);
  if (!test_message_has(&a.diag, part)) fail_msg("%s", a.diag.text);
}

// Sizes that are numbers; symbol_shapes_test.c has others.

static void sizes_of_one_are_broadcast(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::mul.out");
  asker_tensor(&a, F32, DIMS(4, 1, 3));
  asker_tensor(&a, I64, DIMS(2, 1));
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, DIMS(4, 2, 3)));
}

static void unequal_sizes_do_not_broadcast(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::mul.out");
  asker_tensor(&a, F32, DIMS(4, 3));
  asker_tensor(&a, F32, DIMS(4, 2));
  assert_refused("sizes 3 and 2 do not broadcast, in 'aten::mul.out'");
}

static void numbers_promote_by_category(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::add.Scalar_out");
  asker_tensor(&a, I64, DIMS(2));
  asker_real(&a, 0.5);
  asker_integer(&a, 1);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, DIMS(2)));
}

static void division_of_integers_gives_floats(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::div.out");
  asker_tensor(&a, I64, DIMS(2));
  asker_tensor(&a, I64, DIMS(2));
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, DIMS(2)));
  asker_begin(&a, "aten::div.out_mode");
  asker_tensor(&a, I64, DIMS(2));
  asker_tensor(&a, I64, DIMS(2));
  asker_string(&a);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, I64, DIMS(2)));
}

static void inner_sizes_of_a_product_must_agree(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::mm.out");
  asker_tensor(&a, F32, DIMS(2, 3));
  asker_tensor(&a, F32, DIMS(4, 5));
  assert_refused("is 4, expected 3");
}

static void a_view_infers_one_size(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::view_copy.out");
  asker_tensor(&a, F32, DIMS(4, 6));
  asker_integers(&a, DIMS(3, -1));
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, DIMS(3, 8)));
}

static void a_view_keeps_the_elements(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::view_copy.out");
  asker_tensor(&a, F32, DIMS(4, 6));
  asker_integers(&a, DIMS(5, 5));
  assert_refused("has 25 elements, expected 24");
  asker_begin(&a, "aten::view_copy.out");
  asker_tensor(&a, F32, DIMS(4, 6));
  asker_integers(&a, DIMS(-1, -1));
  assert_refused("invalid in a view");
}

static void as_strided_must_stay_inside_the_storage(void** unused) {
  (void)unused;
  asker_begin(&a, "etx::part_view.default");
  asker_tensor(&a, F32, DIMS(4, 6));
  asker_integer(&a, 6);
  asker_integers(&a, DIMS(3, 6));
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, DIMS(3, 6)));
  asker_begin(&a, "etx::part_view.default");
  asker_tensor(&a, F32, DIMS(4, 6));
  asker_integer(&a, 7);
  asker_integers(&a, DIMS(3, 6));
  assert_refused("elements 7 to 25 are not within 24");
  asker_begin(&a, "etx::part_view.default");
  asker_tensor(&a, F32, DIMS(4, 6));
  asker_integer(&a, -1);
  asker_integers(&a, DIMS(2));
  assert_refused("elements -1 to 1 are not within 24");
  asker_begin(&a, "etx::part_view.default");
  asker_tensor(&a, F32, DIMS(4, 6));
  asker_integer(&a, 0);
  asker_integers(&a, DIMS(-1, 6));
  assert_refused("invalid in a view");
}

static void a_part_has_the_sizes_that_are_stated(void** unused) {
  (void)unused;
  asker_begin(&a, "etx::part_after.default");
  asker_tensor(&a, F32, DIMS(4, 6));
  asker_none(&a);
  asker_integers(&a, DIMS(3, 2));
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, DIMS(3, 2)));
  asker_begin(&a, "etx::part_after.default");
  asker_tensor(&a, F32, DIMS(4, 6));
  asker_tensor(&a, F32, DIMS(2));
  asker_integers(&a, DIMS(-1, 6));
  assert_refused("invalid in a view");
}

static void slices_clamp_and_count_from_the_end(void** unused) {
  (void)unused;
  static const struct {
    etx_dim start, end, step, size;
  } cases[] = {{0, 5, 1, 5},         {-3, INT64_MAX, 1, 3}, {2, -1, 1, 2},
               {4, 2, 1, 0},         {-99, 99, 1, 5},       {0, 5, 2, 3},
               {1, 5, 3, 2},         {5, 9, 1, 0},          {0, -99, 1, 0},
               {INT64_MIN, 5, 1, 5}, {0, 5, INT64_MAX, 1}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    asker_begin(&a, "aten::slice_copy.Tensor_out");
    asker_tensor(&a, F32, DIMS(5));
    asker_integer(&a, -1);
    // The shape_query has symbolic sizes, whose handles are the numbers up to
    // ETX_DIM_HANDLE. So INT64_MIN stands for the smallest number above them.
    asker_integer(
        &a, cases[i].start == INT64_MIN ? ETX_DIM_HANDLE + 1 : cases[i].start);
    asker_integer(&a, cases[i].end);
    asker_integer(&a, cases[i].step);
    assert_int_equal(asker_infer(&a), ETX_OK);
    assert_true(asker_gave(&a, 0, F32, DIMS(cases[i].size)));
  }
}

static void an_index_replaces_its_dimension(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::index.Tensor_out");
  asker_tensor(&a, F32, DIMS(7, 8, 9));
  asker_none(&a);
  asker_tensor(&a, I64, DIMS(2, 1));
  asker_tensor(&a, I64, DIMS(3));
  asker_gather_list(&a, 3);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, DIMS(7, 2, 3)));
}

static void dimensions_of_separated_indices_come_first(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::index.Tensor_out");
  asker_tensor(&a, F32, DIMS(7, 8, 9));
  asker_tensor(&a, I64, DIMS(2));
  asker_none(&a);
  asker_tensor(&a, I64, DIMS(2));
  asker_gather_list(&a, 3);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, DIMS(2, 8)));
}

static void reductions_keep_or_drop_dimensions(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::sum.IntList_out");
  asker_tensor(&a, ETX_DTYPE_INT32, DIMS(2, 3, 4));
  asker_integers(&a, DIMS(-1, 0));
  asker_boolean(&a, true);
  asker_none(&a);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, I64, DIMS(1, 3, 1)));
  asker_begin(&a, "aten::mean.out");
  asker_tensor(&a, F32, DIMS(2, 3, 4));
  asker_none(&a);
  asker_boolean(&a, false);
  asker_none(&a);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, 0, NULL));
}

static void a_dimension_twice_is_refused(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::amax.out");
  asker_tensor(&a, F32, DIMS(2, 3));
  asker_integers(&a, DIMS(1, -1));
  asker_boolean(&a, false);
  assert_refused("dimension 1 is given twice");
}

static void ranks_above_sixteen_are_refused(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::unsqueeze_copy.out");
  asker_tensor(&a, F32, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1));
  asker_integer(&a, 0);
  assert_refused("more than 16 dimensions");
}

static void sizes_that_overflow_are_refused(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::repeat.out");
  asker_tensor(&a, F32, DIMS(4));
  asker_integers(&a, DIMS(INT64_MAX / 2));
  assert_refused("overflows");
}

static void convolution_counts_windows(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::convolution.out");
  asker_tensor(&a, F32, DIMS(2, 4, 10, 9));
  asker_tensor(&a, F32, DIMS(6, 2, 3, 3));
  asker_none(&a);
  asker_integers(&a, DIMS(2, 1));
  asker_integers(&a, DIMS(1));
  asker_integers(&a, DIMS(1, 2));
  asker_boolean(&a, false);
  asker_integers(&a, DIMS(0, 0));
  asker_integer(&a, 2);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, DIMS(2, 6, 5, 7)));
}

static void layer_norm_has_three_outputs(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::native_layer_norm.out");
  asker_tensor(&a, F32, DIMS(2, 3, 4));
  asker_integers(&a, DIMS(4));
  asker_none(&a);
  asker_none(&a);
  asker_real(&a, 1e-5);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_int_equal(a.output_count, 3);
  assert_true(asker_gave(&a, 0, F32, DIMS(2, 3, 4)));
  assert_true(asker_gave(&a, 2, F32, DIMS(2, 3, 1)));
}

static void batch_norm_names_the_statistics_of_wrong_rank(void** unused) {
  static const char* const names[] = {"'running_mean'", "'running_var'"};
  (void)unused;
  for (size_t wrong = 0; wrong < 2; ++wrong) {
    asker_begin(&a, "aten::_native_batch_norm_legit.out");
    asker_tensor(&a, F32, DIMS(2, 3, 5));
    asker_none(&a);
    asker_none(&a);
    for (size_t i = 0; i < 2; ++i) {
      if (i == wrong) {
        asker_tensor(&a, F32, DIMS(3, 1));
      } else {
        asker_tensor(&a, F32, DIMS(3));
      }
    }
    asker_boolean(&a, true);
    asker_real(&a, 0.1);
    asker_real(&a, 1e-5);
    assert_refused(names[wrong]);
  }
}

static void split_gives_the_rest_last(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::split_copy.Tensor_out");
  asker_tensor(&a, F32, DIMS(7, 2));
  asker_integer(&a, 3);
  asker_integer(&a, 0);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_int_equal(a.output_count, 3);
  assert_true(asker_gave(&a, 1, F32, DIMS(3, 2)));
  assert_true(asker_gave(&a, 2, F32, DIMS(1, 2)));
}

static void casts_take_the_type_of_out(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::_to_copy.out");
  asker_tensor(&a, F32, DIMS(2));
  asker_boolean(&a, false);
  asker_none(&a);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_int_equal(a.outputs[0].dtype, ETX_DTYPE_FROM_OUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_of_one_are_broadcast),
      cmocka_unit_test(unequal_sizes_do_not_broadcast),
      cmocka_unit_test(numbers_promote_by_category),
      cmocka_unit_test(division_of_integers_gives_floats),
      cmocka_unit_test(inner_sizes_of_a_product_must_agree),
      cmocka_unit_test(a_view_infers_one_size),
      cmocka_unit_test(a_view_keeps_the_elements),
      cmocka_unit_test(as_strided_must_stay_inside_the_storage),
      cmocka_unit_test(a_part_has_the_sizes_that_are_stated),
      cmocka_unit_test(slices_clamp_and_count_from_the_end),
      cmocka_unit_test(an_index_replaces_its_dimension),
      cmocka_unit_test(dimensions_of_separated_indices_come_first),
      cmocka_unit_test(reductions_keep_or_drop_dimensions),
      cmocka_unit_test(a_dimension_twice_is_refused),
      cmocka_unit_test(ranks_above_sixteen_are_refused),
      cmocka_unit_test(sizes_that_overflow_are_refused),
      cmocka_unit_test(convolution_counts_windows),
      cmocka_unit_test(layer_norm_has_three_outputs),
      cmocka_unit_test(batch_norm_names_the_statistics_of_wrong_rank),
      cmocka_unit_test(split_gives_the_rest_last),
      cmocka_unit_test(casts_take_the_type_of_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
