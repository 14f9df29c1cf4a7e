// Values that take over headers: where they can be, and how many places of one
// value a proof follows.

#include "tests/cli/verify/verify_fixture.h"

static void view(test_program* p, int from, int to) {
  test_call(p, "executorch_prim::et_view", "default",
            ARGS(from, test_ints(p, ARGS(test_int(p, 4))), to));
}

static void part(test_program* p, int from, int start, int to) {
  test_call(p, "etx::part_view", "default",
            ARGS(from, start, test_ints(p, ARGS(test_int(p, 4))), to));
}

// A value that is moved to from `count` values at different addresses.
static test_program* moved_to(int count) {
  test_program* const p = stock(16 * 20);
  const int x = borrowed_input(p);
  const int to = test_borrowed(p, F32, SIZES(4));
  for (int i = 0; i < count; ++i) {
    const int from = four_at(p, (uint64_t)(16 * i));
    relu(p, x, from);
    test_move(p, from, to);
  }
  const int y = four_at(p, 16 * 19);
  relu(p, to, y);
  test_output(p, y, "y");
  return p;
}

static void a_value_is_at_16_addresses_at_most(void** state) {
  (void)state;
  accept(moved_to(16));
  refuse_as(moved_to(17), ETX_UNSUPPORTED,
            "value '1' can be at more than 16 addresses, too many for a proof");
}

// The same addresses reach `to` from a value that has them all.
static void addresses_of_a_source_count_too(void** state) {
  (void)state;
  for (int many = 0; many < 2; ++many) {
    test_program* const p = stock(16 * 20);
    const int x = borrowed_input(p);
    const int via = test_borrowed(p, F32, SIZES(4));
    const int to = test_borrowed(p, F32, SIZES(4));
    for (int i = 0; i < 16; ++i) {
      const int from = four_at(p, (uint64_t)(16 * i));
      relu(p, x, from);
      test_move(p, from, i < 12 ? via : to);
    }
    const int last = four_at(p, 16 * 16);
    relu(p, x, last);
    if (many) test_move(p, last, to);
    test_move(p, via, to);
    const int y = four_at(p, 16 * 19);
    relu(p, to, y);
    test_output(p, y, "y");
    if (many) {
      refuse_as(p, ETX_UNSUPPORTED, "more than 16 addresses");
    } else {
      accept(p);
    }
  }
}

// A value that is written itself, or is an input, can be at its own address
// too: 16 others are too many.
static void the_own_address_of_a_value_counts(void** state) {
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    test_program* const p = stock(16 * 20);
    const int to = four_at(p, 16 * 18);
    const int x = borrowed_input(p);
    const int given = test_borrowed(p, F32, SIZES(4));
    if (kind == 1) test_input(p, to, "to");
    if (kind == 2) test_input(p, given, "given");
    if (kind == 0) relu(p, x, to);
    for (int i = 0; i < 16; ++i) {
      const int from = four_at(p, (uint64_t)(16 * i));
      relu(p, x, from);
      test_move(p, from, kind == 2 ? given : to);
    }
    const int y = four_at(p, 16 * 19);
    relu(p, kind == 2 ? given : to, y);
    test_output(p, y, "y");
    refuse_as(p, ETX_UNSUPPORTED, "more than 16 addresses");
  }
}

// A part that starts where its tensor ends shows no byte of it, and one that
// starts before shows the rest.
static void a_part_at_the_end_shows_no_bytes(void** state) {
  (void)state;
  for (int start = 2; start <= 4; start += 2) {
    test_program* const p = stock(64);
    const int x = borrowed_input(p);
    const int a = four_at(p, 0), other = four_at(p, 0), y = four_at(p, 32);
    const int to = test_borrowed(p, F32, SIZES(4));
    relu(p, x, a);
    part(p, a, test_int(p, start), to);
    relu(p, x, other);
    relu(p, to, y);
    test_output(p, y, "y");
    if (start == 4) {
      accept(p);
    } else {
      refuse(p, "reads value '4', but value '2' overwrote it");
    }
  }
}

// In a file of etx, the first or the second of two sources lies elsewhere.
static void a_planned_value_has_the_address_of_each_source(void** state) {
  (void)state;
  for (int wrong = 0; wrong < 3; ++wrong) {
    test_program* const p = start(64).p;
    const int x = borrowed_input(p);
    const int c =
        test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
    const int to = four_at(p, 0), y = four_at(p, 32);
    const int a = four_at(p, wrong == 1 ? 16 : 0);
    const int b = four_at(p, wrong == 2 ? 16 : 0);
    relu(p, x, a);
    test_jump_false(p, c, 4);
    test_move(p, a, to);
    test_jump_false(p, test_bool(p, false), 6);
    relu(p, x, b);
    test_move(p, b, to);
    relu(p, to, y);
    test_output(p, y, "y");
    if (wrong == 0) {
      accept(p);
    } else {
      refuse(p, "takes over the header of a value at another address");
    }
  }
}

// What is written through a value changes the only tensor whose header it takes
// over, in several places, and spoils each of two.
static void a_value_of_one_header_shows_what_it_changes(void** state) {
  (void)state;
  for (int two = 0; two < 2; ++two) {
    test_program* const p = stock(64);
    const int x = borrowed_input(p);
    const int c =
        test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
    const int a = four_at(p, 0), b = four_at(p, 16), y = four_at(p, 32);
    const int to = test_borrowed(p, F32, SIZES(4));
    relu(p, x, a);
    relu(p, x, b);
    test_move(p, a, to);
    test_jump_false(p, c, 5);
    test_move(p, two ? b : a, to);
    relu(p, x, to);
    relu(p, a, y);
    test_output(p, y, "y");
    if (two) {
      refuse(p, "reads value '2', but value '5' overwrote it");
    } else {
      accept(p);
    }
  }
}

// The caller gives an input its header.
static void an_input_shows_no_other_value(void** state) {
  (void)state;
  test_program* const p = stock(64);
  const int a = four_at(p, 0), x = borrowed_input(p);
  const int in = test_input(p, four_at(p, 0), "in"), y = four_at(p, 32);
  const int to = test_borrowed(p, F32, SIZES(4));
  relu(p, x, a);
  test_move(p, a, to);
  relu(p, x, in);
  relu(p, a, y);
  test_output(p, y, "y");
  refuse(p, "reads value '0', but value '2' overwrote it");
}

// More values than bits of a word, of which one path leaves out the last.
static void many_values_show_what_they_change(void** state) {
  enum { MANY = 129 };
  (void)state;
  for (int missed = 0; missed < 2; ++missed) {
    test_program* const p = stock(64);
    const int x = borrowed_input(p);
    const int c =
        test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
    const int a = four_at(p, 0), y = four_at(p, 32);
    int to = x;
    relu(p, x, a);
    for (int i = 0; i < MANY; ++i) {
      if (missed && i == MANY - 1) test_jump_false(p, c, MANY + 2);
      to = test_borrowed(p, F32, SIZES(4));
      test_move(p, a, to);
    }
    if (!missed) test_jump_false(p, c, MANY + 2);
    relu(p, x, to);
    relu(p, a, y);
    test_output(p, y, "y");
    if (missed) {
      refuse(p, "reads value '2', but value '132' overwrote it");
    } else {
      accept(p);
    }
  }
}

static void the_first_value_may_take_over_a_header(void** state) {
  (void)state;
  for (int lost = 0; lost < 2; ++lost) {
    test_program* const p = stock(64);
    const int to = test_borrowed(p, F32, SIZES(4)), x = borrowed_input(p);
    const int a = four_at(p, 0), b = four_at(p, lost ? 0 : 16);
    const int y = four_at(p, 32);
    relu(p, x, a);
    test_move(p, a, to);
    relu(p, x, b);
    relu(p, to, y);
    test_output(p, y, "y");
    if (lost) {
      refuse(p, "reads value '0', but value '3' overwrote it");
    } else {
      accept(p);
    }
  }
}

// The result of an elementwise operator lies where its argument may be.
static void a_result_may_lie_at_one_of_several_addresses(void** state) {
  (void)state;
  test_program* const p = stock(64);
  const int x = borrowed_input(p);
  const int c =
      test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
  const int a = four_at(p, 0), b = four_at(p, 16), y = four_at(p, 0);
  const int to = test_borrowed(p, F32, SIZES(4));
  relu(p, x, a);
  relu(p, x, b);
  test_move(p, a, to);
  test_jump_false(p, c, 5);
  test_move(p, b, to);
  relu(p, to, y);
  test_output(p, y, "y");
  accept(p);
}

// Each move hands on in the next round what the one behind it got.
static test_program* moved_backwards(int count) {
  test_program* const p = stock(64);
  const int x = borrowed_input(p);
  int values[100];
  const int a = four_at(p, 0), y = four_at(p, 16);
  relu(p, x, a);
  for (int i = 0; i < count; ++i) values[i] = test_borrowed(p, F32, SIZES(4));
  for (int i = count - 1; i > 0; --i) test_move(p, values[i - 1], values[i]);
  test_move(p, a, values[0]);
  relu(p, a, y);
  test_output(p, y, "y");
  return p;
}

static void addresses_are_final_after_64_rounds(void** state) {
  (void)state;
  // The last round changes nothing.
  accept(moved_backwards(63));
  refuse_as(moved_backwards(64), ETX_UNSUPPORTED,
            "the addresses of views and moved values are not final after 64 "
            "rounds");
}

// ---- views of a planned address ----

static void a_planned_view_is_where_it_is_made(void** state) {
  (void)state;
  for (uint64_t at = 0; at <= 16; at += 16) {
    const small s = start(64);
    const int x = borrowed_input(s.p);
    const int a = four_at(s.p, 0), v = four_at(s.p, at), y = four_at(s.p, 32);
    relu(s.p, x, a);
    view(s.p, a, v);
    relu(s.p, v, y);
    test_output(s.p, y, "y");
    if (at == 0) {
      accept(s.p);
    } else {
      refuse(s.p, "value '2' takes over the header of a value at another");
    }
  }
}

// ---- parts that start at a number ----

// A row of four floats from element `start` of 12 on, and a write to floats 4
// to 7.
static test_program* row_from(int64_t start_at, bool has_computed_start) {
  test_program* const p = stock(128);
  const int start = test_int(p, start_at);
  if (has_computed_start) test_input(p, start, "start");
  const int x = test_input(p, test_borrowed(p, F32, SIZES(12)), "x");
  const int z = borrowed_input(p);
  const int all = test_scratch(p, F32, SIZES(12), 16);
  const int row = test_borrowed(p, F32, SIZES(4));
  const int middle = four_at(p, 32), y = four_at(p, 64), w = four_at(p, 80);
  relu(p, x, all);
  part(p, all, start, row);
  relu(p, z, middle);
  relu(p, row, y);
  relu(p, middle, w);
  test_output(p, y, "y");
  test_output(p, w, "w");
  return p;
}

static void a_part_is_where_its_number_says(void** state) {
  (void)state;
  accept(row_from(0, false));
  accept(row_from(8, false));
  refuse(row_from(4, false), "overwrote it");
  refuse(row_from(2, false), "overwrote it");
  // Anywhere, if the number is given by the caller or outside of the tensor.
  refuse(row_from(0, true), "overwrote it");
  refuse(row_from(-1, false), "overwrote it");
  refuse(row_from(13, false), "overwrote it");
}

static void a_view_of_a_constant_is_one(void** state) {
  (void)state;
  const float data[4] = {1, 2, 3, 4};
  for (int written = 0; written < 2; ++written) {
    const small s = start(64);
    const int x = borrowed_input(s.p);
    const int k =
        test_constant(s.p, F32, SIZES(4), test_data(s.p, data, sizeof data));
    const int v = test_borrowed(s.p, F32, SIZES(4));
    const int w = test_borrowed(s.p, F32, SIZES(4));
    const int y = four_at(s.p, 32);
    view(s.p, k, v);
    view(s.p, v, w);
    add(s.p, w, x, y);
    if (written) relu(s.p, x, w);
    test_output(s.p, y, "y");
    if (written) {
      refuse(s.p, "writes value '3', which is a constant");
    } else {
      accept(s.p);
    }
  }
}

// Part of a planned whole, from a computed element on: it can be anywhere, so
// that it has no planned address, unless it is a part of a chain.
static void a_part_that_can_be_anywhere_is_not_planned(void** state) {
  (void)state;
  for (int planned = 0; planned < 2; ++planned) {
    const small s = start(64);
    const int x = test_input(s.p, test_borrowed(s.p, F32, SIZES(12)), "x");
    const int n = test_input(s.p, test_int(s.p, 4), "n");
    const int all = test_scratch(s.p, F32, SIZES(12), 0);
    const int row =
        planned ? four_at(s.p, 16) : test_borrowed(s.p, F32, SIZES(4));
    const int y = four_at(s.p, 48);
    relu(s.p, x, all);
    part(s.p, all, n, row);
    relu(s.p, row, y);
    test_output(s.p, y, "y");
    if (planned) {
      refuse(s.p, "value '3' takes over the header of a value at another");
    } else {
      accept(s.p);
    }
  }
}

// A part that starts at a number that is none.
static void a_part_starts_at_an_integer(void** state) {
  (void)state;
  test_program* const p = stock(64);
  const int x = test_input(p, test_borrowed(p, F32, SIZES(12)), "x");
  const int all = test_scratch(p, F32, SIZES(12), 0);
  const int row = test_borrowed(p, F32, SIZES(4)), y = four_at(p, 48);
  relu(p, x, all);
  part(p, all, test_double(p, 1), row);
  relu(p, row, y);
  test_output(p, y, "y");
  accept(p);
}

// Two values that show each other.
static void parts_that_show_each_other_are_refused(void** state) {
  (void)state;
  const small s = start(64);
  const int x = test_input(s.p, test_borrowed(s.p, F32, SIZES(8)), "x");
  const int n = test_input(s.p, test_int(s.p, 4), "n");
  const int a = test_scratch(s.p, F32, SIZES(8), 0), b = four_at(s.p, 16);
  const int y = four_at(s.p, 48);
  relu(s.p, x, a);
  part(s.p, a, n, b);
  part(s.p, b, n, a);
  relu(s.p, b, y);
  test_output(s.p, y, "y");
  refuse(s.p, "takes over the header of a value at another address");
}

static void a_value_may_be_moved_to_twice_from_one(void** state) {
  (void)state;
  const small s = start(64);
  const int x = borrowed_input(s.p), a = four_at(s.p, 0), y = four_at(s.p, 32);
  const int to = test_borrowed(s.p, F32, SIZES(4));
  relu(s.p, x, a);
  test_move(s.p, a, to);
  test_move(s.p, a, to);
  relu(s.p, to, y);
  test_output(s.p, y, "y");
  accept(s.p);
}

// Values of different sizes that start together: as many bytes as the larger
// one has may be read, in whichever order they are moved.
static void values_of_two_sizes_may_start_together(void** state) {
  (void)state;
  for (int order = 0; order < 2; ++order) {
    for (int spoilt = 0; spoilt < 2; ++spoilt) {
      test_program* const p = stock(96);
      const int x = test_input(p, test_borrowed(p, F32, SIZES(8)), "x");
      const int z = borrowed_input(p);
      const int c =
          test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
      const int large = test_scratch(p, F32, SIZES(8), 0);
      const int little = four_at(p, 0);
      const int to = test_dynamic(p, test_borrowed(p, F32, SIZES(8)));
      const int other = four_at(p, spoilt ? 16 : 64), y = four_at(p, 32);
      relu(p, x, large);
      test_move(p, order ? little : large, to);
      test_jump_false(p, c, 4);
      test_move(p, order ? large : little, to);
      relu(p, z, other);
      relu(p, other, y);
      relu(p, to, test_dynamic(p, test_scratch(p, F32, SIZES(8), 64)));
      test_output(p, y, "y");
      etx_verify_report report;
      const etx_status status =
          etx_verify_program(test_file(p), &report, &diag);
      assert_int_equal(status, spoilt ? ETX_BAD_PLAN : ETX_OK);
      test_program_end(p);
    }
  }
}

// A tensor without bytes has no address.
static void an_empty_tensor_has_no_address(void** state) {
  (void)state;
  test_program* const p = stock(64);
  const int x = test_input(p, test_borrowed(p, F32, SIZES(0)), "x");
  const int a = test_scratch(p, F32, SIZES(0), 0);
  const int v = test_borrowed(p, F32, SIZES(0));
  const int y = test_scratch(p, F32, SIZES(0), 0);
  relu(p, x, a);
  test_call(p, "executorch_prim::et_view", "default",
            ARGS(a, test_ints(p, ARGS(test_int(p, 0))), v));
  relu(p, v, y);
  test_output(p, y, "y");
  accept(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_value_is_at_16_addresses_at_most),
      cmocka_unit_test(addresses_of_a_source_count_too),
      cmocka_unit_test(the_own_address_of_a_value_counts),
      cmocka_unit_test(a_result_may_lie_at_one_of_several_addresses),
      cmocka_unit_test(addresses_are_final_after_64_rounds),
      cmocka_unit_test(a_planned_view_is_where_it_is_made),
      cmocka_unit_test(a_part_is_where_its_number_says),
      cmocka_unit_test(a_view_of_a_constant_is_one),
      cmocka_unit_test(a_part_that_can_be_anywhere_is_not_planned),
      cmocka_unit_test(a_part_starts_at_an_integer),
      cmocka_unit_test(parts_that_show_each_other_are_refused),
      cmocka_unit_test(a_value_may_be_moved_to_twice_from_one),
      cmocka_unit_test(values_of_two_sizes_may_start_together),
      cmocka_unit_test(an_empty_tensor_has_no_address),
      cmocka_unit_test(a_planned_value_has_the_address_of_each_source),
      cmocka_unit_test(a_value_of_one_header_shows_what_it_changes),
      cmocka_unit_test(a_part_at_the_end_shows_no_bytes),
      cmocka_unit_test(an_input_shows_no_other_value),
      cmocka_unit_test(many_values_show_what_they_change),
      cmocka_unit_test(the_first_value_may_take_over_a_header),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
