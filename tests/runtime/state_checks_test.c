// An index out of range is refused before the first instruction that writes
// state, wherever the instruction that uses the index is, as far as the index
// is known then.

#include "tests/runtime/state_checks_fixture.h"

// A bad index costs nothing: the state stays, and the next run is right.
static void refuses_and_goes_on(checks_fixture* f, const char* message) {
  load(f);
  f->later_data[1] = ROWS;
  assert_status(
      etx_method_run(&f->loaded.method, &diag),
      strstr(message, "room") == NULL ? ETX_BAD_ARGUMENT : ETX_OUT_OF_RANGE);
  if (!test_message_has(&diag, message)) fail_msg("%s", diag.text);
  assert_true(test_message_has(&diag, "instruction 1"));
  assert_untouched(f);
  f->later_data[1] = 2;
  assert_ok(etx_method_run(&f->loaded.method, &diag));
  assert_written(f);
  end(f);
}

// ---- the instructions ----

static void index_put(checks_fixture* f) { put_at(f, f->t, f->later); }

static void index_put_in_place(checks_fixture* f) {
  const int indices = test_optional_tensors(f->p, ARGS(f->later));
  test_call(f->p, "aten::index_put_", "",
            ARGS(f->t, indices, f->value, test_bool(f->p, false), f->t));
}

static void index_tensor(checks_fixture* f) {
  const int indices = test_optional_tensors(f->p, ARGS(f->later));
  const int y = test_scratch(f->p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  test_call(f->p, "aten::index", "Tensor_out", ARGS(f->t, indices, y, y));
}

static void index_select(checks_fixture* f) {
  const int y = test_scratch(f->p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  test_call(f->p, "aten::index_select", "out",
            ARGS(f->t, test_int(f->p, 0), f->later, y, y));
}

static void index_copy(checks_fixture* f) {
  test_call(f->p, "etx::index_copy", "out",
            ARGS(f->t, test_int(f->p, 0), f->later, f->value, f->t, f->t));
}

static void index_add(checks_fixture* f) {
  test_call(f->p, "etx::index_add", "out",
            ARGS(f->t, test_int(f->p, 0), f->later, f->value, test_int(f->p, 1),
                 f->t, f->t));
}

static void index_fill(checks_fixture* f) {
  test_call(
      f->p, "etx::index_fill", "int_Scalar_out",
      ARGS(f->t, test_int(f->p, 0), f->later, test_int(f->p, 7), f->t, f->t));
}

static void gather(checks_fixture* f) {
  const int y = test_scratch(f->p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  test_call(
      f->p, "aten::gather", "out",
      ARGS(f->t, test_int(f->p, 0), f->later, test_bool(f->p, false), y, y));
}

static void scatter(checks_fixture* f) {
  test_call(f->p, "aten::scatter", "src_out",
            ARGS(f->t, test_int(f->p, 0), f->later, f->value, f->t, f->t));
}

static void scatter_value(checks_fixture* f) {
  test_call(
      f->p, "aten::scatter", "value_out",
      ARGS(f->t, test_int(f->p, 0), f->later, test_int(f->p, 7), f->t, f->t));
}

static void scatter_add(checks_fixture* f) {
  test_call(f->p, "aten::scatter_add", "out",
            ARGS(f->t, test_int(f->p, 0), f->later, f->value, f->t, f->t));
}

static void scatter_reduce(checks_fixture* f) {
  test_call(f->p, "etx::scatter_reduce", "two_out",
            ARGS(f->t, test_int(f->p, 0), f->later, f->value,
                 test_string(f->p, "amax"), test_bool(f->p, true), f->t, f->t));
}

// Ids beyond the vocabulary.
static void embedding(checks_fixture* f) {
  static const float table[ROWS][3] = {{1}};
  const uint32_t data = test_data(f->p, table, sizeof table);
  const int weight =
      test_constant(f->p, ETX_DTYPE_FLOAT32, SIZES(ROWS, 3), data);
  const int y = test_scratch(f->p, ETX_DTYPE_FLOAT32, SIZES(2, 3), 0);
  const int no = test_bool(f->p, false);
  test_call(f->p, "aten::embedding", "out",
            ARGS(weight, f->later, test_int(f->p, -1), no, no, y, y));
}

static void cache_rows(checks_fixture* f) {
  const int y = test_scratch(f->p, ETX_DTYPE_INT64, SIZES(2), 0);
  test_call(f->p, "etx::cache_rows", "out",
            ARGS(f->later, test_int(f->p, ROWS), test_bool(f->p, false),
                 test_string(f->p, "the cache"), y, y));
}

static void every_operator_with_indices_asks_ahead(void** state) {
  (void)state;
  static const struct {
    void (*use)(checks_fixture*);
    const char* message;
  } cases[] = {
      {index_put, "index 4 is not in -4..3"},
      {index_put_in_place, "index 4 is not in -4..3"},
      {index_tensor, "index 4 is not in -4..3"},
      {index_select, "index 4 is not in 0..3"},
      {index_copy, "index 4 is not in 0..3"},
      {index_add, "index 4 is not in 0..3"},
      {index_fill, "index 4 is not in -4..3"},
      {gather, "index 4 is not in 0..3"},
      {scatter, "index 4 is not in 0..3"},
      {scatter_value, "index 4 is not in 0..3"},
      {scatter_add, "index 4 is not in 0..3"},
      {scatter_reduce, "index 4 is not in 0..3"},
      {embedding, "index 4 is not in 0..3"},
      {cache_rows, "the cache has room for 4 rows"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    checks_fixture f;
    start(&f);
    put_at(&f, f.s, f.at);
    cases[i].use(&f);
    refuses_and_goes_on(&f, cases[i].message);
  }
}

// The first write itself is refused before it writes.
static void the_first_write_is_asked_too(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  put_at(&f, f.s, f.at);
  load(&f);
  f.at_data[0] = -5;
  refused_untouched("index -5 is not in -4..3");
  f.at_data[0] = 1;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_written(&f);
  end(&f);
}

// later + later, computed in front of the first write or behind it.
static int twice(checks_fixture* f) {
  const int y = test_scratch(f->p, ETX_DTYPE_INT64, SIZES(2), 128);
  test_call(f->p, "aten::add", "out",
            ARGS(f->later, f->later, test_int(f->p, 1), y, y));
  return y;
}

static void an_index_computed_before_the_first_write_is_known(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  const int index = twice(&f);
  put_at(&f, f.s, f.at);
  put_at(&f, f.t, index);
  load(&f);
  refused_untouched("index 6 is not in -4..3");
  f.later_data[0] = f.later_data[1] = 1;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_written(&f);
  end(&f);
}

// Memory that holds another value before the instruction writes it.
static void an_index_computed_later_is_not_looked_at_before(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  const int stale = test_scratch(f.p, ETX_DTYPE_INT64, SIZES(2), 128);
  test_call(f.p, "aten::add", "out",
            ARGS(f.at, f.at, test_int(f.p, 9), stale, stale));
  put_at(&f, f.s, f.at);
  put_at(&f, f.t, twice(&f));
  load(&f);
  f.later_data[0] = f.later_data[1] = 1;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_written(&f);
  // It is refused when it is used, and then the state is half-written.
  f.later_data[0] = 2;
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_BAD_ARGUMENT,
                 "index 4 is not in -4..3");
  assert_int_not_equal(f.torn, 0);
  end(&f);
}

// The same tensor is changed in between, so its first content does not count.
static void an_index_that_changes_is_not_looked_at_before(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  const int index = test_scratch(f.p, ETX_DTYPE_INT64, SIZES(2), 128);
  const int one = test_int(f.p, 1);
  test_call(f.p, "aten::add", "out",
            ARGS(f.later, f.later, test_int(f.p, 9), index, index));
  put_at(&f, f.s, f.at);
  test_call(f.p, "aten::sub", "out", ARGS(f.later, f.later, one, index, index));
  put_at(&f, f.t, index);
  load(&f);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_written(&f);
  end(&f);
}

// An index in state is known unless these bytes have been written.
static void an_index_in_state_is_known_until_it_is_written(void** state) {
  (void)state;
  for (int writes_index = 0; writes_index < 2; ++writes_index) {
    checks_fixture f;
    start(&f);
    const int index = test_state(f.p, "u", ETX_DTYPE_INT64, SIZES(1), 48);
    const int same = test_state(f.p, "u", ETX_DTYPE_INT64, SIZES(1), 48);
    const int zero = test_scratch(f.p, ETX_DTYPE_INT64, SIZES(1), 128);
    const int slice = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(1), 144);
    const int no = test_int(f.p, 0), one = test_int(f.p, 1);
    test_call(f.p, "aten::slice_copy", "Tensor_out",
              ARGS(f.later, no, no, one, one, zero, zero));
    put_at(&f, f.s, f.at);
    if (writes_index) {
      test_call(f.p, "aten::copy_", "",
                ARGS(same, zero, test_bool(f.p, false), same));
    }
    test_call(f.p, "aten::index_select", "out",
              ARGS(f.t, no, index, slice, slice));
    load(&f);
    f.arena[48] = ROWS;
    assert_status(etx_method_run(&f.loaded.method, &diag),
                  writes_index ? ETX_OK : ETX_BAD_ARGUMENT);
    assert_int_equal(f.torn, 0);
    end(&f);
  }
}

// The same index into caches of one size is asked about once, another index and
// a cache of another size are not left out.
static void equal_questions_are_asked_once(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  put_at(&f, f.s, f.at);
  put_at(&f, f.t, f.at);
  index_select(&f);
  put_at(&f, f.s, f.at);
  const int slice = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(3), 64);
  const int row = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 96);
  const int no = test_int(f.p, 0), one = test_int(f.p, 1);
  test_call(f.p, "aten::slice_copy", "Tensor_out",
            ARGS(f.t, no, no, test_int(f.p, 3), one, slice, slice));
  test_call(f.p, "aten::index_select", "out",
            ARGS(slice, no, f.later, row, row));
  load(&f);
  f.later_data[1] = 3;  // within 4 rows, but not within 3
  refused_untouched("index 3 is not in 0..2");
  assert_int_equal(count_checks(&f), 3);
  end(&f);
}

static void before(void* context, size_t instruction, const etx_call* call) {
  (void)instruction, (void)call;
  ++*(int*)context;
}

static void after(void* context, size_t instruction, const etx_call* call) {
  (void)context, (void)instruction, (void)call;
}

static void an_observed_run_asks_too(void** state) {
  (void)state;
  int calls = 0;
  const etx_run_observer observer = {before, after, &calls};
  checks_fixture f;
  start(&f);
  put_at(&f, f.s, f.at);
  index_put(&f);
  load(&f);
  etx_method_observe(&f.loaded.method, &observer);
  f.later_data[0] = ROWS;
  assert_status(etx_method_run(&f.loaded.method, &diag), ETX_BAD_ARGUMENT);
  assert_int_equal(calls, 0);
  assert_untouched(&f);
  f.later_data[0] = 0;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_int_equal(calls, 2);
  end(&f);
}

// States on both sides of the index are written; the index is still known.
static void an_index_between_written_states_is_known(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  const int index = test_state(f.p, "u", ETX_DTYPE_INT64, SIZES(1), 48);
  const int row = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(1), 144);
  const int above = test_state(f.p, "x", ETX_DTYPE_FLOAT32, SIZES(2), 56);
  put_at(&f, f.s, f.at);
  test_call(f.p, "aten::copy_", "",
            ARGS(above, f.value, test_bool(f.p, false), above));
  test_call(f.p, "aten::index_select", "out",
            ARGS(f.t, test_int(f.p, 0), index, row, row));
  load(&f);
  f.arena[48] = ROWS;
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_BAD_ARGUMENT,
                 "instruction 2");
  assert_int_equal(f.torn, 0);
  f.arena[48] = 1;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  end(&f);
}

static int add_flag(checks_fixture* f) {
  return test_input(f->p, test_borrowed(f->p, ETX_DTYPE_BOOL, SIZES(1)),
                    "flag");
}

static void set_flag(checks_fixture* f, uint8_t* flag) {
  const etx_tensor tensor = TEST_TENSOR(flag, ETX_DTYPE_BOOL, 1);
  assert_ok(etx_method_set_input(&f->loaded.method, 3, &tensor, &diag));
}

// An instruction that a jump leads over may not run, so its index may be
// anything. Those in front of the jump and where it leads to do run.
static void only_instructions_that_run_are_asked(void** state) {
  (void)state;
  for (uint8_t flag = 0; flag < 2; ++flag) {
    checks_fixture f;
    start(&f);
    const int condition = add_flag(&f);
    put_at(&f, f.s, f.at);
    test_jump_false(f.p, condition, 3);
    index_put(&f);  // not asked
    const int row = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
    test_call(f.p, "aten::index_select", "out",
              ARGS(f.t, test_int(f.p, 0), f.at, row, row));  // asked
    load(&f);
    set_flag(&f, &flag);
    assert_int_equal(count_checks(&f), 0);  // before the first run
    f.later_data[1] = 3;
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    assert_int_equal(count_checks(&f), 2);
    memset(f.arena, 0, sizeof f.arena);
    f.at_data[1] = -1;  // index_put takes it, index_select does not
    refused_untouched("instruction 3");
    end(&f);
  }
}

// if (flag) index = later + later; then the first write.
static void a_jump_in_front_of_the_first_write_hides_nothing(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  const int condition = add_flag(&f);
  test_jump_false(f.p, condition, 2);
  const int index = twice(&f);
  put_at(&f, f.s, f.at);
  put_at(&f, f.t, index);
  load(&f);
  uint8_t flag = 1;
  set_flag(&f, &flag);
  refused_untouched("instruction 3");
  f.later_data[1] = 1;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_written(&f);
  end(&f);
}

// The first write may be skipped itself: then nothing is asked in its place.
static void a_jump_over_the_first_write_asks_nothing(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  const int condition = add_flag(&f);
  test_jump_false(f.p, condition, 2);
  put_at(&f, f.s, f.at);
  put_at(&f, f.t, f.later);
  load(&f);
  uint8_t flag = 0;
  set_flag(&f, &flag);
  f.at_data[0] = ROWS;  // of the instruction that does not run
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_int_equal(f.torn, 0);
  flag = 1;
  f.at_data[0] = 1;
  f.later_data[0] = ROWS;
  memset(f.arena, 0, sizeof f.arena);
  refused_untouched("instruction 2");
  end(&f);
}

// A run that comes to the first write goes on behind it, whatever has led over
// both.
static void a_jump_over_the_first_write_hides_nothing(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  const int condition = add_flag(&f);
  test_jump_false(f.p, condition, 3);
  put_at(&f, f.s, f.at);
  put_at(&f, f.t, f.later);
  const int row = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  test_call(f.p, "aten::relu", "out", ARGS(f.value, row, row));
  load(&f);
  uint8_t flag = 0;
  set_flag(&f, &flag);
  f.later_data[1] = ROWS;  // of an instruction that does not run
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_untouched(&f);
  flag = 1;
  refused_untouched("instruction 2");
  f.later_data[1] = 3;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_written(&f);
  assert_memory_equal(f.arena + 16, f.arena, 16);
  end(&f);
}

// do { index += 1; s[at] = value } while (index < 3); read t[index]: the index
// of the first round is not that of the reader.
static void a_loop_changes_what_was_known(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  const int one = test_int(f.p, 1), no = test_int(f.p, 0);
  const int index = test_scratch(f.p, ETX_DTYPE_INT64, SIZES(2), 128);
  const int is_end = test_scratch(f.p, ETX_DTYPE_BOOL, SIZES(2), 144);
  const int row = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 160);
  test_call(f.p, "aten::sub", "out", ARGS(f.later, f.later, one, index, index));
  test_call(f.p, "aten::add", "out", ARGS(index, f.at, one, index, index));
  put_at(&f, f.s, f.at);
  test_call(f.p, "aten::ge", "Scalar_out",
            ARGS(index, test_int(f.p, 3), is_end, is_end));
  test_jump_false(f.p, is_end, 1);
  test_call(f.p, "aten::index_select", "out", ARGS(f.t, no, index, row, row));
  load(&f);
  f.at_data[0] = f.at_data[1] = 1;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_int_equal(count_checks(&f), 1);  // the write in the loop
  end(&f);
}

// Sizes that the run decides in between are no reason to stop.
static void what_lies_behind_sizes_from_data_is_asked(void** state) {
  (void)state;
  checks_fixture f;
  start(&f);
  const int places =
      test_dynamic(f.p, test_scratch(f.p, ETX_DTYPE_INT64, SIZES(2, 1), 128));
  put_at(&f, f.s, f.at);
  test_call(f.p, "aten::nonzero", "out", ARGS(f.value, places, places));
  index_put(&f);
  load(&f);
  f.later_data[1] = ROWS;
  refused_untouched("instruction 2");
  f.later_data[1] = 2;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_written(&f);
  end(&f);
}

// What fails in front of the first write is not asked: it fails itself.
static void a_failure_before_the_first_write_ends_the_run(void** state) {
  (void)state;
  int calls = 0;
  const etx_run_observer observer = {before, after, &calls};
  checks_fixture f;
  start(&f);
  select_from(&f, f.t, test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 128));
  put_at(&f, f.s, f.at);
  put_at(&f, f.t, f.at);
  load(&f);
  f.later_data[1] = ROWS;
  f.at_data[1] = ROWS;
  refused_untouched("instruction 0");
  etx_method_observe(&f.loaded.method, &observer);
  refused_untouched("instruction 0");
  assert_int_equal(calls, 1);
  f.later_data[1] = 0;
  refused_untouched("instruction 1");
  assert_int_equal(calls, 2);
  f.at_data[1] = 3;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_written(&f);
  assert_int_equal(calls, 5);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_operator_with_indices_asks_ahead),
      cmocka_unit_test(the_first_write_is_asked_too),
      cmocka_unit_test(an_index_computed_before_the_first_write_is_known),
      cmocka_unit_test(an_index_computed_later_is_not_looked_at_before),
      cmocka_unit_test(an_index_that_changes_is_not_looked_at_before),
      cmocka_unit_test(an_index_in_state_is_known_until_it_is_written),
      cmocka_unit_test(equal_questions_are_asked_once),
      cmocka_unit_test(an_observed_run_asks_too),
      cmocka_unit_test(an_index_between_written_states_is_known),
      unit_test_with(ETX_CONTROL_FLOW, only_instructions_that_run_are_asked),
      unit_test_with(ETX_CONTROL_FLOW,
                     a_jump_in_front_of_the_first_write_hides_nothing),
      unit_test_with(ETX_CONTROL_FLOW,
                     a_jump_over_the_first_write_asks_nothing),
      unit_test_with(ETX_CONTROL_FLOW,
                     a_jump_over_the_first_write_hides_nothing),
      unit_test_with(ETX_CONTROL_FLOW, a_loop_changes_what_was_known),
      unit_test_with(ETX_CONTROL_FLOW && ETX_DYNAMIC,
                     what_lies_behind_sizes_from_data_is_asked),
      cmocka_unit_test(a_failure_before_the_first_write_ends_the_run),
  };
  return cmocka_run_group_tests_name("state_checks", tests, NULL, NULL);
}
