// What instructions may say: arguments, moves, operators of an application,
// shapes, and effects that are guessed.

#include "tests/cli/verify/verify_fixture.h"

#include "cli/verify/verify_internal.h"

// ---- arguments ----

static void an_argument_has_the_kind_that_its_operator_takes(void** state) {
  (void)state;
  small s = start(32);
  relu(s.p, test_int(s.p, 3), four_at(s.p, 0));
  refuse_as(s.p, ETX_BAD_FILE, "argument '0' is not a tensor (method 'm')");
  s = start(32);
  const int x = borrowed_input(s.p);
  test_call(s.p, "aten::cat", "out",
            ARGS(x, test_int(s.p, 0), four_at(s.p, 0), 2));
  refuse_as(s.p, ETX_BAD_FILE, "argument '0' is not a list of tensors");
  // A tensor that is not optional.
  s = start(32);
  relu(s.p, test_none(s.p), four_at(s.p, 0));
  refuse_as(s.p, ETX_BAD_FILE, "argument '0' is not a tensor");
}

static void a_message_names_the_chain(void** state) {
  (void)state;
  const small s = start(32);
  relu(s.p, borrowed_input(s.p), four_at(s.p, 0));
  test_next_chain(s.p);
  copy_onto(s.p, test_int(s.p, 1), 0);
  refuse_as(s.p, ETX_BAD_FILE,
            "is not a tensor (method 'm') (instruction '0' of chain '1', "
            "'aten::copy_')");
}

static void optional_tensors_may_be_missing(void** state) {
  (void)state;
  const small s = start(64);
  const int x = borrowed_input(s.p);
  const int least = borrowed_input(s.p);
  const int y = four_at(s.p, 0), z = four_at(s.p, 16);
  test_call(s.p, "aten::clamp", "Tensor_out",
            ARGS(x, least, test_none(s.p), y, y));
  const int at =
      test_input(s.p, test_borrowed(s.p, ETX_DTYPE_INT64, SIZES(4)), "at");
  test_call(s.p, "aten::index_put", "out",
            ARGS(x, test_optional_tensors(s.p, ARGS(at)), y,
                 test_bool(s.p, false), z, z));
  test_output(s.p, z, "z");
  accept(s.p);
}

// The last argument of an operator that changes its first one is the same
// value again, or one that takes over its header.
static void a_result_may_be_another_name_of_what_is_changed(void** state) {
  (void)state;
  for (int spoilt = 0; spoilt < 2; ++spoilt) {
    const small s = start(64);
    const int x = borrowed_input(s.p);
    const int a = four_at(s.p, 0), b = four_at(s.p, spoilt ? 0 : 16);
    const int name = test_borrowed(s.p, F32, SIZES(4)), y = four_at(s.p, 32);
    relu(s.p, x, a);
    test_call(s.p, "aten::copy_", "", ARGS(a, x, test_bool(s.p, false), name));
    relu(s.p, x, b);
    relu(s.p, name, y);
    test_output(s.p, y, "y");
    if (spoilt) {
      refuse(s.p, "reads value");
    } else {
      accept(s.p);
    }
  }
}

// The result is the changed argument itself, which keeps its own place.
static void a_result_may_be_what_is_changed(void** state) {
  (void)state;
  for (uint64_t at = 8; at <= 16; at += 8) {
    test_program* const p = start(64).p;
    const int x = borrowed_input(p), a = four_at(p, at), y = four_at(p, 32);
    relu(p, x, a);
    copy_onto(p, a, x);
    relu(p, a, y);
    test_output(p, y, "y");
    if (at == 16) {
      accept(p);
    } else {
      refuse(p, "value '1' is at offset 8, expected a multiple of 16");
    }
  }
}

// More tensors than an operator has arguments.
static void a_list_may_be_long(void** state) {
  (void)state;
  enum { COUNT = 150 };
  test_program* const p = start(4096).p;
  const int x = borrowed_input(p);
  int items[COUNT];
  for (int i = 0; i < COUNT; ++i) items[i] = x;
  const int y = test_scratch(p, F32, SIZES(4 * COUNT), 0);
  relu(p, x, four_at(p, 16 * COUNT));
  test_call(p, "aten::cat", "out",
            ARGS(test_tensors(p, items, COUNT), test_int(p, 0), y, y));
  test_output(p, y, "y");
  accept(p);
}

static void a_long_list_may_be_a_later_argument(void** state) {
  (void)state;
  test_program* const p = start(64).p;
  const int x =
      test_input(p, test_borrowed(p, F32, SIZES(2, 2, 2, 2, 2, 2)), "x");
  const int at =
      test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(2)), "at");
  const int list = test_optional_tensors(p, ARGS(at, at, at, at, at, at));
  const int y = test_scratch(p, F32, SIZES(2), 0);
  test_call(p, "aten::index", "Tensor_out", ARGS(x, list, y, y));
  test_output(p, y, "y");
  accept(p);
}

// Value 0 is the first of a list.
static void every_tensor_of_a_list_is_read(void** state) {
  (void)state;
  for (int written = 0; written < 2; ++written) {
    test_program* const p = start(64).p;
    const int a = four_at(p, 0), x = borrowed_input(p);
    const int y = test_scratch(p, F32, SIZES(8), 32);
    if (written) relu(p, x, a);
    test_call(p, "aten::cat", "out",
              ARGS(test_tensors(p, ARGS(a, x)), test_int(p, 0), y, y));
    test_output(p, y, "y");
    if (written) {
      accept(p);
    } else {
      refuse(p, "reads value '0', but nothing has written it");
    }
  }
}

// ---- moves ----

static void moves_keep_the_kind_of_a_value(void** state) {
  (void)state;
  for (int kind = 0; kind < 4; ++kind) {
    const small s = start(32);
    const int x = borrowed_input(s.p);
    const int y = four_at(s.p, 0);
    const int number = test_int(s.p, 1), other = test_int(s.p, 2);
    const int list = test_tensors(s.p, ARGS(x));
    const int optional = test_optional_tensors(s.p, ARGS(x));
    const int from[] = {number, list, optional, y};
    relu(s.p, x, y);
    test_move(s.p, from[kind], other);
    test_output(s.p, y, "y");
    if (kind == 0) {
      accept(s.p);
    } else {
      refuse_as(s.p, ETX_UNSUPPORTED,
                "changes the kind of the value or moves a list");
    }
  }
  const small s = start(32);
  const int x = borrowed_input(s.p);
  test_move(s.p, test_int(s.p, 1), x);
  refuse_as(s.p, ETX_UNSUPPORTED, "a move from value '1' to value '0'");
}

// ---- operators of an application ----

static test_program* with_own(const char* text, uint64_t offset) {
  const small s = start(48);
  const int x = borrowed_input(s.p);
  const int a = four_at(s.p, 0), b = four_at(s.p, offset), y = four_at(s.p, 32);
  test_named(s.p, ETX_OWN_OPERATORS_KEY, text, strlen(text));
  relu(s.p, x, a);
  test_call(s.p, "my::twice", "out", ARGS(a, b, b));
  add(s.p, a, b, y);
  test_output(s.p, y, "y");
  return s.p;
}

static void operators_of_an_application_are_those_that_the_file_describes(
    void** state) {
  static const char good[] = "my::twice(Tensor x) -> Tensor\n  sizes: x\n";
  (void)state;
  accept(with_own(good, 16));
  refuse(with_own(good, 0), "value");
  refuse_as(with_own("my::twice(", 16), ETX_BAD_FILE,
            "in the description of operators, line 1");
  test_program* const quiet = with_own("my::twice(", 16);
  assert_int_equal(etx_verify_program(test_file(quiet), NULL, NULL),
                   ETX_BAD_FILE);
  test_program_end(quiet);
  refuse_as(with_own("my::other(Tensor x) -> Tensor\n  sizes: x\n", 16),
            ETX_MISSING_OPERATOR, "operator 'my::twice.out' is unknown");
}

static void an_unknown_operator_is_named_without_an_overload(void** state) {
  (void)state;
  const small s = start(32);
  test_call(s.p, "mine::magic", "", ARGS(borrowed_input(s.p)));
  refuse_as(s.p, ETX_MISSING_OPERATOR, "operator 'mine::magic' is unknown");
}

// ---- in place ----

// y = a + b in the bytes of a, where a has these sizes and starts at 0.
static test_program* sum_over(test_sizes a_sizes, test_sizes y_sizes,
                              bool is_turned) {
  static const uint8_t turned[] = {1, 0};
  test_program* const p = stock(64);
  const int x = test_input(p, test_borrowed(p, F32, a_sizes), "x");
  const int z = test_input(p, test_borrowed(p, F32, y_sizes), "z");
  const int a = test_scratch(p, F32, a_sizes, 0);
  const int y = test_dynamic(p, test_scratch(p, F32, y_sizes, 0));
  if (is_turned) test_tensor_of(p, y)->dim_order = turned;
  relu(p, x, a);
  add(p, a, z, y);
  test_output(p, y, "y");
  return p;
}

static void a_result_takes_the_bytes_of_equal_elements(void** state) {
  static const char refusal[] = "shares bytes with argument value";
  (void)state;
  accept(sum_over(SIZES(2, 2), SIZES(2, 2), false));
  accept(sum_over(SIZES(2, 2), SIZES(1, 2, 2), false));
  accept(sum_over(SIZES(1, 1, 4), SIZES(4), false));
  refuse(sum_over(SIZES(2, 2), SIZES(2, 2), true), refusal);
  refuse(sum_over(SIZES(4), SIZES(2, 2), false), refusal);
  refuse(sum_over(SIZES(8), SIZES(4), false), refusal);
  refuse(sum_over(SIZES(4, 1), SIZES(2, 2), false), refusal);
  refuse(sum_over(SIZES(2, 2), SIZES(4), false), refusal);
  refuse(sum_over(SIZES(1, 2, 1), SIZES(1, 1, 2), false), refusal);
  refuse(sum_over(SIZES(1, 4), SIZES(4, 4), false), refusal);
}

// index_put may overwrite the tensor that it changes, and nothing else.
static void an_operator_may_overwrite_its_first_tensor_alone(void** state) {
  (void)state;
  for (int other = 0; other < 2; ++other) {
    const small s = start(64);
    const int x = borrowed_input(s.p);
    const int a = four_at(s.p, 0), b = four_at(s.p, 16);
    const int y = four_at(s.p, other ? 16 : 0);
    const int at =
        test_input(s.p, test_borrowed(s.p, ETX_DTYPE_INT64, SIZES(4)), "at");
    relu(s.p, x, a);
    relu(s.p, x, b);
    test_call(s.p, "aten::index_put", "out",
              ARGS(a, test_optional_tensors(s.p, ARGS(at)), b,
                   test_bool(s.p, false), y, y));
    test_output(s.p, y, "y");
    if (other) {
      refuse(s.p, "output value '3' shares bytes with argument value '2'");
    } else {
      accept(s.p);
    }
  }
}

// ---- shapes ----

static void outputs_are_tensors(void** state) {
  (void)state;
  for (int bad = 0; bad < 4; ++bad) {
    const small s = start(64);
    const int x = test_input(s.p, test_borrowed(s.p, F32, SIZES(4)), "x");
    const int none = test_none(s.p);
    const int a = test_scratch(s.p, F32, SIZES(2), 0);
    const int b = test_scratch(s.p, F32, SIZES(2), 16);
    const int list = bad == 0   ? test_tensors(s.p, ARGS(a, b))
                     : bad == 1 ? test_optional_tensors(s.p, ARGS(a, -1))
                     : bad == 2 ? test_optional_tensors(s.p, ARGS(none, b))
                                : test_tensors(s.p, ARGS(a));
    test_call(s.p, "aten::split_copy", "Tensor_out",
              ARGS(x, test_int(s.p, 2), test_int(s.p, 0), list, list));
    test_output(s.p, a, "a");
    if (bad == 0) {
      accept(s.p);
    } else {
      refuse(s.p, bad == 2 ? "the call lacks output '0'"
                           : "the call lacks output '1'");
    }
  }
}

static void a_rank_is_that_which_the_operator_makes(void** state) {
  (void)state;
  const small s = start(32);
  const int a = test_scratch(s.p, F32, SIZES(1, 4), 0);
  relu(s.p, borrowed_input(s.p), a);
  refuse(s.p, "value '0' has rank 2, expected 1 by the shape rule");
}

// Also of a call behind others; a report counts what was proved.
static void every_call_has_the_sizes_that_it_makes(void** state) {
  (void)state;
  for (int32_t size = 3; size <= 4; ++size) {
    test_program* const p = start(64).p;
    const int x = borrowed_input(p), a = four_at(p, 0);
    const int y = test_scratch(p, F32, SIZES(size), 16);
    test_int(p, 1);
    relu(p, x, a);
    relu(p, a, y);
    test_output(p, y, "y");
    if (size == 3) {
      refuse(p, "size '0' of value '2' is 3, expected 4");
      continue;
    }
    etx_verify_report report;
    assert_ok(etx_verify_program(test_file(p), &report, &diag));
    assert_int_equal(report.method_count, 1);
    assert_int_equal(report.value_count, 3);
    assert_int_equal(report.instruction_count, 2);
    test_program_end(p);
  }
}

static void a_condition_is_read(void** state) {
  (void)state;
  for (int written = 0; written < 2; ++written) {
    test_program* const p = start(64).p;
    const int x = borrowed_input(p), y = four_at(p, 0);
    const int c = test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES);
    if (written) test_input(p, c, "c");
    relu(p, x, y);
    test_jump_false(p, c, 2);
    test_output(p, y, "y");
    if (written) {
      accept(p);
    } else {
      refuse(p, "reads value '2', but");
    }
  }
}

static void a_method_may_be_a_jump_alone(void** state) {
  (void)state;
  test_program* const p = stock(32);
  const int c =
      test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
  test_jump_false(p, c, 1);
  test_output(p, c, "same");
  accept(p);
}

static void a_call_that_no_rule_takes_is_refused_in_files_of_etx(void** state) {
  (void)state;
  for (int has_blob = 0; has_blob < 2; ++has_blob) {
    test_program* const p = has_blob ? start(32).p : stock(32);
    const int x = borrowed_input(p);
    const int y = four_at(p, 0);
    test_call(p, "aten::cat", "out",
              ARGS(test_tensors(p, ARGS(x)), test_int(p, 7), y, y));
    test_output(p, y, "y");
    if (has_blob) {
      refuse(p, "dimension 7");
    } else {
      accept(p);
    }
  }
}

// Numbers and lists of every kind, as shape rules ask for them.
static void shape_rules_read_arguments_of_every_kind(void** state) {
  (void)state;
  const small s = start(256);
  test_program* const p = s.p;
  const int x = borrowed_input(p);
  const int flag = test_bool(p, true), two = test_int(p, 2);
  const int half = test_double(p, 0.5), text = test_string(p, "none");
  const int a = four_at(p, 0), b = four_at(p, 16), c = four_at(p, 32);
  const int d = test_scratch(p, F32, SIZES(2, 2), 48);
  const int e = four_at(p, 64), f = four_at(p, 80);
  test_call(p, "aten::gelu", "out", ARGS(x, text, a, a));
  test_call(p, "aten::add", "Scalar_out", ARGS(a, half, flag, b, b));
  test_call(p, "aten::add", "Scalar_out", ARGS(b, two, half, c, c));
  test_call(p, "aten::full", "out",
            ARGS(test_ints(p, ARGS(two, two)), half, d, d));
  test_call(p, "aten::clamp", "out", ARGS(c, half, test_none(p), e, e));
  test_call(p, "aten::mul", "Scalar_out", ARGS(e, flag, f, f));
  test_output(p, f, "f");
  test_output(p, d, "d");
  accept(p);
}

static void lists_of_numbers_of_every_kind_are_read(void** state) {
  static const double factors[] = {2, 2};
  static const uint8_t mask[] = {1, 1, 0};
  (void)state;
  for (int32_t wrong = 0; wrong < 2; ++wrong) {
    const small s = start(256);
    test_program* const p = s.p;
    const int x = test_input(p, test_borrowed(p, F32, SIZES(1, 1, 2, 2)), "x");
    const int y = test_scratch(p, F32, SIZES(1, 1, 4, 4 + wrong), 0);
    test_call(p, "aten::upsample_nearest2d", "vec_out",
              ARGS(x, test_none(p), test_doubles(p, factors, 2), y, y));
    test_output(p, y, "y");
    if (wrong) {
      refuse(p, "size '3' of value '1' is 5, expected 4");
      continue;
    }
    accept(p);
  }
  const small s = start(256);
  test_program* const p = s.p;
  const test_sizes four = SIZES(1, 1, 2, 2);
  const int g = test_input(p, test_borrowed(p, F32, four), "g");
  const int x = test_input(p, test_borrowed(p, F32, four), "x");
  const int w = test_input(p, test_borrowed(p, F32, SIZES(1, 1, 1, 1)), "w");
  const int one = test_int(p, 1), zero = test_int(p, 0);
  const int ones = test_ints(p, ARGS(one, one));
  const int zeros = test_ints(p, ARGS(zero, zero));
  const int dx = test_scratch(p, F32, four, 0);
  const int dw = test_scratch(p, F32, SIZES(1, 1, 1, 1), 16);
  const int db = test_scratch(p, F32, SIZES(0), 32);
  const int list = test_tensors(p, ARGS(dx, dw, db));
  test_call(p, "aten::convolution_backward", "out",
            ARGS(g, x, w, test_none(p), ones, zeros, ones, test_bool(p, false),
                 zeros, one, test_bools(p, mask, 3), dx, dw, db, list));
  test_output(p, dx, "dx");
  accept(p);
}

// Where a number is expected, a text counts as 0; where a tensor is expected in
// a list, nothing does.
static void arguments_of_other_kinds_are_left_to_the_rule(void** state) {
  (void)state;
  test_program* p = start(64).p;
  int x = borrowed_input(p);
  int y = four_at(p, 0);
  const int text = test_string(p, "zero");
  test_call(p, "aten::add", "Scalar_out", ARGS(x, text, text, y, y));
  test_output(p, y, "y");
  refuse(p, "aten::add");
  p = start(64).p;
  x = borrowed_input(p);
  y = four_at(p, 0);
  test_call(p, "aten::cat", "out",
            ARGS(test_optional_tensors(p, ARGS(test_none(p), x)),
                 test_string(p, "zero"), y, y));
  test_output(p, y, "y");
  refuse(p, "aten::cat");
}

// A number that the caller gives, or that an instruction computes: the file has
// another one.
static void shapes_of_numbers_that_vary_are_not_checked(void** state) {
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    test_program* const p = start(64).p;
    const int n = test_int(p, 3), y = four_at(p, 0);
    const int x = borrowed_input(p);
    if (kind == 1) test_input(p, n, "n");
    if (kind == 2) {
      test_call(p, "aten::sym_size", "int", ARGS(x, test_int(p, 0), n));
    }
    test_call(p, "aten::full", "out",
              ARGS(test_ints(p, ARGS(n)), test_double(p, 1), y, y));
    test_output(p, y, "y");
    if (kind == 0) {
      refuse(p, "size '0' of value '1' is 4, expected 3");
    } else {
      accept(p);
    }
  }
}

// The sizes of a list are known if those of all its tensors are.
static void shapes_of_lists_that_vary_are_not_checked(void** state) {
  (void)state;
  for (int varying = 0; varying < 3; ++varying) {
    int x;
    test_program* const p = start_varying(0, &x);
    const int z = borrowed_input(p), y = test_scratch(p, F32, SIZES(6), 0);
    const int list =
        test_tensors(p, ARGS(varying == 1 ? x : z, varying == 2 ? x : z));
    test_call(p, "aten::cat", "out", ARGS(list, test_int(p, 0), y, y));
    test_output(p, y, "y");
    if (varying == 0) {
      refuse(p, "size '0' of value '2' is 6, expected 8");
    } else {
      accept(p);
    }
  }
}

// All elements of the first dimension, and two of the second one.
static void an_index_of_a_list_may_be_missing(void** state) {
  (void)state;
  for (int32_t size = 2; size <= 3; ++size) {
    test_program* const p = start(64).p;
    const int x = test_input(p, test_borrowed(p, F32, SIZES(4, 4)), "x");
    const int at =
        test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(2)), "at");
    const int y = test_scratch(p, F32, SIZES(4, size), 0);
    test_call(p, "aten::index", "Tensor_out",
              ARGS(x, test_optional_tensors(p, ARGS(-1, at)), y, y));
    test_output(p, y, "y");
    if (size == 2) {
      accept(p);
    } else {
      refuse(p, "size '1' of value '2' is 3, expected 2");
    }
  }
}

// Elements that are in order in both shapes are copied onto themselves.
static void a_stock_file_may_change_a_shape_in_place(void** state) {
  static const uint8_t columns[] = {1, 0};
  (void)state;
  for (int is_turned = 0; is_turned < 2; ++is_turned) {
    test_program* const p = stock(64);
    const int x = borrowed_input(p), a = four_at(p, 0);
    const int y = test_scratch(p, F32, SIZES(2, 2), 0), two = test_int(p, 2);
    if (is_turned) test_tensor_of(p, y)->dim_order = columns;
    relu(p, x, a);
    test_call(p, "aten::view_copy", "out",
              ARGS(a, test_ints(p, ARGS(two, two)), y, y));
    test_output(p, y, "y");
    if (is_turned) {
      refuse(p, "output value '2' shares bytes with argument value '1'");
    } else {
      accept(p);
    }
  }
}

// Numbers and lists that are none are left to the rules, which a stock file may
// break.
static void numbers_may_have_any_kind(void** state) {
  (void)state;
  for (int kind = 0; kind < 5; ++kind) {
    test_program* const p = stock(96);
    const int x = test_input(p, test_borrowed(p, F32, SIZES(4, 4)), "x");
    const int values = four_at(p, 0);
    const int indices = test_scratch(p, ETX_DTYPE_INT64, SIZES(4), 32);
    const int list = test_tensors(p, ARGS(values, indices));
    const int dims[] = {test_bool(p, true), test_int(p, 0), test_int(p, 1),
                        test_int(p, 1), test_string(p, "one")};
    const int keeps[] = {test_bool(p, false), test_int(p, 0), test_none(p),
                         test_double(p, 0), test_string(p, "no")};
    test_call(p, "aten::max", "dim_max",
              ARGS(x, dims[kind], keeps[kind], values, indices, list));
    test_output(p, values, "v");
    accept(p);
  }
  test_program* p = stock(96);
  const int x = test_input(p, test_borrowed(p, F32, SIZES(4, 4)), "x");
  const int values = test_scratch(p, F32, SIZES(4, 1), 0);
  const int indices = test_scratch(p, ETX_DTYPE_INT64, SIZES(4, 1), 32);
  test_call(p, "aten::max", "dim_max",
            ARGS(x, test_int(p, 1), test_bool(p, true), values, indices,
                 test_tensors(p, ARGS(values, indices))));
  test_output(p, values, "v");
  accept(p);
  p = stock(96);
  const int y = test_scratch(p, F32, SCALAR_SIZES, 0);
  test_call(p, "aten::full", "out",
            ARGS(test_int(p, 4), test_double(p, 1), y, y));
  test_output(p, y, "y");
  accept(p);
}

// A number that could be taken for the handle of a symbol.
static void a_number_of_a_file_is_no_symbol(void** state) {
  (void)state;
  const small s = start(64);
  const int x = borrowed_input(s.p);
  const int y = test_scratch(s.p, F32, SIZES(0), 0);
  const int huge = test_int(s.p, INT64_MIN + 5);
  test_call(s.p, "aten::select_copy", "int_out",
            ARGS(x, test_int(s.p, 0), huge, y, y));
  test_output(s.p, y, "y");
  refuse(s.p, "aten::select_copy");
}

// ---- guesses, for the memory map ----

typedef struct guess_fixture {
  test_program* p;
  etx_pte pte;
  etx_verify_arena memory;
  etx_verify_method m;
  etx_verify_effects effects;
} guess_fixture;

static void open_guess(guess_fixture* f, test_program* p) {
  f->p = p;
  f->memory = (etx_verify_arena){NULL};
  assert_ok(etx_pte_open(&f->pte, test_file(p), NULL, &diag));
  etx_verify_method_init(&f->m, &f->pte, NULL, 0, &f->memory, &diag);
  f->m.takes_unknown = true;
  assert_ok(etx_verify_assign_addresses(&f->m));
  assert_ok(etx_verify_find_steps(&f->m));
  assert_ok(etx_verify_effects_init(&f->effects, &f->m));
}

static void close_guess(guess_fixture* f) {
  etx_verify_arena_release(&f->memory);
  test_program_end(f->p);
}

static void an_unknown_call_reads_all_and_writes_what_is_no_constant(
    void** state) {
  (void)state;
  const float data[4] = {1, 2, 3, 4};
  guess_fixture f;
  test_program* const p = stock(32);
  const int x = borrowed_input(p), y = four_at(p, 0);
  const int k = test_constant(p, F32, SIZES(4), test_data(p, data, 16));
  const int list = test_tensors(p, ARGS(y));
  const int optional = test_optional_tensors(p, ARGS(-1, x));
  test_call(p, "mine::magic", "", ARGS(x, k, test_int(p, 1), list, optional));
  test_delegate(p, "some_backend");
  test_move(p, list, optional);
  open_guess(&f, p);
  assert_ok(etx_verify_effects_of(&f.m, 0, &f.effects));
  assert_true(f.effects.is_guessed);
  assert_int_equal(f.effects.read_count, 4);
  assert_int_equal(f.effects.reads[0].value, x);
  assert_int_equal(f.effects.reads[1].value, k);
  assert_int_equal(f.effects.reads[2].value, y);
  assert_int_equal(f.effects.reads[3].value, x);
  assert_int_equal(f.effects.write_count, 3);
  assert_int_equal(f.effects.writes[1].value, y);
  assert_ok(etx_verify_effects_of(&f.m, 1, &f.effects));
  assert_true(f.effects.is_guessed);
  assert_int_equal(f.effects.read_count, 0);
  assert_ok(etx_verify_effects_of(&f.m, 2, &f.effects));
  assert_false(f.effects.is_guessed);
  assert_int_equal(f.effects.rebound, ETX_VERIFY_NONE);
  close_guess(&f);
}

// The numbers that vary are known before arguments are counted.
static void a_call_without_arguments_lets_nothing_vary(void** state) {
  (void)state;
  guess_fixture f;
  bool* varies = NULL;
  test_program* const p = stock(32);
  const int number = test_int(p, 1);
  etx_pte_plan plan;
  test_call(p, "aten::sym_size", "int", &number, 0);
  open_guess(&f, p);
  plan = f.m.plan;
  assert_int_equal(etx_pte_value_count(&plan), 1);
  assert_ok(etx_verify_find_varying(&f.m, &varies));
  assert_false(varies[number]);
  close_guess(&f);
}

// The sizes of the first argument alone are used, and it alone may have the
// bytes of the result.
static void only_the_first_argument_of_a_copy_is_not_read(void** state) {
  (void)state;
  for (int unwritten = 0; unwritten < 2; ++unwritten) {
    test_program* const p = start(64).p;
    const int x = borrowed_input(p);
    const int none = four_at(p, 0), y = four_at(p, 16);
    test_call(p, "aten::copy", "out",
              ARGS(unwritten ? x : none, unwritten ? none : x,
                   test_bool(p, false), y, y));
    test_output(p, y, "y");
    if (unwritten) {
      refuse(p, "an instruction reads value '1', but nothing has written it");
    } else {
      accept(p);
    }
  }
}

static void only_the_first_argument_of_an_update_may_be_in_place(void** state) {
  (void)state;
  for (int second = 0; second < 2; ++second) {
    test_program* const p = start(64).p;
    const int x = borrowed_input(p);
    const int at =
        test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(4)), "at");
    const int self = four_at(p, 0), source = four_at(p, 16);
    const int y = four_at(p, second ? 16 : 0);
    relu(p, x, self);
    relu(p, x, source);
    test_call(p, "aten::scatter", "src_out",
              ARGS(self, test_int(p, 0), at, source, y, y));
    test_output(p, y, "y");
    if (second) {
      refuse(p, "value");
    } else {
      accept(p);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_argument_has_the_kind_that_its_operator_takes),
      cmocka_unit_test(a_message_names_the_chain),
      cmocka_unit_test(optional_tensors_may_be_missing),
      cmocka_unit_test(a_result_may_be_another_name_of_what_is_changed),
      cmocka_unit_test(a_list_may_be_long),
      cmocka_unit_test(shapes_of_numbers_that_vary_are_not_checked),
      cmocka_unit_test(moves_keep_the_kind_of_a_value),
      cmocka_unit_test(
          operators_of_an_application_are_those_that_the_file_describes),
      cmocka_unit_test(an_unknown_operator_is_named_without_an_overload),
      cmocka_unit_test(outputs_are_tensors),
      cmocka_unit_test(a_rank_is_that_which_the_operator_makes),
      cmocka_unit_test(every_call_has_the_sizes_that_it_makes),
      cmocka_unit_test(a_condition_is_read),
      cmocka_unit_test(a_call_that_no_rule_takes_is_refused_in_files_of_etx),
      cmocka_unit_test(shape_rules_read_arguments_of_every_kind),
      cmocka_unit_test(a_result_takes_the_bytes_of_equal_elements),
      cmocka_unit_test(an_operator_may_overwrite_its_first_tensor_alone),
      cmocka_unit_test(lists_of_numbers_of_every_kind_are_read),
      cmocka_unit_test(arguments_of_other_kinds_are_left_to_the_rule),
      cmocka_unit_test(numbers_may_have_any_kind),
      cmocka_unit_test(a_number_of_a_file_is_no_symbol),
      cmocka_unit_test(
          an_unknown_call_reads_all_and_writes_what_is_no_constant),
      cmocka_unit_test(a_call_without_arguments_lets_nothing_vary),
      cmocka_unit_test(only_the_first_argument_of_a_copy_is_not_read),
      cmocka_unit_test(only_the_first_argument_of_an_update_may_be_in_place),
      cmocka_unit_test(a_result_may_be_what_is_changed),
      cmocka_unit_test(every_tensor_of_a_list_is_read),
      cmocka_unit_test(shapes_of_lists_that_vary_are_not_checked),
      cmocka_unit_test(an_index_of_a_list_may_be_missing),
      cmocka_unit_test(a_method_may_be_a_jump_alone),
      cmocka_unit_test(a_stock_file_may_change_a_shape_in_place),
      cmocka_unit_test(a_long_list_may_be_a_later_argument),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
