// View rows and instructions that contradict each other: a tensor that the file
// calls a view of one tensor, and an instruction makes a view of another one;
// and results of one call that share bytes through such rows.

#include "tests/cli/verify/verify_fixture.h"

static int eight_at(test_program* p, uint64_t offset) {
  return test_scratch(p, F32, SIZES(8), offset);
}

static int eight_given(test_program* p) {
  return test_input(p, test_borrowed(p, F32, SIZES(8)), "z");
}

static void view(test_program* p, int from, int to, int size) {
  test_call(p, "executorch_prim::et_view", "default",
            ARGS(from, test_ints(p, ARGS(test_int(p, size))), to));
}

static int view_of_two(test_program* p) {
  return test_borrowed(p, F32, SIZES(2));
}

static void part_of_two(test_program* p, int from, int start, int to) {
  test_call(
      p, "etx::part_view", "default",
      ARGS(from, test_int(p, start), test_ints(p, ARGS(test_int(p, 2))), to));
}

// ---- rows and headers ----

// By its row, `to` is a view of the input, which is always valid. By the move
// it is a, which `other` overwrites.
static void a_row_names_what_a_move_shows(void** state) {
  (void)state;
  for (int given = 0; given < 2; ++given) {
    test_program* const p = start(64).p;
    const int x = borrowed_input(p), z = borrowed_input(p);
    const int a = four_at(p, 0), other = four_at(p, 0), y = four_at(p, 16);
    const int to = test_borrowed(p, F32, SIZES(4));
    test_view(p, to, given ? z : x, 0);
    relu(p, z, a);
    test_move(p, given ? z : a, to);
    relu(p, x, other);
    relu(p, to, y);
    test_output(p, y, "y");
    if (given) {
      accept(p);
    } else {
      refuse(p, "value '5' is a view of value '0' by its row");
    }
  }
}

// The same with two tensors that lie at one address one after the other.
static void a_row_names_the_tensor_at_an_address_that_is_shown(void** state) {
  (void)state;
  for (int same = 0; same < 2; ++same) {
    test_program* const p = start(64).p;
    const int x = borrowed_input(p);
    const int a = four_at(p, 0), b = four_at(p, 0), y = four_at(p, 16);
    const int to = four_at(p, 0);
    test_view(p, to, b, 0);
    relu(p, x, a);
    if (!same) view(p, a, to, 4);
    relu(p, x, b);
    if (same) view(p, b, to, 4);
    relu(p, to, y);
    test_output(p, y, "y");
    if (same) {
      accept(p);
    } else {
      refuse(p, "value '4' is a view of value '2' by its row");
    }
  }
}

// By its row `to` is the first half of the input, by the move the second one.
static void a_row_has_the_offset_that_is_shown(void** state) {
  (void)state;
  for (uint64_t at = 0; at <= 16; at += 16) {
    test_program* const p = start(64).p;
    const int x = borrowed_input(p), z = test_borrowed(p, F32, SIZES(8));
    const int half = test_borrowed(p, F32, SIZES(4));
    const int first = test_borrowed(p, F32, SIZES(4));
    const int to = test_borrowed(p, F32, SIZES(4)), y = four_at(p, 16);
    test_view(p, half, z, at);
    test_view(p, first, z, 0);
    test_view(p, to, z, 0);
    relu(p, x, first);
    test_move(p, half, to);
    relu(p, to, y);
    test_output(p, y, "y");
    if (at == 0) {
      accept(p);
    } else {
      refuse(p, "value '4' has a view row, but takes over the header of a");
    }
  }
}

// A view by its row that no instruction has set up yet.
static void a_view_is_set_up_before_it_is_read(void** state) {
  (void)state;
  for (int early = 0; early < 2; ++early) {
    test_program* const p = start(64).p;
    const int x = borrowed_input(p);
    const int a = four_at(p, 0), to = four_at(p, 0), y = four_at(p, 16);
    test_view(p, to, a, 0);
    relu(p, x, a);
    if (!early) view(p, a, to, 4);
    relu(p, to, y);
    if (early) view(p, a, to, 4);
    test_output(p, y, "y");
    if (early) {
      refuse(p, "reads value '2'");
    } else {
      accept(p);
    }
  }
}

// A part that starts where the caller says, planned at the first element.
static void a_part_that_can_be_anywhere_has_no_row(void** state) {
  (void)state;
  for (int given = 0; given < 2; ++given) {
    test_program* const p = start(96).p;
    const int z = eight_given(p), n = test_int(p, 0);
    const int all = eight_at(p, 0), y = four_at(p, 32);
    const int rows = test_scratch(p, F32, SIZES(4), 0);
    const int first = test_scratch(p, F32, SIZES(4), 0);
    if (given) test_input(p, n, "n");
    test_view(p, first, rows, 0);
    relu(p, z, all);
    test_call(p, "etx::part_view", "default",
              ARGS(all, n, test_ints(p, ARGS(test_int(p, 4))), rows));
    relu(p, first, y);
    test_output(p, y, "y");
    if (given) {
      refuse(p, "value '4' has a view row, but takes over the header of a");
    } else {
      accept(p);
    }
  }
}

// ---- values that lie in one that takes over a header ----

// A write of the first half of `to` leaves the second one as it was.
static void a_part_of_a_view_is_not_the_whole_view(void** state) {
  (void)state;
  for (int written = 0; written < 2; ++written) {
    test_program* const p = start(96).p;
    const int x = borrowed_input(p), z = eight_given(p);
    const int a = eight_at(p, 0), to = eight_at(p, 0), y = eight_at(p, 32);
    const int half = four_at(p, 0);
    test_view(p, half, to, 0);
    if (written) relu(p, z, a);
    view(p, a, to, 8);
    relu(p, x, half);
    relu(p, to, y);
    test_output(p, y, "y");
    if (written) {
      accept(p);
    } else {
      refuse(p, "reads value '3', but nothing has written it");
    }
  }
}

// `to` is made of two parts, which are valid, and shows a, which they
// overwrote.
static void a_view_is_not_made_of_parts(void** state) {
  (void)state;
  for (int shown = 0; shown < 2; ++shown) {
    test_program* const p = start(96).p;
    const int x = borrowed_input(p), z = eight_given(p);
    const int a = eight_at(p, 0), to = eight_at(p, 0), y = eight_at(p, 32);
    const int first = four_at(p, 0), second = four_at(p, 16);
    test_view(p, to, first, 0);
    test_view(p, to, second, 16);
    relu(p, z, a);
    if (shown) view(p, a, to, 8);
    relu(p, x, first);
    relu(p, x, second);
    relu(p, to, y);
    test_output(p, y, "y");
    if (shown) {
      refuse(p, "reads value '3'");
    } else {
      accept(p);
    }
  }
}

// The second half of `to`, which shows half of the bytes that it has in the
// plan.
static void a_view_has_the_bytes_of_what_it_shows(void** state) {
  (void)state;
  for (int few = 0; few < 2; ++few) {
    test_program* const p = start(96).p;
    const int x = borrowed_input(p), z = eight_given(p);
    const int a = few ? four_at(p, 0) : eight_at(p, 0);
    const int to = eight_at(p, 0), half = four_at(p, 16), y = four_at(p, 32);
    test_view(p, half, to, 16);
    relu(p, few ? x : z, a);
    test_move(p, a, to);
    relu(p, half, y);
    test_output(p, y, "y");
    if (few) {
      refuse(p, "value '3' has a view row, but takes over the header of a");
    } else {
      accept(p);
    }
  }
}

// ---- orders of dimensions ----

// Rows of the first tensor are columns of the second one in memory.
static void what_is_in_place_has_one_order_of_dimensions(void** state) {
  static const uint8_t rows[] = {0, 1}, columns[] = {1, 0};
  static const uint8_t deep_rows[] = {0, 1, 2}, deep_columns[] = {0, 2, 1};
  (void)state;
  for (int kind = 0; kind < 6; ++kind) {
    const bool is_copy = kind % 2 == 0;
    const bool is_deep = kind >= 2;
    test_program* const p = stock(96);
    const int x = test_input(p, test_borrowed(p, F32, SIZES(2, 4)), "x");
    const int a = test_scratch(p, F32, SIZES(2, 4), 0);
    const int b = is_deep ? test_scratch(p, F32, SIZES(1, 2, 4), 0)
                          : test_scratch(p, F32, SIZES(2, 4), 0);
    test_tensor_of(p, a)->dim_order = kind >= 4 ? columns : rows;
    test_tensor_of(p, b)->dim_order = kind < 2   ? columns
                                      : kind < 4 ? deep_columns
                                                 : deep_rows;
    relu(p, x, a);
    if (is_copy && is_deep) {
      test_call(p, "aten::unsqueeze_copy", "out",
                ARGS(a, test_int(p, 0), b, b));
    } else if (is_copy) {
      test_call(p, "aten::clone", "out", ARGS(a, test_none(p), b, b));
    } else if (is_deep) {
      const int z = test_input(p, test_borrowed(p, F32, SIZES(1, 2, 4)), "z");
      add(p, a, z, b);
    } else {
      relu(p, a, b);
    }
    test_output(p, b, "y");
    refuse(p, "output value '2' shares bytes with argument value '1'");
  }
}

// A dimension of one element may stand anywhere.
static void dimensions_of_one_element_have_no_order(void** state) {
  static const uint8_t orders[][3] = {{0, 1, 2}, {1, 0, 2}, {1, 2, 0}};
  (void)state;
  for (int kind = 0; kind < 6; ++kind) {
    test_program* const p = stock(96);
    const int x = test_input(p, test_borrowed(p, F32, SIZES(1, 2, 4)), "x");
    const int a = test_scratch(p, F32, SIZES(1, 2, 4), 0);
    const int b = test_scratch(p, F32, SIZES(1, 2, 4), 0);
    test_tensor_of(p, b)->dim_order = orders[kind / 2];
    relu(p, x, a);
    if (kind % 2 == 0) {
      test_call(p, "aten::clone", "out", ARGS(a, test_none(p), b, b));
    } else {
      relu(p, a, b);
    }
    test_output(p, b, "y");
    accept(p);
  }
}

// ---- results of one call ----

// Both results of a call are written: one in the bytes of the other.
static void a_result_in_a_view_of_another_one_spoils_it(void** state) {
  (void)state;
  for (int kind = 0; kind < 4; ++kind) {
    test_program* const p = start(96).p;
    const int x = test_input(p, test_borrowed(p, F32, SIZES(4, 4)), "x");
    const int whole = test_scratch(p, F32, SIZES(2, 4), 0);
    const int part = test_scratch(p, F32, SIZES(2, 4), kind == 0 ? 32 : 0);
    const int y = test_scratch(p, F32, SIZES(2, 4), 64);
    if (kind == 1 || kind == 2) test_view(p, part, whole, 0);
    const int one = kind == 2 ? part : whole;
    const int other = kind == 2 ? whole : kind == 3 ? whole : part;
    const int list = test_tensors(p, ARGS(one, other));
    test_call(p, "aten::split_copy", "Tensor_out",
              ARGS(x, test_int(p, 2), test_int(p, 0), list, list));
    relu(p, whole, y);
    test_output(p, y, "y");
    if (kind == 0) {
      accept(p);
    } else {
      refuse(p, "reads value '1', but value");
    }
  }
}

// Two results are views of one tensor: which of them it shows is unknown.
static void what_two_results_of_a_call_show_is_spoilt(void** state) {
  (void)state;
  for (int apart = 0; apart < 2; ++apart) {
    test_program* const p = stock(96);
    const int x = test_input(p, test_borrowed(p, F32, SIZES(4)), "x");
    const int z = eight_given(p);
    const int all = eight_at(p, 0), y = eight_at(p, 32);
    const int one = view_of_two(p), other = view_of_two(p);
    const int list = test_tensors(p, ARGS(one, other));
    relu(p, z, all);
    part_of_two(p, all, 0, one);
    part_of_two(p, all, apart ? 2 : 0, other);
    test_call(p, "aten::split_copy", "Tensor_out",
              ARGS(x, test_int(p, 2), test_int(p, 0), list, list));
    relu(p, all, y);
    test_output(p, y, "y");
    if (apart) {
      accept(p);
    } else {
      refuse(p, "reads value '2', but value");
    }
  }
}

// One result that nothing reads may lie in the bytes of another one.
static void a_spoilt_result_that_is_not_read_is_allowed(void** state) {
  (void)state;
  test_program* const p = start(96).p;
  const int x = test_input(p, test_borrowed(p, F32, SIZES(4, 4)), "x");
  const int whole = test_scratch(p, F32, SIZES(2, 4), 0);
  const int part = test_scratch(p, F32, SIZES(2, 4), 0);
  const int y = test_scratch(p, F32, SIZES(4, 4), 32);
  const int list = test_tensors(p, ARGS(whole, part));
  test_view(p, part, whole, 0);
  test_call(p, "aten::split_copy", "Tensor_out",
            ARGS(x, test_int(p, 2), test_int(p, 0), list, list));
  relu(p, x, y);
  test_output(p, y, "y");
  accept(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_row_names_what_a_move_shows),
      cmocka_unit_test(a_row_names_the_tensor_at_an_address_that_is_shown),
      cmocka_unit_test(a_row_has_the_offset_that_is_shown),
      cmocka_unit_test(a_view_is_set_up_before_it_is_read),
      cmocka_unit_test(a_part_of_a_view_is_not_the_whole_view),
      cmocka_unit_test(a_view_is_not_made_of_parts),
      cmocka_unit_test(a_view_has_the_bytes_of_what_it_shows),
      cmocka_unit_test(what_is_in_place_has_one_order_of_dimensions),
      cmocka_unit_test(dimensions_of_one_element_have_no_order),
      cmocka_unit_test(a_result_in_a_view_of_another_one_spoils_it),
      cmocka_unit_test(what_two_results_of_a_call_show_is_spoilt),
      cmocka_unit_test(a_part_that_can_be_anywhere_has_no_row),
      cmocka_unit_test(a_spoilt_result_that_is_not_read_is_allowed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
