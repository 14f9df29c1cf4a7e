// Methods that need more than a selected kernel table states: types of calls,
// operators, and parts of the build.

#include "runtime/program/build_features.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

#define FLOATS (UINT32_C(1) << ETX_DTYPE_FLOAT32)

enum { MOST_TEXT = 512 };

// What a sink was told, as "name.overload:missing " one after the other.
typedef struct noted {
  char text[MOST_TEXT];
  size_t size;
} noted;

static void note_cell(void* context, etx_text name, etx_text overload,
                      const char* missing) {
  noted* const n = context;
  n->size += etx_format_text(n->text + n->size, MOST_TEXT - n->size,
                             "%t.%t:%s ", name, overload, missing);
}

static void note_operator(void* context, etx_text name, etx_text overload,
                          size_t instruction) {
  noted* const n = context;
  n->size += etx_format_text(n->text + n->size, MOST_TEXT - n->size,
                             "%t.%t@%z ", name, overload, instruction);
}

static const char* advice;  // of the cells

// Loads the method with all kernels, whose cells have `dtypes` for every
// operator. Ends `p`.
static etx_status load(test_program* p, uint32_t dtypes, uint32_t features,
                       const etx_missing_sink* sink, bool has_check) {
  static uint32_t rows[ETX_OP_COUNT];
  for (size_t i = 0; i < ETX_OP_COUNT; ++i) rows[i] = dtypes;
  const etx_cells cells = {rows, features, advice,
                           has_check ? etx_missing_cells_check : NULL};
  const etx_kernel_table table = {etx_all_kernels.kernels,
                                  etx_all_kernels.count, &cells};
  etx_program program;
  etx_method method;
  etx_memory_needed needed;
  etx_diag_init(&diag);
  assert_ok(etx_program_open(&program, test_file(p), &table, NULL, &diag));
  etx_status status =
      etx_method_needed(&program, etx_text_of("forward"), &needed, &diag);
  if (status == ETX_OK) {
    test_block structures =
        test_block_new(needed.structure_bytes, ETX_MEMORY_ALIGNMENT);
    test_block scratch =
        test_block_new(needed.scratch_bytes, ETX_MEMORY_ALIGNMENT);
    test_block temporary =
        test_block_new(needed.temporary_bytes, ETX_MEMORY_ALIGNMENT);
    const etx_method_memory memory = {structures.bytes, scratch.bytes,
                                      temporary.bytes, NULL};
    etx_diag_init(&diag);
    status = etx_method_init(&method, &program, etx_text_of("forward"), &memory,
                             sink, &diag);
    assert_true(test_block_end(&structures));
    assert_true(test_block_end(&scratch));
    assert_true(test_block_end(&temporary));
  }
  test_program_end(p);
  return status;
}

static test_program* start(void) {
  test_program* const p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 256, 0);
  return p;
}

static int scratch(test_program* p, etx_dtype dtype, uint64_t offset) {
  return test_scratch(p, dtype, SIZES(2), offset);
}

// relu, an unused operator's place is not looked at, views are the runtime's.
static test_program* make_floats(void) {
  test_program* const p = start();
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int y = scratch(p, ETX_DTYPE_FLOAT32, 0);
  const int view = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
  const int two = test_int(p, 2);
  test_call(p, "executorch_prim::et_view", "default",
            ARGS(x, test_ints(p, ARGS(two)), view));
  test_call(p, "aten::relu", "out", ARGS(view, y, y));
  test_call(p, "aten::relu", "out", ARGS(y, y, y));
  test_output(p, y, "");
  return p;
}

static void a_method_of_these_cells_is_loaded(void** state) {
  (void)state;
  assert_int_equal(load(make_floats(), FLOATS, 0, NULL, true), ETX_OK);
  assert_int_equal(load(make_floats(), FLOATS, 0, NULL, false), ETX_OK);
}

// Without a list of what is missing, loading refuses the first call.
static void a_table_without_a_check_refuses_the_call(void** state) {
  (void)state;
  assert_int_equal(load(make_floats(), 0, 0, NULL, false), ETX_UNSUPPORTED);
  if (!test_message_is(&diag,
                       "'aten::relu' is called with types that the selection "
                       "of this build does not have (method 'forward', "
                       "instruction 1)")) {
    fail_msg("%s", diag.text);
  }
}

// Types of items count; None has none.
static void types_in_lists_are_cells(void** state) {
  (void)state;
  test_program* p = start();
  const int table = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 0);
  const int index = test_scratch(p, ETX_DTYPE_INT64, SIZES(1), 64);
  const int row = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 1), 32);
  const int list = test_optional_tensors(p, ARGS(-1, index));
  test_call(p, "aten::index", "Tensor_out", ARGS(table, list, row, row));
  noted n = {.size = 0};
  const etx_missing_sink sink = {note_operator, &n, note_cell};
  assert_int_equal(load(p, FLOATS, UINT32_MAX, &sink, true), ETX_UNSUPPORTED);
  if (!test_message_has(&diag,
                        "method 'forward' needs what the selection of this "
                        "build does not have: 'aten::index.Tensor_out' has no "
                        "int64")) {
    fail_msg("%s", diag.text);
  }
  assert_string_equal(n.text, "aten::index.Tensor_out:int64 ");
}

// The first and the last type of dtype.def are cells as all others.
static void each_type_is_a_cell(void** state) {
  (void)state;
  for (int type = 0; type < ETX_DTYPE_COUNT; ++type) {
    test_program* p = start();
    char wanted[64];
    const etx_dtype dtype = (etx_dtype)type;
    if (!etx_dtype_is_valid(dtype)) {
      test_program_end(p);
      continue;
    }
    const int to = scratch(p, dtype, 0), from = scratch(p, dtype, 64);
    test_call(p, "aten::copy_", "", ARGS(to, from, test_bool(p, false), to));
    noted n = {.size = 0};
    const etx_missing_sink sink = {note_operator, &n, note_cell};
    assert_int_equal(load(p, ~(UINT32_C(1) << type), UINT32_MAX, &sink, true),
                     ETX_UNSUPPORTED);
    etx_format_text(wanted, sizeof wanted, "aten::copy_.:%s ",
                    etx_dtype_name(dtype));
    assert_string_equal(n.text, wanted);
  }
}

static test_program* make_greedy(void) {
  test_program* const p = start();
  const int f = scratch(p, ETX_DTYPE_FLOAT32, 0);
  const int d = scratch(p, ETX_DTYPE_FLOAT64, 16);
  const int h = scratch(p, ETX_DTYPE_FLOAT16, 32);
  const int i = scratch(p, ETX_DTYPE_INT64, 64);
  const int number = test_int(p, 0), blocking = test_bool(p, false);
  const int flag =
      test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SIZES(1)), "");
  test_jump_false(p, flag, 1);
  test_call(p, "aten::relu", "out", ARGS(f, f, f));
  test_call(p, "my::own", "", ARGS(f, f));
  test_call(p, "aten::relu", "out", ARGS(d, d, d));
  test_call(p, "aten::copy_", "", ARGS(i, i, blocking, i));
  test_call(p, "aten::copy_", "", ARGS(h, h, blocking, h));
  test_call(p, "aten::_local_scalar_dense", "", ARGS(f, number));
  test_output(p, f, "");
  return p;
}

// All of it is told to the sink; the message has the first six.
static void everything_that_is_missing_is_told(void** state) {
  (void)state;
  noted n = {.size = 0};
  const etx_missing_sink sink = {note_operator, &n, note_cell};
  const char* const message =
      "'aten::relu.out' has no float32, 'aten::relu.out' has no float64, "
      "'my::own' is missing, 'aten::copy_' has no int64, 'aten::copy_' has no "
      "float16, 'aten::_local_scalar_dense' has no float32 and 3 more";
  assert_int_equal(load(make_greedy(), 0, 0, &sink, true),
                   ETX_MISSING_OPERATOR);
  if (!test_message_has(&diag, message)) fail_msg("%s", diag.text);
  assert_string_equal(n.text,
                      "aten::relu.out:float32 aten::relu.out:float64 "
                      "my::own.@2 aten::copy_.:int64 aten::copy_.:float16 "
                      "aten::_local_scalar_dense.:float32 .:dynamic_sizes "
                      ".:control_flow .:values_from_data ");
  // A caller that wants fewer calls, or none, has the same message.
  const etx_missing_sink operators = {note_operator, &n, NULL};
  n.size = 0;
  assert_int_equal(load(make_greedy(), 0, 0, &operators, true),
                   ETX_MISSING_OPERATOR);
  assert_true(test_message_has(&diag, message));
  assert_string_equal(n.text, "my::own.@2 ");
  assert_int_equal(load(make_greedy(), 0, 0, NULL, true), ETX_MISSING_OPERATOR);
  assert_true(test_message_has(&diag, message));
}

static void features_of_the_selection_are_not_missing(void** state) {
  (void)state;
  noted n = {.size = 0};
  const etx_missing_sink sink = {note_operator, &n, note_cell};
  assert_int_equal(load(make_greedy(), UINT32_MAX,
                        ETX_FEATURE_BIT(CONTROL_FLOW), &sink, true),
                   ETX_MISSING_OPERATOR);
  assert_string_equal(n.text, "my::own.@2 .:dynamic_sizes .:values_from_data ");
}

// Names of a file may be longer than the list in the message.
static void long_names_are_cut(void** state) {
  (void)state;
  char names[3][100];
  test_program* const p = start();
  const int f = scratch(p, ETX_DTYPE_FLOAT32, 0);
  for (size_t i = 0; i < 3; ++i) {
    memset(names[i], 'l' + (int)i, sizeof names[i]);
    names[i][99] = '\0';
    test_call(p, names[i], "", ARGS(f, f));
  }
  test_output(p, f, "");
  assert_int_equal(load(p, FLOATS, 0, NULL, true), ETX_MISSING_OPERATOR);
  if (!test_message_has(&diag, "mm' is missing, 'nnnnnnnn")) {
    fail_msg("%s", diag.text);
  }
}

// The places of outputs without memory are searched for features, too.
static void too_many_unplanned_outputs_are_refused(void** state) {
  (void)state;
  test_program* const p = start();
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int y = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
  for (int i = 0; i < 513; ++i) {
    test_call(p, "aten::relu", "out", ARGS(x, y, y));
    test_move(p, x, y);
  }
  static uint32_t rows[ETX_OP_COUNT];
  const etx_cells cells = {rows, 0, NULL, etx_missing_cells_check};
  const etx_kernel_table table = {etx_all_kernels.kernels,
                                  etx_all_kernels.count, &cells};
  const etx_method_memory memory = {{NULL, 0}, {NULL, 0}, {NULL, 0}, NULL};
  etx_program program;
  etx_method method;
  assert_ok(etx_program_open(&program, test_file(p), &table, NULL, &diag));
  assert_refused(etx_method_init(&method, &program, etx_text_of("forward"),
                                 &memory, NULL, &diag),
                 ETX_OUT_OF_RANGE, "more than 512 outputs");
  test_program_end(p);
}

// A selection may say what to do about it, at the end of the message.
static void the_advice_of_a_selection_is_given(void** state) {
  (void)state;
  const char* const message =
      "method 'forward' needs what the selection of this build does not have: "
      "'my::own.x' is missing";
  for (int has_advice = 0; has_advice < 2; ++has_advice) {
    char wanted[MOST_TEXT];
    test_program* const p = start();
    const int f = scratch(p, ETX_DTYPE_FLOAT32, 0);
    test_call(p, "my::own", "x", ARGS(f, f));
    test_output(p, f, "");
    advice = has_advice ? "select again" : NULL;
    assert_int_equal(load(p, FLOATS, 0, NULL, true), ETX_MISSING_OPERATOR);
    etx_format_text(wanted, sizeof wanted, "%s%s", message,
                    has_advice ? "; select again" : "");
    if (!test_message_is(&diag, wanted)) fail_msg("%s", diag.text);
  }
  advice = NULL;
}

// An operator that no instruction calls is not needed.
static void an_operator_without_calls_is_not_missing(void** state) {
  (void)state;
  test_program* p = make_floats();
  test_operator(p, "my::own", "");
  test_operator(p, "aten::sigmoid", "out");
  assert_int_equal(load(p, FLOATS, 0, NULL, true), ETX_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_VIEWS, a_method_of_these_cells_is_loaded),
      unit_test_with(ETX_CELLS && ETX_VIEWS,
                     a_table_without_a_check_refuses_the_call),
      unit_test_with(ETX_CELLS && ETX_MESSAGES, types_in_lists_are_cells),
      unit_test_with(ETX_CELLS && ETX_MESSAGES, each_type_is_a_cell),
      unit_test_with(ETX_CELLS && ETX_MESSAGES,
                     everything_that_is_missing_is_told),
      unit_test_with(ETX_CELLS && ETX_MESSAGES,
                     features_of_the_selection_are_not_missing),
      unit_test_with(ETX_CELLS && ETX_MESSAGES, long_names_are_cut),
      unit_test_with(ETX_CELLS && ETX_MESSAGES,
                     the_advice_of_a_selection_is_given),
      unit_test_with(ETX_CELLS && ETX_MESSAGES,
                     too_many_unplanned_outputs_are_refused),
      unit_test_with(ETX_VIEWS, an_operator_without_calls_is_not_missing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
