// Values that can be at one of several places, because moves give them other
// headers: what is known of the bytes at each place. verify_rebinding_test.c
// has the places themselves.

#include "tests/cli/verify/verify_fixture.h"

static int condition(test_program* p) {
  return test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
}

static int view_without_memory(test_program* p) {
  return test_borrowed(p, F32, SIZES(4));
}

static void part(test_program* p, int from, int start, int to) {
  test_call(p, "etx::part_view", "default",
            ARGS(from, start, test_ints(p, ARGS(test_int(p, 4))), to));
}

// ---- values that lie where another one may be ----

// `shown` has the bytes of b, which one path alone writes. On the other one,
// `to` is a and valid, but says nothing about b.
static void what_may_lie_in_a_moved_value_is_not_valid(void** state) {
  (void)state;
  for (int elsewhere = 0; elsewhere < 2; ++elsewhere) {
    test_program* const p = stock(96);
    const int x = borrowed_input(p), c = condition(p);
    const int a = four_at(p, 0), b = four_at(p, 16), y = four_at(p, 48);
    const int shown = four_at(p, elsewhere ? 0 : 16);
    const int to = view_without_memory(p);
    relu(p, x, a);
    test_move(p, a, to);
    test_jump_false(p, c, 5);
    relu(p, x, b);
    test_move(p, b, to);
    relu(p, shown, y);
    test_output(p, y, "y");
    if (elsewhere) {
      accept(p);
    } else {
      refuse(p, "reads value '5', but on some path it was not written");
    }
  }
}

// `lost` overwrites b, then `to` is written, which is a on one path.
static void a_write_at_one_of_two_places_makes_neither_valid(void** state) {
  (void)state;
  for (int overwritten = 0; overwritten < 2; ++overwritten) {
    test_program* const p = stock(112);
    const int x = borrowed_input(p), c = condition(p);
    const int a = four_at(p, 0), b = four_at(p, 16), y = four_at(p, 64);
    const int lost = four_at(p, overwritten ? 24 : 80);
    const int shown = four_at(p, 16);
    const int to = view_without_memory(p);
    relu(p, x, a);
    relu(p, x, b);
    test_move(p, a, to);
    test_jump_false(p, c, 5);
    test_move(p, b, to);
    relu(p, x, lost);
    if (overwritten) relu(p, x, to);
    relu(p, shown, y);
    test_output(p, y, "y");
    if (overwritten) {
      refuse(p, "reads value '6'");
    } else {
      accept(p);
    }
  }
}

// A constant has no bytes in the arena: `to` is a only behind the second move.
static void a_value_that_may_be_a_constant_shows_no_other(void** state) {
  static const float data[4] = {1, 2, 3, 4};
  (void)state;
  for (int written = 0; written < 2; ++written) {
    test_program* const p = stock(64);
    const int x = borrowed_input(p);
    const int k =
        test_constant(p, F32, SIZES(4), test_data(p, data, sizeof data));
    const int a = four_at(p, 0), shown = four_at(p, 0), y = four_at(p, 16);
    const int to = view_without_memory(p);
    if (written) relu(p, x, a);
    test_move(p, k, to);
    relu(p, shown, y);
    if (!written) relu(p, x, a);
    test_move(p, a, to);
    test_output(p, y, "y");
    if (written) {
      accept(p);
    } else {
      refuse(p, "reads state value '3', but value '2' overwrote it");
    }
  }
}

// Half of `all` is written through a part whose place a number decides.
static void a_part_that_can_be_anywhere_shows_no_other(void** state) {
  (void)state;
  for (int half = 0; half < 2; ++half) {
    test_program* const p = stock(64);
    const int x = borrowed_input(p), all = test_scratch(p, F32, SIZES(8), 0);
    const int n = test_input(p, test_int(p, 0), "n");
    const int row = view_without_memory(p), shown = four_at(p, 16);
    const int y = four_at(p, 32);
    if (!half) {
      relu(p, test_input(p, test_borrowed(p, F32, SIZES(8)), "z"), all);
    }
    part(p, all, n, row);
    relu(p, x, row);
    relu(p, shown, y);
    test_output(p, y, "y");
    if (half) {
      refuse(p, "reads value '4'");
    } else {
      accept(p);
    }
  }
}

// ---- before the first move ----

// In the first call `to` is read at its own address.
static void a_value_is_at_its_own_address_before_it_is_moved(void** state) {
  (void)state;
  for (int named = 0; named < 2; ++named) {
    test_program* const p = stock(64);
    const int x = borrowed_input(p);
    const int to = four_at(p, 0), other = four_at(p, 0), a = four_at(p, 16);
    const int y = four_at(p, 32);
    if (named) test_tensor_of(p, to)->name = etx_text_of("to");
    relu(p, x, other);
    relu(p, to, y);
    relu(p, x, a);
    test_move(p, a, to);
    test_output(p, y, "y");
    refuse(p, "reads value '1', but nothing has written it");
  }
}

// `to` is written at its own address, in the bytes of a, before it is a view of
// it: in the first instructions, on a path without the move, or by the caller.
static void a_value_is_no_view_before_it_is_moved(void** state) {
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    test_program* const p = stock(64);
    const int x = borrowed_input(p), c = condition(p);
    const int a = four_at(p, 0), to = four_at(p, 8), y = four_at(p, 32);
    if (kind == 2) {
      test_input(p, a, "a");
      test_input(p, to, "to");
    } else {
      relu(p, x, a);
    }
    if (kind == 0) relu(p, x, to);
    if (kind == 1) test_jump_false(p, c, 3);
    if (kind != 0) test_move(p, a, to);
    if (kind == 1) relu(p, x, to);
    relu(p, a, y);
    if (kind == 0) test_move(p, a, to);
    test_output(p, y, "y");
    refuse(p, "reads value '2'");
  }
}

// In a loop, the header of the first iteration stays.
static void a_value_is_a_view_in_all_iterations(void** state) {
  (void)state;
  for (int early = 0; early < 2; ++early) {
    test_program* const p = stock(64);
    const int x = borrowed_input(p), c = condition(p);
    const int a = four_at(p, 0), to = four_at(p, 8), y = four_at(p, 32);
    relu(p, x, a);
    test_move(p, a, to);
    relu(p, x, to);
    relu(p, a, y);
    test_jump_false(p, c, early ? 1 : 2);
    test_output(p, y, "y");
    accept(p);
  }
}

// One that is written keeps its content until the next call.
static void a_moved_value_that_is_written_can_be_a_state(void** state) {
  (void)state;
  for (int lost = 0; lost < 2; ++lost) {
    test_program* const p = stock(64);
    const int x = borrowed_input(p);
    const int to = four_at(p, 0), y = four_at(p, 32);
    relu(p, to, y);
    relu(p, x, to);
    test_move(p, to, to);
    if (lost) relu(p, x, four_at(p, 0));
    test_output(p, y, "y");
    if (lost) {
      refuse(p, "the next call reads state value '1'");
    } else {
      accept(p);
    }
  }
}

// ---- numbers that a move sets ----

// A row of four floats of 12, and a write to floats 4 to 7. The number in the
// file is that of the last row.
static void a_part_does_not_start_at_a_number_that_is_moved(void** state) {
  (void)state;
  for (int moved = 0; moved < 2; ++moved) {
    test_program* const p = stock(128);
    const int start = test_int(p, 8), other_start = test_int(p, 4);
    const int x = test_input(p, test_borrowed(p, F32, SIZES(12)), "x");
    const int z = borrowed_input(p);
    const int all = test_scratch(p, F32, SIZES(12), 16);
    const int row = view_without_memory(p);
    const int middle = four_at(p, 32), y = four_at(p, 64);
    relu(p, x, all);
    test_move(p, other_start, moved ? start : test_int(p, 0));
    part(p, all, start, row);
    relu(p, z, middle);
    relu(p, row, y);
    test_output(p, y, "y");
    if (moved) {
      refuse(p, "reads value '5', but value '6' overwrote it");
    } else {
      accept(p);
    }
  }
}

// A list is another kind of value than a number.
static void a_number_is_not_moved_to_a_list(void** state) {
  (void)state;
  test_program* const p = stock(64);
  const int x = borrowed_input(p), y = four_at(p, 0);
  test_move(p, test_int(p, 3), test_tensors(p, ARGS(x)));
  relu(p, x, y);
  test_output(p, y, "y");
  refuse_as(p, ETX_UNSUPPORTED, "changes the kind of the value");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_may_lie_in_a_moved_value_is_not_valid),
      cmocka_unit_test(a_write_at_one_of_two_places_makes_neither_valid),
      cmocka_unit_test(a_value_that_may_be_a_constant_shows_no_other),
      cmocka_unit_test(a_part_that_can_be_anywhere_shows_no_other),
      cmocka_unit_test(a_value_is_at_its_own_address_before_it_is_moved),
      cmocka_unit_test(a_value_is_no_view_before_it_is_moved),
      cmocka_unit_test(a_value_is_a_view_in_all_iterations),
      cmocka_unit_test(a_moved_value_that_is_written_can_be_a_state),
      cmocka_unit_test(a_part_does_not_start_at_a_number_that_is_moved),
      cmocka_unit_test(a_number_is_not_moved_to_a_list),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
