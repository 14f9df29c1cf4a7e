// Tensors that a loop fills row by row, as in stock files: later iterations
// must not overwrite rows of earlier ones.

#include "tests/cli/verify/verify_fixture.h"

// 0 relu x e | 1 relu x t | 2 relu t a | 3 copy a into a row of l | 4 jump to 1
// l lies at 64.
static test_program* collecting(uint64_t early, uint64_t round) {
  test_program* const p = stock(96);
  const int x = test_input(p, four_at(p, 0), "x");
  const int again = test_input(p, test_bool(p, false), "again");
  const int row = test_input(p, test_int(p, 0), "row");
  const int e = four_at(p, early), t = four_at(p, round), a = four_at(p, 48);
  const int l = test_scratch(p, F32, SIZES(2, 4), 64);
  relu(p, x, e);
  relu(p, x, t);
  relu(p, t, a);
  test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, a, row));
  test_jump_false(p, again, 1);
  test_output(p, l, "y");
  return p;
}

static void rows_of_earlier_iterations_must_stay_valid(void** state) {
  (void)state;
  accept(collecting(16, 32));
  refuse(
      collecting(16, 80),
      "value '4' overwrites rows of value '6' that an earlier iteration wrote");
}

static void bytes_of_rows_may_be_used_before_the_loop(void** state) {
  (void)state;
  accept(collecting(64, 32));
}

// The loop of `collecting`, a read of the list after it, and an outer loop that
// uses the bytes of the list in between.
static void an_outer_loop_may_use_the_bytes_in_between(void** state) {
  (void)state;
  test_program* const p = stock(112);
  const int x = test_input(p, four_at(p, 0), "x");
  const int again = test_input(p, test_bool(p, false), "again");
  const int more = test_input(p, test_bool(p, false), "more");
  const int row = test_input(p, test_int(p, 0), "row");
  const int a = four_at(p, 48), t = four_at(p, 80), y = four_at(p, 16);
  const int l = test_scratch(p, F32, SIZES(2, 4), 64);
  relu(p, x, a);
  test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, a, row));
  test_jump_false(p, again, 0);
  relu(p, l, l);
  relu(p, x, t);
  relu(p, t, y);
  test_jump_false(p, more, 0);
  test_output(p, y, "y");
  accept(p);
}

static void bytes_of_rows_may_be_used_without_a_loop(void** state) {
  (void)state;
  test_program* const p = stock(96);
  const int x = test_input(p, four_at(p, 0), "x");
  const int row = test_input(p, test_int(p, 0), "row");
  const int t = four_at(p, 32), y = four_at(p, 16);
  const int l = test_scratch(p, F32, SIZES(2, 4), 32);
  test_call(p, "executorch_prim::et_copy_index", "tensor", ARGS(l, x, row));
  relu(p, x, t);
  relu(p, t, y);
  test_output(p, y, "y");
  accept(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_earlier_iterations_must_stay_valid),
      cmocka_unit_test(bytes_of_rows_may_be_used_before_the_loop),
      cmocka_unit_test(an_outer_loop_may_use_the_bytes_in_between),
      cmocka_unit_test(bytes_of_rows_may_be_used_without_a_loop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
