// When blocks of arena 1 are in use: from the first write to the last read.

#include "tests/cli/verify/verify_fixture.h"

// The parts of a value are written behind one that is dead by then. Their block
// is the first or the last one. There may be jumps in between.
static void a_block_is_not_in_use_before_it_is_written(void** state) {
  (void)state;
  for (int kind = 0; kind < 4; ++kind) {
    const bool is_first = kind % 2 != 0, has_jumps = kind >= 2;
    test_program* const p = start(160).p;
    int left = is_first ? four_at(p, 48) : 0;
    const uint32_t symbol = test_symbol(p, "s", 1, 4);
    const int x =
        test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
    test_dim(p, 0, 0, symbol, 1, 0);
    const int fixed = borrowed_input(p);
    const int a = varying_at(p, 0), b = varying_at(p, 48);
    const int c = varying_at(p, 16), right = four_at(p, 64);
    if (!is_first) left = four_at(p, 48);
    const int both = test_scratch(p, F32, SIZES(8), 48);
    const int y = test_scratch(p, F32, SIZES(8), 96);
    test_view(p, both, left, 0);
    test_view(p, both, right, 16);
    relu(p, x, a);
    if (has_jumps) test_jump_false(p, test_bool(p, true), 2);
    relu(p, a, b);
    relu(p, b, c);
    if (has_jumps) test_jump_false(p, test_bool(p, true), 5);
    relu(p, fixed, left);
    relu(p, fixed, right);
    relu(p, both, y);
    test_output(p, y, "y");
    test_output(p, c, "c");
    accept(p);
  }
}

// Behind so many other values that their bits fill several words, and a jump.
static void outputs_of_late_values_are_in_use_until_the_end(void** state) {
  (void)state;
  for (int round = 0; round < 8; ++round) {
    const bool apart = round % 2 != 0;
    test_program* const p = start(160).p;
    const uint32_t symbol = test_symbol(p, "s", 1, 4);
    const int x =
        test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
    test_dim(p, 0, 0, symbol, 1, 0);
    const int c =
        test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
    for (int i = 0; i < (round < 4 ? 0 : 70); ++i) test_int(p, i);
    const int a = varying_at(p, 0), b = varying_at(p, 16);
    relu(p, x, a);
    if (round % 4 >= 2) test_jump_false(p, c, 2);
    relu(p, x, b);
    test_output(p, a, "a");
    test_output(p, b, "b");
    test_place(p, a, 0, 0, 16);
    test_place(p, b, 0, apart ? 16 : 8, 16);
    if (apart) {
      accept(p);
    } else {
      refuse(p, "the two share bytes in layout '1'");
    }
  }
}

// A result that a call writes again is not in use in between.
static void a_second_result_is_not_in_use_before_it_is_written(void** state) {
  (void)state;
  int x;
  test_program* const p = start_varying(0, &x);
  const int table = test_input(p, test_borrowed(p, F32, SIZES(2, 2)), "table");
  const int values = test_scratch(p, F32, SIZES(2), 0);
  const int indices = test_scratch(p, ETX_DTYPE_INT64, SIZES(2), 16);
  const int t = varying_at(p, 16), y = varying_at(p, 32);
  const int one = test_int(p, 1), no = test_bool(p, false);
  const int list = test_tensors(p, ARGS(values, indices));
  for (int i = 0; i < 2; ++i) {
    test_call(p, "aten::max", "dim_max",
              ARGS(table, one, no, values, indices, list));
    if (i == 0) relu(p, x, t);
    if (i == 0) relu(p, t, y);
  }
  test_output(p, values, "v");
  test_output(p, indices, "i");
  test_output(p, y, "y");
  accept(p);
}

// Two results in one place, which nothing reads.
static void two_results_are_not_in_place_of_each_other(void** state) {
  (void)state;
  int x;
  test_program* const p = start_varying(0, &x);
  const int table = test_input(p, test_borrowed(p, F32, SIZES(2, 2)), "table");
  const int values = test_scratch(p, F32, SIZES(2), 0);
  const int indices = test_scratch(p, ETX_DTYPE_INT64, SIZES(2), 0);
  const int y = varying_at(p, 32);
  test_call(p, "aten::max", "dim_max",
            ARGS(table, test_int(p, 1), test_bool(p, false), values, indices,
                 test_tensors(p, ARGS(values, indices))));
  relu(p, x, y);
  test_output(p, y, "y");
  refuse(p, "the two share bytes in layout '0'");
}

// The first value is a view of a later one.
static void a_view_is_in_the_block_of_its_parent(void** state) {
  (void)state;
  for (int apart = 0; apart < 2; ++apart) {
    test_program* const p = start(96).p;
    const int v = four_at(p, 0);
    const uint32_t symbol = test_symbol(p, "s", 1, 4);
    const int x =
        test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
    test_dim(p, 0, 0, symbol, 1, 0);
    const int fixed = borrowed_input(p);
    const int t = test_scratch(p, F32, SIZES(8), 0);
    const int b = varying_at(p, 32), y = varying_at(p, 48);
    test_view(p, v, t, 0);
    relu(p, x, b);
    relu(p, fixed, v);
    relu(p, b, y);
    test_output(p, v, "v");
    test_output(p, y, "y");
    test_place(p, v, 0, 0, 32);
    test_place(p, t, 0, 0, 32);
    test_place(p, b, 0, apart ? 32 : 16, 16);
    test_place(p, y, 0, 48, 16);
    if (apart) {
      accept(p);
    } else {
      refuse(p, "the two share bytes in layout '1'");
    }
  }
}

// A value that is in one of two blocks, which are in use one at a time.
static void a_value_may_be_in_one_of_two_blocks_that_share_bytes(void** state) {
  (void)state;
  int x;
  test_program* const p = start_varying(0, &x);
  const int c =
      test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
  const int a = varying_at(p, 0), b = varying_at(p, 0), y = varying_at(p, 32);
  const int to = test_dynamic(p, test_borrowed(p, F32, SIZES(4)));
  relu(p, x, a);
  test_move(p, a, to);
  test_jump_false(p, c, 5);
  relu(p, x, b);
  test_move(p, b, to);
  relu(p, x, to);
  relu(p, to, y);
  test_output(p, y, "y");
  accept(p);
}

// The content of `a` is read in all iterations.
static void a_block_that_the_next_iteration_reads_is_in_use(void** state) {
  (void)state;
  for (int apart = 0; apart < 2; ++apart) {
    int x;
    test_program* const p = start_varying(0, &x);
    const int c =
        test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
    const int a = varying_at(p, 0), b = varying_at(p, 16);
    const int y = varying_at(p, 32), z = varying_at(p, 48);
    relu(p, x, a);
    relu(p, a, y);
    relu(p, x, b);
    relu(p, b, z);
    test_jump_false(p, c, 1);
    test_output(p, y, "y");
    test_output(p, z, "z");
    test_place(p, a, 0, 0, 16);
    test_place(p, b, 0, apart ? 16 : 8, 16);
    test_place(p, y, 0, 32, 16);
    test_place(p, z, 0, 48, 16);
    if (apart) {
      accept(p);
    } else {
      refuse(p, "(instruction '2', 'aten::relu.out')");
    }
  }
}

// `to` is a, then b: in between, c has the bytes of a.
static void a_block_is_not_in_use_between_two_headers(void** state) {
  (void)state;
  int x;
  test_program* const p = start_varying(0, &x);
  const int a = varying_at(p, 0), b = varying_at(p, 16), c = varying_at(p, 0);
  const int y = varying_at(p, 32), z = varying_at(p, 48);
  const int to = test_dynamic(p, test_borrowed(p, F32, SIZES(4)));
  relu(p, x, a);
  test_move(p, a, to);
  relu(p, to, y);
  relu(p, x, c);
  relu(p, c, b);
  test_move(p, b, to);
  relu(p, to, z);
  test_output(p, y, "y");
  test_output(p, z, "z");
  accept(p);
}

// Three results of one call, of which two share bytes.
static void all_results_of_a_call_are_apart(void** state) {
  static const uint64_t places[][3] = {
      {0, 16, 32}, {0, 8, 32}, {0, 16, 8}, {0, 16, 24}};
  (void)state;
  for (int wrong = 0; wrong < 4; ++wrong) {
    int x;
    test_program* const p = start_varying(0, &x);
    const int all = test_input(p, test_borrowed(p, F32, SIZES(12)), "all");
    const int a = four_at(p, 0), b = four_at(p, 16), c = four_at(p, 32);
    const int y = varying_at(p, 64), list = test_tensors(p, ARGS(a, b, c));
    test_call(p, "aten::split_copy", "Tensor_out",
              ARGS(all, test_int(p, 4), test_int(p, 0), list, list));
    relu(p, x, y);
    test_output(p, y, "y");
    test_place(p, a, 0, places[wrong][0], 16);
    test_place(p, b, 0, places[wrong][1], 16);
    test_place(p, c, 0, places[wrong][2], 16);
    test_place(p, y, 0, 64, 16);
    if (wrong == 0) {
      accept(p);
    } else {
      refuse(p, "the two share bytes in layout '1'");
    }
  }
}

// Views of memory of the caller, of which an instruction makes one.
static void views_of_the_callers_memory_have_no_blocks(void** state) {
  (void)state;
  int x;
  test_program* const p = start_varying(0, &x);
  const int all = test_input(p, test_borrowed(p, F32, SIZES(8)), "all");
  const int v = test_borrowed(p, F32, SIZES(8));
  const int w = test_borrowed(p, F32, SIZES(4));
  const int y = varying_at(p, 0), z = four_at(p, 16);
  const int sizes = test_ints(p, ARGS(test_int(p, 8)));
  test_view(p, v, all, 0);
  test_view(p, w, v, 16);
  test_call(p, "executorch_prim::et_view", "default", ARGS(all, sizes, v));
  relu(p, x, y);
  relu(p, w, z);
  test_output(p, y, "y");
  test_output(p, z, "z");
  accept(p);
}

// It has a block until it takes over the header of a.
static void the_first_input_may_take_over_a_header(void** state) {
  (void)state;
  for (uint64_t at = 8; at <= 16; at += 8) {
    test_program* const p = start(160).p;
    const uint32_t symbol = test_symbol(p, "s", 1, 4);
    const int in = test_input(p, varying_at(p, 0), "in");
    const int x =
        test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
    for (uint32_t i = 0; i < 2; ++i) test_dim(p, i, 0, symbol, 1, 0);
    const int a = varying_at(p, 0), d = varying_at(p, 48);
    const int e = varying_at(p, 64);
    relu(p, in, e);
    relu(p, x, a);
    test_call(p, "executorch_prim::et_view", "default",
              ARGS(a, test_ints(p, ARGS(test_int(p, -1))), in));
    relu(p, in, d);
    test_output(p, d, "d");
    test_output(p, e, "e");
    test_place(p, in, 0, 0, 16);
    test_place(p, a, 0, 64, 16);
    test_place(p, d, 0, 112, 16);
    test_place(p, e, 0, at, 16);
    if (at == 8) {
      refuse(p, "the two share bytes in layout '1'");
    } else {
      accept(p);
    }
  }
}

// A value that nothing reads, but one that a call updates needs its content.
static void what_is_updated_is_in_use_until_then(void** state) {
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    int x;
    test_program* const p = start_varying(0, &x);
    const int one = test_input(p, test_borrowed(p, F32, SIZES(1)), "one");
    const int at =
        test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(1)), "at");
    const int fixed = borrowed_input(p);
    const int a = four_at(p, 0), b = varying_at(p, 16), y = varying_at(p, 32);
    relu(p, fixed, a);
    relu(p, x, b);
    if (kind < 2) {
      test_call(p, "aten::index_put_", "",
                ARGS(a, test_optional_tensors(p, ARGS(at)), one,
                     test_bool(p, false), a));
    }
    relu(p, b, y);
    test_output(p, y, "y");
    test_place(p, a, 0, 0, 16);
    test_place(p, b, 0, kind == 0 ? 16 : 8, 16);
    test_place(p, y, 0, 32, 16);
    if (kind == 1) {
      refuse(p, "the two share bytes in layout '1'");
    } else {
      accept(p);
    }
  }
}

// The caller reads inputs that change at the end.
static void inputs_that_change_are_in_use_until_the_end(void** state) {
  (void)state;
  for (int kept = 0; kept < 4; ++kept) {
    test_program* const p = start(160).p;
    const uint32_t symbol = test_symbol(p, "s", 1, 4);
    const int a = varying_at(p, 0), b = varying_at(p, 16);
    const int y = varying_at(p, 32), z = varying_at(p, 48);
    const bool is_first = kept == 0;
    if (is_first) test_mutable_input(p, a, "a");
    const int x =
        test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
    if (kept == 1) test_mutable_input(p, a, "a");
    if (kept >= 2) test_input(p, a, "a");
    for (uint32_t i = 0; i < 2; ++i) test_dim(p, i, 0, symbol, 1, 0);
    add(p, a, x, b);
    relu(p, b, y);
    relu(p, y, z);
    test_output(p, z, "z");
    test_place(p, a, 0, 0, 16);
    test_place(p, b, 0, 16, 16);
    test_place(p, y, 0, 32, 16);
    test_place(p, z, 0, kept == 3 ? 40 : 8, 16);
    if (kept == 2) {
      accept(p);
    } else {
      refuse(p, "the two share bytes in layout '1'");
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_block_is_not_in_use_before_it_is_written),
      cmocka_unit_test(outputs_of_late_values_are_in_use_until_the_end),
      cmocka_unit_test(a_second_result_is_not_in_use_before_it_is_written),
      cmocka_unit_test(two_results_are_not_in_place_of_each_other),
      cmocka_unit_test(what_is_updated_is_in_use_until_then),
      cmocka_unit_test(inputs_that_change_are_in_use_until_the_end),
      cmocka_unit_test(a_view_is_in_the_block_of_its_parent),
      cmocka_unit_test(a_value_may_be_in_one_of_two_blocks_that_share_bytes),
      cmocka_unit_test(a_block_that_the_next_iteration_reads_is_in_use),
      cmocka_unit_test(a_block_is_not_in_use_between_two_headers),
      cmocka_unit_test(all_results_of_a_call_are_apart),
      cmocka_unit_test(views_of_the_callers_memory_have_no_blocks),
      cmocka_unit_test(the_first_input_may_take_over_a_header),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
