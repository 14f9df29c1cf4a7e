// Operators of a plan looked up through a cache with fewer rows than the plan
// has operators.

#include "runtime/program/operator_cache.h"

#include "runtime/shapes/call_shape.h"
#include "runtime/program.h"
#include "tests/support/assert_status.h"
#include "tests/support/test_program.h"

enum { OPERATORS = 3 * ETX_OPERATOR_CACHE_ROWS };

static etx_diag diag;

static void open_plan(test_program* p, etx_program* program,
                      etx_pte_plan* plan) {
  const etx_text name = {"forward", 7};
  assert_ok(
      etx_program_open(program, test_file(p), &etx_all_kernels, NULL, &diag));
  assert_ok(etx_program_find_plan(program, name, plan, &diag));
}

static void an_evicted_row_is_found_again(void** state) {
  (void)state;
  test_program* p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  for (int i = 0; i < OPERATORS; ++i) {
    const etx_op* op = etx_op_at((etx_op_id)i);
    test_call(p, op->name, op->overload, ARGS(x));
  }
  test_output(p, x, "x");
  etx_program program;
  etx_pte_plan plan;
  open_plan(p, &program, &plan);
  const size_t count = etx_pte_operator_count(&plan);
  assert_true(count > ETX_OPERATOR_CACHE_ROWS);
  etx_operator_cache cache;
  etx_operator_cache_init(&cache, &plan, &etx_all_kernels);
  for (size_t i = 0; i < 5 * count; ++i) {
    const size_t at = i * 7 % count;
    const etx_pte_operator name = etx_pte_operator_at(&plan, at);
    const etx_op* op = etx_op_find(name.name, name.overload);
    const etx_cached_operator* found = etx_operator_cache_at(&cache, at);
    assert_non_null(op);
    assert_ptr_equal(found->op, op);
    assert_ptr_equal(found->kernel, etx_kernel_find(&etx_all_kernels, op->id));
    assert_int_equal(found->written, etx_op_written_arguments(op));
    assert_int_equal(found->argument_count, etx_op_argument_count(op));
    assert_int_equal(found->call_count, etx_op_call_count(op));
  }
  test_program_end(p);
}

static bool fits(test_program* p) {
  etx_program program;
  etx_pte_plan plan;
  etx_operator_cache cache;
  open_plan(p, &program, &plan);
  etx_operator_cache_init(&cache, &plan, &etx_all_kernels);
  const etx_pte_instruction call = etx_pte_instruction_at(&plan, 0, 0);
  return etx_cached_operator_fits(
      etx_operator_cache_at(&cache, (size_t)call.index), &plan, NULL, &call);
}

// A program with one add whose alpha is a number (0), a string (1) or None (2).
static bool add_fits(int kind, size_t arguments) {
  test_program* p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int alpha = kind == 0   ? test_int(p, 1)
                    : kind == 1 ? test_string(p, "one")
                                : test_none(p);
  const int all[5] = {x, x, alpha, x, x};
  test_call(p, "aten::add", "out", all, arguments);
  test_output(p, x, "x");
  const bool result = fits(p);
  test_program_end(p);
  return result;
}

static void calls_that_differ_from_the_schema_do_not_fit(void** state) {
  (void)state;
  assert_true(add_fits(0, 5));
  assert_false(add_fits(0, 4));
  assert_false(add_fits(1, 5));
  assert_false(add_fits(2, 5));
}

// A list of tensors may have None where the schema says so.
static void none_in_a_list_fits_where_the_schema_has_it(void** state) {
  (void)state;
  for (int is_index = 0; is_index < 2; ++is_index) {
    test_program* p = test_program_new();
    test_method(p, "forward");
    test_arenas(p, 64, 0);
    const int x = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
    const int list = test_optional_tensors(p, ARGS(x, -1));
    if (is_index) {
      test_call(p, "aten::index", "Tensor_out", ARGS(x, list, x, x));
    } else {
      test_call(p, "aten::cat", "out", ARGS(list, test_int(p, 0), x, x));
    }
    test_output(p, x, "x");
    assert_int_equal(fits(p), is_index == 1);
    test_program_end(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_evicted_row_is_found_again),
      cmocka_unit_test(calls_that_differ_from_the_schema_do_not_fit),
      cmocka_unit_test(none_in_a_list_fits_where_the_schema_has_it),
  };
  return cmocka_run_group_tests_name("operator_cache", tests, NULL, NULL);
}
