// The proof of reads, writes, views and jumps: one correct or wrong program in
// each test.

#include "tests/cli/verify/verify_fixture.h"

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
  refuse(s.p, "reads value '1', but value '2' overwrote it at instruction '1'");
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
  refuse(s.p, "the method returns value '1'");
}

static void a_value_that_was_not_written_is_refused(void** state) {
  (void)state;
  const small s = start(32);
  const int a = four_at(s.p, 0), b = four_at(s.p, 16);
  relu(s.p, a, b);
  test_output(s.p, b, "y");
  refuse(s.p, "but nothing has written it");
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
  refuse(s.p, "the method returns");
}

// The second result is a constant, or has the bytes of the argument.
static void every_output_of_a_call_is_checked(void** state) {
  static const int64_t data[4] = {0};
  (void)state;
  for (int round = 0; round < 3; ++round) {
    test_program* const p = start(160).p;
    const int given = test_input(p, test_borrowed(p, F32, SIZES(4, 4)), "x");
    const int x = test_scratch(p, F32, SIZES(4, 4), 0);
    const int values = four_at(p, 64);
    const int indices =
        round == 0
            ? test_constant(p, ETX_DTYPE_INT64, SIZES(4),
                            test_data(p, data, sizeof data))
            : test_scratch(p, ETX_DTYPE_INT64, SIZES(4), round == 1 ? 32 : 96);
    relu(p, given, x);
    test_call(p, "aten::max", "dim_max",
              ARGS(x, test_int(p, 1), test_bool(p, false), values, indices,
                   test_tensors(p, ARGS(values, indices))));
    test_output(p, values, "y");
    test_output(p, indices, "i");
    if (round == 2) {
      accept(p);
    } else {
      refuse(p, round == 0 ? "which is a constant" : "value '3'");
    }
  }
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
  refuse(s.p, "which is a constant");
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

static void an_argument_overwritten_in_place_must_not_be_read_again(
    void** state) {
  (void)state;
  const small s = start(32);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0), b = four_at(s.p, 0), c = four_at(s.p, 16);
  relu(s.p, x, a);
  relu(s.p, a, b);
  add(s.p, a, b, c);
  test_output(s.p, c, "y");
  refuse(s.p, "overwrote it at instruction '1'");
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
  refuse(s.p, "which the operator does not allow");
}

static void a_result_that_partly_overlaps_its_argument_is_refused(
    void** state) {
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
  refuse(s.p, "which the operator does not allow");
}

static void a_broadcast_argument_may_not_be_overwritten(void** state) {
  (void)state;
  const small s = start(64);
  const int x = test_input(s.p, test_borrowed(s.p, F32, SIZES(4, 1)), "x");
  const int y = test_input(s.p, test_borrowed(s.p, F32, SIZES(1, 4)), "y");
  const int a = test_scratch(s.p, F32, SIZES(4, 1), 0);
  const int b = test_scratch(s.p, F32, SIZES(4, 4), 0);
  relu(s.p, x, a);
  add(s.p, a, y, b);
  test_output(s.p, b, "z");
  refuse(s.p, "which the operator does not allow");
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

// The view is the upper half of its base.
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
  refuse(half_overwritten(16), "reads value '2', but value '4' overwrote it");
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
      refuse(s.p, "but nothing has written it");
    }
  }
}

static void parts_may_be_made_of_parts(void** state) {
  (void)state;
  for (int spoilt = 0; spoilt < 2; ++spoilt) {
    const small s = start(112);
    const int x = borrowed_input(s.p);
    const int a = four_at(s.p, 0), b = four_at(s.p, 16), c = four_at(s.p, 32);
    const int ab = test_scratch(s.p, F32, SIZES(8), 0);
    const int abc = test_scratch(s.p, F32, SIZES(12), 0);
    const int other = four_at(s.p, spoilt ? 16 : 48);
    const int y = test_scratch(s.p, F32, SIZES(12), 64);
    relu(s.p, x, a);
    relu(s.p, x, b);
    relu(s.p, x, other);
    relu(s.p, x, c);
    relu(s.p, abc, y);
    test_output(s.p, y, "y");
    test_view(s.p, ab, a, 0);
    test_view(s.p, ab, b, 16);
    test_view(s.p, abc, ab, 0);
    test_view(s.p, abc, c, 32);
    if (spoilt) {
      refuse(s.p, "reads value '5'");
    } else {
      accept(s.p);
    }
  }
}

static void a_value_that_takes_over_a_header_names_the_same_bytes(
    void** state) {
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
      refuse(s.p, "reads value '2', but value '3' overwrote it");
    } else {
      accept(s.p);
    }
  }
}

// ---- tensors that are only sized ----

static void give_sizes(test_program* p, int value) {
  const int sizes = test_ints(p, ARGS(test_int(p, 4)));
  const int none = test_none(p);
  test_call(p, "aten::empty", "out", ARGS(sizes, none, value, value));
}

// a = relu(x); v, the upper half of a, is sized; b = relu(x) in the bytes at
// `offset`; y = v + b.
static test_program* half_is_sized(uint64_t offset, bool has_row) {
  const small s = start(64);
  const int x = test_input(s.p, test_borrowed(s.p, F32, SIZES(8)), "x");
  const int z = borrowed_input(s.p);
  const int a = test_scratch(s.p, F32, SIZES(8), 0);
  const int v = test_dynamic(s.p, test_scratch(s.p, F32, SIZES(4), 16));
  const int b = four_at(s.p, offset), c = four_at(s.p, 48);
  relu(s.p, x, a);
  give_sizes(s.p, v);
  relu(s.p, z, b);
  add(s.p, v, b, c);
  test_output(s.p, c, "y");
  if (has_row) test_view(s.p, v, a, 16);
  return s.p;
}

static void a_sized_tensor_is_valid_if_its_base_is(void** state) {
  (void)state;
  accept(half_is_sized(32, true));
  // No instruction reads the lower half, but a block moves as a whole.
  refuse(half_is_sized(0, true), "the two share bytes in layout '0'");
  refuse(half_is_sized(16, true),
         "reads value '3', but value '4' overwrote it");
}

static void a_sized_tensor_without_a_base_is_not_valid(void** state) {
  (void)state;
  refuse(half_is_sized(32, false),
         "reads value '3', but nothing has written it");
}

static void sizing_a_tensor_invalidates_no_other(void** state) {
  (void)state;
  const small s = start_with_state(32, 32);
  const int x = borrowed_input(s.p);
  const int cache = test_state(s.p, "cache", F32, SIZES(8), 0);
  const int v = test_dynamic(s.p, test_planned(s.p, F32, SIZES(4), 2, 16));
  const int a = four_at(s.p, 0);
  const float data[4] = {1, 2, 3, 4};
  const int c = test_dynamic(
      s.p,
      test_constant(s.p, F32, SIZES(4), test_data(s.p, data, sizeof data)));
  (void)cache;
  give_sizes(s.p, v);
  give_sizes(s.p, c);
  add(s.p, x, v, a);
  add(s.p, a, c, a);
  test_output(s.p, a, "y");
  test_view(s.p, v, cache, 16);
  test_state_row(s.p, "cache", F32, SIZES(8), 0, 0)->is_uniform = true;
  accept(s.p);
}

// A stock file has uninitialised tensors; any content counts as valid until
// another value has the bytes.
static void a_stock_files_empty_tensor_may_be_read(void** state) {
  (void)state;
  for (int lost = 0; lost < 2; ++lost) {
    test_program* const p = stock(64);
    const int x = test_input(p, test_borrowed(p, F32, SIZES(4)), "x");
    const int a = four_at(p, 0), e = four_at(p, 16), b = four_at(p, 32);
    relu(p, x, a);
    give_sizes(p, e);
    relu(p, x, four_at(p, lost ? 24 : 48));
    add(p, a, e, b);
    test_output(p, b, "y");
    if (lost) {
      refuse(p, "reads value '2', but value '7' overwrote it");
    } else {
      accept(p);
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

// An instruction that no path reaches reads it after its bytes were taken.
static void a_written_value_of_a_stock_file_is_no_state(void** state) {
  (void)state;
  test_program* const p = stock(64);
  const int x = borrowed_input(p);
  const int a = four_at(p, 0), b = four_at(p, 0);
  const int y = four_at(p, 16), z = four_at(p, 32);
  relu(p, x, a);
  relu(p, a, y);
  relu(p, x, b);
  test_jump_false(p, test_bool(p, false), 5);
  relu(p, a, y);
  relu(p, b, z);
  test_output(p, y, "y");
  test_output(p, z, "z");
  accept(p);
}

// Of three results of a call, one is a view of another one by its row: what the
// call writes last is in both.
static void a_result_may_not_be_a_view_of_another_one(void** state) {
  static const int pairs[][2] = {{0, 0}, {1, 0}, {2, 0}, {2, 1}};
  (void)state;
  for (int kind = 0; kind < 4; ++kind) {
    test_program* const p = start(64).p;
    const int x = test_input(p, test_borrowed(p, F32, SIZES(12)), "x");
    const int inner = pairs[kind][0], outer = pairs[kind][1];
    int items[3];
    for (int i = 0; i < 3; ++i) {
      const int at = kind > 0 && i == inner ? outer : i;
      items[i] = four_at(p, (uint64_t)(16 * at));
    }
    if (kind > 0) test_view(p, items[inner], items[outer], 0);
    const int list = test_tensors(p, items, 3);
    test_call(p, "aten::split_copy", "Tensor_out",
              ARGS(x, test_int(p, 4), test_int(p, 0), list, list));
    for (int i = 0; i < 3; ++i) test_output(p, items[i], "y");
    if (kind == 0) {
      accept(p);
    } else {
      refuse(p, "overwrote it at instruction '0'");
    }
  }
}

// The input is overwritten after its last read.
static void a_jump_that_is_always_taken_leads_to_one_place(void** state) {
  (void)state;
  test_program* const p = start(64).p;
  const int x = borrowed_input(p), in = test_input(p, four_at(p, 0), "in");
  const int b = four_at(p, 0), y = four_at(p, 16), z = four_at(p, 32);
  relu(p, in, y);
  relu(p, x, b);
  test_jump_false(p, test_bool(p, false), 4);
  relu(p, x, y);
  relu(p, b, z);
  test_output(p, y, "y");
  test_output(p, z, "z");
  accept(p);
}

static void branches_may_share_bytes(void** state) {
  (void)state;
  accept(branches(0, 4, true));
  accept(branches(16, 4, true));
}

static void a_path_that_does_not_write_is_refused(void** state) {
  (void)state;
  refuse(branches(0, 4, false), "on some path it was not written");
  refuse(branches(0, 5, true), "on some path it was not written");
  refuse(branches(0, 6, true), "on some path it was not written");
}

static void outputs_must_be_valid_after_a_jump_past_the_end(void** state) {
  (void)state;
  refuse(branches(0, 7, true), "the method returns");
}

// a = relu(x); if (c) { b = relu(x), over a; y = relu(b) } else { y = relu(a) }
// where the end of the first branch jumps on number `always`.
static test_program* branches_that_join(int condition, bool is_moved) {
  const small s = start(64);
  const int x = borrowed_input(s.p);
  const int c =
      test_input(s.p, test_borrowed(s.p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
  const int always = test_bool(s.p, condition);
  const int no = test_bool(s.p, false);
  const int a = four_at(s.p, 0), b = four_at(s.p, 0), y = four_at(s.p, 32);
  relu(s.p, x, a);
  test_jump_false(s.p, c, 5);
  relu(s.p, x, b);
  relu(s.p, b, y);
  test_jump_false(s.p, always, is_moved ? 7 : 6);
  relu(s.p, a, y);
  if (is_moved) test_move(s.p, no, always);
  test_output(s.p, y, "y");
  return s.p;
}

static void a_jump_that_is_always_taken_has_one_successor(void** state) {
  (void)state;
  accept(branches_that_join(false, false));
  // A jump that is never taken, and one whose condition is moved to.
  refuse(branches_that_join(true, false), "reads value");
  refuse(branches_that_join(false, true), "reads value");
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
  refuse(s.p, "which is a constant");
}

// ---- operators that change an argument and have an output ----

// Writes `value` [1, 1, 1, 4] to row 1 of a cache [1, 2, 1, 4].
static void update_cache(test_program* p, int value, int cache, int out) {
  const int start = test_int(p, 1);
  test_call(p, "llama::update_cache", "out",
            ARGS(value, cache, start, out, out));
}

static void an_argument_that_is_updated_must_be_valid(void** state) {
  (void)state;
  for (int holds = 0; holds < 2; ++holds) {
    const small s = start(96);
    const int x =
        test_input(s.p, test_borrowed(s.p, F32, SIZES(1, 2, 1, 4)), "x");
    const int row = test_scratch(s.p, F32, SIZES(1, 1, 1, 4), 0);
    const int cache = test_scratch(s.p, F32, SIZES(1, 2, 1, 4), 16);
    const int out = test_scratch(s.p, F32, SIZES(1), 48);
    const int y = test_scratch(s.p, F32, SIZES(1, 2, 1, 4), 64);
    const int value =
        test_input(s.p, test_borrowed(s.p, F32, SIZES(1, 1, 1, 4)), "value");
    relu(s.p, value, row);
    if (holds) relu(s.p, x, cache);
    update_cache(s.p, row, cache, out);
    relu(s.p, cache, y);
    test_output(s.p, y, "y");
    if (holds) {
      accept(s.p);
    } else {
      refuse(s.p, "updates value");
    }
  }
}

static void a_changed_argument_may_not_overlap_a_read_one(void** state) {
  (void)state;
  const small s = start(64);
  const int x =
      test_input(s.p, test_borrowed(s.p, F32, SIZES(1, 2, 1, 4)), "x");
  const int cache = test_scratch(s.p, F32, SIZES(1, 2, 1, 4), 0);
  const int row = test_scratch(s.p, F32, SIZES(1, 1, 1, 4), 0);
  const int out = test_scratch(s.p, F32, SIZES(1), 48);
  relu(s.p, x, cache);
  test_view(s.p, row, cache, 0);
  update_cache(s.p, row, cache, out);
  test_output(s.p, cache, "y");
  refuse(s.p, "shares bytes with argument value");
}

static void a_changed_argument_may_not_overlap_an_output(void** state) {
  (void)state;
  const small s = start(64);
  const int x =
      test_input(s.p, test_borrowed(s.p, F32, SIZES(1, 2, 1, 4)), "x");
  const int value =
      test_input(s.p, test_borrowed(s.p, F32, SIZES(1, 1, 1, 4)), "value");
  const int cache = test_scratch(s.p, F32, SIZES(1, 2, 1, 4), 0);
  const int out = test_scratch(s.p, F32, SIZES(1), 16);
  relu(s.p, x, cache);
  update_cache(s.p, value, cache, out);
  test_output(s.p, cache, "y");
  refuse(s.p, "the method returns value");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_of_a_dead_value_may_be_used_again),
      cmocka_unit_test(a_value_overwritten_while_it_is_needed_is_refused),
      cmocka_unit_test(one_shared_byte_range_is_enough),
      cmocka_unit_test(an_output_overwritten_before_the_end_is_refused),
      cmocka_unit_test(a_value_that_was_not_written_is_refused),
      cmocka_unit_test(planned_inputs_are_written_when_the_method_starts),
      cmocka_unit_test(two_inputs_in_the_same_bytes_are_refused),
      cmocka_unit_test(two_outputs_of_one_call_in_the_same_bytes_are_refused),
      cmocka_unit_test(every_output_of_a_call_is_checked),
      cmocka_unit_test(constants_are_not_written),
      cmocka_unit_test(an_elementwise_result_may_take_its_arguments_bytes),
      cmocka_unit_test(an_argument_overwritten_in_place_must_not_be_read_again),
      cmocka_unit_test(a_product_may_not_take_its_arguments_bytes),
      cmocka_unit_test(a_result_that_partly_overlaps_its_argument_is_refused),
      cmocka_unit_test(a_broadcast_argument_may_not_be_overwritten),
      cmocka_unit_test(a_copy_onto_itself_is_refused),
      cmocka_unit_test(a_view_is_read_through_its_base),
      cmocka_unit_test(a_view_needs_its_own_bytes_of_the_base),
      cmocka_unit_test(a_view_elsewhere_is_refused),
      cmocka_unit_test(a_value_made_of_parts_needs_all_of_them),
      cmocka_unit_test(parts_may_be_made_of_parts),
      cmocka_unit_test(a_value_that_takes_over_a_header_names_the_same_bytes),
      cmocka_unit_test(a_sized_tensor_is_valid_if_its_base_is),
      cmocka_unit_test(a_sized_tensor_without_a_base_is_not_valid),
      cmocka_unit_test(sizing_a_tensor_invalidates_no_other),
      cmocka_unit_test(a_stock_files_empty_tensor_may_be_read),
      cmocka_unit_test(branches_may_share_bytes),
      cmocka_unit_test(a_path_that_does_not_write_is_refused),
      cmocka_unit_test(a_jump_that_is_always_taken_has_one_successor),
      cmocka_unit_test(outputs_must_be_valid_after_a_jump_past_the_end),
      cmocka_unit_test(a_value_read_in_a_loop_lives_through_it),
      cmocka_unit_test(a_constant_reached_by_a_move_is_not_written),
      cmocka_unit_test(an_argument_that_is_updated_must_be_valid),
      cmocka_unit_test(a_changed_argument_may_not_overlap_a_read_one),
      cmocka_unit_test(a_changed_argument_may_not_overlap_an_output),
      cmocka_unit_test(a_written_value_of_a_stock_file_is_no_state),
      cmocka_unit_test(a_result_may_not_be_a_view_of_another_one),
      cmocka_unit_test(a_jump_that_is_always_taken_leads_to_one_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
