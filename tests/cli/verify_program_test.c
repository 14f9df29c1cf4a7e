// The proof, one way of being right or wrong at a time, on programs of a few
// instructions.

#include "tests/support/assert_status.h"

#include <stdlib.h>
#include <time.h>

#include "cli/verify_program.h"
#include "tests/support/test_program.h"

static const etx_dtype F32 = ETX_DTYPE_FLOAT32;

static etx_diag diag;

// ---- what programs are made of ----

typedef struct small {
  test_program* p;
  int alpha;
} small;

// A method of etx with `scratch` bytes of arena 1.
static small start(int64_t scratch) {
  const small s = {test_program_new(), 0};
  test_method(s.p, "m");
  test_arenas(s.p, scratch, 0);
  test_blob(s.p);
  return s;
}

static small start_with_state(int64_t scratch, int64_t state) {
  const small s = {test_program_new(), 0};
  test_method(s.p, "m");
  test_arenas(s.p, scratch, state);
  test_blob(s.p);
  return s;
}

// Four floats: 16 bytes.
static int four_at(test_program* p, uint64_t offset) {
  return test_scratch(p, F32, SIZES(4), offset);
}

static int borrowed_input(test_program* p) {
  return test_input(p, test_borrowed(p, F32, SIZES(4)), "x");
}

static void relu(test_program* p, int from, int to) {
  test_call(p, "aten::relu", "out", ARGS(from, to, to));
}

static void copy_onto(test_program* p, int to, int from) {
  const int no = test_bool(p, false);
  test_call(p, "aten::copy_", "", ARGS(to, from, no, to));
}

static void add(test_program* p, int a, int b, int to) {
  const int alpha = test_int(p, 1);
  test_call(p, "aten::add", "out", ARGS(a, b, alpha, to, to));
}

static void matmul(test_program* p, int a, int b, int to) {
  test_call(p, "aten::mm", "out", ARGS(a, b, to, to));
}

static void accept(test_program* p) {
  etx_verify_report report;
  assert_ok(etx_verify_program(test_file(p), &report, &diag));
  assert_int_equal(report.level, ETX_VERIFY_PROVED);
  test_program_end(p);
}

static void refuse(test_program* p, const char* part) {
  etx_verify_report report;
  assert_refused(etx_verify_program(test_file(p), &report, &diag), ETX_BAD_PLAN,
                 part);
  assert_int_equal(report.level, ETX_VERIFY_ALLOCATION);
  test_program_end(p);
}

// ---- reads and writes ----

static void bytes_of_a_dead_value_may_be_used_again(void** state) {
  (void)state;
  const small s = start(32);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0), b = four_at(s.p, 16), c = four_at(s.p, 0);
  relu(s.p, x, a);
  relu(s.p, a, b);
  relu(s.p, b, c);
  test_output(s.p, c, "y");
  accept(s.p);
}

static void a_value_overwritten_while_it_is_needed_is_refused(void** state) {
  (void)state;
  const small s = start(48);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0), b = four_at(s.p, 0), c = four_at(s.p, 32);
  relu(s.p, x, a);
  relu(s.p, x, b);
  add(s.p, a, b, c);
  test_output(s.p, c, "y");
  refuse(s.p, "reads value '1', which value '2' overwrote at instruction '1'");
}

static void one_shared_byte_range_is_enough(void** state) {
  (void)state;
  const small s = start(64);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0);
  const int b = test_scratch(s.p, F32, SIZES(8), 0);
  const int c = four_at(s.p, 32);
  const int d = four_at(s.p, 48);
  relu(s.p, x, c);
  relu(s.p, c, a);
  test_call(s.p, "aten::cat", "out",
            ARGS(test_tensors(s.p, ARGS(c, c)), test_int(s.p, 0), b, b));
  add(s.p, a, c, d);
  test_output(s.p, d, "y");
  refuse(s.p, "overwrote");
}

static void an_output_overwritten_before_the_end_is_refused(void** state) {
  (void)state;
  const small s = start(32);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0), b = four_at(s.p, 0);
  relu(s.p, x, a);
  relu(s.p, x, b);
  test_output(s.p, a, "y");
  refuse(s.p, "an output reads value '1'");
}

static void a_value_that_nobody_wrote_is_refused(void** state) {
  (void)state;
  const small s = start(32);
  const int a = four_at(s.p, 0), b = four_at(s.p, 16);
  relu(s.p, a, b);
  test_output(s.p, b, "y");
  refuse(s.p, "before anything wrote it");
}

static void planned_inputs_are_written_when_the_method_starts(void** state) {
  (void)state;
  const small s = start(32);
  const int x = test_input(s.p, four_at(s.p, 0), "x");
  const int a = four_at(s.p, 16);
  relu(s.p, x, a);
  test_output(s.p, a, "y");
  accept(s.p);
}

static void two_inputs_in_the_same_bytes_are_refused(void** state) {
  (void)state;
  const small s = start(48);
  const int x = test_input(s.p, four_at(s.p, 0), "x");
  const int y = test_input(s.p, four_at(s.p, 0), "y");
  const int a = four_at(s.p, 16);
  (void)x;
  relu(s.p, y, a);
  test_output(s.p, a, "z");
  refuse(s.p, "value '1'");
}

static void two_outputs_of_one_call_in_the_same_bytes_are_refused(
    void** state) {
  (void)state;
  const small s = start(64);
  const int x = test_input(s.p, test_borrowed(s.p, F32, SIZES(4, 4)), "x");
  const int values = four_at(s.p, 0);
  const int indices = test_scratch(s.p, ETX_DTYPE_INT64, SIZES(4), 0);
  const int dim = test_int(s.p, 1), keep = test_bool(s.p, false);
  const int list = test_tensors(s.p, ARGS(values, indices));
  test_call(s.p, "aten::max", "dim_max",
            ARGS(x, dim, keep, values, indices, list));
  test_output(s.p, values, "y");
  refuse(s.p, "an output reads");
}

static void constants_are_not_written(void** state) {
  (void)state;
  const small s = start(32);
  const float data[4] = {1, 2, 3, 4};
  const int c =
      test_constant(s.p, F32, SIZES(4), test_data(s.p, data, sizeof data));
  const int x = borrowed_input(s.p);
  relu(s.p, x, c);
  test_output(s.p, c, "y");
  refuse(s.p, "is a constant and is written");
}

// ---- in place ----

static void an_elementwise_result_may_take_its_arguments_bytes(void** state) {
  (void)state;
  const small s = start(16);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0), b = four_at(s.p, 0);
  relu(s.p, x, a);
  add(s.p, a, a, b);
  test_output(s.p, b, "y");
  accept(s.p);
}

static void an_argument_taken_over_must_not_be_read_again(void** state) {
  (void)state;
  const small s = start(32);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0), b = four_at(s.p, 0), c = four_at(s.p, 16);
  relu(s.p, x, a);
  relu(s.p, a, b);
  add(s.p, a, b, c);
  test_output(s.p, c, "y");
  refuse(s.p, "overwrote at instruction '1'");
}

static void a_product_may_not_take_its_arguments_bytes(void** state) {
  (void)state;
  const small s = start(64);
  const int x = test_input(s.p, test_borrowed(s.p, F32, SIZES(4, 4)), "x");
  const int a = test_scratch(s.p, F32, SIZES(4, 4), 0);
  const int b = test_scratch(s.p, F32, SIZES(4, 4), 0);
  relu(s.p, x, a);
  matmul(s.p, a, x, b);
  test_output(s.p, b, "y");
  refuse(s.p, "which the same instruction reads");
}

static void a_result_beside_its_argument_is_refused(void** state) {
  (void)state;
  const small s = start(48);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0);
  const int b = test_scratch(s.p, F32, SIZES(4), 0);
  test_tensor_of(s.p, b)->memory_offset = 16;
  test_tensor_of(s.p, a)->memory_offset = 8;
  relu(s.p, x, a);
  relu(s.p, a, b);
  test_output(s.p, b, "y");
  refuse(s.p, "which the same instruction reads");
}

static void a_broadcast_argument_is_not_taken_over(void** state) {
  (void)state;
  const small s = start(64);
  const int x = test_input(s.p, test_borrowed(s.p, F32, SIZES(4, 1)), "x");
  const int y = test_input(s.p, test_borrowed(s.p, F32, SIZES(1, 4)), "y");
  const int a = test_scratch(s.p, F32, SIZES(4, 1), 0);
  const int b = test_scratch(s.p, F32, SIZES(4, 4), 0);
  relu(s.p, x, a);
  add(s.p, a, y, b);
  test_output(s.p, b, "z");
  refuse(s.p, "which the same instruction reads");
}

static void a_copy_onto_itself_is_refused(void** state) {
  (void)state;
  const small s = start(32);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0), b = four_at(s.p, 0);
  relu(s.p, x, a);
  test_call(s.p, "aten::clone", "out", ARGS(a, test_none(s.p), b, b));
  test_output(s.p, b, "y");
  refuse(s.p, "copied onto itself");
}

// ---- views ----

static void a_view_is_read_through_its_base(void** state) {
  (void)state;
  const small s = start(48);
  const int x = test_input(s.p, test_borrowed(s.p, F32, SIZES(8)), "x");
  const int a = test_scratch(s.p, F32, SIZES(8), 0);
  const int v = test_scratch(s.p, F32, SIZES(4), 16);
  const int b = four_at(s.p, 32);
  relu(s.p, x, a);
  relu(s.p, v, b);
  test_output(s.p, b, "y");
  test_view(s.p, v, a, 16);
  accept(s.p);
}

// The view has the upper half of its base.
static test_program* half_overwritten(uint64_t offset) {
  const small s = start(64);
  const int x = test_input(s.p, test_borrowed(s.p, F32, SIZES(8)), "x");
  const int a = test_scratch(s.p, F32, SIZES(8), 0);
  const int v = test_scratch(s.p, F32, SIZES(4), 16);
  const int b = four_at(s.p, 32), c = four_at(s.p, offset);
  const int d = four_at(s.p, 48);
  relu(s.p, x, a);
  relu(s.p, v, b);
  relu(s.p, b, c);
  add(s.p, v, c, d);
  test_output(s.p, d, "y");
  test_view(s.p, v, a, 16);
  return s.p;
}

static void a_view_needs_its_own_bytes_of_the_base(void** state) {
  (void)state;
  refuse(half_overwritten(16), "reads value '2', which value '4' overwrote");
  accept(half_overwritten(0));
}

static void a_view_elsewhere_is_refused(void** state) {
  (void)state;
  const small s = start(48);
  const int x = test_input(s.p, test_borrowed(s.p, F32, SIZES(8)), "x");
  const int a = test_scratch(s.p, F32, SIZES(8), 0);
  const int v = test_scratch(s.p, F32, SIZES(4), 12);
  const int b = four_at(s.p, 32);
  relu(s.p, x, a);
  relu(s.p, v, b);
  test_output(s.p, b, "y");
  test_view(s.p, v, a, 16);
  refuse(s.p, "view");
}

static void a_value_made_of_parts_needs_all_of_them(void** state) {
  (void)state;
  for (int missing = 0; missing < 2; ++missing) {
    const small s = start(80);
    const int x = borrowed_input(s.p);
    const int a = four_at(s.p, 0), b = four_at(s.p, 16);
    const int both = test_scratch(s.p, F32, SIZES(8), 0);
    const int c = test_scratch(s.p, F32, SIZES(8), 32);
    relu(s.p, x, a);
    if (missing == 0) relu(s.p, x, b);
    relu(s.p, both, c);
    test_output(s.p, c, "y");
    test_view(s.p, both, a, 0);
    test_view(s.p, both, b, 16);
    if (missing == 0) {
      accept(s.p);
    } else {
      refuse(s.p, "before anything wrote it");
    }
  }
}

static void a_header_taken_over_leads_to_the_same_bytes(void** state) {
  (void)state;
  for (int spoilt = 0; spoilt < 2; ++spoilt) {
    const small s = start(48);
    const int x = borrowed_input(s.p);
    const int a = four_at(s.p, 0);
    const int v = test_borrowed(s.p, F32, SIZES(2, 2));
    const int b = four_at(s.p, spoilt ? 0 : 16);
    const int c = test_scratch(s.p, F32, SIZES(2, 2), 32);
    const int two = test_int(s.p, 2);
    relu(s.p, x, a);
    test_call(s.p, "executorch_prim::et_view", "default",
              ARGS(a, test_ints(s.p, ARGS(two, two)), v));
    relu(s.p, x, b);
    relu(s.p, v, c);
    test_output(s.p, c, "y");
    if (spoilt) {
      refuse(s.p, "reads value '2', which value '3' overwrote");
    } else {
      accept(s.p);
    }
  }
}

// ---- paths ----

// if (c) { a = relu(x); y = a } else { b = relu(x); y = b }
static test_program* branches(uint64_t b_offset, int jump, bool moves_both) {
  const small s = start(64);
  const int x = borrowed_input(s.p);
  const int c =
      test_input(s.p, test_borrowed(s.p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
  const int never = test_bool(s.p, false);
  const int a = four_at(s.p, 0), b = four_at(s.p, b_offset);
  const int y = test_borrowed(s.p, F32, SIZES(4));
  const int z = four_at(s.p, 32);
  test_jump_false(s.p, c, jump);
  relu(s.p, x, a);
  test_move(s.p, a, y);
  test_jump_false(s.p, never, 6);
  relu(s.p, x, b);
  if (moves_both) {
    test_move(s.p, b, y);
  } else {
    relu(s.p, x, b);
  }
  relu(s.p, y, z);
  test_output(s.p, z, "z");
  return s.p;
}

static void branches_may_share_bytes(void** state) {
  (void)state;
  accept(branches(0, 4, true));
  accept(branches(16, 4, true));
}

static void a_path_that_does_not_write_is_refused(void** state) {
  (void)state;
  refuse(branches(0, 4, false), "which not every path wrote");
  refuse(branches(0, 5, true), "which not every path wrote");
  refuse(branches(0, 6, true), "which not every path wrote");
}

static void a_jump_past_the_end_leaves_and_outputs_must_hold(void** state) {
  (void)state;
  refuse(branches(0, 70, true), "an output reads");
}

// i = 0; acc = relu(x); do { t = relu(x); acc += t } while (...)
static test_program* loop(uint64_t t_offset, int target) {
  const small s = start(64);
  const int x = borrowed_input(s.p);
  const int c =
      test_input(s.p, test_borrowed(s.p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
  const int once = four_at(s.p, 0);
  const int t = four_at(s.p, t_offset);
  const int acc = four_at(s.p, 32);
  relu(s.p, x, once);
  relu(s.p, x, acc);
  relu(s.p, once, t);
  add(s.p, acc, t, acc);
  test_jump_false(s.p, c, target);
  test_output(s.p, acc, "y");
  return s.p;
}

static void a_value_read_in_a_loop_lives_through_it(void** state) {
  (void)state;
  accept(loop(16, 2));
  accept(loop(0, 0));
  refuse(loop(0, 2), "reads value '2'");
}

static void a_constant_reached_by_a_move_is_not_written(void** state) {
  (void)state;
  const small s = start(32);
  const float data[4] = {1, 2, 3, 4};
  const int k =
      test_constant(s.p, F32, SIZES(4), test_data(s.p, data, sizeof data));
  const int x = borrowed_input(s.p);
  const int y = four_at(s.p, 0);
  relu(s.p, x, y);
  test_output(s.p, y, "y");
  test_move(s.p, k, y);
  refuse(s.p, "is a constant and is written");
}

// ---- state ----

static void state_is_read_updated_and_kept(void** state) {
  (void)state;
  const small s = start_with_state(32, 32);
  const int x = borrowed_input(s.p);
  const int a = test_state(s.p, "a", F32, SIZES(4), 0);
  const int b = test_state(s.p, "b", F32, SIZES(4), 16);
  const int t = four_at(s.p, 0);
  relu(s.p, a, t);
  add(s.p, b, x, b);
  copy_onto(s.p, a, b);
  test_output(s.p, t, "y");
  test_state_row(s.p, "a", F32, SIZES(4), 0, 0, false);
  test_state_row(s.p, "b", F32, SIZES(4), 16, 0, false);
  accept(s.p);
}

static void nothing_but_state_lies_among_states(void** state) {
  (void)state;
  const small s = start_with_state(32, 32);
  const int x = borrowed_input(s.p);
  const int a = test_state(s.p, "a", F32, SIZES(4), 0);
  const int t = test_planned(s.p, F32, SIZES(4), 2, 16);
  relu(s.p, x, t);
  relu(s.p, t, a);
  test_state_row(s.p, "a", F32, SIZES(4), 0, 0, false);
  refuse(s.p, "lies among the states");
}

static void a_part_of_a_state_may_be_written(void** state) {
  (void)state;
  const small s = start_with_state(32, 32);
  const int x = borrowed_input(s.p);
  const int a = test_state(s.p, "a", F32, SIZES(8), 0);
  const int part = test_planned(s.p, F32, SIZES(4), 2, 16);
  const int y = test_scratch(s.p, F32, SIZES(8), 0);
  relu(s.p, x, part);
  relu(s.p, a, y);
  test_output(s.p, y, "y");
  test_view(s.p, part, a, 16);
  test_state_row(s.p, "a", F32, SIZES(8), 0, 0, false);
  accept(s.p);
}

static void states_that_share_bytes_are_refused(void** state) {
  (void)state;
  const small s = start_with_state(0, 48);
  test_state(s.p, "a", F32, SIZES(8), 0);
  test_state(s.p, "b", F32, SIZES(4), 16);
  test_state_row(s.p, "a", F32, SIZES(8), 0, 0, false);
  test_state_row(s.p, "b", F32, SIZES(4), 16, 0, false);
  refuse(s.p, "two states share bytes");
}

static void a_state_has_one_address_in_all_methods(void** state) {
  (void)state;
  const small s = start_with_state(0, 48);
  test_state(s.p, "a", F32, SIZES(4), 0);
  test_method(s.p, "n");
  test_arenas(s.p, 0, 48);
  test_state(s.p, "a", F32, SIZES(4), 16);
  test_state_row(s.p, "a", F32, SIZES(4), 0, 0, false);
  refuse(s.p, "is state 'a'");
}

static void state_in_scratch_is_refused(void** state) {
  (void)state;
  const small s = start_with_state(32, 32);
  const int a = test_state(s.p, "a", F32, SIZES(4), 0);
  test_tensor_of(s.p, a)->memory_id = 1;
  test_state_row(s.p, "a", F32, SIZES(4), 0, 0, false);
  refuse(s.p, "state 'a' lies in arena '1'");
}

static void all_methods_have_the_same_bytes_of_state(void** state) {
  (void)state;
  const small s = start_with_state(0, 32);
  test_state(s.p, "a", F32, SIZES(4), 0);
  test_method(s.p, "n");
  test_arenas(s.p, 0, 48);
  test_state_row(s.p, "a", F32, SIZES(4), 0, 0, false);
  refuse(s.p, "bytes of state");
}

static void the_layout_methods_must_tell_the_truth(void** state) {
  (void)state;
  for (int lie = 0; lie < 5; ++lie) {
    const small s = start_with_state(0, 32);
    char names[4] = "a";
    int64_t row[6] = {2, 0, 16, 16, 16, 4};
    test_state(s.p, "a", F32, SIZES(4), 16);
    test_state_row(s.p, "a", F32, SIZES(4), 16, 0, false);
    if (lie == 1) row[0] = 1;
    if (lie == 2) row[2] = 0;
    if (lie == 3) row[4] = 12;
    if (lie == 4) names[0] = 'b';
    test_method(s.p, "et_get_shared_buffer_names");
    test_output(s.p,
                test_constant(s.p, ETX_DTYPE_UINT8, SIZES(1, 4),
                              test_data(s.p, names, sizeof names)),
                "names");
    test_method(s.p, "et_get_shared_buffer_memory_plan");
    test_output(s.p,
                test_constant(s.p, ETX_DTYPE_INT64, SIZES(1, 6),
                              test_data(s.p, row, sizeof row)),
                "plan");
    if (lie == 0) {
      accept(s.p);
    } else {
      refuse(s.p, "row '0'");
    }
  }
}

// ---- arenas and sizes ----

static void a_tensor_past_its_arena_is_a_wrong_plan(void** state) {
  (void)state;
  const small s = start(32);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 32);
  relu(s.p, x, a);
  test_output(s.p, a, "y");
  refuse(s.p, "passes the end");
}

static void an_arena_that_does_not_exist_is_a_wrong_plan(void** state) {
  (void)state;
  const small s = start(32);
  const int x = borrowed_input(s.p);
  const int a = test_planned(s.p, F32, SIZES(4), 7, 0);
  relu(s.p, x, a);
  test_output(s.p, a, "y");
  refuse(s.p, "arena '7'");
}

static void offsets_are_aligned(void** state) {
  (void)state;
  const small s = start(32);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 8);
  relu(s.p, x, a);
  test_output(s.p, a, "y");
  refuse(s.p, "not a multiple of 16");
}

static void fixed_sizes_are_those_that_operators_make(void** state) {
  (void)state;
  const small s = start(32);
  const int x = borrowed_input(s.p);
  const int a = test_scratch(s.p, F32, SIZES(3), 0);
  relu(s.p, x, a);
  test_output(s.p, a, "y");
  refuse(s.p, "size '0' of value '1' is 3, the operator makes it 4");
}

// ---- what is not a wrong plan ----

static void a_damaged_file_is_refused_for_its_structure(void** state) {
  (void)state;
  const small s = start(32);
  etx_verify_report report;
  const int x = borrowed_input(s.p);
  relu(s.p, x, four_at(s.p, 0));
  etx_bytes file = test_file(s.p);
  file.size = 40;
  assert_status(etx_verify_program(file, &report, &diag), ETX_BAD_FILE);
  assert_int_equal(report.level, ETX_VERIFY_STRUCTURE);
  test_program_end(s.p);
}

static void an_unknown_operator_cannot_be_proved(void** state) {
  (void)state;
  const small s = start(32);
  etx_verify_report report;
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0);
  test_call(s.p, "mine::magic", "out", ARGS(x, a, a));
  assert_refused(etx_verify_program(test_file(s.p), &report, &diag),
                 ETX_MISSING_OPERATOR, "mine::magic.out");
  assert_int_equal(report.level, ETX_VERIFY_UNPROVABLE);
  test_program_end(s.p);
}

static void a_delegate_cannot_be_proved(void** state) {
  (void)state;
  const small s = start(32);
  etx_verify_report report;
  test_delegate(s.p, "some_backend");
  assert_refused(etx_verify_program(test_file(s.p), &report, &diag),
                 ETX_UNSUPPORTED, "delegate");
  test_program_end(s.p);
}

static void a_call_with_missing_arguments_is_refused(void** state) {
  (void)state;
  const small s = start(32);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0);
  test_call(s.p, "aten::relu", "out", ARGS(x, a));
  assert_refused(etx_verify_program(test_file(s.p), NULL, &diag), ETX_BAD_FILE,
                 "has 2 arguments, expected 3");
  test_program_end(s.p);
}

// ---- stock files ----

static test_program* stock(int64_t scratch) {
  test_program* const p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, scratch, 0);
  return p;
}

static void a_stock_file_may_elide_views(void** state) {
  (void)state;
  test_program* const p = stock(64);
  const int x = borrowed_input(p);
  const int a = four_at(p, 0), v = test_scratch(p, F32, SIZES(2, 2), 0);
  const int b = test_scratch(p, F32, SIZES(2, 2), 16);
  relu(p, x, a);
  relu(p, v, b);
  test_output(p, b, "");
  accept(p);
}

static void a_stock_files_state_must_survive_the_call(void** state) {
  (void)state;
  for (int lost = 0; lost < 2; ++lost) {
    test_program* const p = stock(64);
    const int x = borrowed_input(p);
    const int buffer = four_at(p, 0);
    const int t = four_at(p, lost ? 0 : 16), u = four_at(p, 32);
    add(p, buffer, x, u);
    relu(p, u, t);
    test_output(p, t, "");
    if (lost) {
      refuse(p, "the next call reads state");
    } else {
      accept(p);
    }
  }
}

static void a_stock_file_may_copy_a_state_onto_itself(void** state) {
  (void)state;
  test_program* const p = stock(64);
  const int x = borrowed_input(p);
  const int buffer = four_at(p, 0), t = four_at(p, 16);
  add(p, buffer, x, t);
  copy_onto(p, buffer, buffer);
  test_output(p, t, "");
  accept(p);
}

// ---- size ----

static etx_status collect_file(void* context, etx_bytes bytes) {
  etx_bytes_mut* const file = context;
  memcpy(file->data + file->size, bytes.data, bytes.size);
  file->size += bytes.size;
  return ETX_OK;
}

// A long chain over four blocks, as a planner would make it.
static etx_bytes_mut long_chain(size_t count) {
  static const int32_t sizes[1] = {4};
  static const uint8_t order[1] = {0};
  etx_pte_value* const values = calloc(count + 1, sizeof *values);
  etx_pte_instruction* const steps = calloc(count, sizeof *steps);
  int32_t(*const arguments)[3] = calloc(count, sizeof *arguments);
  for (size_t i = 0; i <= count; ++i) {
    values[i].kind = ETX_PTE_TENSOR;
    values[i].as.tensor = (etx_pte_tensor){.dtype = F32,
                                           .rank = 1,
                                           .sizes = sizes,
                                           .dim_order = order,
                                           .has_allocation = true,
                                           .memory_id = 1,
                                           .memory_offset = i % 4 * 16};
    if (i == count) break;
    arguments[i][0] = (int32_t)i;
    arguments[i][1] = arguments[i][2] = (int32_t)i + 1;
    steps[i] = (etx_pte_instruction){.kind = ETX_PTE_KERNEL_CALL,
                                     .arguments = arguments[i],
                                     .argument_count = 3};
  }
  const int32_t input = 0, output = (int32_t)count;
  const etx_pte_operator op = {etx_text_of("aten::relu"), etx_text_of("out")};
  const etx_pte_chain chain = {steps, count};
  const int64_t arenas[2] = {0, 64};
  const etx_pte_plan_content plan = {.name = etx_text_of("forward"),
                                     .values = values,
                                     .value_count = count + 1,
                                     .inputs = &input,
                                     .input_count = 1,
                                     .outputs = &output,
                                     .output_count = 1,
                                     .chains = &chain,
                                     .chain_count = 1,
                                     .operators = &op,
                                     .operator_count = 1,
                                     .buffer_sizes = arenas,
                                     .buffer_size_count = 2};
  const etx_bytes none = {NULL, 0};
  const etx_pte_content content = {.plans = &plan,
                                   .plan_count = 1,
                                   .constants = &none,
                                   .constant_count = 1,
                                   .constant_alignment = 16};
  size_t needed = 0;
  assert_ok(etx_pte_write_needed(&content, &needed));
  const size_t room = (needed + 4095) / 16 * 16;
  const etx_bytes_mut work = {aligned_alloc(16, room), room};
  etx_bytes_mut file = {aligned_alloc(16, room), 0};
  const etx_sink sink = {collect_file, &file};
  assert_ok(etx_pte_write(&content, work, &sink, &diag));
  free(work.data);
  free(values);
  free(steps);
  free(arguments);
  return file;
}

static double seconds_for(size_t count) {
  const etx_bytes_mut file = long_chain(count);
  const etx_bytes bytes = {file.data, file.size};
  const clock_t begin = clock();
  assert_ok(etx_verify_program(bytes, NULL, &diag));
  const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  free(file.data);
  return seconds;
}

// The limit is ten times what it takes, for slow machines and sanitizers.
static void a_hundred_thousand_values_are_proved_in_seconds(void** state) {
  (void)state;
  const double seconds = seconds_for(100000);
  print_message("100000 values in %.3f s\n", seconds);
  assert_true(seconds < 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_of_a_dead_value_may_be_used_again),
      cmocka_unit_test(a_value_overwritten_while_it_is_needed_is_refused),
      cmocka_unit_test(one_shared_byte_range_is_enough),
      cmocka_unit_test(an_output_overwritten_before_the_end_is_refused),
      cmocka_unit_test(a_value_that_nobody_wrote_is_refused),
      cmocka_unit_test(planned_inputs_are_written_when_the_method_starts),
      cmocka_unit_test(two_inputs_in_the_same_bytes_are_refused),
      cmocka_unit_test(two_outputs_of_one_call_in_the_same_bytes_are_refused),
      cmocka_unit_test(constants_are_not_written),
      cmocka_unit_test(an_elementwise_result_may_take_its_arguments_bytes),
      cmocka_unit_test(an_argument_taken_over_must_not_be_read_again),
      cmocka_unit_test(a_product_may_not_take_its_arguments_bytes),
      cmocka_unit_test(a_result_beside_its_argument_is_refused),
      cmocka_unit_test(a_broadcast_argument_is_not_taken_over),
      cmocka_unit_test(a_copy_onto_itself_is_refused),
      cmocka_unit_test(a_view_is_read_through_its_base),
      cmocka_unit_test(a_view_needs_its_own_bytes_of_the_base),
      cmocka_unit_test(a_view_elsewhere_is_refused),
      cmocka_unit_test(a_value_made_of_parts_needs_all_of_them),
      cmocka_unit_test(a_header_taken_over_leads_to_the_same_bytes),
      cmocka_unit_test(branches_may_share_bytes),
      cmocka_unit_test(a_path_that_does_not_write_is_refused),
      cmocka_unit_test(a_jump_past_the_end_leaves_and_outputs_must_hold),
      cmocka_unit_test(a_value_read_in_a_loop_lives_through_it),
      cmocka_unit_test(a_constant_reached_by_a_move_is_not_written),
      cmocka_unit_test(state_is_read_updated_and_kept),
      cmocka_unit_test(nothing_but_state_lies_among_states),
      cmocka_unit_test(a_part_of_a_state_may_be_written),
      cmocka_unit_test(states_that_share_bytes_are_refused),
      cmocka_unit_test(a_state_has_one_address_in_all_methods),
      cmocka_unit_test(state_in_scratch_is_refused),
      cmocka_unit_test(all_methods_have_the_same_bytes_of_state),
      cmocka_unit_test(the_layout_methods_must_tell_the_truth),
      cmocka_unit_test(a_tensor_past_its_arena_is_a_wrong_plan),
      cmocka_unit_test(an_arena_that_does_not_exist_is_a_wrong_plan),
      cmocka_unit_test(offsets_are_aligned),
      cmocka_unit_test(fixed_sizes_are_those_that_operators_make),
      cmocka_unit_test(a_damaged_file_is_refused_for_its_structure),
      cmocka_unit_test(an_unknown_operator_cannot_be_proved),
      cmocka_unit_test(a_delegate_cannot_be_proved),
      cmocka_unit_test(a_call_with_missing_arguments_is_refused),
      cmocka_unit_test(a_stock_file_may_elide_views),
      cmocka_unit_test(a_stock_files_state_must_survive_the_call),
      cmocka_unit_test(a_stock_file_may_copy_a_state_onto_itself),
      cmocka_unit_test(a_hundred_thousand_values_are_proved_in_seconds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
