// Concatenations that are computed in place: parts one after the other in the
// result, at places that depend on sizes.

#include "tests/cli/verify/verify_fixture.h"

// x has 4 to 8 floats, as has y; `whole` has those of both, at 0. The numbers
// are those at the upper bounds.
typedef struct joined {
  test_program* p;
  int x, y;    // inputs
  int whole;   // at 0
  int first;   // part of it, planned at 0
  int second;  // part of it, planned at 32
  int other;   // 8 floats at 64
  int none;
  int sizes;  // of a part
} joined;

static int eight_at(test_program* p, uint64_t offset) {
  return test_dynamic(p, test_scratch(p, F32, SIZES(8), offset));
}

static joined start_joined(void) {
  test_program* const p = start(96).p;
  const int x =
      test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(8))), "x");
  const int y =
      test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(8))), "y");
  const int zero = test_int(p, 0), size = test_int(p, 8);
  const joined j = {
      .p = p,
      .x = x,
      .y = y,
      .whole = test_dynamic(p, test_scratch(p, F32, SIZES(16), 0)),
      .first = eight_at(p, 0),
      .second = eight_at(p, 32),
      .other = eight_at(p, 64),
      .none = test_none(p),
      .sizes = test_ints(p, ARGS(size)),
  };
  test_call(p, "aten::sym_size", "int", ARGS(x, zero, size));
  return j;
}

static void part_after(const joined* j, int before, int part) {
  test_call(j->p, "etx::part_after", "default",
            ARGS(j->whole, before, j->sizes, part));
}

static void cat(const joined* j, int a, int b) {
  const int list = test_tensors(j->p, ARGS(a, b));
  const int zero = test_int(j->p, 0);
  test_call(j->p, "aten::cat", "out", ARGS(list, zero, j->whole, j->whole));
  test_output(j->p, j->whole, "z");
}

static void parts_of_a_chain_do_not_overwrite_each_other(void** state) {
  (void)state;
  const joined j = start_joined();
  part_after(&j, j.none, j.first);
  part_after(&j, j.first, j.second);
  relu(j.p, j.x, j.first);
  relu(j.p, j.y, j.second);
  add(j.p, j.first, j.second, j.other);
  cat(&j, j.first, j.second);
  accept(j.p);
}

static void parts_may_be_computed_in_any_order(void** state) {
  (void)state;
  const joined j = start_joined();
  part_after(&j, j.none, j.first);
  part_after(&j, j.first, j.second);
  relu(j.p, j.y, j.second);
  relu(j.p, j.x, j.first);
  cat(&j, j.first, j.second);
  accept(j.p);
}

static void views_of_parts_are_as_disjoint_as_the_parts(void** state) {
  (void)state;
  const joined j = start_joined();
  const int view = eight_at(j.p, 32);
  part_after(&j, j.none, j.first);
  part_after(&j, j.first, j.second);
  relu(j.p, j.y, j.second);
  test_call(j.p, "executorch_prim::et_view", "default",
            ARGS(j.second, j.sizes, view));
  relu(j.p, j.x, j.first);
  cat(&j, j.first, view);
  accept(j.p);
}

// Rows 2 to 3 of the second part.
static void a_part_of_a_part_may_be_anywhere_too(void** state) {
  (void)state;
  const joined j = start_joined();
  const int two = test_int(j.p, 2);
  const int sizes = test_ints(j.p, ARGS(two));
  const int rows = test_scratch(j.p, F32, SIZES(2), 40);
  const int y = test_scratch(j.p, F32, SIZES(2), 64);
  part_after(&j, j.none, j.first);
  part_after(&j, j.first, j.second);
  relu(j.p, j.y, j.second);
  test_call(j.p, "etx::part_view", "default", ARGS(j.second, two, sizes, rows));
  relu(j.p, j.x, j.first);
  relu(j.p, rows, y);
  cat(&j, j.first, j.second);
  test_output(j.p, y, "y");
  accept(j.p);
}

// Though each of them may be anywhere in the whole.
static void results_of_one_call_may_be_two_parts(void** state) {
  (void)state;
  for (int same = 0; same < 2; ++same) {
    const joined j = start_joined();
    const int list =
        test_tensors(j.p, ARGS(j.first, same ? j.first : j.second));
    part_after(&j, j.none, j.first);
    part_after(&j, j.first, j.second);
    relu(j.p, j.y, j.second);
    test_call(j.p, "aten::split_copy", "Tensor_out",
              ARGS(j.x, test_int(j.p, 4), test_int(j.p, 0), list, list));
    cat(&j, j.first, j.second);
    if (same) {
      refuse(j.p, "reads value '5', but value '5' overwrote it");
    } else {
      accept(j.p);
    }
  }
}

// ---- parts that are not what they seem ----

// Something else gives the second part a header, or shows the first one before
// it is a part: writes there reach into other parts.
static void a_part_that_something_else_makes_is_none(void** state) {
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    const joined j = start_joined();
    const int early = eight_at(j.p, 0), no = test_bool(j.p, false);
    const int second = test_dynamic(j.p, test_borrowed(j.p, F32, SIZES(8)));
    if (kind == 1) {
      test_call(j.p, "executorch_prim::et_view", "default",
                ARGS(j.first, j.sizes, early));
    }
    part_after(&j, j.none, j.first);
    part_after(&j, j.first, second);
    relu(j.p, j.x, j.first);
    relu(j.p, j.y, second);
    if (kind == 1) relu(j.p, j.x, early);
    if (kind == 2) {
      test_call(j.p, "aten::copy_", "", ARGS(j.first, j.x, no, second));
      relu(j.p, j.y, second);
    }
    add(j.p, j.first, second, j.other);
    test_output(j.p, j.other, "z");
    if (kind == 0) {
      accept(j.p);
    } else {
      refuse(j.p, "overwrote it");
    }
  }
}

// Columns one after the other in memory are not what a concatenation of rows
// makes.
static void parts_have_their_dimensions_in_order(void** state) {
  static const uint8_t columns[] = {0, 2, 1};
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    test_program* const p = start(96).p;
    const int x = test_input(p, test_borrowed(p, F32, SIZES(2, 2, 2)), "x");
    const int none = test_none(p), zero = test_int(p, 0);
    const int two = test_int(p, 2), sizes = test_ints(p, ARGS(two, two, two));
    const int whole = test_scratch(p, F32, SIZES(4, 2, 2), 0);
    const int first = test_scratch(p, F32, SIZES(2, 2, 2), 0);
    const int second = test_scratch(p, F32, SIZES(2, 2, 2), 32);
    if (kind == 1) test_tensor_of(p, whole)->dim_order = columns;
    if (kind == 2) test_tensor_of(p, second)->dim_order = columns;
    test_call(p, "etx::part_after", "default", ARGS(whole, none, sizes, first));
    test_call(p, "etx::part_after", "default",
              ARGS(whole, first, sizes, second));
    relu(p, x, first);
    relu(p, x, second);
    test_call(p, "aten::cat", "out",
              ARGS(test_tensors(p, ARGS(first, second)), zero, whole, whole));
    test_output(p, whole, "z");
    if (kind == 0) {
      accept(p);
    } else {
      refuse(p, "shares bytes with argument");
    }
  }
}

// A whole of rows without an instruction: only its end may vary.
static void parts_in_front_of_others_have_fixed_sizes(void** state) {
  (void)state;
  for (int kind = 0; kind < 4; ++kind) {
    int x;
    test_program* const p = start_varying(0, &x);
    const int z = borrowed_input(p);
    const bool is_first_dynamic = kind == 1, is_second_dynamic = kind >= 2;
    const int first = is_first_dynamic ? varying_at(p, 0) : four_at(p, 0);
    const int second = is_second_dynamic ? varying_at(p, 16) : four_at(p, 16);
    const int whole = test_scratch(p, F32, SIZES(8), 0);
    const int y = test_scratch(p, F32, SIZES(8), 64);
    if (kind == 1 || kind == 2) test_dynamic(p, whole);
    if (kind != 0) test_dynamic(p, y);
    test_view(p, whole, first, 0);
    test_view(p, whole, second, 16);
    relu(p, is_first_dynamic ? x : z, first);
    relu(p, is_second_dynamic ? x : z, second);
    relu(p, whole, y);
    test_output(p, y, "y");
    if (kind == 0 || kind == 2) {
      accept(p);
    } else {
      refuse(p, "varies in size");
    }
  }
}

// The number in the file is where the rows are planned, but an instruction or
// the caller may set another one.
static void rows_at_a_number_that_changes_are_not_planned(void** state) {
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    const joined j = start_joined();
    const int two = test_int(j.p, 2), four = test_int(j.p, 4);
    const int sizes = test_ints(j.p, ARGS(test_int(j.p, 2)));
    const int rows = test_scratch(j.p, F32, SIZES(2), 40);
    const int y = test_scratch(j.p, F32, SIZES(2), 64);
    if (kind == 1) {
      test_call(j.p, "executorch_prim::floordiv", "Scalar",
                ARGS(four, two, two));
    }
    if (kind == 2) test_input(j.p, two, "n");
    part_after(&j, j.none, j.first);
    part_after(&j, j.first, j.second);
    relu(j.p, j.y, j.second);
    test_call(j.p, "etx::part_view", "default",
              ARGS(j.second, two, sizes, rows));
    relu(j.p, j.x, j.first);
    relu(j.p, rows, y);
    cat(&j, j.first, j.second);
    test_output(j.p, y, "y");
    if (kind == 0) {
      accept(j.p);
    } else {
      refuse(j.p, "is planned at another address");
    }
  }
}

// A part that starts at a computed number, and two rows of it.
static void rows_of_a_part_with_a_computed_start_may_be_anywhere(void** state) {
  (void)state;
  test_program* const p = start(96).p;
  const int x =
      test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(8))), "x");
  const int whole = test_dynamic(p, test_scratch(p, F32, SIZES(8), 0));
  const int part = test_dynamic(p, test_borrowed(p, F32, SIZES(4)));
  const int rows = test_borrowed(p, F32, SIZES(2));
  const int zero = test_int(p, 0), two = test_int(p, 2), n = test_int(p, 4);
  const int half = test_int(p, 4), first = test_int(p, 0);
  const int few = test_ints(p, ARGS(two)), many = test_ints(p, ARGS(half));
  const int other = test_scratch(p, F32, SIZES(2), 24);
  const int z = test_scratch(p, F32, SIZES(2), 64);
  const int early = test_input(p, test_borrowed(p, F32, SIZES(2)), "early");
  test_call(p, "aten::sym_size", "int", ARGS(x, zero, n));
  test_call(p, "executorch_prim::floordiv", "Scalar", ARGS(n, two, half));
  relu(p, x, whole);
  test_call(p, "etx::part_view", "default", ARGS(whole, half, many, part));
  test_call(p, "etx::part_view", "default", ARGS(part, first, few, rows));
  relu(p, early, other);  // the rows may reach into these bytes
  relu(p, rows, z);
  test_output(p, z, "z");
  refuse(p, "overwrote it");
}

static void two_parts_at_one_place_may_overlap(void** state) {
  (void)state;
  const joined j = start_joined();
  part_after(&j, j.none, j.first);
  part_after(&j, j.none, j.second);
  relu(j.p, j.x, j.first);
  relu(j.p, j.y, j.second);
  cat(&j, j.first, j.second);
  refuse(j.p, "but value '6' overwrote it");
}

static void a_part_behind_a_later_part_may_be_anywhere(void** state) {
  (void)state;
  const joined j = start_joined();
  part_after(&j, j.second, j.first);
  part_after(&j, j.first, j.second);
  relu(j.p, j.x, j.first);
  relu(j.p, j.y, j.second);
  cat(&j, j.first, j.second);
  refuse(j.p, "but value '6' overwrote it");
}

static void a_part_that_is_written_before_it_is_made_is_refused(void** state) {
  (void)state;
  const joined j = start_joined();
  part_after(&j, j.none, j.first);
  relu(j.p, j.y, j.second);
  part_after(&j, j.first, j.second);
  relu(j.p, j.x, j.first);
  cat(&j, j.first, j.second);
  refuse(j.p, "reads value '6', but nothing has written it");
}

// An input that an earlier instruction reads, as its first or second argument,
// or writes, as its first or second result.
static void a_part_that_is_read_before_it_is_made_may_be_anywhere(
    void** state) {
  (void)state;
  for (int kind = 0; kind < 5; ++kind) {
    test_program* const p = stock(96);
    const int first = test_scratch(p, F32, SIZES(8), 0);  // value 0
    const int x = test_input(p, test_borrowed(p, F32, SIZES(8)), "x");
    const int whole = test_scratch(p, F32, SIZES(16), 0);
    const int second = test_input(p, test_scratch(p, F32, SIZES(8), 32), "s");
    const int other = test_scratch(p, F32, SIZES(8), 64);
    const int sizes = test_ints(p, ARGS(test_int(p, 8)));
    const int none = test_none(p);
    if (kind == 1) add(p, second, x, other);
    if (kind == 2) add(p, x, second, other);
    if (kind == 3) relu(p, x, second);
    if (kind == 4) {
      const int two = test_tensors(p, ARGS(other, second));
      const int in = test_input(p, test_borrowed(p, F32, SIZES(16)), "in");
      test_call(p, "aten::split_copy", "Tensor_out",
                ARGS(in, test_int(p, 8), test_int(p, 0), two, two));
    }
    test_call(p, "etx::part_after", "default", ARGS(whole, none, sizes, first));
    test_call(p, "etx::part_after", "default",
              ARGS(whole, first, sizes, second));
    relu(p, x, second);
    relu(p, x, first);
    test_call(p, "aten::cat", "out",
              ARGS(test_tensors(p, ARGS(first, second)), test_int(p, 0), whole,
                   whole));
    test_output(p, whole, "z");
    if (kind == 0) {
      accept(p);
    } else {
      refuse(p, "shares bytes with argument value");
    }
  }
}

static void a_part_that_is_made_twice_may_be_anywhere(void** state) {
  (void)state;
  for (int twice = 0; twice < 2; ++twice) {
    const joined j = start_joined();
    part_after(&j, j.none, j.first);
    if (twice) part_after(&j, j.none, j.first);
    part_after(&j, j.first, j.second);
    relu(j.p, j.y, j.second);
    relu(j.p, j.x, j.first);
    cat(&j, j.first, j.second);
    if (twice) {
      refuse(j.p, "value");
    } else {
      accept(j.p);
    }
  }
}

static void operands_in_another_order_are_refused(void** state) {
  (void)state;
  const joined j = start_joined();
  part_after(&j, j.none, j.first);
  part_after(&j, j.first, j.second);
  relu(j.p, j.x, j.first);
  relu(j.p, j.y, j.second);
  cat(&j, j.second, j.first);
  refuse(j.p, "shares bytes with argument");
}

static void other_values_must_stay_off_the_whole(void** state) {
  (void)state;
  const joined j = start_joined();
  const int late = eight_at(j.p, 32);
  part_after(&j, j.none, j.first);
  part_after(&j, j.first, j.second);
  relu(j.p, j.x, j.first);
  relu(j.p, j.y, late);  // the first part may reach into these bytes
  relu(j.p, late, j.second);
  cat(&j, j.first, j.second);
  refuse(j.p, "output value '6' shares bytes with argument value '10'");
}

static void parts_must_be_planned_one_after_the_other(void** state) {
  (void)state;
  joined j = start_joined();
  j.second = eight_at(j.p, 16);
  part_after(&j, j.none, j.first);
  part_after(&j, j.first, j.second);
  relu(j.p, j.x, j.first);
  relu(j.p, j.y, j.second);
  cat(&j, j.first, j.second);
  refuse(j.p, "is planned at another address");
}

static void the_whole_is_not_valid_before_it_is_joined(void** state) {
  (void)state;
  const joined j = start_joined();
  const int z = test_dynamic(j.p, test_borrowed(j.p, F32, SIZES(16)));
  part_after(&j, j.none, j.first);
  part_after(&j, j.first, j.second);
  relu(j.p, j.x, j.first);
  relu(j.p, j.y, j.second);
  relu(j.p, j.whole, z);
  cat(&j, j.first, j.second);
  refuse(j.p, "nothing has written it");
}

static void a_part_that_changes_later_changes_the_whole(void** state) {
  (void)state;
  const joined j = start_joined();
  part_after(&j, j.none, j.first);
  part_after(&j, j.first, j.second);
  relu(j.p, j.x, j.first);
  relu(j.p, j.y, j.second);
  cat(&j, j.first, j.second);
  relu(j.p, j.y, j.second);
  refuse(j.p, "overwrote it");
}

// ---- numbers of a concatenation ----

static void a_concatenation_may_count_its_dimension_from_the_end(void** state) {
  (void)state;
  const joined j = start_joined();
  part_after(&j, j.none, j.first);
  part_after(&j, j.first, j.second);
  relu(j.p, j.x, j.first);
  relu(j.p, j.y, j.second);
  const int list = test_tensors(j.p, ARGS(j.first, j.second));
  test_call(j.p, "aten::cat", "out",
            ARGS(list, test_int(j.p, -1), j.whole, j.whole));
  test_output(j.p, j.whole, "z");
  accept(j.p);
}

// Along a dimension behind others that have one element, counted from both
// ends.
static void a_concatenation_may_have_leading_dimensions_of_one(void** state) {
  (void)state;
  for (int32_t round = 0; round < 4; ++round) {
    const int32_t lead = round / 2 + 1;
    test_program* const p = start(64).p;
    const test_sizes row = SIZES(lead, 8 / lead);
    const int x =
        test_input(p, test_dynamic(p, test_borrowed(p, F32, row)), "x");
    const int whole =
        test_dynamic(p, test_scratch(p, F32, SIZES(lead, 16 / lead), 0));
    const int first = test_dynamic(p, test_scratch(p, F32, row, 0));
    const int second = test_dynamic(p, test_scratch(p, F32, row, 32));
    const int one = test_int(p, 1), size = test_int(p, 8 / lead);
    const int none = test_none(p);
    const int sizes = test_ints(p, ARGS(test_int(p, lead), size));
    test_call(p, "aten::sym_size", "int", ARGS(x, one, size));
    test_call(p, "etx::part_after", "default", ARGS(whole, none, sizes, first));
    test_call(p, "etx::part_after", "default",
              ARGS(whole, first, sizes, second));
    relu(p, x, first);
    relu(p, x, second);
    test_call(p, "aten::cat", "out",
              ARGS(test_tensors(p, ARGS(first, second)),
                   round % 2 == 0 ? one : test_int(p, -1), whole, whole));
    test_output(p, whole, "z");
    if (lead == 1) {
      accept(p);
    } else {
      refuse(p, "shares bytes with argument value");
    }
  }
}

// Parts that do not lie one after the other, parts that do not fill the whole,
// no parts at all, a dimension that a shape does not have, and a part twice.
static void a_concatenation_of_other_parts_is_no_joined_one(void** state) {
  (void)state;
  for (int kind = 0; kind < 6; ++kind) {
    const joined j = start_joined();
    part_after(&j, j.none, j.first);
    part_after(&j, j.first, j.second);
    relu(j.p, j.x, j.first);
    relu(j.p, j.y, j.second);
    const int wide = test_dynamic(j.p, test_scratch(j.p, F32, SIZES(1, 1), 0));
    const int list = kind == 0   ? test_tensors(j.p, ARGS(j.first))
                     : kind == 1 ? test_tensors(j.p, ARGS(j.second, j.first))
                     : kind == 2 ? test_tensors(j.p, NULL, 0)
                     : kind == 4 ? test_tensors(j.p, ARGS(j.second))
                     : kind == 5
                         ? test_tensors(j.p, ARGS(j.first, j.first, j.second))
                         : test_tensors(j.p, ARGS(j.first, j.second));
    const int to = kind == 3 ? wide : j.whole;
    test_call(j.p, "aten::cat", "out",
              ARGS(list, test_int(j.p, kind == 3 ? 5 : 0), to, to));
    test_output(j.p, to, "z");
    if (kind == 2) {
      accept(j.p);
    } else {
      refuse(j.p, "shares bytes with argument value");
    }
  }
}

// ---- places of views ----

// Planned rows of the second part: where they are made, elsewhere, at a number
// that is none, and rows that reach into the part behind theirs.
static void views_of_parts_are_planned_where_they_are_made(void** state) {
  (void)state;
  for (int kind = 0; kind < 5; ++kind) {
    const joined j = start_joined();
    const int start = kind == 2 ? test_double(j.p, 2) : test_int(j.p, 2);
    const int rows =
        kind == 3 ? test_scratch(j.p, F32, SIZES(8), 8)
                  : test_scratch(j.p, F32, SIZES(2), kind % 3 == 1 ? 44 : 40);
    const int few = test_ints(j.p, ARGS(test_int(j.p, kind == 3 ? 8 : 2)));
    if (kind == 4) test_input(j.p, start, "start");
    part_after(&j, j.none, j.first);
    part_after(&j, j.first, j.second);
    if (kind != 3) relu(j.p, j.x, j.first);
    relu(j.p, j.y, j.second);
    test_call(j.p, "etx::part_view", "default",
              ARGS(kind == 3 ? j.first : j.second, start, few, rows));
    cat(&j, j.first, j.second);
    if (kind == 0) {
      accept(j.p);
    } else {
      refuse(j.p, "part '11' is planned at another address");
    }
  }
}

static void views_of_parts_may_have_no_memory(void** state) {
  (void)state;
  for (int has_blob = 0; has_blob < 2; ++has_blob) {
    test_program* const p = has_blob ? start(96).p : stock(96);
    const int x = test_input(p, test_borrowed(p, F32, SIZES(8)), "x");
    const int whole = test_scratch(p, F32, SIZES(16), 0);
    const int first = has_blob ? test_borrowed(p, F32, SIZES(8))
                               : test_scratch(p, F32, SIZES(8), 32);
    const int sizes = test_ints(p, ARGS(test_int(p, 8)));
    const int y = test_scratch(p, F32, SIZES(8), 64);
    test_call(p, "etx::part_after", "default",
              ARGS(whole, test_none(p), sizes, first));
    relu(p, x, first);
    relu(p, first, y);
    test_output(p, y, "y");
    accept(p);
  }
}

static void a_release_makes_no_part(void** state) {
  (void)state;
  const joined j = start_joined();
  part_after(&j, j.none, j.first);
  part_after(&j, j.first, j.second);
  relu(j.p, j.x, j.first);
  relu(j.p, j.y, j.second);
  cat(&j, j.first, j.second);
  test_release(j.p, j.other);
  accept(j.p);
}

// Parts are known in methods without jumps and moves alone.
static void parts_of_methods_with_jumps_may_be_anywhere(void** state) {
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    const joined j = start_joined();
    part_after(&j, j.none, j.first);
    part_after(&j, j.first, j.second);
    relu(j.p, j.x, j.first);
    relu(j.p, j.y, j.second);
    add(j.p, j.first, j.second, j.other);
    if (kind == 1) test_jump_false(j.p, test_bool(j.p, true), 6);
    if (kind == 2) test_move(j.p, test_int(j.p, 1), test_int(j.p, 2));
    cat(&j, j.first, j.second);
    if (kind == 0) {
      accept(j.p);
    } else {
      refuse(j.p, "value");
    }
  }
}

// ---- depth ----

// Views of views: what is further away from a part than the proof looks can be
// anywhere in the whole.
static test_program* deep_view(int levels, bool is_late, bool is_planned) {
  const joined j = start_joined();
  part_after(&j, j.none, j.first);
  part_after(&j, j.first, j.second);
  relu(j.p, j.y, j.second);
  if (!is_late) relu(j.p, j.x, j.first);
  int shown = j.second;
  for (int i = 0; i < levels; ++i) {
    const int next =
        is_planned ? eight_at(j.p, 32) : test_borrowed(j.p, F32, SIZES(8));
    if (!is_planned) test_dynamic(j.p, next);
    test_call(j.p, "executorch_prim::et_view", "default",
              ARGS(shown, j.sizes, next));
    shown = next;
  }
  if (is_late) relu(j.p, j.x, j.first);
  cat(&j, j.first, shown);
  return j.p;
}

static void views_of_parts_are_followed_for_64_levels(void** state) {
  (void)state;
  accept(deep_view(1, true, false));
  accept(deep_view(63, true, false));
  refuse(deep_view(64, true, false), "value");
  // A concatenation finds the part itself, too.
  accept(deep_view(64, false, false));
  refuse(deep_view(65, false, false), "shares bytes with argument value");
  // A planned view has the address of a part.
  accept(deep_view(63, true, true));
  refuse(deep_view(64, false, true), "header of a value at another address");
}

// The second part, and a part of parts of the first one, which share no byte.
static test_program* apart_from_parts(int levels, bool is_second_first) {
  const joined j = start_joined();
  part_after(&j, j.none, j.first);
  part_after(&j, j.first, j.second);
  int last = j.first;
  for (int i = 0; i < levels; ++i) {
    const int next = test_dynamic(j.p, test_borrowed(j.p, F32, SIZES(8)));
    test_call(j.p, "etx::part_after", "default",
              ARGS(last, j.none, j.sizes, next));
    last = next;
  }
  if (is_second_first) relu(j.p, j.y, j.second);
  relu(j.p, j.x, last);
  if (!is_second_first) relu(j.p, j.y, j.second);
  add(j.p, last, j.second, j.other);
  test_output(j.p, j.other, "o");
  return j.p;
}

static void parts_of_parts_stay_apart_for_64_levels(void** state) {
  (void)state;
  for (int order = 0; order < 2; ++order) {
    accept(apart_from_parts(1, order != 0));
    accept(apart_from_parts(63, order != 0));
    refuse(apart_from_parts(64, order != 0), "reads value");
  }
}

// First parts of first parts of a value that was written; two parts of the
// innermost one, which are no parts of the outermost one any more.
static test_program* deep_parts(int levels) {
  test_program* const p = stock(64);
  const int x = test_input(p, test_borrowed(p, F32, SIZES(2)), "x");
  const int none = test_none(p), y = test_scratch(p, F32, SIZES(4), 32);
  const int four = test_ints(p, ARGS(test_int(p, 4)));
  const int two = test_ints(p, ARGS(test_int(p, 2)));
  int whole = four_at(p, 0);
  relu(p, borrowed_input(p), whole);
  for (int i = 0; i < levels; ++i) {
    const int part = test_dynamic(p, test_borrowed(p, F32, SIZES(4)));
    test_call(p, "etx::part_after", "default", ARGS(whole, none, four, part));
    whole = part;
  }
  const int a = test_dynamic(p, test_borrowed(p, F32, SIZES(2)));
  const int b = test_dynamic(p, test_borrowed(p, F32, SIZES(2)));
  test_call(p, "etx::part_after", "default", ARGS(whole, none, two, a));
  test_call(p, "etx::part_after", "default", ARGS(whole, a, two, b));
  relu(p, x, a);
  relu(p, x, b);
  test_call(p, "aten::cat", "out",
            ARGS(test_tensors(p, ARGS(a, b)), test_int(p, 0), y, y));
  test_output(p, y, "y");
  return p;
}

// A concatenation of two parts in place. Of the first one there are parts of
// parts, or views of views.
static test_program* joined_around(int levels, bool are_parts) {
  const joined j = start_joined();
  part_after(&j, j.none, j.first);
  part_after(&j, j.first, j.second);
  relu(j.p, j.x, j.first);
  relu(j.p, j.y, j.second);
  int last = j.first;
  for (int i = 0; i < levels; ++i) {
    const int next = test_dynamic(j.p, test_borrowed(j.p, F32, SIZES(8)));
    if (are_parts) {
      test_call(j.p, "etx::part_after", "default",
                ARGS(last, j.none, j.sizes, next));
    } else {
      test_call(j.p, "executorch_prim::et_view", "default",
                ARGS(last, j.sizes, next));
    }
    last = next;
  }
  cat(&j, j.first, j.second);
  relu(j.p, last, j.other);
  test_output(j.p, j.other, "o");
  return j.p;
}

static void joined_parts_may_have_parts(void** state) {
  (void)state;
  for (int are_parts = 0; are_parts < 2; ++are_parts) {
    accept(joined_around(1, are_parts != 0));
    accept(joined_around(63, are_parts != 0));
    refuse(joined_around(64, are_parts != 0), "reads value");
  }
}

static void parts_of_parts_are_followed_for_64_levels(void** state) {
  (void)state;
  accept(deep_parts(1));
  accept(deep_parts(60));
  accept(deep_parts(70));
}

// The list of a concatenation may have the type of one with missing tensors.
static void a_concatenation_of_a_missing_tensor_is_not_joined(void** state) {
  (void)state;
  for (uint64_t at = 0; at <= 16; at += 16) {
    test_program* const p = stock(32);
    const int x = borrowed_input(p);
    const int whole = four_at(p, 0), a = four_at(p, at);
    const int list = test_optional_tensors(p, ARGS(-1, a));
    relu(p, x, a);
    test_call(p, "aten::cat", "out", ARGS(list, test_int(p, 0), whole, whole));
    test_output(p, whole, "y");
    if (at == 16) {
      accept(p);
    } else {
      refuse(p, "shares bytes with argument value");
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_concatenation_may_count_its_dimension_from_the_end),
      cmocka_unit_test(a_concatenation_may_have_leading_dimensions_of_one),
      cmocka_unit_test(a_concatenation_of_other_parts_is_no_joined_one),
      cmocka_unit_test(views_of_parts_are_planned_where_they_are_made),
      cmocka_unit_test(views_of_parts_may_have_no_memory),
      cmocka_unit_test(a_release_makes_no_part),
      cmocka_unit_test(parts_of_methods_with_jumps_may_be_anywhere),
      cmocka_unit_test(views_of_parts_are_followed_for_64_levels),
      cmocka_unit_test(joined_parts_may_have_parts),
      cmocka_unit_test(parts_of_parts_stay_apart_for_64_levels),
      cmocka_unit_test(parts_of_parts_are_followed_for_64_levels),
      cmocka_unit_test(a_concatenation_of_a_missing_tensor_is_not_joined),
      cmocka_unit_test(parts_of_a_chain_do_not_overwrite_each_other),
      cmocka_unit_test(parts_may_be_computed_in_any_order),
      cmocka_unit_test(views_of_parts_are_as_disjoint_as_the_parts),
      cmocka_unit_test(a_part_of_a_part_may_be_anywhere_too),
      cmocka_unit_test(results_of_one_call_may_be_two_parts),
      cmocka_unit_test(a_part_that_something_else_makes_is_none),
      cmocka_unit_test(parts_have_their_dimensions_in_order),
      cmocka_unit_test(parts_in_front_of_others_have_fixed_sizes),
      cmocka_unit_test(rows_at_a_number_that_changes_are_not_planned),
      cmocka_unit_test(rows_of_a_part_with_a_computed_start_may_be_anywhere),
      cmocka_unit_test(two_parts_at_one_place_may_overlap),
      cmocka_unit_test(a_part_behind_a_later_part_may_be_anywhere),
      cmocka_unit_test(a_part_that_is_written_before_it_is_made_is_refused),
      cmocka_unit_test(operands_in_another_order_are_refused),
      cmocka_unit_test(other_values_must_stay_off_the_whole),
      cmocka_unit_test(parts_must_be_planned_one_after_the_other),
      cmocka_unit_test(the_whole_is_not_valid_before_it_is_joined),
      cmocka_unit_test(a_part_that_changes_later_changes_the_whole),
      cmocka_unit_test(a_part_that_is_read_before_it_is_made_may_be_anywhere),
      cmocka_unit_test(a_part_that_is_made_twice_may_be_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
