// The proof of states, arenas and sizes, and errors other than ETX_BAD_PLAN.

#include "tests/cli/verify/verify_fixture.h"

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
  test_state_row(s.p, "a", F32, SIZES(4), 0, 0);
  test_state_row(s.p, "b", F32, SIZES(4), 16, 0);
  etx_verify_report report;
  memset(&report, 0x55, sizeof report);
  assert_ok(etx_verify_program(test_file(s.p), &report, &diag));
  assert_int_equal(report.state_count, 2);
  assert_int_equal(report.instruction_count, 3);
  assert_false(report.is_stock);
  test_program_end(s.p);
}

static void the_arena_of_states_has_only_states(void** state) {
  (void)state;
  const small s = start_with_state(32, 32);
  const int x = borrowed_input(s.p);
  const int a = test_state(s.p, "a", F32, SIZES(4), 0);
  const int t = test_planned(s.p, F32, SIZES(4), 2, 16);
  relu(s.p, x, t);
  relu(s.p, t, a);
  test_state_row(s.p, "a", F32, SIZES(4), 0, 0);
  refuse(s.p, "is in the arena of states");
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
  test_state_row(s.p, "a", F32, SIZES(8), 0, 0);
  accept(s.p);
}

// The dataflow analysis would miss that the state changes.
static void a_part_of_a_view_that_an_instruction_makes_is_not_written(
    void** state) {
  (void)state;
  const small s = start_with_state(32, 32);
  const int x = borrowed_input(s.p);
  const int a = test_state(s.p, "a", F32, SIZES(4), 0);
  const int shown = test_planned(s.p, F32, SIZES(4), 2, 0);
  const int part = test_planned(s.p, F32, SIZES(4), 2, 0);
  const int sizes = test_ints(s.p, ARGS(test_int(s.p, 4)));
  test_call(s.p, "executorch_prim::et_view", "default", ARGS(a, sizes, shown));
  relu(s.p, x, part);
  test_view(s.p, part, shown, 0);
  test_state_row(s.p, "a", F32, SIZES(4), 0, 0);
  refuse(s.p, "is written in the arena of states");
}

static void states_that_share_bytes_are_refused(void** state) {
  (void)state;
  const small s = start_with_state(0, 48);
  test_state(s.p, "a", F32, SIZES(8), 0);
  test_state(s.p, "b", F32, SIZES(4), 16);
  test_state_row(s.p, "a", F32, SIZES(8), 0, 0);
  test_state_row(s.p, "b", F32, SIZES(4), 16, 0);
  refuse(s.p, "overlaps state 'b' at bytes 16 to 32");
}

static void a_state_has_one_address_in_all_methods(void** state) {
  (void)state;
  const small s = start_with_state(0, 48);
  test_state(s.p, "a", F32, SIZES(4), 0);
  test_method(s.p, "n");
  test_arenas(s.p, 0, 48);
  test_state(s.p, "a", F32, SIZES(4), 16);
  test_state_row(s.p, "a", F32, SIZES(4), 0, 0);
  refuse(s.p, "is state 'a'");
}

static void state_in_scratch_is_refused(void** state) {
  (void)state;
  const small s = start_with_state(32, 32);
  const int a = test_state(s.p, "a", F32, SIZES(4), 0);
  test_tensor_of(s.p, a)->memory_id = 1;
  test_state_row(s.p, "a", F32, SIZES(4), 0, 0);
  refuse(s.p, "state 'a' is in arena '1', expected 2");
}

static void the_first_value_may_be_a_state(void** state) {
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    test_program* const p =
        kind == 0 ? start_with_state(32, 32).p : test_program_new();
    if (kind != 0) {
      test_method(p, "m");
      test_arenas(p, 32, 32);
    }
    const int a = test_state(p, "a", F32, SIZES(4), 0);
    const int x = borrowed_input(p), y = four_at(p, 0);
    relu(p, a, y);
    if (kind == 2) relu(p, x, test_planned(p, F32, SIZES(4), 2, 0));
    test_output(p, y, "y");
    if (kind == 0) test_state_row(p, "a", F32, SIZES(4), 0, 0);
    if (kind == 2) {
      refuse(p, "the next call reads state value '0'");
    } else {
      accept(p);
    }
  }
}

// States of the second and the third method overlap. The first one has an arena
// of states, too, but without bytes.
static void stock_methods_with_other_bytes_of_state_share_none(void** state) {
  static const char* const names[] = {"m", "n", "o"};
  (void)state;
  for (int64_t bytes = 0; bytes <= 64; bytes += 64) {
    test_program* const p = test_program_new();
    for (int i = 0; i < 3; ++i) {
      test_method(p, names[i]);
      test_arena(p, 16);
      test_arena(p, i == 0 ? bytes : 64);
      const int y = four_at(p, 0);
      const uint64_t at = i == 2 ? 16 : 0;
      if (i > 0) {
        relu(p, test_state(p, names[i], F32, SIZES(8), at),
             test_borrowed(p, F32, SIZES(8)));
      }
      relu(p, borrowed_input(p), y);
      test_output(p, y, "y");
    }
    if (bytes == 0) {
      accept(p);
    } else {
      refuse(p, "overlaps value");
    }
  }
}

static void all_methods_have_the_same_bytes_of_state(void** state) {
  (void)state;
  const small s = start_with_state(0, 32);
  test_state(s.p, "a", F32, SIZES(4), 0);
  test_method(s.p, "n");
  test_arenas(s.p, 0, 48);
  test_state_row(s.p, "a", F32, SIZES(4), 0, 0);
  refuse(s.p, "bytes of state");
}

// ---- methods that may run at the same time ----

// Three methods whose values start at these offsets.
static test_program* three_methods(uint64_t a, uint64_t b, uint64_t c) {
  static const char* const names[] = {"m", "n", "o"};
  const uint64_t offsets[] = {a, b, c};
  test_program* p = NULL;
  for (size_t i = 0; i < 3; ++i) {
    if (i == 0) {
      p = start(96).p;
    } else {
      test_method(p, names[i]);
      test_arenas(p, 96, 0);
    }
    const int x = borrowed_input(p);
    const int y = four_at(p, offsets[i]);
    const int z = four_at(p, offsets[i] + 16);
    relu(p, x, y);
    relu(p, y, z);
    test_output(p, z, "z");
  }
  return p;
}

static void concurrent_methods_share_no_byte_of_scratch(void** state) {
  (void)state;
  accept(three_methods(0, 0, 0));
  test_program* p = three_methods(0, 32, 0);
  test_concurrent(p, 0, 1);
  test_concurrent(p, 1, 2);
  accept(p);
  p = three_methods(0, 32, 0);
  test_concurrent(p, 0, 2);
  refuse(p,
         "methods 'm' and 'o' may run at the same time, but both have values "
         "at bytes 0 to 32 of arena '1'");
  p = three_methods(0, 64, 48);
  test_concurrent(p, 0, 1);
  test_concurrent(p, 1, 2);
  refuse(p, "both have values at bytes 64 to 80 of arena '1'");
}

static void layout_methods_must_agree_with_the_states(void** state) {
  (void)state;
  for (int lie = 0; lie < 5; ++lie) {
    const small s = start_with_state(0, 32);
    char names[4] = "a";
    int64_t row[6] = {2, 0, 16, 16, 16, 4};
    test_state(s.p, "a", F32, SIZES(4), 16);
    test_state_row(s.p, "a", F32, SIZES(4), 16, 0);
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

// The rows are not in the order of the states, and each has its own place.
static void layout_methods_find_each_of_many_states(void** state) {
  (void)state;
  enum { COUNT = 9 };
  static const char* const all[COUNT] = {"a", "b", "c", "d", "e",
                                         "f", "g", "h", "i"};
  for (int64_t lie = -1; lie < COUNT; ++lie) {
    const small s = start_with_state(0, 16 * COUNT);
    char names[COUNT][4] = {{0}};
    int64_t rows[COUNT][6];
    for (int64_t i = 0; i < COUNT; ++i) {
      const int64_t other = (i * 5 + 3) % COUNT;
      test_state(s.p, all[i], F32, SIZES(4), (uint64_t)(16 * i));
      test_state_row(s.p, all[i], F32, SIZES(4), (uint64_t)(16 * i), 0);
      names[i][0] = all[other][0];
      const int64_t row[6] = {2, 0, 16 * other, 16, 16, 4};
      memcpy(rows[i], row, sizeof row);
    }
    if (lie >= 0) rows[lie][2] = (rows[lie][2] + 16) % (16 * COUNT);
    test_method(s.p, "et_get_shared_buffer_names");
    test_output(s.p,
                test_constant(s.p, ETX_DTYPE_UINT8, SIZES(COUNT, 4),
                              test_data(s.p, names, sizeof names)),
                "names");
    test_method(s.p, "et_get_shared_buffer_memory_plan");
    test_output(s.p,
                test_constant(s.p, ETX_DTYPE_INT64, SIZES(COUNT, 6),
                              test_data(s.p, rows, sizeof rows)),
                "plan");
    if (lie < 0) {
      accept(s.p);
    } else {
      char message[] = "row '0'";
      message[5] = (char)('0' + lie);
      refuse(s.p, message);
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
  refuse(s.p, "expected a multiple of 16");
}

static void fixed_sizes_are_those_that_operators_make(void** state) {
  (void)state;
  const small s = start(32);
  const int x = borrowed_input(s.p);
  const int a = test_scratch(s.p, F32, SIZES(3), 0);
  relu(s.p, x, a);
  test_output(s.p, a, "y");
  refuse(s.p, "size '0' of value '1' is 3, expected 4");
}

// ---- other errors ----

static void a_damaged_file_is_refused_for_its_structure(void** state) {
  (void)state;
  const small s = start(32);
  etx_verify_report report;
  const int x = borrowed_input(s.p);
  relu(s.p, x, four_at(s.p, 0));
  etx_bytes file = test_file(s.p);
  file.size = 40;
  assert_status(etx_verify_program(file, &report, &diag), ETX_BAD_FILE);
  assert_int_equal(report.level, ETX_VERIFY_LEVEL_STRUCTURE);
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
  assert_int_equal(report.level, ETX_VERIFY_LEVEL_UNPROVABLE);
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

// An empty tensor within the bytes of the other method, a number and a state
// behind it.
static void values_without_bytes_of_scratch_leave_no_footprint(void** state) {
  (void)state;
  test_program* const p = start_with_state(64, 32).p;
  for (int i = 0; i < 2; ++i) {
    test_scratch(p, F32, SIZES(0), 16);
    if (i == 0) test_int(p, 3);
    if (i == 1) test_state(p, "a", F32, SIZES(4), 0);
  }
  const int y = four_at(p, 32);
  relu(p, borrowed_input(p), y);
  test_output(p, y, "y");
  test_method(p, "n");
  test_arenas(p, 64, 32);
  const int z = test_scratch(p, F32, SIZES(8), 0);
  relu(p, test_input(p, test_borrowed(p, F32, SIZES(8)), "x"), z);
  test_output(p, z, "z");
  test_state_row(p, "a", F32, SIZES(4), 0, 0);
  test_concurrent(p, 0, 1);
  accept(p);
}

// One value of the other method lies there: the first, second or third one.
static void no_value_of_a_method_lies_where_a_stable_output_does(void** state) {
  (void)state;
  for (int wrong = 0; wrong < 4; ++wrong) {
    test_program* const p = start(64).p;
    const int y = four_at(p, 0);
    relu(p, borrowed_input(p), y);
    test_output(p, y, "y");
    test_lifetime(p, ETX_LIFETIME_STABLE);
    test_method(p, "n");
    test_arenas(p, 64, 0);
    const int a = four_at(p, wrong == 0 ? 0 : 16);
    const int b = four_at(p, wrong == 1 ? 0 : 32);
    const int c = four_at(p, wrong == 2 ? 0 : 48);
    relu(p, borrowed_input(p), a);
    relu(p, a, b);
    relu(p, b, c);
    test_output(p, c, "c");
    if (wrong == 3) {
      accept(p);
    } else {
      refuse(p, "overlaps the stable output value '0' of method 'm'");
    }
  }
}

static void one_byte_may_lie_where_a_stable_output_does(void** state) {
  static const struct {
    int32_t bytes;
    uint64_t at;
    bool is_wrong;
  } rows[] = {{1, 16, true}, {1, 32, false}, {0, 16, false}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    test_program* const p = start(64).p;
    const int y = test_scratch(p, F32, SIZES(8), 0);
    relu(p, test_input(p, test_borrowed(p, F32, SIZES(8)), "x"), y);
    test_output(p, y, "y");
    test_lifetime(p, ETX_LIFETIME_STABLE);
    test_method(p, "n");
    test_arenas(p, 64, 0);
    test_scratch(p, ETX_DTYPE_BOOL, SIZES(rows[i].bytes), rows[i].at);
    const int z = four_at(p, 48);
    relu(p, borrowed_input(p), z);
    test_output(p, z, "z");
    if (rows[i].is_wrong) {
      refuse(p, "value '0' of method 'n' overlaps the stable output value '0'");
    } else {
      accept(p);
    }
  }
}

// Outputs that show a state, a constant, and memory of the caller.
static void outputs_that_stay_are_no_scratch(void** state) {
  static const float data[4] = {1, 2, 3, 4};
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    test_program* const p = start_with_state(32, 32).p;
    const int a = test_state(p, "a", F32, SIZES(4), 0), y = four_at(p, 0);
    const int constant =
        test_constant(p, F32, SIZES(4), test_data(p, data, sizeof data));
    const int x = borrowed_input(p);
    test_state_row(p, "a", F32, SIZES(4), 0, 0);
    relu(p, x, y);
    test_output(p, kind == 0 ? a : kind == 1 ? constant : x, "kept");
    test_lifetime(p, ETX_LIFETIME_STATE);
    accept(p);
  }
}

// A stable output that an instruction sets up shows scratch: that of its own
// planned memory or without any, through one view or two.
static void a_stable_output_may_be_a_view_of_scratch(void** state) {
  (void)state;
  for (int kind = 0; kind < 8; ++kind) {
    const bool overlaps = kind % 2 == 1;
    test_program* const p = start(64).p;
    const int a = four_at(p, 16);
    const int sizes = test_ints(p, ARGS(test_int(p, 4)));
    const int view =
        kind / 2 == 1 ? four_at(p, 16) : test_borrowed(p, F32, SIZES(4));
    const int second = test_borrowed(p, F32, SIZES(4));
    relu(p, borrowed_input(p), a);
    test_call(p, "executorch_prim::et_view", "default", ARGS(a, sizes, view));
    test_call(p, "executorch_prim::et_view", "default",
              ARGS(view, sizes, second));
    test_output(p, kind / 2 == 2 ? second : view, "y");
    test_lifetime(p, kind / 2 == 3 ? ETX_LIFETIME_STATE : ETX_LIFETIME_STABLE);
    test_method(p, "n");
    test_arenas(p, 64, 0);
    const int b = four_at(p, overlaps ? 16 : 32);
    relu(p, borrowed_input(p), b);
    test_output(p, b, "b");
    if (kind / 2 == 3) {
      refuse(p, "output 'y' is in scratch, expected a state or a constant");
    } else if (overlaps) {
      refuse(p, "overlaps the stable output value");
    } else {
      accept(p);
    }
  }
}

// A method whose sizes vary, with values at 0 and `high`, moves the second one
// down to the first one.
static int moving(test_program* p, uint64_t high) {
  const uint32_t symbol = test_symbol(p, "s", 1, 4);
  const int x =
      test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
  const int a = varying_at(p, 0), b = varying_at(p, high);
  test_dim(p, 0, 0, symbol, 1, 0);
  relu(p, x, a);
  relu(p, a, b);
  test_output(p, b, "b");
  return b;
}

static void blocks_do_not_move_onto_a_stable_output(void** state) {
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    test_program* const p = start(96).p;
    const int y = four_at(p, 32);
    relu(p, borrowed_input(p), y);
    test_output(p, y, "y");
    test_lifetime(p, ETX_LIFETIME_STABLE);
    test_method(p, "n");
    test_arenas(p, 96, 0);
    moving(p, kind == 0 ? 16 : 48);
    // Blocks of a method with a stable output stay where they are.
    if (kind == 2) test_lifetime(p, ETX_LIFETIME_STABLE);
    if (kind == 1) {
      refuse(p, "overlaps the stable output value '0' of method 'm'");
    } else {
      accept(p);
    }
  }
}

static void blocks_of_concurrent_methods_do_not_move_together(void** state) {
  (void)state;
  for (int kind = 0; kind < 5; ++kind) {
    test_program* const p = start(96).p;
    const int y = four_at(p, 32);
    relu(p, borrowed_input(p), y);
    test_output(p, y, "y");
    test_method(p, "n");
    test_arenas(p, 96, 0);
    const int b = moving(p, kind == 0 || kind >= 3 ? 16 : 48);
    if (kind == 2) test_lifetime(p, ETX_LIFETIME_STABLE);
    if (kind >= 3) {
      test_place(p, b - 1, 0, 0, 16);
      test_place(p, b, 0, kind == 3 ? 16 : 20, 16);
    }
    test_concurrent(p, 0, 1);
    if (kind == 1 || kind == 4) {
      refuse(p, "methods 'm' and 'n' may run at the same time");
    } else {
      accept(p);
    }
  }
}

// It is the input of the second method, which has blocks on both sides of that
// of the first one.
static void one_tensor_of_varying_size_lets_blocks_move(void** state) {
  (void)state;
  for (int varies = 0; varies < 2; ++varies) {
    test_program* const p = start(96).p;
    const int y = four_at(p, 16);
    relu(p, borrowed_input(p), y);
    test_output(p, y, "y");
    test_method(p, "n");
    test_arenas(p, 96, 0);
    const uint32_t symbol = test_symbol(p, "s", 1, 4);
    const int x = test_input(p, test_borrowed(p, F32, SIZES(4)), "x");
    if (varies) test_dim(p, 0, 0, symbol, 1, 0);
    if (varies) test_dynamic(p, x);
    const int a = four_at(p, 0), b = four_at(p, 48);
    relu(p, borrowed_input(p), a);
    relu(p, a, b);
    test_output(p, b, "b");
    test_concurrent(p, 0, 1);
    if (varies) {
      refuse(p, "methods 'm' and 'n' may run at the same time");
    } else {
      accept(p);
    }
  }
}

// Blocks of the second method move between 32 and 64, those of the others are
// on both sides.
static void a_method_may_run_beside_each_of_two_others(void** state) {
  static const char* const names[] = {"m", "n", "o"};
  static const uint64_t places[] = {64, 32, 0};
  (void)state;
  test_program* const p = test_program_new();
  for (int i = 0; i < 3; ++i) {
    test_method(p, names[i]);
    test_arenas(p, 96, 0);
    if (i == 0) test_blob(p);
    const int x = borrowed_input(p);
    const int a = four_at(p, places[i]), b = four_at(p, places[i] + 16);
    if (i == 1) {
      test_dim(p, 0, 0, test_symbol(p, "s", 1, 4), 1, 0);
      test_dynamic(p, x);
      test_dynamic(p, a);
      test_dynamic(p, b);
    }
    relu(p, x, a);
    relu(p, a, b);
    test_output(p, b, "b");
  }
  test_concurrent(p, 0, 1);
  test_concurrent(p, 1, 2);
  accept(p);
}

// Bytes between the plan and the places of other layouts count, too: above the
// plan, below it, and none at all.
static void blocks_in_other_layouts_are_off_stable_outputs(void** state) {
  (void)state;
  for (int kind = 0; kind < 4; ++kind) {
    const bool is_low = kind == 1, is_undescribed = kind == 3;
    test_program* const p = start_with_state(128, 32).p;
    const int y = four_at(p, is_low ? 0 : 80);
    const int a = test_state(p, "a", F32, SIZES(4), 0);
    test_state_row(p, "a", F32, SIZES(4), 0, 0);
    relu(p, borrowed_input(p), y);
    relu(p, a, four_at(p, 112));
    test_output(p, y, "y");
    test_lifetime(p, ETX_LIFETIME_STABLE);
    test_method(p, "n");
    test_arenas(p, 128, 32);
    const uint32_t symbol = test_symbol(p, "s", 1, 4);
    const int x =
        test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
    const int low = varying_at(p, 48), high = varying_at(p, 32);
    const int same = test_state(p, "a", F32, SIZES(4), 0);
    test_dim(p, 0, 0, symbol, 1, 0);
    relu(p, x, low);
    relu(p, low, high);
    test_output(p, high, "high");
    test_output(p, same, "same");
    test_place(p, low, 0, is_low ? 8 : 32, 16);
    test_place(p, high, 0, kind == 0 ? 72 : kind == 1 ? 24 : 48, 16);
    if (is_undescribed) {
      test_method(p, "o");
      test_arenas(p, 128, 32);
      relu(p, borrowed_input(p), four_at(p, 80));
      test_undescribed(p);
    }
    if (kind == 2) {
      accept(p);
    } else {
      refuse(p, "overlaps the stable output value '0' of method 'm'");
    }
  }
}

// A method whose sizes vary may have no bytes of scratch.
static void a_concurrent_method_may_have_nothing_to_move(void** state) {
  (void)state;
  for (int low = 0; low < 3; ++low) {
    test_program* const p = start(96).p;
    const int y = four_at(p, 16);
    relu(p, borrowed_input(p), y);
    test_output(p, y, "y");
    test_method(p, "n");
    test_arenas(p, 96, 0);
    const uint32_t symbol = test_symbol(p, "s", 1, 4);
    const int x =
        test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
    test_dim(p, 0, 0, symbol, 1, 0);
    if (low > 0) {
      const int a = varying_at(p, 48);
      relu(p, x, a);
      test_output(p, a, "a");
      test_place(p, a, 0, low == 1 ? 32 : 24, 16);
    } else {
      test_output(p, x, "x");
      test_described(p);
    }
    test_concurrent(p, 0, 1);
    if (low < 2) {
      accept(p);
    } else {
      refuse(p, "methods 'm' and 'n' may run at the same time");
    }
  }
}

// A tensor that no row of the blob describes lies in the bytes of a state.
static void every_state_has_a_row(void** state) {
  (void)state;
  test_program* const p = start_with_state(32, 32).p;
  const int x = borrowed_input(p);
  const int a = test_state(p, "a", F32, SIZES(4), 0), y = four_at(p, 0);
  copy_onto(p, a, x);
  relu(p, a, y);
  test_output(p, y, "y");
  test_method(p, "n");
  test_arenas(p, 32, 32);
  copy_onto(p, test_state(p, "ghost", F32, SIZES(4), 0), borrowed_input(p));
  test_state_row(p, "a", F32, SIZES(4), 0, 0);
  etx_verify_report report;
  assert_int_not_equal(etx_verify_program(test_file(p), &report, &diag),
                       ETX_OK);
  test_program_end(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(state_is_read_updated_and_kept),
      cmocka_unit_test(a_stable_output_may_be_a_view_of_scratch),
      cmocka_unit_test(blocks_do_not_move_onto_a_stable_output),
      cmocka_unit_test(blocks_of_concurrent_methods_do_not_move_together),
      cmocka_unit_test(blocks_in_other_layouts_are_off_stable_outputs),
      cmocka_unit_test(a_concurrent_method_may_have_nothing_to_move),
      cmocka_unit_test(every_state_has_a_row),
      cmocka_unit_test(the_arena_of_states_has_only_states),
      cmocka_unit_test(a_part_of_a_state_may_be_written),
      cmocka_unit_test(
          a_part_of_a_view_that_an_instruction_makes_is_not_written),
      cmocka_unit_test(states_that_share_bytes_are_refused),
      cmocka_unit_test(a_state_has_one_address_in_all_methods),
      cmocka_unit_test(state_in_scratch_is_refused),
      cmocka_unit_test(all_methods_have_the_same_bytes_of_state),
      cmocka_unit_test(concurrent_methods_share_no_byte_of_scratch),
      cmocka_unit_test(layout_methods_must_agree_with_the_states),
      cmocka_unit_test(layout_methods_find_each_of_many_states),
      cmocka_unit_test(a_tensor_past_its_arena_is_a_wrong_plan),
      cmocka_unit_test(an_arena_that_does_not_exist_is_a_wrong_plan),
      cmocka_unit_test(offsets_are_aligned),
      cmocka_unit_test(fixed_sizes_are_those_that_operators_make),
      cmocka_unit_test(a_damaged_file_is_refused_for_its_structure),
      cmocka_unit_test(an_unknown_operator_cannot_be_proved),
      cmocka_unit_test(a_delegate_cannot_be_proved),
      cmocka_unit_test(a_call_with_missing_arguments_is_refused),
      cmocka_unit_test(values_without_bytes_of_scratch_leave_no_footprint),
      cmocka_unit_test(no_value_of_a_method_lies_where_a_stable_output_does),
      cmocka_unit_test(outputs_that_stay_are_no_scratch),
      cmocka_unit_test(the_first_value_may_be_a_state),
      cmocka_unit_test(stock_methods_with_other_bytes_of_state_share_none),
      cmocka_unit_test(one_byte_may_lie_where_a_stable_output_does),
      cmocka_unit_test(one_tensor_of_varying_size_lets_blocks_move),
      cmocka_unit_test(a_method_may_run_beside_each_of_two_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
