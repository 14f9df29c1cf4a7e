// The arguments of a call against the schema of its operator, item by item.

#include "runtime/program/argument_check.h"

#include "runtime/program.h"
#include "tests/support/assert_status.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

// Values of each kind, by number.
typedef struct kinds {
  int tensor, none, number, boolean, real, string, ints, tensors, optionals;
} kinds;

static kinds add_kinds(test_program* p) {
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  kinds k;
  k.tensor = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  k.none = test_none(p);
  k.number = test_int(p, 0);
  k.boolean = test_bool(p, true);
  k.real = test_double(p, 1);
  k.string = test_string(p, "text");
  k.ints = test_ints(p, ARGS(k.number, k.number));
  k.tensors = test_tensors(p, ARGS(k.tensor, k.tensor));
  k.optionals = test_optional_tensors(p, ARGS(k.tensor, -1, k.none));
  test_output(p, k.tensor, "");
  return k;
}

// Ends `p` and returns the status of its first call.
static etx_status check(test_program* p) {
  etx_program program;
  etx_pte_plan plan;
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  assert_ok(
      etx_program_find_plan(&program, etx_text_of("forward"), &plan, &diag));
  const etx_pte_instruction call = etx_pte_instruction_at(&plan, 0, 0);
  const etx_pte_operator name = etx_pte_operator_at(&plan, 0);
  const etx_op* const op = etx_op_find(name.name, name.overload);
  assert_non_null(op);
  etx_diag_init(&diag);
  const etx_status status = etx_arguments_check(&plan, &call, op, &diag);
  test_program_end(p);
  return status;
}

#define assert_checked(name, overload, wanted, part, ...)      \
  do {                                                         \
    test_program* const p = test_program_new();                \
    const kinds k = add_kinds(p);                              \
    test_call(p, name, overload, ARGS(__VA_ARGS__));           \
    const etx_status found = check(p);                         \
    if (found != (wanted) || !test_message_has(&diag, part)) { \
      fail_msg("%s: '%s'", etx_status_name(found), diag.text); \
    }                                                          \
  } while (0)

static void calls_of_the_schema_are_accepted(void** state) {
  (void)state;
  assert_checked("aten::add", "out", ETX_OK, "", k.tensor, k.tensor, k.real,
                 k.tensor, k.tensor);
  assert_checked("aten::cat", "out", ETX_OK, "", k.tensors, k.number, k.tensor,
                 k.tensor);
  assert_checked("aten::index", "Tensor_out", ETX_OK, "", k.tensor, k.optionals,
                 k.tensor, k.tensor);
  assert_checked("aten::sum", "IntList_out", ETX_OK, "", k.tensor, k.ints,
                 k.boolean, k.none, k.tensor, k.tensor);
  // The result of this one has no slot.
  assert_checked("aten::allclose", "Tensor", ETX_OK, "", k.tensor, k.tensor,
                 k.real, k.real, k.boolean, k.boolean, k.tensor);
}

static void others_are_refused_by_argument(void** state) {
  (void)state;
  assert_checked("aten::cat", "out", ETX_BAD_FILE,
                 "argument 'dim' of 'aten::cat' is string, expected an int",
                 k.tensors, k.string, k.tensor, k.tensor);
  assert_checked("aten::cat", "out", ETX_BAD_FILE,
                 "item 1 of argument 'tensors' of 'aten::cat' is not a tensor",
                 k.optionals, k.number, k.tensor, k.tensor);
  assert_checked("aten::index", "Tensor_out", ETX_BAD_FILE,
                 "argument 'out' of 'aten::index' is none, expected a tensor",
                 k.tensor, k.optionals, k.none, k.tensor);
  assert_checked("aten::sum", "IntList_out", ETX_BAD_FILE,
                 "argument 'keepdim' of 'aten::sum' is none, expected a bool",
                 k.tensor, k.ints, k.none, k.none, k.tensor, k.tensor);
  assert_checked("aten::sum", "IntList_out", ETX_BAD_FILE,
                 "argument 'dim' of 'aten::sum' is tensor list, expected an "
                 "int list",
                 k.tensor, k.tensors, k.boolean, k.none, k.tensor, k.tensor);
  assert_checked("aten::sum", "IntList_out", ETX_BAD_FILE,
                 "return slot of 'aten::sum' is double, expected a tensor",
                 k.tensor, k.ints, k.boolean, k.none, k.tensor, k.real);
  assert_checked("aten::allclose", "Tensor", ETX_BAD_FILE,
                 "call of 'aten::allclose' has 8 arguments, expected 7",
                 k.tensor, k.tensor, k.real, k.real, k.boolean, k.boolean,
                 k.tensor, k.tensor);
}

// The kinds of values, in the order of `letters`.
static const char letters[] = "TNIBDSidbtO";

// An operator of an application with one argument, or with one result.
typedef struct own_row {
  const char* arguments;
  etx_op_result result;
  const char* accepted;  // letters of kinds
} own_row;

static void each_type_accepts_its_kinds(void** state) {
  (void)state;
  static const own_row rows[] = {
      {"Tensor x", ETX_RESULT_NONE, "T"},
      {"Tensor? x", ETX_RESULT_NONE, "TN"},
      {"Tensor[] x", ETX_RESULT_NONE, "t"},
      {"Tensor?[] x", ETX_RESULT_NONE, "tO"},
      {"Scalar x", ETX_RESULT_NONE, "IBD"},
      {"Scalar? x", ETX_RESULT_NONE, "NIBD"},
      {"int x", ETX_RESULT_NONE, "I"},
      {"int[] x", ETX_RESULT_NONE, "i"},
      {"float x", ETX_RESULT_NONE, "IBD"},
      {"float[] x", ETX_RESULT_NONE, "d"},
      {"bool x", ETX_RESULT_NONE, "B"},
      {"bool[] x", ETX_RESULT_NONE, "b"},
      {"str x", ETX_RESULT_NONE, "S"},
      {"str? x", ETX_RESULT_NONE, "NS"},
      {"ScalarType x", ETX_RESULT_NONE, "I"},
      {"MemoryFormat x", ETX_RESULT_NONE, "I"},
      {"Layout x", ETX_RESULT_NONE, "I"},
      {"Device x", ETX_RESULT_NONE, ""},
      {"Device? x", ETX_RESULT_NONE, "N"},
      {"", ETX_RESULT_OUT, "T"},
      {"", ETX_RESULT_OUT_LIST, "tO"},
      {"", ETX_RESULT_LIST, "tO"},
      {"", ETX_RESULT_SELF, "T"},
      {"", ETX_RESULT_SCALAR, "IBD"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    for (size_t kind = 0; kind < sizeof letters - 1; ++kind) {
      static const double reals[] = {1, 2};
      static const uint8_t flags[] = {0, 1};
      test_program* const p = test_program_new();
      const kinds k = add_kinds(p);
      const int values[] = {k.tensor,
                            k.none,
                            k.number,
                            k.boolean,
                            k.real,
                            k.string,
                            k.ints,
                            test_doubles(p, reals, 2),
                            test_bools(p, flags, 2),
                            k.tensors,
                            k.optionals};
      const etx_op op = {.id = ETX_OP_COUNT,
                         ETX_OP_NAME("my::own", ""),
                         .arguments = rows[i].arguments,
                         .result = rows[i].result};
      etx_program program;
      etx_pte_plan plan;
      test_call(p, "my::own", "", &values[kind], 1);
      assert_ok(etx_program_open(&program, test_file(p), &etx_all_kernels, NULL,
                                 &diag));
      assert_ok(etx_program_find_plan(&program, etx_text_of("forward"), &plan,
                                      &diag));
      const etx_pte_instruction call = etx_pte_instruction_at(&plan, 0, 0);
      const bool is_accepted = strchr(rows[i].accepted, letters[kind]) != NULL;
      const etx_status found = etx_arguments_check(&plan, &call, &op, NULL);
      if (found != (is_accepted ? ETX_OK : ETX_BAD_FILE)) {
        fail_msg("'%s', result %d, kind %c: %s", rows[i].arguments,
                 (int)rows[i].result, letters[kind], etx_status_name(found));
      }
      test_program_end(p);
    }
  }
}

// Numbers, texts and lists of numbers become values without memory of their
// own; what has memory in the method becomes nothing here.
static void scalars_become_values_of_their_kind(void** state) {
  (void)state;
  static const double reals[] = {1, 2};
  static const uint8_t flags[] = {0, 1, 1};
  etx_value out;
  etx_value_from_scalar(
      &(etx_pte_value){.kind = ETX_PTE_INT, .as.integer = INT64_MIN + 7}, &out);
  assert_int_equal(out.kind, ETX_VALUE_INT);
  assert_true(out.as.integer == INT64_MIN + 7);
  etx_value_from_scalar(
      &(etx_pte_value){.kind = ETX_PTE_BOOL, .as.boolean = true}, &out);
  assert_int_equal(out.kind, ETX_VALUE_BOOL);
  assert_true(out.as.boolean);
  etx_value_from_scalar(
      &(etx_pte_value){.kind = ETX_PTE_DOUBLE, .as.real = -0.25}, &out);
  assert_int_equal(out.kind, ETX_VALUE_DOUBLE);
  assert_true(out.as.real == -0.25);
  etx_value_from_scalar(&(etx_pte_value){.kind = ETX_PTE_STRING,
                                         .as.string = etx_text_of("none")},
                        &out);
  assert_int_equal(out.kind, ETX_VALUE_STRING);
  assert_true(etx_text_is(out.as.string, "none"));
  etx_value_from_scalar(
      &(etx_pte_value){.kind = ETX_PTE_DOUBLE_LIST, .as.reals = {reals, 2}},
      &out);
  assert_int_equal(out.kind, ETX_VALUE_DOUBLES);
  assert_true(out.as.reals.items == reals && out.as.reals.count == 2);
  etx_value_from_scalar(
      &(etx_pte_value){.kind = ETX_PTE_BOOL_LIST, .as.booleans = {flags, 3}},
      &out);
  assert_int_equal(out.kind, ETX_VALUE_BOOLS);
  assert_true(out.as.booleans.items == flags && out.as.booleans.count == 3);
  static const etx_pte_kind others[] = {ETX_PTE_NULL, ETX_PTE_TENSOR,
                                        ETX_PTE_INT_LIST, ETX_PTE_TENSOR_LIST,
                                        ETX_PTE_OPTIONAL_TENSOR_LIST};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    out.kind = ETX_VALUE_INT;
    etx_value_from_scalar(&(etx_pte_value){.kind = others[i]}, &out);
    assert_int_equal(out.kind, ETX_VALUE_NONE);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_of_the_schema_are_accepted),
      cmocka_unit_test(others_are_refused_by_argument),
      cmocka_unit_test(each_type_accepts_its_kinds),
      cmocka_unit_test(scalars_become_values_of_their_kind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
