// Methods that may run at the same time (--concurrent): the planner gives them
// disjoint ranges, one method can run inside another over one block of scratch,
// and the verifier finds methods that share bytes.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "cli/program/pte_file.h"
#include "runtime/method.h"
#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"

enum { PATH_BYTES = 256, COUNT = 64 };

static char methods[PATH_BYTES];
static char program_path[PATH_BYTES];

// flip(sin(cumsum(x))) + cos(cumsum(x)), and a similar method.
static const char first_text[] =
    "etx: 1\n"
    "method: first\n"
    "inputs: [{name: x, type: \"float32[64]\"}]\n"
    "nodes:\n"
    "  - {out: s, op: aten.cumsum.default, args: [x, 0]}\n"
    "  - {out: a, op: aten.sin.default, args: [s]}\n"
    "  - {out: b, op: aten.cos.default, args: [s]}\n"
    "  - {out: c, op: aten.flip.default, args: [a, [0]]}\n"
    "  - {out: y, op: aten.add.Tensor, args: [c, b]}\n"
    "outputs: [y]\n";
static const char second_text[] =
    "etx: 1\n"
    "method: second\n"
    "inputs: [{name: x, type: \"float32[64]\"}]\n"
    "nodes:\n"
    "  - {out: a, op: aten.cos.default, args: [x]}\n"
    "  - {out: s, op: aten.cumsum.default, args: [a, 0]}\n"
    "  - {out: b, op: aten.flip.default, args: [s, [0]]}\n"
    "  - {out: c, op: aten.add.Tensor, args: [a, s]}\n"
    "  - {out: y, op: aten.add.Tensor, args: [b, c]}\n"
    "outputs: [y]\n";
static const char third_text[] =
    "etx: 1\n"
    "method: third\n"
    "inputs: [{name: x, type: \"float32[32]\"}]\n"
    "nodes:\n"
    "  - {out: y, op: aten.sin.default, args: [x]}\n"
    "outputs: [y]\n";

static void write_method(const char* name, const char* text) {
  char path[PATH_BYTES + 32];
  snprintf(path, sizeof path, "%s/%s", methods, name);
  command_write_file(path, text);
}

static int make_methods(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(methods, sizeof methods, "%s/methods", command_directory);
  snprintf(program_path, sizeof program_path, "%s/model.pte",
           command_directory);
  if (mkdir(methods, 0777) != 0) return -1;
  write_method("first.yaml", first_text);
  write_method("second.yaml", second_text);
  write_method("third.yaml", third_text);
  return 0;
}

// ---- the plan ----

typedef struct arena_range {
  long long start;
  long long end;
} arena_range;

static json_t* plan(const char* option, const char* value) {
  command_result result = command_run(
      option == NULL ? WORDS(ETX, "plan", methods, "-o", program_path, "--json")
                     : WORDS(ETX, "plan", methods, "-o", program_path, "--json",
                             option, value));
  if (result.code != 0) fail_msg("%s", result.err);
  json_t* const root = json_loads(result.out, JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(root);
  command_end(&result);
  return root;
}

static arena_range range_of(const json_t* root, size_t method) {
  const json_t* const row =
      json_array_get(json_object_get(root, "methods"), method);
  const arena_range r = {
      json_integer_value(json_object_get(row, "range_start")),
      json_integer_value(json_object_get(row, "scratch_bytes"))};
  const long long planned =
      json_integer_value(json_object_get(row, "planned_bytes"));
  assert_int_equal(r.end, r.start + planned);
  assert_true(planned > 0);
  return r;
}

static void expect_disjoint(arena_range a, arena_range b) {
  assert_true(a.end <= b.start || b.end <= a.start);
}

static void only_declared_methods_are_disjoint(void** state) {
  (void)state;
  json_t* root = plan(NULL, NULL);
  for (size_t m = 0; m < 3; ++m) assert_int_equal(range_of(root, m).start, 0);
  assert_int_equal(json_array_size(json_object_get(root, "concurrent")), 0);
  json_decref(root);
  root = plan("--concurrent", "second,first");
  const arena_range first = range_of(root, 0);
  const arena_range second = range_of(root, 1);
  const arena_range third = range_of(root, 2);
  expect_disjoint(first, second);
  assert_int_equal(third.start, 0);
  const json_t* const pairs = json_object_get(root, "concurrent");
  assert_int_equal(json_array_size(pairs), 1);
  assert_string_equal(
      json_string_value(json_array_get(json_array_get(pairs, 0), 0)), "first");
  assert_int_equal(json_integer_value(json_object_get(root, "scratch_bytes")),
                   first.end > second.end ? first.end : second.end);
  json_decref(root);
  command_expect(0, WORDS(ETX, "verify", program_path));
}

static void a_group_is_disjoint_and_undeclared_pairs_share(void** state) {
  (void)state;
  json_t* root = plan("--concurrent", "first,second,third");
  expect_disjoint(range_of(root, 0), range_of(root, 1));
  expect_disjoint(range_of(root, 0), range_of(root, 2));
  expect_disjoint(range_of(root, 1), range_of(root, 2));
  json_decref(root);
  // Two pairs with one method in common: the other two share.
  command_result result = command_run(
      WORDS(ETX, "plan", methods, "-o", program_path, "--json", "--concurrent",
            "first,third", "--concurrent", "second,third"));
  if (result.code != 0) fail_msg("%s", result.err);
  root = json_loads(result.out, JSON_REJECT_DUPLICATES, NULL);
  assert_int_equal(range_of(root, 0).start, 0);
  assert_int_equal(range_of(root, 1).start, 0);
  expect_disjoint(range_of(root, 0), range_of(root, 2));
  expect_disjoint(range_of(root, 1), range_of(root, 2));
  json_decref(root);
  command_end(&result);
}

static void the_key_and_the_option_give_the_same_file(void** state) {
  char other[PATH_BYTES];
  (void)state;
  snprintf(other, sizeof other, "%s/other.pte", command_directory);
  write_method("program.yaml", "concurrent: [[first, second]]\n");
  command_expect(0, WORDS(ETX, "plan", methods, "-o", other, "-q"));
  write_method("program.yaml", "etx: 1\n");
  json_decref(plan("--concurrent", "first,second"));
  command_expect_same_files(program_path, other);
}

static void wrong_names_are_refused(void** state) {
  (void)state;
  command_expect_err(
      2,
      WORDS(ETX, "plan", methods, "-o", program_path, "--concurrent",
            "first,secnd"),
      "there is no method 'secnd', did you mean 'second', in option "
      "'--concurrent'");
  command_expect_err(2,
                     WORDS(ETX, "plan", methods, "-o", program_path,
                           "--concurrent", "first,first"),
                     "method 'first' is named twice");
  command_expect_err(
      2,
      WORDS(ETX, "plan", methods, "-o", program_path, "--concurrent", "first"),
      "expected at least two concurrent methods, found 1");
  command_expect_err(
      2, WORDS(ETX, "plan", methods, "-o", program_path, "--concurrent", ","),
      "there is no method ''");
}

// ---- the run ----

typedef struct loaded_method {
  etx_method method;
  _Alignas(64) uint8_t structures[1 << 14];
  _Alignas(64) uint8_t temporary[1 << 14];
} loaded_method;

static struct {
  etx_pte_file file;
  etx_program program;
  etx_kernel kernels[ETX_OP_COUNT];
  etx_kernel_table table;
  etx_kernel_function
      runs[ETX_OP_COUNT];  // the functions that prepare chose, by operator
  loaded_method* within;   // runs before each instruction, or NULL
  size_t runs_within;
} now;

static _Alignas(64) uint8_t scratch[1 << 14];
static loaded_method first;
static loaded_method second;

static etx_status run_within(etx_call* call) {
  loaded_method* const other = now.within;
  if (other != NULL) {
    now.within = NULL;
    assert_int_equal(etx_method_run(&other->method, NULL), ETX_OK);
    now.within = other;
    now.runs_within += 1;
  }
  return now.runs[call->op->id](call);
}

static etx_status prepare(etx_call* call) {
  const etx_kernel* const kernel =
      etx_kernel_find(&etx_all_kernels, call->op->id);
  const etx_status status = kernel->prepare(call);
  if (status != ETX_OK) return status;
  assert_true(now.runs[call->op->id] == NULL ||
              now.runs[call->op->id] == call->run);
  now.runs[call->op->id] = call->run;
  call->run = run_within;
  return ETX_OK;
}

static void open_program(void) {
  memset(&now, 0, sizeof now);
  for (size_t i = 0; i < etx_all_kernels.count; ++i) {
    now.kernels[i] = etx_all_kernels.kernels[i];
    now.kernels[i].prepare = prepare;
  }
  now.table = (etx_kernel_table){now.kernels, etx_all_kernels.count, NULL};
  assert_int_equal(etx_pte_file_open(&now.file, program_path, NULL), ETX_OK);
  assert_int_equal(
      etx_program_open(&now.program, now.file.program, &now.table, NULL, NULL),
      ETX_OK);
}

static void load(loaded_method* into, const char* name, float* input) {
  static const int32_t sizes[] = {COUNT};
  etx_memory_needed needed;
  const etx_text method = etx_text_of(name);
  assert_int_equal(etx_method_needed(&now.program, method, &needed, NULL),
                   ETX_OK);
  assert_true(needed.structure_bytes <= sizeof into->structures);
  assert_true(needed.temporary_bytes <= sizeof into->temporary);
  assert_true(needed.scratch_bytes <= sizeof scratch);
  const etx_method_memory memory = {{into->structures, sizeof into->structures},
                                    {scratch, sizeof scratch},
                                    {into->temporary, sizeof into->temporary},
                                    NULL};
  assert_int_equal(
      etx_method_init(&into->method, &now.program, method, &memory, NULL, NULL),
      ETX_OK);
  const etx_tensor x = {input, sizes, NULL, 1, ETX_DTYPE_FLOAT32};
  assert_int_equal(etx_method_set_input(&into->method, 0, &x, NULL), ETX_OK);
}

static void copy_output(const loaded_method* from, float* out) {
  const etx_value* value = NULL;
  assert_int_equal(etx_method_output(&from->method, 0, &value), ETX_OK);
  memcpy(out, value->as.tensor.data, COUNT * sizeof *out);
}

// Runs both methods alone, then the second one before every instruction of the
// first. True if the results are the same.
static bool results_survive_interleaving(void) {
  static float inputs[2][COUNT];
  float alone[2][COUNT];
  float together[2][COUNT];
  for (size_t i = 0; i < COUNT; ++i) {
    inputs[0][i] = (float)i / 8;
    inputs[1][i] = 3 - (float)i / 16;
  }
  open_program();
  load(&first, "first", inputs[0]);
  load(&second, "second", inputs[1]);
  assert_int_equal(etx_method_run(&first.method, NULL), ETX_OK);
  copy_output(&first, alone[0]);
  assert_int_equal(etx_method_run(&second.method, NULL), ETX_OK);
  copy_output(&second, alone[1]);
  memset(scratch, 0xA5, sizeof scratch);
  now.within = &second;
  assert_int_equal(etx_method_run(&first.method, NULL), ETX_OK);
  now.within = NULL;
  assert_true(now.runs_within >= 3);
  copy_output(&first, together[0]);
  copy_output(&second, together[1]);
  etx_pte_file_close(&now.file);
  return memcmp(alone, together, sizeof alone) == 0;
}

static void a_method_runs_inside_another_over_one_block(void** state) {
  (void)state;
  json_decref(plan("--concurrent", "first,second"));
  assert_true(results_survive_interleaving());
  json_decref(plan(NULL, NULL));
  assert_false(results_survive_interleaving());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_declared_methods_are_disjoint),
      cmocka_unit_test(a_group_is_disjoint_and_undeclared_pairs_share),
      cmocka_unit_test(the_key_and_the_option_give_the_same_file),
      cmocka_unit_test(wrong_names_are_refused),
      cmocka_unit_test(a_method_runs_inside_another_over_one_block),
  };
  return cmocka_run_group_tests(tests, make_methods, command_tear_down);
}
