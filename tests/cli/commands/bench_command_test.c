// etx bench: its output and its errors. No time is compared with an expected
// one.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "cli/bench/bench_method.h"
#include "cli/program/operator_cost.h"
#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define SETS ETX_TEST_DATA "/pt2/"

enum { PATH_BYTES = 256 };

static char kv[PATH_BYTES], llama[PATH_BYTES], counter[PATH_BYTES];
static char swap[PATH_BYTES], pairs[PATH_BYTES], branches[PATH_BYTES];

static void plan(const char* set, char path[PATH_BYTES]) {
  char from[PATH_BYTES];
  snprintf(from, sizeof from, "%s%s", SETS, set);
  snprintf(path, PATH_BYTES, "%s/%s.pte", command_directory, set);
  command_expect(0, WORDS(ETX, "plan", from, "-o", path, "--quiet"));
}

// A program of one method, `both`.
static void plan_method(const char* name, const char* text,
                        char path[PATH_BYTES]) {
  char directory[PATH_BYTES], file[PATH_BYTES + 16];
  snprintf(directory, sizeof directory, "%s/%s", command_directory, name);
  snprintf(file, sizeof file, "%s/both.yaml", directory);
  snprintf(path, PATH_BYTES, "%s/%s.pte", command_directory, name);
  assert_int_equal(mkdir(directory, 0700), 0);
  command_write_file(file, text);
  command_expect(0, WORDS(ETX, "plan", directory, "-o", path, "--quiet"));
}

static const char pairs_text[] =
    "etx: 1\n"
    "method: both\n"
    "dims: {s: {min: 1, max: 8}}\n"
    "inputs:\n"
    "  - {name: x, type: \"float32[s, 3]\"}\n"
    "  - {name: y, type: \"float32[2*s + 1]\"}\n"
    "  - {name: n, sym: s}\n"
    "nodes:\n"
    "  - {out: a, op: aten.relu.default, args: [x]}\n"
    "  - {out: b, op: aten.relu.default, args: [y]}\n"
    "outputs: [a, b]\n";

static int plan_all(void** state) {
  if (command_set_up(state) != 0) return -1;
  plan("kv", kv);
  plan("llama", llama);
  plan("counter", counter);
  plan("swap", swap);
  plan("branches", branches);
  plan_method("pairs", pairs_text, pairs);
  return 0;
}

static json_t* bench_json(const char* const* words) {
  command_result result = command_run(words);
  if (result.code != 0) fail_msg("code %d: %s", result.code, result.err);
  json_error_t error;
  json_t* const root = json_loads(result.out, 0, &error);
  if (root == NULL) fail_msg("%s: %s", error.text, result.out);
  command_end(&result);
  return root;
}

static json_t* method_of(const json_t* root, const char* name) {
  json_t* const list = json_object_get(root, "methods");
  for (size_t i = 0; i < json_array_size(list); ++i) {
    json_t* const method = json_array_get(list, i);
    const json_t* const found = json_object_get(method, "name");
    if (strcmp(json_string_value(found), name) == 0) return method;
  }
  fail_msg("no method '%s'", name);
  return NULL;
}

static double number_at(const json_t* object, const char* key) {
  const json_t* const found = json_object_get(object, key);
  if (!json_is_number(found)) fail_msg("'%s' is not a number", key);
  return json_number_value(found);
}

static double cost_of(const json_t* object, const char* key) {
  return number_at(json_object_get(object, "cost"), key);
}

static void check_times(const json_t* method) {
  const json_t* const times = json_object_get(method, "seconds");
  assert_true(number_at(times, "calls") >= 15);
  assert_true(number_at(times, "least") > 0);
  assert_true(number_at(times, "least") <= number_at(times, "p10"));
  assert_true(number_at(times, "p10") <= number_at(times, "median"));
  assert_true(number_at(times, "median") <= number_at(times, "p90"));
  assert_true(number_at(times, "p90") <= number_at(times, "p99"));
  assert_true(number_at(method, "load_seconds") > 0);
  assert_true(number_at(method, "first_seconds") > 0);
}

// The figures of the method are the sums over its operators.
static void check_operators(const json_t* method) {
  const json_t* const list = json_object_get(method, "operators");
  double calls = 0, bytes = 0, work = 0;
  for (size_t i = 0; i < json_array_size(list); ++i) {
    const json_t* const row = json_array_get(list, i);
    calls += number_at(row, "calls");
    bytes += cost_of(row, "bytes");
    work += cost_of(row, "multiply_adds");
    assert_true(number_at(row, "seconds") >= 0);
    assert_true(json_is_string(json_object_get(row, "kind")));
  }
  assert_true(calls == number_at(method, "kernel_calls"));
  assert_true(bytes == cost_of(method, "bytes"));
  assert_true(work == cost_of(method, "multiply_adds"));
}

static void every_method_is_measured(void** state) {
  (void)state;
  json_t* const root =
      bench_json(WORDS(ETX, "bench", llama, "--json", "--seconds", "0.05"));
  static const char* const names[] = {"decode", "prefill"};
  assert_int_equal(json_array_size(json_object_get(root, "methods")), 2);
  for (size_t i = 0; i < 2; ++i) {
    const json_t* const method = method_of(root, names[i]);
    const json_t* const limits = json_object_get(method, "limits");
    check_times(method);
    check_operators(method);
    assert_true(cost_of(method, "multiply_adds") > 0);
    assert_true(cost_of(method, "constant_bytes") > 0);
    assert_true(cost_of(method, "constant_bytes") < cost_of(method, "bytes"));
    assert_true(number_at(limits, "read_bytes_per_second") > 1e7);
    assert_true(number_at(limits, "multiply_adds_per_second") > 1e7);
    assert_true(number_at(limits, "byte_multiply_adds_per_second") > 1e7);
    assert_true(number_at(method, "bound_seconds") > 0);
  }
  assert_true(number_at(root, "open_seconds") > 0);
  json_decref(root);
}

static void threads_and_sizes_are_options(void** state) {
  (void)state;
  json_t* const root =
      bench_json(WORDS(ETX, "bench", kv, "--json", "--seconds", "0.02",
                       "--method", "set_cache", "--threads", "3"));
  const json_t* const method = method_of(root, "set_cache");
  assert_true(number_at(root, "threads") == 3);
  assert_int_equal(json_array_size(json_object_get(root, "methods")), 1);
  check_times(method);
  json_decref(root);
}

// Measured calls have the same inputs.
static void calls_with_the_same_inputs_compute_no_sizes(void** state) {
  (void)state;
  json_t* const root =
      bench_json(WORDS(ETX, "bench", llama, "--json", "--seconds", "0.02",
                       "--method", "prefill", "--dim", "tokens[1]=5"));
  const json_t* const changes =
      json_object_get(method_of(root, "prefill"), "changes");
  assert_true(number_at(changes, "shape_phases") == 0);
  assert_true(number_at(changes, "kept_sizes_found") == 0);
  assert_true(number_at(changes, "address_updates") == 0);
  json_decref(root);
}

// Multiply-adds of etx::attention.
static double attention_of(const json_t* method) {
  size_t i;
  const json_t* row;
  json_array_foreach(json_object_get(method, "operators"), i, row) {
    const char* const name = json_string_value(json_object_get(row, "name"));
    if (strcmp(name, "etx::attention") == 0) {
      return cost_of(row, "multiply_adds");
    }
  }
  return 0;
}

static void static_figures_need_no_run(void** state) {
  (void)state;
  json_t* const root =
      bench_json(WORDS(ETX, "bench", llama, "--json", "--static"));
  json_t* const run =
      bench_json(WORDS(ETX, "bench", llama, "--json", "--seconds", "0.02"));
  static const char* const names[] = {"decode", "prefill"};
  for (size_t i = 0; i < 2; ++i) {
    const json_t* const counted = method_of(root, names[i]);
    const json_t* const measured = method_of(run, names[i]);
    assert_null(json_object_get(counted, "seconds"));
    // Generated inputs have the largest sizes, so both count the same work.
    assert_true(cost_of(counted, "multiply_adds") ==
                cost_of(measured, "multiply_adds"));
    // Both count the instructions of the file; only a run has kernel calls.
    assert_true(number_at(counted, "instructions") ==
                number_at(measured, "instructions"));
    assert_null(json_object_get(counted, "kernel_calls"));
    assert_true(number_at(measured, "kernel_calls") > 0);
  }
  // Three layers of six heads; each query reads 64 keys and values of size 16.
  const double each = 3 * 6 * 64 * (16 + 16);
  assert_true(attention_of(method_of(root, "decode")) == each);
  assert_true(attention_of(method_of(root, "prefill")) == 32 * each);
  assert_true(attention_of(method_of(run, "decode")) == each);
  json_decref(root);
  json_decref(run);
}

// One of two branches runs, so there are fewer kernel calls than instructions,
// which are counted as in etx inspect.
static void instructions_are_not_calls(void** state) {
  (void)state;
  json_t* const file = bench_json(WORDS(ETX, "inspect", branches, "--json"));
  json_t* const run =
      bench_json(WORDS(ETX, "bench", branches, "--json", "--seconds", "0.01"));
  json_t* const counted =
      bench_json(WORDS(ETX, "bench", branches, "--json", "--static"));
  const double instructions =
      number_at(method_of(file, "deep"), "instructions");
  assert_true(number_at(method_of(run, "deep"), "instructions") ==
              instructions);
  assert_true(number_at(method_of(counted, "deep"), "instructions") ==
              instructions);
  check_operators(method_of(run, "deep"));
  assert_true(number_at(method_of(run, "deep"), "kernel_calls") < instructions);
  json_decref(file);
  json_decref(run);
  json_decref(counted);
}

static void static_figures_have_no_inputs(void** state) {
  (void)state;
  static const char* const options[][2] = {
      {"--in", "n=1"}, {"--dim", "s=3"}, {"--case", SETS "kv"}};
  for (size_t i = 0; i < 3; ++i) {
    command_expect_err(2,
                       WORDS(ETX, "bench", pairs, "--static", "--method",
                             "both", options[i][0], options[i][1]),
                       "--static counts at the largest sizes");
  }
}

// The counter refuses to count past its end, so --restore restores its state.
static void recorded_calls_precede_the_method(void** state) {
  (void)state;
  command_expect_out(0,
                     WORDS(ETX, "bench", kv, "--seconds", "0.02", "--case",
                           SETS "kv", "--method", "read_cache"),
                     "read_cache: ");
  command_expect_out(0,
                     WORDS(ETX, "bench", counter, "--seconds", "0.02",
                           "--restore", "--method", "tick"),
                     "tick: ");
}

// The second word names the method, as for etx run.
static void a_method_is_measured_alone(void** state) {
  (void)state;
  json_t* const root = bench_json(
      WORDS(ETX, "bench", kv, "read_cache", "--json", "--seconds", "0.01"));
  assert_int_equal(json_array_size(json_object_get(root, "methods")), 1);
  assert_non_null(method_of(root, "read_cache"));
  json_decref(root);
}

static void two_programs_are_measured_in_turns(void** state) {
  (void)state;
  json_t* const list =
      bench_json(WORDS(ETX, "bench", "--compare", kv, kv, "--json", "--seconds",
                       "0.01", "--method", "set_cache"));
  const json_t* const pair = json_array_get(list, 0);
  assert_int_equal(json_array_size(list), 1);
  assert_true(number_at(pair, "rounds") >= 15);
  assert_true(number_at(pair, "ratio") > 0);
  assert_true(number_at(pair, "lower_quartile") <= number_at(pair, "ratio"));
  assert_true(number_at(pair, "ratio") <= number_at(pair, "upper_quartile"));
  json_decref(list);
  command_expect_out(0,
                     WORDS(ETX, "bench", "--compare", kv, kv, "--seconds",
                           "0.01", "--method", "set_cache"),
                     "set_cache: ratio ");
}

// Reading the clock takes about as long as one call of `get`, so many calls are
// timed together. Their number depends on the machine, so the bounds are wide.
static void short_calls_are_timed_together(void** state) {
  (void)state;
  assert_int_equal(etx_bench_run_group_size(1e-3), 1);
  assert_int_equal(etx_bench_run_group_size(2e-6), 1);
  assert_in_range(etx_bench_run_group_size(1e-6), 8, 12);
  assert_in_range(etx_bench_run_group_size(1e-8), 500, 1100);
  assert_in_range(etx_bench_run_group_size(0), 5000, 20000);
  json_t* const list =
      bench_json(WORDS(ETX, "bench", "--compare", swap, swap, "--json",
                       "--seconds", "0.01", "--method", "get"));
  const json_t* const pair = json_array_get(list, 0);
  static const char* const names[] = {"file", "other"};
  for (size_t i = 0; i < 2; ++i) {
    const json_t* const times = json_object_get(pair, names[i]);
    assert_true(number_at(times, "calls") > 5000);
    assert_true(number_at(times, "calls") * number_at(times, "median") > 1e-3);
  }
  json_decref(list);
}

// The counter reaches its end within a group of calls; its state is restored.
static void a_refused_call_is_restored_and_repeated(void** state) {
  (void)state;
  command_expect_out(0,
                     WORDS(ETX, "bench", "--compare", counter, counter,
                           "--seconds", "0.01", "--method", "tick"),
                     "tick: ratio ");
}

#define PAIRS(...)                                                    \
  WORDS(ETX, "bench", pairs, "--method", "both", "--seconds", "0.01", \
        __VA_ARGS__)

static void dim_options_set_sizes(void** state) {
  (void)state;
  command_expect_out(0, PAIRS("--dim", "s=3"),
                     "x float32[3, 3], y float32[7], n");
  command_expect_out(0, PAIRS("--dim", "y[0]=9"),
                     "x float32[4, 3], y float32[9], n");
  command_expect_out(0,
                     PAIRS("--dim", "y[0]=5", "--dim", "s=2", "--dim", "x[1]=3",
                           "--in", "x=[[1, 2, 3], [4, 5, 6]]"),
                     "x float32[2, 3], y float32[5], n");
}

static void impossible_sizes_are_refused(void** state) {
  (void)state;
  static const char* const bad[][2] = {
      {"s=3x", "'--dim s=3x' is not of the form SYMBOL=SIZE"},
      {"s=3.7", "not of the form"},
      {"s=", "not of the form"},
      {"s= 3", "not of the form"},
      {"s", "not of the form"},
      {"x[0]=3x", "not of the form"},
      {"x[0x]=3", "not of the form"},
      {"x[]=3", "not of the form"},
      {"x[0]3", "not of the form"},
      {"s=9", "'--dim s=9' is impossible: s is from 1 to 8"},
      {"s=0", "is impossible"},
      {"y[0]=6", "the dimension is 2*s+1, and s is from 1 to 8"},
      {"y[0]=1", "is impossible"},
      {"y[0]=9223372036854775807", "is impossible"},
      {"y[0]=99999999999999999999", "not of the form"},
      {"x[1]=4", "names no dynamic dimension of method 'both'"},
      {"x[2]=4", "names no dynamic dimension of method 'both'"},
      {"n[0]=4", "names no dynamic dimension of method 'both'"},
      {"t=4", "names no dynamic dimension of method 'both'"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
    command_expect_err(2, PAIRS("--dim", bad[i][0]), bad[i][1]);
  }
}

static void contradicting_sizes_are_refused(void** state) {
  (void)state;
  command_expect_err(2, PAIRS("--dim", "x[0]=3", "--dim", "x[0]=4"),
                     "'--dim x[0]=4' contradicts '--dim x[0]=3'");
  command_expect_err(2, PAIRS("--dim", "s=3", "--dim", "y[0]=5"),
                     "both give 's' of method 'both'");
  command_expect_err(
      2, PAIRS("--dim", "s=3", "--in", "x=[[1, 2, 3], [4, 5, 6]]"),
      "'--dim s=3' contradicts input 'x', whose dimension 0 is 2");
  command_expect_err(2, PAIRS("--dim", "s=3", "--in", "n=4"),
                     "'--dim s=3' contradicts input 'n', which is 4");
  command_expect_err(2,
                     WORDS(ETX, "bench", kv, "--method", "set_cache", "--case",
                           SETS "kv", "--dim", "s98=9"),
                     "contradicts input 'data'");
}

static void invalid_input_options_are_refused(void** state) {
  (void)state;
  command_expect_err(2, PAIRS("--in", "z=1"), "has no input 'z'");
  command_expect_err(2, PAIRS("--in", "n"), "not of the form NAME=VALUE");
  command_expect_err(2, PAIRS("--in", "n=1", "--in", "n=1"),
                     "input 'n' is given twice");
  command_expect_err(2, PAIRS("--in", "n=few"), "expects an integer");
}

#define ROWS(...) \
  WORDS(ETX, "bench", "--seconds", "0.01", "--compare", __VA_ARGS__)

// The same method for at most 8 rows, for 4 of them, and of another type.
static void only_equal_calls_are_compared(void** state) {
  (void)state;
  static const char rows_text[] =
      "etx: 1\n"
      "method: both\n"
      "dims: {b: {min: 1, max: 8}}\n"
      "inputs: [{name: rows, type: \"%s\"}]\n"
      "nodes: [{out: a, op: aten.neg.default, args: [rows]}]\n"
      "outputs: [a]\n";
  static const char* const types[] = {"float32[b, 3]", "float32[4, 3]",
                                      "int32[4, 3]"};
  char text[sizeof rows_text + 32], name[16], files[3][PATH_BYTES];
  for (size_t i = 0; i < 3; ++i) {
    snprintf(text, sizeof text, rows_text, types[i]);
    snprintf(name, sizeof name, "rows%zu", i);
    plan_method(name, text, files[i]);
  }
  command_expect_err(2, ROWS(files[0], files[1]),
                     "method 'both' is not the same call in both programs: "
                     "input 'rows' is float32[8, 3] in the first one, 'rows' "
                     "is float32[4, 3] in the second one");
  command_expect_err(2, ROWS(files[1], files[2]), "is int32[4, 3]");
  command_expect_err(2, ROWS(files[1], pairs),
                     "the number of inputs is 1 in the first one, 3 in");
  command_expect_out(
      0, ROWS(files[0], files[1], "--method", "both", "--dim", "rows[0]=4"),
      "both: ratio ");
  command_expect_err(
      2, ROWS(files[0], files[1], "--method", "both", "--dim", "rows[0]=5"),
      "names no dynamic dimension of method 'both'");
}

// The hint appears only if there are generated inputs.
static void a_refusal_names_generated_inputs(void** state) {
  (void)state;
  command_expect_err(5,
                     WORDS(ETX, "bench", llama, "--method", "decode", "--in",
                           "token=[[99999]]"),
                     "generated inputs: 'pos'; give valid ones");
  command_result result =
      command_run(WORDS(ETX, "bench", llama, "--method", "decode", "--in",
                        "token=[[99999]]", "--in", "pos=[0]"));
  assert_int_equal(result.code, 5);
  assert_non_null(strstr(result.err, "index 99999"));
  assert_null(strstr(result.err, "generated"));
  command_end(&result);
}

static void invalid_command_lines_are_refused(void** state) {
  (void)state;
  command_expect_err(
      2, WORDS(ETX, "bench", "--compare", kv),
      "--compare and the second program, OTHER, belong together");
  command_expect_err(
      2, WORDS(ETX, "bench", kv, llama),
      "--compare and the second program, OTHER, belong together");
  command_expect_err(2, WORDS(ETX, "bench", "--compare", kv, llama),
                     "no method in common");
  command_expect_err(2, WORDS(ETX, "bench", kv, "--in", "x=1"), "give METHOD");
  command_expect_err(
      2, WORDS(ETX, "bench", kv, "get_cache", "--method", "set_cache"),
      "the method is given twice: 'get_cache' and --method 'set_cache'");
  command_expect_err(2, WORDS(ETX, "bench", kv, "nothing"), "nothing");
  command_expect_err(2, WORDS(ETX, "bench", kv, "--method", "nothing"),
                     "nothing");
  command_expect_err(
      2, WORDS(ETX, "bench", kv, "--case", SETS "kv", "--method", "nothing"),
      "nothing");
}

static etx_operator_cost cost_of_call(const char* name,
                                      const etx_operator_cost_tensor* tensors,
                                      size_t count) {
  const etx_text text = {name, strlen(name)};
  etx_operator_cost_call call = {.op = etx_op_find(text, (etx_text){NULL, 0})};
  assert_non_null(call.op);
  for (size_t i = 0; i < count; ++i)
    etx_operator_cost_call_add(&call, &tensors[i]);
  return etx_operator_cost_of(&call);
}

#define TENSOR(argument, is_written, is_constant, place, ...)                  \
  {                                                                            \
    argument, (const int32_t[]){__VA_ARGS__},                                  \
        sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t), ETX_DTYPE_FLOAT32, \
        is_written, is_constant, place                                         \
  }

static void costs_match_the_sizes_of_arguments(void** state) {
  (void)state;
  const etx_operator_cost_tensor linear[] = {
      TENSOR(0, false, false, 1, 3, 8), TENSOR(1, false, true, 2, 5, 8),
      TENSOR(2, false, true, 3, 5), TENSOR(3, true, false, 4, 3, 5)};
  etx_operator_cost cost = cost_of_call("aten::linear.out", linear, 4);
  assert_int_equal(cost.multiply_adds, 3 * 5 * 8);
  assert_int_equal(cost.bytes, 4 * (24 + 40 + 5 + 15));
  assert_int_equal(cost.constant_bytes, 4 * 45);
  const etx_operator_cost_tensor addmm[] = {
      TENSOR(0, false, false, 1, 5), TENSOR(1, false, false, 2, 3, 8),
      TENSOR(2, false, false, 3, 8, 5), TENSOR(5, true, false, 4, 3, 5)};
  assert_int_equal(cost_of_call("aten::addmm.out", addmm, 4).multiply_adds,
                   3 * 5 * 8);
  // A layer that stores no results does the same work.
  const etx_operator_cost_tensor argmax[] = {
      TENSOR(0, false, false, 1, 3, 8), TENSOR(1, false, true, 2, 1, 2, 16, 4),
      TENSOR(2, false, true, 3, 5), TENSOR(3, false, true, 4, 5),
      TENSOR(6, true, false, 5, 3)};
  static const char name[] = "etx::linear_a8w8_panels_argmax.out";
  assert_int_equal(cost_of_call(name, argmax, 5).multiply_adds, 3 * 5 * 8);
  // Dynamic quantisation multiplies bytes, weight-only quantisation floats.
  assert_int_equal(cost_of_call(name, argmax, 5).byte_multiply_adds, 3 * 5 * 8);
  assert_int_equal(
      cost_of_call("etx::linear_a8w4g.out", linear, 4).byte_multiply_adds,
      3 * 5 * 8);
  assert_int_equal(
      cost_of_call("etx::linear_w8.out", linear, 4).byte_multiply_adds, 0);
  assert_int_equal(cost.byte_multiply_adds, 0);
  const etx_operator_cost_tensor convolution[] = {
      TENSOR(0, false, false, 1, 1, 4, 8, 8),
      TENSOR(1, false, true, 2, 6, 2, 3, 3),
      TENSOR(9, true, false, 3, 1, 6, 8, 8)};
  assert_int_equal(
      cost_of_call("aten::convolution.out", convolution, 3).multiply_adds,
      6 * 8 * 8 * 2 * 9);
  // Keys and values of [positions, heads, elements], queries of two heads.
  const etx_operator_cost_tensor attention[] = {
      TENSOR(0, false, false, 1, 1, 2, 4, 8),
      TENSOR(1, false, false, 2, 1, 9, 2, 8),
      TENSOR(2, false, false, 3, 1, 9, 2, 16),
      TENSOR(13, true, false, 4, 1, 2, 4, 16)};
  etx_operator_cost_call ordered = {
      .op =
          etx_op_find(etx_text_of("etx::attention.out"), (etx_text){NULL, 0})};
  for (size_t i = 0; i < 4; ++i)
    etx_operator_cost_call_add(&ordered, &attention[i]);
  etx_operator_cost_call_add_order(&ordered, 5, 2);  // of the query
  etx_operator_cost_call_add_order(&ordered, 6, 1);  // of the keys
  assert_int_equal(etx_operator_cost_of(&ordered).multiply_adds,
                   2 * 4 * 9 * (8 + 16));
  // Only the gathered rows of an embedding table are counted.
  const etx_operator_cost_tensor embedding[] = {
      TENSOR(0, false, true, 1, 1000, 16), TENSOR(1, false, false, 2, 2),
      TENSOR(5, true, false, 3, 2, 16)};
  cost = cost_of_call("aten::embedding.out", embedding, 3);
  assert_int_equal(cost.bytes, 4 * (32 + 2 + 32));
  assert_int_equal(cost.constant_bytes, 4 * 32);
  // The same for a quantised table; all of its scales are counted.
  const etx_operator_cost_tensor words[] = {
      TENSOR(0, false, true, 1, 1000, 16), TENSOR(1, false, true, 2, 1000),
      TENSOR(5, false, false, 3, 2), TENSOR(6, true, false, 4, 2, 16)};
  cost = cost_of_call("quantized_decomposed::embedding_byte.out", words, 4);
  assert_int_equal(cost.bytes, 4 * (32 + 1000 + 2 + 32));
  // Memory of an in-place operator is counted once.
  const etx_operator_cost_tensor add[] = {TENSOR(0, false, false, 1, 8),
                                          TENSOR(1, false, false, 2, 8),
                                          TENSOR(3, true, false, 1, 8)};
  assert_int_equal(cost_of_call("aten::add.out", add, 3).bytes, 4 * 16);
  // sym_size reads no element.
  const etx_operator_cost_tensor size[] = {TENSOR(0, false, false, 1, 64, 16)};
  assert_int_equal(cost_of_call("aten::sym_size.int", size, 1).bytes, 0);
  // Only the new rows of an updated large state are counted.
  const etx_operator_cost_tensor put[] = {TENSOR(0, false, false, 1, 64, 16),
                                          TENSOR(2, false, false, 2, 1, 16),
                                          TENSOR(4, true, false, 1, 64, 16)};
  assert_int_equal(cost_of_call("aten::index_put.out", put, 3).bytes,
                   2 * 4 * 16);
}

static void int8_multiply_adds_are_counted_separately(void** state) {
  (void)state;
  // Two groups; windows of 9 elements, 8 input channels each. [N, H, W, C].
  const etx_operator_cost_tensor convolution[] = {
      TENSOR(0, false, false, 1, 1, 5, 6, 16),
      TENSOR(2, false, true, 2, 4, 18, 16, 4), TENSOR(3, false, true, 3, 38),
      TENSOR(15, true, false, 4, 1, 5, 6, 38)};
  etx_operator_cost cost =
      cost_of_call("etx::convolution_u8.out", convolution, 4);
  assert_int_equal(cost.multiply_adds, 5 * 6 * 38 * 9 * 8);
  assert_int_equal(cost.byte_multiply_adds, cost.multiply_adds);
  const etx_operator_cost_tensor depthwise[] = {
      TENSOR(0, false, false, 1, 1, 5, 6, 16),
      TENSOR(2, false, true, 2, 3, 4, 16),
      TENSOR(13, true, false, 3, 1, 5, 6, 16)};
  cost = cost_of_call("etx::depthwise_u8.out", depthwise, 3);
  assert_int_equal(cost.multiply_adds, 5 * 6 * 16 * 3 * 4);
  assert_int_equal(cost.byte_multiply_adds, cost.multiply_adds);
  const etx_operator_cost_tensor linear[] = {
      TENSOR(0, false, false, 1, 3, 13), TENSOR(1, false, true, 2, 2, 4, 16, 4),
      TENSOR(2, false, true, 3, 20), TENSOR(9, true, false, 4, 3, 20)};
  cost = cost_of_call("etx::linear_u8.out", linear, 4);
  assert_int_equal(cost.multiply_adds, 3 * 20 * 13);
  assert_int_equal(cost.byte_multiply_adds, cost.multiply_adds);
  assert_int_equal(
      cost_of_call("etx::max_pool2d_u8.out", depthwise, 3).multiply_adds, 0);
}

static const char* kind_of(const char* name) {
  const etx_op* op =
      etx_op_find((etx_text){name, strlen(name)}, (etx_text){NULL, 0});
  assert_non_null(op);
  return etx_operator_cost_kind(op);
}

static void operators_have_kinds(void** state) {
  (void)state;
  assert_string_equal(kind_of("etx::attention.out"), "attention");
  assert_string_equal(kind_of("llama::custom_sdpa.out"), "attention");
  assert_string_equal(kind_of("etx::linear_a8w8_panels_argmax.out"), "product");
  assert_string_equal(kind_of("aten::argmax.out"), "reduction");
  assert_string_equal(kind_of("aten::add.out"), "elementwise");
  assert_string_equal(kind_of("etx::convolution_u8.out"), "convolution");
  assert_string_equal(kind_of("etx::depthwise_u8.out"), "convolution");
  assert_string_equal(kind_of("etx::linear_u8.out"), "product");
  assert_string_equal(kind_of("etx::max_pool2d_u8.out"), "pooling");
  assert_string_equal(kind_of("etx::mean_u8.out"), "pooling");
  assert_string_equal(kind_of("etx::chain_u8.out"), "elementwise");
  assert_string_equal(kind_of("aten::sym_size.int"), "sizes");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_method_is_measured),
      cmocka_unit_test(threads_and_sizes_are_options),
      cmocka_unit_test(calls_with_the_same_inputs_compute_no_sizes),
      cmocka_unit_test(static_figures_need_no_run),
      cmocka_unit_test(instructions_are_not_calls),
      cmocka_unit_test(static_figures_have_no_inputs),
      cmocka_unit_test(recorded_calls_precede_the_method),
      cmocka_unit_test(a_method_is_measured_alone),
      cmocka_unit_test(two_programs_are_measured_in_turns),
      cmocka_unit_test(short_calls_are_timed_together),
      cmocka_unit_test(a_refused_call_is_restored_and_repeated),
      cmocka_unit_test(dim_options_set_sizes),
      cmocka_unit_test(impossible_sizes_are_refused),
      cmocka_unit_test(contradicting_sizes_are_refused),
      cmocka_unit_test(invalid_input_options_are_refused),
      cmocka_unit_test(only_equal_calls_are_compared),
      cmocka_unit_test(a_refusal_names_generated_inputs),
      cmocka_unit_test(invalid_command_lines_are_refused),
      cmocka_unit_test(costs_match_the_sizes_of_arguments),
      cmocka_unit_test(int8_multiply_adds_are_counted_separately),
      cmocka_unit_test(operators_have_kinds),
  };
  return cmocka_run_group_tests_name("bench_command", tests, plan_all,
                                     command_tear_down);
}
