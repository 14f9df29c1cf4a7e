// What is known at the first write of state, as far as it is told apart, and
// which questions are the same.

#include "tests/runtime/state_checks_fixture.h"

// ---- what counts as written ----

static void write_byte(checks_fixture* f, int byte, uint64_t offset) {
  const int to = test_planned(f->p, ETX_DTYPE_UINT8, SIZES(1), 2, offset);
  test_call(f->p, "aten::copy_", "",
            ARGS(to, byte, test_bool(f->p, false), to));
}

// More written ranges than are told apart: what lies between the last ones
// counts as written, and what lies apart from them does not.
static void many_written_ranges_are_few(void** state) {
  (void)state;
  for (int hides_index = 0; hides_index < 2; ++hides_index) {
    checks_fixture f;
    start(&f);
    const uint8_t zero[2] = {0};
    const uint32_t data = test_data(f.p, zero, sizeof zero);
    const int byte = test_constant(f.p, ETX_DTYPE_UINT8, SIZES(1), data);
    const int index = test_state(f.p, "u", ETX_DTYPE_INT64, SIZES(1), 48);
    const int above = test_state(f.p, "x", ETX_DTYPE_FLOAT32, SIZES(2), 56);
    const int row = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(1), 144);
    put_at(&f, f.s, f.at);
    for (uint64_t at = 46; at >= 34; at -= 2) write_byte(&f, byte, at);
    if (hides_index) {
      test_call(f.p, "aten::copy_", "",
                ARGS(above, f.value, test_bool(f.p, false), above));
    } else {
      write_byte(&f, byte, 32);
    }
    test_call(f.p, "aten::index_select", "out",
              ARGS(f.t, test_int(f.p, 0), index, row, row));
    load(&f);
    f.arena[48] = ROWS;
    assert_status(etx_method_run(&f.loaded.method, &diag), ETX_BAD_ARGUMENT);
    assert_int_equal(f.torn != 0, hides_index);
    assert_int_equal(count_checks(&f), hides_index ? 1 : 2);
    end(&f);
  }
}

// A range grows at its start: x is written, then the last byte of the index in
// front of it.
static void a_written_range_grows_at_its_start(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  const uint8_t zero[2] = {0};
  const int byte = test_constant(f.p, ETX_DTYPE_UINT8, SIZES(1),
                                 test_data(f.p, zero, sizeof zero));
  const int index = test_state(f.p, "u", ETX_DTYPE_INT64, SIZES(1), 48);
  const int above = test_state(f.p, "x", ETX_DTYPE_FLOAT32, SIZES(2), 56);
  const int row = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(1), 144);
  test_call(f.p, "aten::copy_", "",
            ARGS(above, f.value, test_bool(f.p, false), above));
  write_byte(&f, byte, 55);
  test_call(f.p, "aten::index_select", "out",
            ARGS(f.t, test_int(f.p, 0), index, row, row));
  load(&f);
  f.arena[48] = ROWS;
  assert_status(etx_method_run(&f.loaded.method, &diag), ETX_BAD_ARGUMENT);
  assert_int_not_equal(f.torn, 0);
  assert_int_equal(count_checks(&f), 0);
  end(&f);
}

// Rows of a cache from a number on, which each call gives.
static void a_number_of_the_call_is_known(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  const int from = test_input(f.p, test_int(f.p, 3), "from");
  test_dim(f.p, 3, -1, test_symbol(f.p, "from", 0, 3), 1, 0);
  put_at(&f, f.s, f.at);
  test_call(f.p, "etx::kv_update", "out",
            ARGS(f.t, f.value, test_int(f.p, 0), from, f.t, f.t));
  load(&f);
  etx_value number = {.kind = ETX_VALUE_INT, .as.integer = 3};
  assert_ok(etx_method_set_value(&f.loaded.method, 3, &number, &diag));
  refused_untouched("rows end at 5");
  number.as.integer = 2;
  assert_ok(etx_method_set_value(&f.loaded.method, 3, &number, &diag));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_written(&f);
  assert_memory_equal(f.arena + 24, f.value_data, sizeof f.value_data);
  end(&f);
}

// The slot of a move is in memory that is known only during the run: it is
// neither known what is read from it, nor what is written there.
static void memory_of_a_slot_is_not_known(void** state) {
  (void)state;
  enum { READ_SLOT, WRITE_SLOT, WRITE_SLOT_AGAIN, CASES };
  for (int kind = 0; kind < CASES; ++kind) {
    checks_fixture f;
    start(&f);
    const int slot = test_scratch(f.p, ETX_DTYPE_INT64, SIZES(2), 128);
    const int other = test_scratch(f.p, ETX_DTYPE_INT64, SIZES(2), 144);
    const int one = test_int(f.p, 1);
    test_call(f.p, "aten::add", "out", ARGS(f.later, f.at, one, other, other));
    test_call(f.p, "aten::sub", "out",
              ARGS(other, f.at, one, other, other));  // `later` itself
    test_move(f.p, other, slot);
    if (kind == WRITE_SLOT_AGAIN) {
      // do { slot += 0 * at; s[at] = value } while (false)
      test_call(f.p, "aten::add", "out",
                ARGS(slot, f.at, test_int(f.p, 0), slot, slot));
    }
    put_at(&f, f.s, f.at);
    if (kind == WRITE_SLOT) {
      test_call(f.p, "aten::add", "out",
                ARGS(slot, f.at, test_int(f.p, 0), slot, slot));
    }
    if (kind == WRITE_SLOT_AGAIN) {
      const int condition =
          test_constant(f.p, ETX_DTYPE_BOOL, SIZES(1),
                        test_data(f.p, (const uint8_t[]){1}, 1));
      test_jump_false(f.p, condition, 3);
    }
    const int row = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 160);
    test_call(f.p, "aten::index_select", "out",
              ARGS(f.t, test_int(f.p, 0), kind == READ_SLOT ? slot : f.later,
                   row, row));
    load(&f);
    f.later_data[1] = ROWS;
    assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_BAD_ARGUMENT,
                   "index 4 is not in 0..3");
    assert_int_not_equal(f.torn, 0);
    assert_int_equal(count_checks(&f), 1);  // the first write
    end(&f);
  }
}

// No index at all: the tensor has no memory, and there is nothing to ask.
static void a_call_without_indices_is_not_asked(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  const int none = test_borrowed(f.p, ETX_DTYPE_INT64, SIZES(0));
  const int rows = test_borrowed(f.p, ETX_DTYPE_FLOAT32, SIZES(0));
  put_at(&f, f.s, f.at);
  test_call(f.p, "aten::index_put", "out",
            ARGS(f.t, test_optional_tensors(f.p, ARGS(none)), rows,
                 test_bool(f.p, false), f.t, f.t));
  load(&f);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_written(&f);
  assert_int_equal(count_checks(&f), 1);
  end(&f);
}

// ---- questions that are not the same ----

static size_t count_of(checks_fixture* f) {
  load(f);
  assert_ok(etx_method_run(&f->loaded.method, &diag));
  const size_t count = count_checks(f);
  end(f);
  return count;
}

static void fill(checks_fixture* f, int number) {
  test_call(f->p, "etx::index_fill", "int_Scalar_out",
            ARGS(f->t, test_int(f->p, 0), f->later, number, f->t, f->t));
}

// Numbers and texts are compared, those that the run computes are not.
static void other_arguments_are_another_question(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  put_at(&f, f.s, f.at);
  fill(&f, test_int(f.p, 7));
  fill(&f, test_int(f.p, 7));  // the same
  fill(&f, test_int(f.p, 8));
  fill(&f, test_double(f.p, 7));
  assert_int_equal(count_of(&f), 4);

  start(&f);
  put_at(&f, f.s, f.at);
  fill(&f, test_double(f.p, 7));
  fill(&f, test_double(f.p, 7));  // compared neither
  const int computed = test_int(f.p, 7);
  test_call(f.p, "executorch_prim::add", "Scalar",
            ARGS(test_int(f.p, 4), test_int(f.p, 3), computed));
  fill(&f, computed);
  fill(&f, test_int(f.p, 7));
  assert_int_equal(count_of(&f), 5);

  start(&f);
  put_at(&f, f.s, f.at);
  const int indices = test_optional_tensors(f.p, ARGS(f.at));
  test_call(f.p, "aten::index_put", "out",
            ARGS(f.t, indices, f.value, test_bool(f.p, true), f.t, f.t));
  assert_int_equal(count_of(&f), 2);
}

static void other_sizes_are_another_question(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  put_at(&f, f.s, f.at);
  int rows[3];
  for (uint64_t i = 0; i < 3; ++i) {
    rows[i] = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 128 + 8 * i);
    if (i > 0) test_dynamic(f.p, rows[i]);
  }
  for (int i = 0; i < 3; ++i) select_from(&f, f.t, rows[i]);
  const int column = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(4, 1), 160);
  const int part = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2, 1), 176);
  const int sizes = test_ints(f.p, ARGS(test_int(f.p, 4), test_int(f.p, 1)));
  test_call(f.p, "aten::view_copy", "out", ARGS(f.t, sizes, column, column));
  select_from(&f, column, part);
  select_from(&f, column, part);  // the same
  assert_int_equal(count_of(&f), 5);
}

// A matrix of zeros with as many columns as rows.
static int square(checks_fixture* f) {
  static const float zeros[ROWS * ROWS] = {0};
  return test_constant(f->p, ETX_DTYPE_FLOAT32, SIZES(ROWS, ROWS),
                       test_data(f->p, zeros, sizeof zeros));
}

static void other_lists_are_another_question(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  put_at(&f, f.s, f.at);
  const int column = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(4, 1), 160);
  const int sizes = test_ints(f.p, ARGS(test_int(f.p, 4), test_int(f.p, 1)));
  const int zeros = test_constant(
      f.p, ETX_DTYPE_INT64, SIZES(2),
      test_data(f.p, (const int64_t[]){0, 0}, 2 * sizeof(int64_t)));
  const int one = test_optional_tensors(f.p, ARGS(f.later));
  const int two = test_optional_tensors(f.p, ARGS(f.later, zeros));
  const int part = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2, 1), 176);
  const int row = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 184);
  test_call(f.p, "aten::view_copy", "out", ARGS(f.t, sizes, column, column));
  test_call(f.p, "aten::index", "Tensor_out", ARGS(column, one, part, part));
  test_call(f.p, "aten::index", "Tensor_out", ARGS(column, two, row, row));
  // The same items in another list.
  const int both = test_optional_tensors(f.p, ARGS(f.later, zeros));
  test_call(f.p, "aten::index", "Tensor_out", ARGS(column, both, row, row));
  assert_int_equal(count_of(&f), 3);

  // Lists that differ in their second item.
  start(&f);
  put_at(&f, f.s, f.at);
  const int whole = square(&f);
  const int out = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 184);
  test_call(f.p, "aten::index", "Tensor_out",
            ARGS(whole, test_optional_tensors(f.p, ARGS(f.later, f.later)), out,
                 out));
  test_call(
      f.p, "aten::index", "Tensor_out",
      ARGS(whole, test_optional_tensors(f.p, ARGS(f.later, f.at)), out, out));
  assert_int_equal(count_of(&f), 3);
}

// One list has an index more, and the results have the same sizes.
static void longer_lists_are_another_question(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  put_at(&f, f.s, f.at);
  const float zeros[2 * ROWS] = {0};
  const int64_t none[2] = {0, 0};
  const int wide = test_constant(f.p, ETX_DTYPE_FLOAT32, SIZES(ROWS, 2),
                                 test_data(f.p, zeros, sizeof zeros));
  const int columns = test_constant(f.p, ETX_DTYPE_INT64, SIZES(2, 1),
                                    test_data(f.p, none, sizeof none));
  const int out = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 160);
  test_call(f.p, "aten::index", "Tensor_out",
            ARGS(wide, test_optional_tensors(f.p, ARGS(f.later)), out, out));
  test_call(
      f.p, "aten::index", "Tensor_out",
      ARGS(wide, test_optional_tensors(f.p, ARGS(f.later, columns)), out, out));
  assert_int_equal(count_of(&f), 3);
}

// Another operator may take other indices, with the same arguments.
static void another_operator_is_another_question(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  put_at(&f, f.s, f.at);
  fill(&f, test_int(f.p, 7));
  test_call(f.p, "aten::scatter", "value_out",
            ARGS(f.t, test_int(f.p, 0), f.later, test_int(f.p, 7), f.t, f.t));
  load(&f);
  f.later_data[1] = -1;  // fills the last one, but scatters nowhere
  refused_untouched("instruction 2");
  end(&f);
}

// Other sizes have other questions: here there is nothing to read any more.
static void questions_of_other_sizes_are_forgotten(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  const int rows = test_input(
      f.p, test_dynamic(f.p, test_borrowed(f.p, ETX_DTYPE_INT64, SIZES(2))),
      "rows");
  test_dim(f.p, 3, 0, test_symbol(f.p, "n", 0, 2), 1, 0);
  const int x = test_state(f.p, "x", ETX_DTYPE_FLOAT32, SIZES(2), 56);
  const int row =
      test_dynamic(f.p, test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 0));
  test_call(f.p, "aten::copy_", "", ARGS(x, f.value, test_bool(f.p, false), x));
  test_call(f.p, "aten::index_select", "out",
            ARGS(f.t, test_int(f.p, 0), rows, row, row));
  load(&f);
  for (int32_t n = 2; n >= 0; n -= 2) {
    const etx_tensor tensor = TEST_TENSOR(f.later_data, ETX_DTYPE_INT64, n);
    assert_ok(etx_method_set_input(&f.loaded.method, 3, &tensor, &diag));
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    assert_int_equal(count_checks(&f), n / 2);
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_written_ranges_are_few),
      unit_test_with(ETX_DYNAMIC, a_number_of_the_call_is_known),
      unit_test_with(ETX_CONTROL_FLOW, memory_of_a_slot_is_not_known),
      cmocka_unit_test(a_call_without_indices_is_not_asked),
      unit_test_with(ETX_DYNAMIC, other_arguments_are_another_question),
      unit_test_with(ETX_DYNAMIC, other_sizes_are_another_question),
      cmocka_unit_test(other_lists_are_another_question),
      cmocka_unit_test(longer_lists_are_another_question),
      cmocka_unit_test(a_written_range_grows_at_its_start),
      cmocka_unit_test(another_operator_is_another_question),
      unit_test_with(ETX_DYNAMIC, questions_of_other_sizes_are_forgotten),
  };
  return cmocka_run_group_tests_name("state_questions", tests, NULL, NULL);
}
