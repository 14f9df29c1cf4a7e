// Parts of a build that a method needs.

#include "runtime/program/build_features.h"

#include "tests/support/assert_status.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

static test_program* start(void) {
  test_program* const p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  return p;
}

static int add_input(test_program* p) {
  return test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "x");
}

static int add_scratch(test_program* p) {
  return test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
}

// Ends `p` and returns the features of its method; UINT32_MAX: refused.
static uint32_t features_of(test_program* p) {
  etx_program program;
  etx_pte_plan plan;
  uint32_t features = 0;
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  assert_ok(
      etx_program_find_plan(&program, etx_text_of("forward"), &plan, &diag));
  const etx_status status =
      etx_build_features_of(&program, &plan, &features, &diag);
  if (status != ETX_OK) {
    assert_int_equal(status, ETX_OUT_OF_RANGE);
    assert_true(test_has_message(&diag));
    features = UINT32_MAX;
  }
  test_program_end(p);
  return features;
}

static void call_relu(test_program* p, int x, int y) {
  test_call(p, "aten::relu", "out", ARGS(x, y, y));
}

static void a_method_of_fixed_sizes_needs_nothing(void** state) {
  (void)state;
  test_program* p = start();
  call_relu(p, add_input(p), add_scratch(p));
  assert_int_equal(features_of(p), 0);
  p = start();
  test_call(p, "my::unknown", "", ARGS(add_input(p), add_scratch(p)));
  assert_int_equal(features_of(p), 0);
  // A constant method is not in etx's data of the file.
  p = start();
  test_blob(p);
  test_output(p, test_int(p, 1), "");
  assert_int_equal(features_of(p), 0);
  p = start();
  test_blob(p);
  call_relu(p, add_input(p), add_scratch(p));
  assert_int_equal(features_of(p), 0);
}

static void sizes_that_vary_are_a_feature(void** state) {
  (void)state;
  const uint32_t dynamic = ETX_FEATURE_BIT(DYNAMIC_SIZES);
  test_program* p = start();
  call_relu(p, test_dynamic(p, add_input(p)), test_dynamic(p, add_scratch(p)));
  assert_int_equal(features_of(p), dynamic);
  p = start();  // an integer of varying value
  test_blob(p);
  const int x = add_input(p);
  test_input(p, test_int(p, 1), "n");
  test_dim(p, 1, -1, test_symbol(p, "n", 1, 4), 1, 0);
  call_relu(p, x, add_scratch(p));
  assert_int_equal(features_of(p), dynamic);
  p = start();  // an output that the file does not plan
  call_relu(p, add_input(p), test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)));
  assert_int_equal(features_of(p), dynamic);
  p = start();
  const int zero = test_int(p, 0);
  test_call(p, "aten::sym_size", "int",
            ARGS(add_input(p), zero, test_int(p, 0)));
  assert_int_equal(features_of(p), dynamic);
}

static void values_from_data_are_a_feature(void** state) {
  (void)state;
  const uint32_t both =
      ETX_FEATURE_BIT(DYNAMIC_SIZES) | ETX_FEATURE_BIT(VALUES_FROM_DATA);
  test_program* p = start();
  test_call(p, "aten::_local_scalar_dense", "",
            ARGS(add_input(p), test_int(p, 0)));
  assert_int_equal(features_of(p), both);
  p = start();
  const int at = test_scratch(p, ETX_DTYPE_INT64, SIZES(2, 1), 0);
  test_call(p, "aten::nonzero", "out", ARGS(add_input(p), at, at));
  assert_int_equal(features_of(p), both);
}

static void jumps_and_data_files_are_features(void** state) {
  (void)state;
  test_program* p = start();
  const int flag =
      test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SIZES(1)), "flag");
  test_jump_false(p, flag, 1);
  assert_int_equal(features_of(p), ETX_FEATURE_BIT(CONTROL_FLOW));
  p = start();
  const int w = add_scratch(p);
  test_tensor_of(p, w)->location = ETX_PTE_EXTERNAL;
  test_tensor_of(p, w)->name = etx_text_of("w");
  test_output(p, w, "");
  assert_int_equal(features_of(p), ETX_FEATURE_BIT(DATA_FILES));
}

// More writes to outputs without memory than any real file has are refused
// before they take long.
static void too_many_unplanned_outputs_are_refused(void** state) {
  (void)state;
  for (int count = 512; count <= 513; ++count) {
    test_program* p = start();
    const int x = add_input(p);
    const int view = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
    const int two = test_int(p, 2);
    test_call(p, "executorch_prim::et_view", "default",
              ARGS(x, test_ints(p, ARGS(two)), view));
    for (int i = 0; i < count; ++i) call_relu(p, x, view);
    assert_int_equal(features_of(p), count == 513 ? UINT32_MAX : 0);
  }
}

static void features_have_names(void** state) {
  (void)state;
  for (int i = 0; i < ETX_FEATURE_COUNT; ++i) {
    etx_build_feature found = ETX_FEATURE_COUNT;
    const char* const name = etx_build_feature_name((etx_build_feature)i);
    assert_true(etx_build_feature_find(etx_text_of(name), &found));
    assert_int_equal(found, i);
  }
  etx_build_feature found = ETX_FEATURE_COUNT;
  assert_false(etx_build_feature_find(etx_text_of("magic"), &found));
  assert_int_equal(found, ETX_FEATURE_COUNT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_method_of_fixed_sizes_needs_nothing),
      unit_test_with(ETX_DYNAMIC, sizes_that_vary_are_a_feature),
      unit_test_with(ETX_DYNAMIC, values_from_data_are_a_feature),
      cmocka_unit_test(jumps_and_data_files_are_features),
      unit_test_with(ETX_VIEWS, too_many_unplanned_outputs_are_refused),
      cmocka_unit_test(features_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
