// Schedules of parallel regions: what contradicts the file or itself, and pairs
// that share bytes. verify_regions_test.c has models and random schedules.

#include "tests/cli/verify/verify_fixture.h"

#include "cli/verify/verify_regions.h"

// a = relu(x), b = relu(x), c = a + b, d = relu(c)
static test_program* two_branches(uint64_t b_offset) {
  test_program* const p = stock(96);
  const int x = borrowed_input(p);
  const int a = four_at(p, 0), b = four_at(p, b_offset);
  const int c = four_at(p, 32), d = four_at(p, 48);
  relu(p, x, a);
  relu(p, x, b);
  add(p, a, b, c);
  relu(p, c, d);
  test_output(p, d, "d");
  return p;
}

static etx_status prove_steps(test_program* p,
                              const etx_verify_region_step* steps, size_t count,
                              size_t* out_pairs) {
  const etx_verify_schedule schedule = {etx_text_of("forward"), steps, count,
                                        NULL, 0};
  etx_diag_init(&diag);
  const etx_status status =
      etx_verify_regions(test_file(p), &schedule, out_pairs, &diag);
  test_program_end(p);
  return status;
}

static void branches_that_share_no_byte_may_run_together(void** state) {
  static const etx_verify_region_step steps[] = {
      {0, 2, 0}, {1, 2, 1}, {2, 0, 0}, {3, 0, 1}};
  (void)state;
  size_t pairs = 0;
  assert_ok(prove_steps(two_branches(16), steps, 4, &pairs));
  assert_int_equal(pairs, 1);
  assert_ok(prove_steps(two_branches(16), steps, 4, NULL));
  assert_refused(prove_steps(two_branches(0), steps, 4, NULL), ETX_BAD_PLAN,
                 "regions '0' and '1' may run at the same time, but "
                 "instruction '0' ('aten::relu.out') writes value '1' and "
                 "instruction '1' ('aten::relu.out') writes value '2' at bytes "
                 "0 to 16 of arena '1' (method 'forward')");
}

// Two groups one after the other, in a file of etx.
static void groups_are_compared_for_themselves(void** state) {
  static const etx_verify_region_step steps[] = {
      {0, 2, 0}, {1, 2, 1}, {2, 4, 0}, {3, 4, 1}};
  (void)state;
  size_t pairs = 0;
  test_program* const p = stock(96);
  test_blob(p);
  const int x = borrowed_input(p);
  for (int i = 0; i < 4; ++i) {
    const int y = four_at(p, (uint64_t)(16 * (i % 2)));
    relu(p, x, y);
    if (i > 1) test_output(p, y, "y");
  }
  assert_ok(prove_steps(p, steps, 4, &pairs));
  assert_int_equal(pairs, 2);
}

// The first region reads what the second one overwrites.
static void what_a_region_reads_is_not_overwritten(void** state) {
  static const etx_verify_region_step steps[] = {
      {0, 0, 0}, {1, 3, 0}, {2, 3, 1}};
  (void)state;
  test_program* const p = stock(96);
  const int x = borrowed_input(p);
  const int a = four_at(p, 0), b = four_at(p, 16), c = four_at(p, 0);
  relu(p, x, a);
  relu(p, a, b);
  relu(p, x, c);
  test_output(p, b, "b");
  test_output(p, c, "c");
  assert_refused(prove_steps(p, steps, 3, NULL), ETX_BAD_PLAN,
                 "reads value '1' and instruction '2' ('aten::relu.out') "
                 "writes value '3' at bytes 0 to 16 of arena '1'");
}

// One step works in place, and the next group reads what the first one has
// written.
static void a_step_is_not_compared_with_itself_or_other_groups(void** state) {
  static const etx_verify_region_step steps[] = {
      {0, 2, 0}, {1, 2, 1}, {2, 4, 0}, {3, 4, 1}};
  (void)state;
  size_t pairs = 0;
  test_program* const p = stock(96);
  const int x = borrowed_input(p), b = test_input(p, four_at(p, 0), "b");
  const int a = four_at(p, 16), c = four_at(p, 32), d = four_at(p, 48);
  relu(p, x, a);
  relu(p, b, b);
  relu(p, a, c);
  relu(p, b, d);
  test_output(p, c, "c");
  test_output(p, d, "d");
  assert_ok(prove_steps(p, steps, 4, &pairs));
  assert_int_equal(pairs, 2);
}

typedef struct bad_schedule {
  etx_verify_region_step steps[4];
  size_t count;
  const char* message;
} bad_schedule;

static void schedules_agree_with_the_file_and_themselves(void** state) {
  static const bad_schedule rows[] = {
      {{{4, 0, 0}},
       1,
       "step '0' of the regions of method 'forward' is not an "
       "instruction behind the one before"},
      {{{1, 0, 0}, {1, 0, 0}}, 2, "step '1' of the regions"},
      {{{1, 0, 0}, {0, 0, 0}}, 2, "step '1' of the regions"},
      {{{0, 0, 0}, {1, 1, 0}}, 2, "is outside its own group"},
      {{{0, 3, 0}, {1, 3, 0}}, 2, "is outside its own group"},
      {{{0, 2, 0}, {1, 0, 0}}, 2, "and the next one have different groups"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    assert_refused(
        prove_steps(two_branches(16), rows[i].steps, rows[i].count, NULL),
        ETX_BAD_ARGUMENT, rows[i].message);
  }
}

static void steps_of_one_region_run_in_order(void** state) {
  static const etx_verify_region_step steps[] = {
      {0, 4, 0}, {1, 4, 0}, {2, 4, 0}, {3, 4, 1}};
  (void)state;
  assert_refused(prove_steps(two_branches(16), steps, 4, NULL), ETX_BAD_PLAN,
                 "reads value '3' at bytes 32 to 48 of arena '1'");
}

static void methods_with_jumps_have_no_groups(void** state) {
  static const etx_verify_region_step apart[] = {{0, 0, 0}, {1, 0, 0}};
  static const etx_verify_region_step together[] = {{0, 2, 0}, {1, 2, 1}};
  (void)state;
  for (int i = 0; i < 2; ++i) {
    test_program* const p = two_branches(16);
    test_jump_false(p, test_bool(p, false), 4);
    if (i == 0) {
      assert_ok(prove_steps(p, apart, 2, NULL));
    } else {
      assert_refused(prove_steps(p, together, 2, NULL), ETX_BAD_ARGUMENT,
                     "is in a group, but the method has jumps");
    }
  }
}

static void random_numbers_are_drawn_in_order(void** state) {
  static const etx_verify_region_step steps[] = {{0, 2, 0}, {1, 2, 1}};
  (void)state;
  test_program* const p = stock(96);
  const int x = borrowed_input(p);
  const int a = four_at(p, 0), b = four_at(p, 16);
  relu(p, x, a);
  test_call(p, "aten::rand", "out",
            ARGS(test_ints(p, ARGS(test_int(p, 4))), b, b));
  test_output(p, a, "a");
  assert_refused(prove_steps(p, steps, 2, NULL), ETX_BAD_ARGUMENT,
                 "draws random numbers beside other steps");
}

// Instructions of two chains, one of which changes an argument in place, and
// memory of the caller.
static void a_jump_may_be_the_first_instruction(void** state) {
  static const etx_verify_region_step together[] = {{1, 2, 0}, {2, 2, 1}};
  (void)state;
  test_program* const p = stock(96);
  const int x = borrowed_input(p);
  const int a = four_at(p, 0), b = four_at(p, 16);
  test_jump_false(p, test_bool(p, true), 2);
  relu(p, x, a);
  relu(p, x, b);
  test_output(p, b, "b");
  assert_refused(prove_steps(p, together, 2, NULL), ETX_BAD_ARGUMENT,
                 "is in a group, but the method has jumps");
}

// One region computes a number that the other one uses.
static void numbers_and_views_are_made_alone(void** state) {
  static const etx_verify_region_step steps[] = {{0, 2, 0}, {1, 2, 1}};
  (void)state;
  for (int kind = 0; kind < 2; ++kind) {
    test_program* const p = stock(96);
    const int x = borrowed_input(p);
    const int n =
        test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SCALAR_SIZES), "n");
    const int value = test_int(p, 1), y = four_at(p, 0);
    const int view = test_borrowed(p, F32, SIZES(4));
    if (kind == 0) {
      test_call(p, "aten::_local_scalar_dense", "", ARGS(n, value));
    } else {
      test_call(p, "executorch_prim::et_view", "default",
                ARGS(x, test_ints(p, ARGS(test_int(p, 4))), view));
    }
    test_call(p, "aten::add", "out",
              ARGS(x, kind == 0 ? x : view, value, y, y));
    test_output(p, y, "y");
    assert_refused(prove_steps(p, steps, 2, NULL), ETX_BAD_ARGUMENT,
                   "step '0' of the regions of method 'forward' sets a number "
                   "or a view beside other steps");
  }
}

static void messages_say_where_bytes_are(void** state) {
  static const etx_verify_region_step steps[] = {{0, 2, 0}, {1, 2, 1}};
  (void)state;
  test_program* p = stock(64);
  test_arena(p, 64);
  const int x = borrowed_input(p);
  const int far = test_planned(p, F32, SIZES(4), 2, 16);
  relu(p, x, far);
  test_next_chain(p);
  copy_onto(p, far, x);
  test_output(p, far, "y");
  assert_refused(prove_steps(p, steps, 2, NULL), ETX_BAD_PLAN,
                 "instruction '0' of chain '1' ('aten::copy_') writes value "
                 "'1' at bytes 16 to 32 of arena '2'");
  p = stock(64);
  const int given = borrowed_input(p);
  const int out = test_borrowed(p, F32, SIZES(4));
  relu(p, given, out);
  relu(p, out, four_at(p, 0));
  assert_refused(prove_steps(p, steps, 2, NULL), ETX_BAD_PLAN,
                 "at 16 bytes of the caller's memory");
}

static void blocks_of_a_run_share_no_byte(void** state) {
  static const etx_verify_block blocks[] = {
      {"temporary memory of region", 0, 100, 200},
      {"temporary memory of region", 1, 200, 300},
      {"scratch", 0, 250, 260}};
  (void)state;
  for (size_t count = 2; count <= 3; ++count) {
    const etx_verify_schedule schedule = {etx_text_of("forward"), NULL, 0,
                                          blocks, count};
    test_program* const p = two_branches(16);
    if (count == 2) {
      assert_ok(etx_verify_regions(test_file(p), &schedule, NULL, &diag));
    } else {
      assert_refused(etx_verify_regions(test_file(p), &schedule, NULL, &diag),
                     ETX_BAD_PLAN,
                     "the temporary memory of region '1' and the scratch '0' "
                     "share 10 bytes (method 'forward')");
    }
    test_program_end(p);
  }
}

// ---- files ----

static void a_file_that_is_wrong_has_no_regions(void** state) {
  static const etx_verify_region_step steps[] = {{0, 0, 0}};
  (void)state;
  const etx_verify_schedule schedule = {etx_text_of("none"), steps, 1, NULL, 0};
  test_program* p = two_branches(16);
  assert_refused(etx_verify_regions(test_file(p), &schedule, NULL, &diag),
                 ETX_NOT_FOUND, "there is no method 'none'");
  test_program_end(p);
  p = two_branches(16);
  etx_bytes file = test_file(p);
  file.size = 40;
  assert_status(etx_verify_regions(file, &schedule, NULL, &diag), ETX_BAD_FILE);
  test_program_end(p);
  // A blob, an operator, an argument and an address.
  p = two_branches(16);
  test_blob(p);
  test_view(p, 1, 99, 0);
  assert_status(prove_steps(p, steps, 1, NULL), ETX_BAD_PLAN);
  p = two_branches(16);
  test_call(p, "mine::magic", "", ARGS(0));
  assert_status(prove_steps(p, steps, 1, NULL), ETX_MISSING_OPERATOR);
  p = two_branches(16);
  test_call(p, "aten::relu", "out", ARGS(0));
  assert_status(prove_steps(p, steps, 1, NULL), ETX_BAD_FILE);
  p = two_branches(16);
  test_blob(p);
  test_view(p, test_borrowed(p, F32, SIZES(4)), 5, 0);
  test_view(p, 5, 6, 0);
  assert_status(prove_steps(p, steps, 1, NULL), ETX_BAD_PLAN);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(branches_that_share_no_byte_may_run_together),
      cmocka_unit_test(groups_are_compared_for_themselves),
      cmocka_unit_test(what_a_region_reads_is_not_overwritten),
      cmocka_unit_test(schedules_agree_with_the_file_and_themselves),
      cmocka_unit_test(steps_of_one_region_run_in_order),
      cmocka_unit_test(methods_with_jumps_have_no_groups),
      cmocka_unit_test(random_numbers_are_drawn_in_order),
      cmocka_unit_test(a_jump_may_be_the_first_instruction),
      cmocka_unit_test(numbers_and_views_are_made_alone),
      cmocka_unit_test(messages_say_where_bytes_are),
      cmocka_unit_test(blocks_of_a_run_share_no_byte),
      cmocka_unit_test(a_file_that_is_wrong_has_no_regions),
      cmocka_unit_test(a_step_is_not_compared_with_itself_or_other_groups),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
