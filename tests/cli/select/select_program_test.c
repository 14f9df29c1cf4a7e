// Which programs need control flow, by how their calls use values.

#include "cli/select/select_program.h"
#include "runtime/kernel.h"
#include "runtime/program/build_features.h"
#include "tests/support/assert_status.h"
#include "tests/support/test_program.h"

// The facts of a program, which is freed.
static void select_all(test_program* p, etx_selected_facts* facts) {
  etx_diag diag;
  etx_program program;
  etx_selection selection = {.count = 0};
  etx_pool pool;
  const etx_selecting to = {etx_text_of("p.pte"), NULL, &selection, facts,
                            &pool};
  etx_pool_init(&pool);
  etx_diag_init(&diag);
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  assert_ok(etx_select_program(&program, &to, &diag));
  etx_pool_close(&pool);
  test_program_end(p);
}

// y = x + number x, and number = 1 + 1 before or after it.
static void sum(bool is_changed_after_use, etx_selected_facts* facts) {
  test_program* const p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "x");
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int one = test_int(p, 1), number = test_int(p, 5);
  if (!is_changed_after_use) {
    test_call(p, "executorch_prim::add", "Scalar", ARGS(one, one, number));
  }
  test_call(p, "aten::add", "out", ARGS(x, x, number, y, y));
  if (is_changed_after_use) {
    test_call(p, "executorch_prim::add", "Scalar", ARGS(one, one, number));
  }
  test_output(p, y, "y");
  select_all(p, facts);
}

static void a_number_that_changes_after_its_use_needs_control_flow(
    void** state) {
  (void)state;
  etx_selected_facts facts = {.features = 0};
  sum(true, &facts);
  assert_true(facts.changes_used_values);
  assert_int_equal(facts.features & ETX_FEATURES_OF_CONTROL_FLOW, 0);
}

static void a_number_that_is_computed_before_its_use_needs_none(void** state) {
  (void)state;
  etx_selected_facts facts = {.features = 0};
  sum(false, &facts);
  assert_false(facts.changes_used_values);
}

// A slot becomes a view of y, and then of x.
static void a_slot_that_becomes_two_views_needs_control_flow(void** state) {
  (void)state;
  test_program* const p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "x");
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int two = test_int(p, 2), one = test_int(p, 1);
  const int sizes = test_ints(p, ARGS(two));
  const int view = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
  test_call(p, "executorch_prim::et_view", "default", ARGS(x, sizes, view));
  test_call(p, "aten::add", "out", ARGS(view, view, one, y, y));
  test_call(p, "executorch_prim::et_view", "default", ARGS(y, sizes, view));
  test_output(p, y, "y");
  etx_selected_facts facts = {.features = 0};
  select_all(p, &facts);
  assert_true(facts.changes_used_values);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_number_that_changes_after_its_use_needs_control_flow),
      cmocka_unit_test(a_number_that_is_computed_before_its_use_needs_none),
      cmocka_unit_test(a_slot_that_becomes_two_views_needs_control_flow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
