// Descriptions of operators: what their rows become, what their rules compute,
// and where mistakes are reported.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/own_ops/own_operator_list.h"
#include "tests/support/assert_status.h"
#include "tests/support/test_random.h"

static etx_diag diag;

// Reads a text into memory of exactly the stated size. The caller frees it.
static etx_status read_list(const char* text, size_t size, etx_own_list* list,
                            void** memory) {
  const etx_text span = {text, size};
  const size_t needed = etx_own_list_needed(span);
  etx_arena arena;
  *memory = malloc(needed);
  assert_non_null(*memory);
  etx_arena_init(&arena, *memory, needed);
  etx_diag_init(&diag);
  return etx_own_list_read(span, &arena, list, &diag);
}

static void expect_refused(const char* text, unsigned line, unsigned column,
                           const char* part) {
  etx_own_list list;
  void* memory = NULL;
  const etx_status status = read_list(text, strlen(text), &list, &memory);
  free(memory);
  assert_int_equal(status, ETX_BAD_FILE);
  if (strstr(diag.text, part) == NULL) fail_msg("%s\n%s", text, diag.text);
  assert_int_equal(diag.line, line);
  assert_int_equal(diag.column, column);
}

static void rows_have_the_names_that_files_have(void** state) {
  (void)state;
  static const char text[] =
      "# two operators\n"
      "my::scale(Tensor x, float factor=1.5) -> Tensor\n"
      "  sizes: x\n"
      "  in_place: elementwise\n"
      "\n"
      "my::step.Tensor(Tensor(a0!) s, Tensor x, *, SymInt n=2) -> (Tensor, "
      "Tensor); sizes: x, [n]; dtypes: x, int64";
  etx_own_list list;
  void* memory = NULL;
  assert_ok(read_list(text, strlen(text), &list, &memory));
  assert_int_equal(list.count, 2);
  const etx_own_entry* const scale = &list.entries[0];
  assert_string_equal(scale->name, "my.scale.default");
  assert_string_equal(scale->row.op.overload, "out");
  assert_string_equal(scale->row.op.arguments,
                      "Tensor x, float factor=1.5, *, Tensor(a!) out");
  assert_int_equal(scale->row.op.in_place, ETX_IN_PLACE_ELEMENTWISE);
  const etx_own_entry* const step = &list.entries[1];
  assert_string_equal(step->name, "my.step.Tensor");
  assert_string_equal(step->row.op.overload, "Tensor_out");
  assert_string_equal(step->arguments, "Tensor s, Tensor x, *, SymInt n=2");
  assert_string_equal(step->row.op.arguments,
                      "Tensor(a!) s, Tensor x, *, SymInt n=2, Tensor(a!) out0, "
                      "Tensor(a!) out1");
  assert_string_equal(step->node.op.arguments,
                      "Tensor s, Tensor x, *, SymInt n=2, Tensor(a!) new0, "
                      "Tensor(a!) out0, Tensor(a!) out1");
  assert_string_equal(step->row.sizes, "s, x, [n]");
  assert_string_equal(step->row.dtypes, "s, x, int64");
  assert_ptr_equal(etx_own_list_find(&list, etx_text_of("my::step.Tensor_out"),
                                     etx_text_of("")),
                   step);
  free(memory);
}

static void the_out_form_is_the_same_operator(void** state) {
  (void)state;
  static const char functional[] = "my::f(Tensor x) -> Tensor; sizes: x";
  static const char out[] =
      "my::f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!); sizes: x";
  etx_own_list a, b;
  void *memory_a = NULL, *memory_b = NULL;
  assert_ok(read_list(functional, strlen(functional), &a, &memory_a));
  assert_ok(read_list(out, strlen(out), &b, &memory_b));
  assert_string_equal(a.entries[0].name, b.entries[0].name);
  assert_string_equal(a.entries[0].row.op.overload,
                      b.entries[0].row.op.overload);
  assert_string_equal(a.entries[0].row.op.arguments,
                      b.entries[0].row.op.arguments);
  free(memory_a);
  free(memory_b);
}

static void mistakes_have_a_line_and_a_column(void** state) {
  (void)state;
  expect_refused("scale(Tensor x) -> Tensor", 1, 6, "expected a schema");
  expect_refused("\nmy::f(Tensr x) -> Tensor", 2, 7, "type of an argument");
  expect_refused("my::f(Tensor) -> Tensor", 1, 13, "name of an argument");
  expect_refused("my::f(Tensor x, Tensor x) -> Tensor", 1, 25, "two arguments");
  expect_refused("my::f(Tensor(a) x) -> Tensor(a)", 1, 15, "views");
  expect_refused("my::f(int(a!) n) -> ()", 1, 14, "only a tensor");
  expect_refused("my::f(Tensor x)", 1, 16, "expected '->'");
  expect_refused("my::f(Tensor x) -> int", 1, 23, "expected Tensor");
  expect_refused("my::f(Tensor x) -> ()", 1, 22, "changes nothing");
  expect_refused("my::f(Tensor x) -> Tensor", 1, 1, "'sizes' of 'my::f' is");
  expect_refused("my::f(Tensor x) -> Tensor\n  size: x", 2, 7, "expected 'siz");
  expect_refused("my::f(Tensor x) -> Tensor\n  sizes: y", 2, 11, "tensor");
  expect_refused("my::f(Tensor x) -> Tensor\n  sizes: [x.0 +]", 2, 16, "size");
  expect_refused("my::f(Tensor x) -> Tensor\n  sizes: [x.0 * n]", 2, 18, "'n'");
  expect_refused("my::f(Tensor x) -> Tensor\n  sizes: x, x", 2, 11, "end");
  expect_refused("my::f(Tensor x) -> (Tensor, Tensor); sizes: x", 1, 46, "','");
  expect_refused("my::f(Tensor x) -> Tensor; sizes: x; dtypes: in", 1, 48,
                 "in");
  expect_refused("aten::relu(Tensor self) -> Tensor; sizes: self", 1, 1,
                 "operator of etx");
  expect_refused(
      "my::f(Tensor x) -> Tensor; sizes: x\n"
      "my::f(Tensor x) -> Tensor; sizes: x",
      2, 1, "twice");
  expect_refused("  sizes: x", 1, 1, "not indented");
}

// ---------------------------------------------------------------- rules

// A call with these tensors, then integers.
typedef struct rule_call {
  etx_shape tensors[2];
  int64_t integer;
  etx_shape output;
  bool is_bound;
} rule_call;

static etx_shape_kind kind_of(void* context, size_t argument) {
  (void)context;
  return argument < 2 ? ETX_SHAPE_TENSOR : ETX_SHAPE_INT;
}
static size_t list_count(void* context, size_t argument) {
  (void)context;
  (void)argument;
  return 1;
}
static bool tensor_of(void* context, size_t argument, size_t item,
                      etx_shape* out) {
  (void)item;
  *out = ((rule_call*)context)->tensors[argument];
  return true;
}
static etx_dim integer_of(void* context, size_t argument, size_t item) {
  (void)argument;
  (void)item;
  return ((rule_call*)context)->integer;
}
static double real_of(void* context, size_t argument, size_t item) {
  (void)context;
  (void)argument;
  (void)item;
  return 0;
}
static etx_status put(void* context, size_t index, const etx_shape* shape) {
  (void)index;
  ((rule_call*)context)->output = *shape;
  return ETX_OK;
}
static etx_status put_bound(void* context, size_t index,
                            const etx_shape* shape) {
  ((rule_call*)context)->is_bound = true;
  return put(context, index, shape);
}

static etx_status infer(const char* rule, rule_call* call) {
  char text[256];
  etx_own_list list;
  void* memory = NULL;
  snprintf(text, sizeof text,
           "my::f(Tensor x, Tensor y, int n) -> Tensor\n  sizes: %s", rule);
  assert_ok(read_list(text, strlen(text), &list, &memory));
  etx_shape_call shape = {.op = &list.entries[0].row.op,
                          .diag = &diag,
                          .context = call,
                          .kind = kind_of,
                          .list_count = list_count,
                          .tensor = tensor_of,
                          .integer = integer_of,
                          .real = real_of,
                          .output = put,
                          .output_at_most = put_bound};
  const etx_status status = etx_shape_infer(&shape);
  free(memory);
  return status;
}

static void expect_sizes(const char* rule, size_t rank, const int64_t* sizes) {
  rule_call call = {.tensors = {{ETX_DTYPE_FLOAT32, 3, {2, 5, 4}},
                                {ETX_DTYPE_INT64, 2, {4, 7}}},
                    .integer = 3};
  assert_ok(infer(rule, &call));
  assert_int_equal(call.output.rank, rank);
  for (size_t i = 0; i < rank; ++i) {
    if (call.output.dims[i] != sizes[i]) fail_msg("%s", rule);
  }
  assert_int_equal(call.is_bound, strncmp(rule, "at_most", 7) == 0);
  assert_int_equal(call.output.dtype, ETX_DTYPE_FLOAT32);
}

#define SIZES_OF(...)                                                     \
  sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]) { \
    __VA_ARGS__                                                           \
  }

static void rules_compute_sizes(void** state) {
  (void)state;
  expect_sizes("x", SIZES_OF(2, 5, 4));
  expect_sizes("at_most x", SIZES_OF(2, 5, 4));
  expect_sizes("matmul(x, y)", SIZES_OF(2, 5, 7));
  expect_sizes("reduce(x, 1)", SIZES_OF(2, 4));
  expect_sizes("reduce(x, -1, True)", SIZES_OF(2, 5, 1));
  expect_sizes("[x.0, x.1 * 2]", SIZES_OF(2, 10));
  expect_sizes("[x.-1, y.0:, n]", SIZES_OF(4, 4, 7, 3));
  expect_sizes("[x.:-1, 9 // 2]", SIZES_OF(2, 5, 4));
  expect_sizes("[1 + 2 * 3 - 4 // 2, (1 + 2) * 3]", SIZES_OF(5, 9));
  expect_sizes("[min(x.0, max(n, 1) + 1), max(2 * (n - 1), y.1 - 1)]",
               SIZES_OF(2, 6));
  expect_sizes("[10 - 3 - 2, 100 // 3 // 3]", SIZES_OF(5, 11));
}

static void rules_refuse_what_does_not_fit(void** state) {
  (void)state;
  rule_call call = {
      .tensors = {{ETX_DTYPE_FLOAT32, 1, {2}}, {ETX_DTYPE_FLOAT32, 1, {3}}}};
  static const char* const rules[] = {"[x.1]",           "[x.0 - 5]",
                                      "broadcast(x, y)", "matmul(x, y)",
                                      "[x.0 // n]",      "reduce(x, 3)"};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
    etx_diag_init(&diag);
    assert_int_equal(infer(rules[i], &call), ETX_BAD_ARGUMENT);
    assert_non_null(strstr(diag.text, "my::f"));
  }
}

// A description in a file is not trusted. AddressSanitizer watches.
static void changed_bytes_are_read_or_refused(void** state) {
  (void)state;
  static const char text[] =
      "my::f(Tensor x, Tensor?[] t, int[2] n=[1, 2], str s='a') -> Tensor\n"
      "  sizes: [min(x.0, n.1) + (x.1 // 2) * 3, x.0:-1]; dtypes: x\n"
      "my::g(Tensor(a!) s, *, bool k=False) -> (Tensor, Tensor)\n"
      "  sizes: reduce(s, 0, k), at_most s\n  dtypes: promote(s, s), int64\n";
  static const char letters[] = " ()[],:;.*=!?#\n0a'-+/xT_";
  test_random_start();
  for (size_t round = 0; round < 20000; ++round) {
    char* const copy = malloc(sizeof text - 1);
    memcpy(copy, text, sizeof text - 1);
    for (size_t i = 0; i <= round % 3; ++i) {
      copy[test_random_integer(0, sizeof text - 2)] =
          letters[test_random_integer(0, sizeof letters - 2)];
    }
    etx_own_list list;
    void* memory = NULL;
    const etx_status status = read_list(copy, sizeof text - 1, &list, &memory);
    assert_true(status == ETX_OK || status == ETX_BAD_FILE);
    if (status == ETX_BAD_FILE) assert_true(diag.line > 0);
    free(memory);
    free(copy);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_have_the_names_that_files_have),
      cmocka_unit_test(the_out_form_is_the_same_operator),
      cmocka_unit_test(mistakes_have_a_line_and_a_column),
      cmocka_unit_test(rules_compute_sizes),
      cmocka_unit_test(rules_refuse_what_does_not_fit),
      cmocka_unit_test(changed_bytes_are_read_or_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
