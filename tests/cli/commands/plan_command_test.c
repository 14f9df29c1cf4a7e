// etx plan and etx check with valid and invalid input: their output, exit codes
// and files.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define KV ETX_TEST_DATA "/pt2/kv"

enum { PATH_BYTES = 256 };

static char methods[PATH_BYTES];
static char program[PATH_BYTES];

static int make_directory(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(methods, sizeof methods, "%s/methods", command_directory);
  snprintf(program, sizeof program, "%s/model.pte", command_directory);
  return mkdir(methods, 0777);
}

static void write_method(const char* name, const char* text) {
  char path[PATH_BYTES + 64];
  snprintf(path, sizeof path, "%s/%s", methods, name);
  command_write_file(path, text);
}

static int file_exists(const char* path) { return access(path, F_OK) == 0; }

// The number of files beside the methods: the program and temporary files.
static int count_outputs(void) {
  DIR* const list = opendir(command_directory);
  int count = 0;
  assert_non_null(list);
  while (readdir(list) != NULL) ++count;
  closedir(list);
  return count - 3;  // ".", "..", "methods"
}

static const char good_method[] =
    "etx: 1\n"
    "method: add\n"
    "dims: {n: {min: 1, max: 8}}\n"
    "inputs:\n"
    "  - {name: x, type: \"float32[n]\"}\n"
    "buffers:\n"
    "  - {name: total, type: \"float32[1]\", init: 0}\n"
    "nodes:\n"
    "  - {out: sum, op: aten.sum.dim_IntList, args: [x, [0], true]}\n"
    "  - {out: more, op: aten.add.Tensor, args: [total, sum]}\n"
    "outputs: [more]\n"
    "mutates: {total: more}\n";

static void start_over(void** state) {
  (void)state;
  DIR* const list = opendir(methods);
  struct dirent* entry = NULL;
  while ((entry = readdir(list)) != NULL) {
    char path[PATH_BYTES + 300];
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", methods, entry->d_name);
    unlink(path);
  }
  closedir(list);
  unlink(program);
}

static int before_each(void** state) {
  start_over(state);
  return 0;
}

// Expects that etx plan and etx check end with `code`, that the message of etx
// plan has every part, and that no file is written.
static void expect_refusal(int code, const char* const* parts) {
  command_result result =
      command_run(WORDS(ETX, "plan", methods, "-o", program));
  for (size_t i = 0; parts[i] != NULL; ++i) {
    if (strstr(result.err, parts[i]) == NULL) {
      print_error("expected '%s' in:\n%s", parts[i], result.err);
      fail();
    }
  }
  assert_int_equal(result.code, code);
  assert_int_equal(count_outputs(), 0);
  command_end(&result);
  command_expect(code, WORDS(ETX, "check", methods));
}

static void a_program_is_written_and_reported(void** state) {
  (void)state;
  write_method("add.yaml", good_method);
  command_result result =
      command_run(WORDS(ETX, "plan", methods, "-o", program));
  if (result.code != 0) fail_msg("%s", result.err);
  assert_non_null(strstr(result.out, "arena 1, scratch"));
  assert_non_null(strstr(result.out, "arena 2, state"));
  assert_non_null(strstr(result.out, "add"));
  assert_true(file_exists(program));
  assert_int_equal(count_outputs(), 1);
  command_end(&result);
}

static void the_report_is_printed_as_json_too(void** state) {
  (void)state;
  command_result result =
      command_run(WORDS(ETX, "plan", KV, "-o", program, "--json"));
  assert_int_equal(result.code, 0);
  json_t* const root = json_loads(result.out, JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(root);
  assert_true(json_integer_value(json_object_get(root, "state_bytes")) >= 2048);
  assert_int_equal(json_integer_value(json_object_get(root, "states")), 2);
  assert_true(json_array_size(json_object_get(root, "methods")) >= 5);
  assert_int_equal(json_array_size(json_object_get(root, "problems")), 0);
  json_decref(root);
  command_end(&result);
}

// Two branches of a wide value each, written so that both are open at once:
//
//   w, v  [64, 16]: 4096 bytes each    far, near  as large, in place of them
//   a, b  sums of their columns, 64    sum        a + b, in place of a
//   top   [4], a view of sum
static const char two_branches[] =
    "etx: 1\n"
    "method: two\n"
    "inputs:\n"
    "  - {name: x, type: \"float32[16]\"}\n"
    "  - {name: y, type: \"float32[16]\"}\n"
    "nodes:\n"
    "  - {out: w, op: aten.expand.default, args: [x, [64, 16]]}\n"
    "  - {out: v, op: aten.expand.default, args: [y, [64, 16]]}\n"
    "  - {out: far, op: aten.exp.default, args: [w]}\n"
    "  - {out: near, op: aten.sin.default, args: [v]}\n"
    "  - {out: a, op: aten.sum.dim_IntList, args: [far, [0], false]}\n"
    "  - {out: b, op: aten.sum.dim_IntList, args: [near, [0], false]}\n"
    "  - {out: sum, op: aten.add.Tensor, args: [a, b]}\n"
    "  - {out: top, op: aten.slice.Tensor, args: [sum, 0, 0, 4]}\n"
    "outputs: [top]\n";

static long long number_at(const json_t* object, const char* key) {
  const json_t* const value = json_object_get(object, key);
  assert_non_null(value);
  assert_true(json_is_integer(value));
  return json_integer_value(value);
}

// Expects the figures of the only method: scratch, naive plan, and the bytes
// saved by views, in-place updates, sharing and scheduling.
static void expect_savings(const char* passes, const long long* numbers) {
  command_result result = command_run(
      WORDS(ETX, "plan", methods, "-o", program, "--report", "json", passes));
  if (result.code != 0) fail_msg("%s", result.err);
  json_t* const root = json_loads(result.out, JSON_REJECT_DUPLICATES, NULL);
  const json_t* const method =
      json_array_get(json_object_get(root, "methods"), 0);
  const json_t* const saved = json_object_get(method, "saved");
  const json_t* const peak = json_object_get(method, "peak");
  assert_int_equal(number_at(method, "scratch_bytes"), numbers[0]);
  assert_int_equal(number_at(method, "lower_bound"), numbers[0]);
  assert_int_equal(number_at(method, "gap_bytes"), 0);
  assert_true(json_is_true(json_object_get(method, "proved")));
  assert_int_equal(number_at(method, "naive_bytes"), numbers[1]);
  assert_int_equal(number_at(saved, "views"), numbers[2]);
  assert_int_equal(number_at(saved, "in_place"), numbers[3]);
  assert_int_equal(number_at(saved, "sharing"), numbers[4]);
  assert_int_equal(number_at(saved, "order"), numbers[5]);
  assert_int_equal(number_at(peak, "live_bytes"), numbers[0]);
  assert_int_equal(number_at(peak, "padding_bytes"), 0);
  json_decref(root);
  command_end(&result);
}

static void the_report_counts_the_saved_bytes(void** state) {
  (void)state;
  write_method("two.yaml", two_branches);
  // Four values of 4096 bytes, three of 64 and one of 16; far, near and sum are
  // computed in place. In the given order far, near and a are live at the peak;
  // after scheduling near, a and b.
  static const long long as_given[] = {8256, 16592, 16, 8256, 64, 0};
  static const long long in_order[] = {4224, 16592, 16, 8256, 4096, 4032};
  expect_savings("--passes=-schedule_nodes", as_given);
  expect_savings("--passes=-simplify", in_order);
}

static void the_full_report_lists_live_values(void** state) {
  (void)state;
  write_method("two.yaml", two_branches);
  command_result result = command_run(
      WORDS(ETX, "plan", methods, "-o", program, "--report", "full"));
  if (result.code != 0) fail_msg("%s", result.err);
  assert_non_null(
      strstr(result.out, "lower bound: the largest number of live bytes"));
  assert_non_null(strstr(result.out, "Each plan is proved to be the smallest"));
  assert_non_null(strstr(result.out, "proved to be the smallest, after "));
  assert_non_null(strstr(result.out, "saved by in-place updates"));
  assert_non_null(
      strstr(result.out, "near, aten::sin; without it the peak is "));
  command_end(&result);
}

static json_t* json_of(const char* const* words) {
  command_result result = command_run(words);
  if (result.code != 0) fail_msg("%s", result.err);
  json_t* const root = json_loads(result.out, JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(root);
  command_end(&result);
  return root;
}

// The method of a report by its name.
static const json_t* method_of(const json_t* report, const char* name) {
  size_t i = 0;
  const json_t* method = NULL;
  json_array_foreach(json_object_get(report, "methods"), i, method) {
    const json_t* const text = json_object_get(method, "name");
    if (strcmp(json_string_value(text), name) == 0) return method;
  }
  fail_msg("no method %s", name);
  return NULL;
}

static long long number_of(const json_t* object, const char* name) {
  return json_integer_value(json_object_get(object, name));
}

// Kernels that `etx bench` counts while the method runs, against those that the
// report says the model asks for. They read as many bytes as they write.
static void the_report_counts_slices_and_permutes(void** state) {
  (void)state;
  long long calls = 0;
  long long bytes = 0;
  json_t* const plan = json_of(
      WORDS(ETX, "plan", ETX_TEST_DATA "/pt2/llama", "-o", program, "--json"));
  json_t* const bench = json_of(
      WORDS(ETX, "bench", program, "prefill", "--seconds", "0", "--json"));
  size_t i = 0;
  const json_t* kernel = NULL;
  json_array_foreach(json_object_get(method_of(bench, "prefill"), "operators"),
                     i, kernel) {
    const char* const name = json_string_value(json_object_get(kernel, "name"));
    if (strcmp(name, "aten::slice_copy") != 0 &&
        strcmp(name, "aten::permute_copy") != 0) {
      continue;
    }
    calls += number_of(kernel, "calls");
    bytes += number_of(json_object_get(kernel, "cost"), "bytes");
  }
  assert_true(calls > 0);
  const json_t* const method = method_of(plan, "prefill");
  assert_int_equal(number_of(method, "parts"), calls);
  assert_int_equal(2 * number_of(method, "part_bytes"), bytes);
  assert_int_equal(number_of(method, "copied_bytes"), 0);
  json_decref(bench);
  json_decref(plan);
}

static void malformed_yaml_is_refused_with_its_line(void** state) {
  (void)state;
  write_method("add.yaml", "etx: 1\nmethod: add\ninputs: [{name: x\n");
  expect_refusal(2, WORDS("add.yaml:"));
  write_method("add.yaml", "etx: 1\nmethod: add\nnonsense: 3\n");
  expect_refusal(2, WORDS("add.yaml:3:", "nonsense"));
}

static void an_unknown_operator_is_refused_with_its_line(void** state) {
  (void)state;
  write_method("add.yaml",
               "etx: 1\nmethod: add\ninputs:\n"
               "  - {name: x, type: \"float32[2]\"}\n"
               "nodes:\n"
               "  - {out: y, op: aten.reluu.default, args: [x]}\n"
               "outputs: [y]\n");
  expect_refusal(2, WORDS("add.yaml:6:", "aten.reluu.default"));
}

static void a_wrong_shape_is_refused(void** state) {
  (void)state;
  write_method("add.yaml",
               "etx: 1\nmethod: add\ninputs:\n"
               "  - {name: x, type: \"float32[2, 3]\"}\n"
               "  - {name: y, type: \"float32[4, 5]\"}\n"
               "nodes:\n"
               "  - {out: z, op: aten.mm.default, args: [x, y]}\n"
               "outputs: [z]\n");
  expect_refusal(2, WORDS("add.yaml:7:"));
}

static void a_missing_weight_is_refused_by_name(void** state) {
  (void)state;
  write_method("add.yaml",
               "etx: 1\nmethod: add\ninputs:\n"
               "  - {name: x, type: \"float32[2]\"}\n"
               "buffers:\n"
               "  - {name: layer.weight, type: \"float32[2]\"}\n"
               "nodes:\n"
               "  - {out: z, op: aten.add.Tensor, args: [x, layer.weight]}\n"
               "outputs: [z]\n");
  expect_refusal(2, WORDS("layer.weight"));
}

static void methods_that_disagree_about_a_buffer_are_refused(void** state) {
  (void)state;
  write_method("add.yaml", good_method);
  write_method("get.yaml",
               "etx: 1\nmethod: get\n"
               "buffers:\n"
               "  - {name: total, type: \"float32[2]\", init: 0}\n"
               "nodes: []\n"
               "outputs: [total]\n");
  expect_refusal(2, WORDS("total"));
}

static void reserved_names_are_refused(void** state) {
  (void)state;
  char text[sizeof good_method + 32];
  snprintf(text, sizeof text, "etx: 1\nmethod: et_module_init\n%s",
           strstr(good_method, "dims:"));
  write_method("et_module_init.yaml", text);
  expect_refusal(2, WORDS("et_module_init"));
}

static void a_directory_without_methods_is_refused(void** state) {
  (void)state;
  expect_refusal(2, WORDS("methods"));
}

// An interrupted writer leaves such a file.
static void an_empty_method_is_refused(void** state) {
  (void)state;
  static const char* const texts[] = {"", "# a method\n", "{}\n"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    write_method("run.yaml", texts[i]);
    expect_refusal(2, WORDS("run.yaml:1:1: the file is empty"));
  }
}

// Some editors on Windows write a byte order mark and CRLF.
static void a_byte_order_mark_is_skipped(void** state) {
  (void)state;
  write_method("run.yaml",
               "\xef\xbb\xbf"
               "etx: 1\r\nmethod: run\r\noutputs: [1]\r\n");
  command_expect(0, WORDS(ETX, "plan", methods, "-o", program));
}

// Inputs are not placed in an arena, but their size is checked too.
static void an_input_larger_than_63_bits_is_refused(void** state) {
  (void)state;
  write_method("run.yaml",
               "etx: 1\n"
               "method: run\n"
               "inputs:\n"
               "  - {name: x, type: 'float32[2147483647, 2147483647]'}\n"
               "outputs: [x]\n");
  expect_refusal(2, WORDS("'x' can have more than 2^63 - 1 bytes"));
}

static void a_failure_without_location_is_in_the_json(void** state) {
  (void)state;
  command_result result =
      command_run(WORDS(ETX, "check", "/nowhere/at/all", "--json"));
  json_t* const list = json_loads(result.out, 0, NULL);
  const json_t* const problem = json_array_get(list, 0);
  assert_int_equal(result.code, 2);
  assert_string_equal(json_string_value(json_object_get(problem, "file")),
                      "/nowhere/at/all");
  assert_non_null(strstr(json_string_value(json_object_get(problem, "message")),
                         "cannot be opened"));
  json_decref(list);
  command_end(&result);
  result = command_run(WORDS(ETX, "plan", "/nowhere", "-o", program, "--json"));
  json_t* const root = json_loads(result.out, 0, NULL);
  assert_int_equal(json_array_size(json_object_get(root, "problems")), 1);
  json_decref(root);
  command_end(&result);
}

static void an_input_that_is_not_there_is_refused(void** state) {
  (void)state;
  command_expect(2, WORDS(ETX, "plan", "/nowhere/at/all", "-o", program));
  command_expect(2, WORDS(ETX, "check", "/nowhere/at/all"));
  assert_int_equal(count_outputs(), 0);
}

static void a_truncated_archive_is_refused(void** state) {
  (void)state;
  char path[PATH_BYTES + 64];
  size_t size = 0;
  char* const bytes = command_read_file(KV "/set_cache.pt2", &size);
  snprintf(path, sizeof path, "%s/set_cache.pt2", methods);
  FILE* const file = fopen(path, "wb");
  assert_int_equal(fwrite(bytes, 1, size / 2, file), size / 2);
  fclose(file);
  free(bytes);
  expect_refusal(2, WORDS("set_cache.pt2"));
}

static void all_problems_of_all_methods_are_reported(void** state) {
  (void)state;
  static const char* const names[] = {"a", "b", "c"};
  for (size_t i = 0; i < 3; ++i) {
    char text[512];
    char name[16];
    snprintf(text, sizeof text,
             "etx: 1\nmethod: %s\ninputs:\n"
             "  - {name: x, type: \"float32[2]\"}\nnodes:\n"
             "  - {out: y, op: aten.no_such_op.default, args: [x]}\n"
             "outputs: [y]\n",
             names[i]);
    snprintf(name, sizeof name, "%s.yaml", names[i]);
    write_method(name, text);
  }
  command_result result = command_run(WORDS(ETX, "check", methods));
  assert_int_equal(result.code, 2);
  assert_non_null(strstr(result.err, "a.yaml:6:"));
  assert_non_null(strstr(result.err, "b.yaml:6:"));
  assert_non_null(strstr(result.err, "c.yaml:6:"));
  command_end(&result);
  result = command_run(WORDS(ETX, "check", methods, "--json"));
  json_t* const list = json_loads(result.out, 0, NULL);
  assert_true(json_array_size(list) >= 3);
  assert_non_null(strstr(result.err, "c.yaml:6:"));
  json_decref(list);
  command_end(&result);
  result = command_run(WORDS(ETX, "plan", methods, "-o", program, "--json"));
  assert_int_equal(result.code, 2);
  assert_non_null(strstr(result.out, "aten.no_such_op.default"));
  assert_non_null(strstr(result.err, "c.yaml:6:"));
  command_end(&result);
}

// Unknown operators are found when the file is read, operators without a
// lowering by a pass. Both are reported at once, for all methods.
static void all_unsupported_operators_are_reported(void** state) {
  (void)state;
  static const char head[] =
      "inputs: [{name: x, type: \"float32[2]\"}]\nnodes:\n";
  static const char line[] = "  - {out: %s, op: aten.%s, args: [x]}\n";
  char text[512];
  size_t size = (size_t)snprintf(text, sizeof text, head);
  size += (size_t)snprintf(text + size, sizeof text - size, line, "y",
                           "ormqr.default");
  size += (size_t)snprintf(text + size, sizeof text - size, line, "z",
                           "relu_.default");
  size += (size_t)snprintf(text + size, sizeof text - size, line, "v",
                           "bernoulli.default");
  snprintf(text + size, sizeof text - size, "outputs: [y, z]\n");
  write_method("first.yaml", text);
  size = (size_t)snprintf(text, sizeof text, head);
  size += (size_t)snprintf(text + size, sizeof text - size, line, "y",
                           "bernoulli.default");
  snprintf(text + size, sizeof text - size, "outputs: [y]\n");
  write_method("second.yaml", text);
  command_result result =
      command_run(WORDS(ETX, "plan", methods, "-o", program));
  assert_int_equal(result.code, 2);
  assert_non_null(strstr(result.err,
                         "operator 'aten.ormqr.default' is not "
                         "supported\n"));
  assert_non_null(strstr(result.err,
                         "operator 'aten.relu_.default' is not supported; the "
                         "nearest supported form is 'aten.relu.default'\n"));
  assert_non_null(strstr(result.err, "first.yaml:5:"));
  assert_non_null(strstr(result.err, "second.yaml:3:"));
  command_end(&result);
}

static void a_full_disk_leaves_no_file(void** state) {
  (void)state;
  command_result result =
      command_run_with(WORDS(ETX, "plan", KV, "-o", program), NULL, 2000);
  assert_int_equal(result.code, 1);
  assert_non_null(strstr(result.err, program));
  assert_int_equal(count_outputs(), 0);
  command_end(&result);
}

static void a_failed_plan_leaves_the_old_program(void** state) {
  (void)state;
  command_write_file(program, "the old program");
  write_method("add.yaml", "etx: 2\n");
  command_expect(2, WORDS(ETX, "plan", methods, "-o", program));
  command_result result =
      command_run_with(WORDS(ETX, "plan", KV, "-o", program), NULL, 2000);
  assert_int_equal(result.code, 1);
  command_end(&result);
  size_t size = 0;
  char* const text = command_read_file(program, &size);
  assert_string_equal(text, "the old program");
  free(text);
  assert_int_equal(count_outputs(), 1);
}

static void an_unwritable_output_is_refused(void** state) {
  (void)state;
  command_expect(2, WORDS(ETX, "plan", KV, "-o", "/nowhere/at/all/x.pte"));
  command_expect(2, WORDS(ETX, "plan", KV, "-o", command_directory));
  command_expect(2, WORDS(ETX, "plan", "/nowhere", "-o", program));
  command_expect(
      2, WORDS(ETX, "plan", KV, "-o", program, "--header", "/nowhere/x.h"));
  command_expect(2, WORDS(ETX, "dump", KV, "-o", "/nowhere/at/all"));
  assert_int_equal(count_outputs(), 0);
}

static void the_header_states_what_the_runtime_needs(void** state) {
  (void)state;
  char header[PATH_BYTES + 16];
  snprintf(header, sizeof header, "%s/kv_memory.h", command_directory);
  command_expect(0, WORDS(ETX, "plan", KV, "-o", program, "--header", header));
  char* const text = command_read_file(header, NULL);
  assert_non_null(strstr(text, "#define KV_MEMORY_SET_CACHE_SCRATCH_BYTES "));
  assert_non_null(strstr(text, "#define KV_MEMORY_SESSION_BYTES "));
  assert_non_null(strstr(text, "#define KV_MEMORY_THREAD_STACK_BYTES 49152\n"));
  free(text);
  unlink(header);
}

static void colliding_macro_names_are_refused(void** state) {
  (void)state;
  char header[PATH_BYTES + 16];
  snprintf(header, sizeof header, "%s/two.h", command_directory);
  write_method("a-b.yaml", "etx: 1\nmethod: a-b\n");
  write_method("A_b.yaml", "etx: 1\nmethod: A_b\n");
  command_expect_err(
      2, WORDS(ETX, "plan", methods, "-o", program, "--header", header),
      "methods 'A_b' and 'a-b' have the same macro names in the header");
  assert_int_equal(count_outputs(), 0);
  assert_int_equal(access(header, F_OK), -1);
}

static void an_old_layout_of_state_is_kept(void** state) {
  (void)state;
  char keep[PATH_BYTES + 16];
  char again[PATH_BYTES + 16];
  snprintf(keep, sizeof keep, "keep:%s", program);
  snprintf(again, sizeof again, "%s/again.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", KV, "-o", program));
  command_expect(0,
                 WORDS(ETX, "plan", KV, "-o", again, "--state-layout", keep));
  command_expect(0, WORDS(ETX, "run", again, "--case", KV));
  command_expect(2, WORDS(ETX, "plan", KV, "-o", again, "--state-layout",
                          "keep:/nowhere.pte"));
  command_expect_err(2,
                     WORDS(ETX, "plan", KV, "-o", again, "--state-layout",
                           "keep:" KV "/set_cache.pt2"),
                     "it is not a program file");
  command_expect(
      2, WORDS(ETX, "plan", KV, "-o", again, "--state-layout", "other"));
  unlink(again);
}

static void invalid_option_values_are_refused(void** state) {
  (void)state;
  command_expect(2, WORDS(ETX, "plan", KV, "-o", program, "--passes=-nothing"));
  command_expect(2, WORDS(ETX, "plan", KV, "-o", program, "--passes=-lower"));
  command_expect_err(2,
                     WORDS(ETX, "plan", KV, "-o", program, "--passes=simplify"),
                     "write '-simplify', not 'simplify'");
  command_expect_err(2,
                     WORDS(ETX, "plan", KV, "-o", program,
                           "--passes=-simplify,fold_constants"),
                     "write '-fold_constants'");
  command_expect(2, WORDS(ETX, "plan", KV, "-o", program, "--algorithm", "x"));
  command_expect(2, WORDS(ETX, "plan", KV, "-o", program, "--dump-after", "x"));
  command_expect(2, WORDS(ETX, "plan", KV, "-o", program, "--target", "x"));
  command_expect(2, WORDS(ETX, "plan", KV));
  command_expect(2, WORDS(ETX, "plan"));
  assert_int_equal(count_outputs(), 0);
}

static void former_names_of_passes_are_taken(void** state) {
  (void)state;
  command_expect_err(
      0,
      WORDS(ETX, "plan", KV, "-o", program, "--passes=-simplify,-fuse_chains"),
      "etx plan: pass fuse_chains is now called "
      "fuse_elementwise\n");
  command_expect_err(
      0, WORDS(ETX, "plan", KV, "--dump-after", "place_values"),
      "etx plan: pass place_values is now called assign_storage\n");
  command_result result = command_run(
      WORDS(ETX, "plan", KV, "-o", program, "-q", "--passes=-fuse_chains"));
  assert_int_equal(result.code, 0);
  assert_string_equal(result.err, "");
  command_end(&result);
  command_expect_err(
      2, WORDS(ETX, "plan", KV, "-o", program, "--passes=-fuse_chain"),
      "there is no pass 'fuse_chain', did you mean 'fuse_elementwise'");
  command_expect_err(
      2, WORDS(ETX, "plan", KV, "--dump-after", "simplfy"),
      "option '--dump-after': there is no pass 'simplfy', did you mean "
      "'simplify'");
  unlink(program);
}

static void the_graph_after_a_pass_is_printed(void** state) {
  (void)state;
  command_result result =
      command_run(WORDS(ETX, "plan", KV, "--dump-after", "lower"));
  assert_int_equal(result.code, 0);
  assert_non_null(strstr(result.out, "method: set_cache"));
  assert_int_equal(count_outputs(), 0);
  command_end(&result);
  command_result both = command_run(
      WORDS(ETX, "plan", KV, "-o", program, "--dump-after", "lower"));
  assert_int_equal(both.code, 0);
  assert_non_null(strstr(both.out, "method: set_cache"));
  assert_true(file_exists(program));
  command_end(&both);
}

// The message has the reason of the system.
static void a_failed_write_to_standard_output_is_reported(void** state) {
  (void)state;
  if (!file_exists("/dev/full")) skip();
  command_expect_err(
      1,
      WORDS("/bin/sh", "-c", ETX " plan " KV " --dump-after lower >/dev/full"),
      "cannot write the graph to standard output: No space left on device");
  command_expect_err(1, WORDS("/bin/sh", "-c", ETX " ops >/dev/full"),
                     "etx: standard output could not be written: No space");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup(name, before_each)
  const struct CMUnitTest tests[] = {
      TEST(a_program_is_written_and_reported),
      TEST(the_report_is_printed_as_json_too),
      TEST(the_report_counts_the_saved_bytes),
      TEST(the_full_report_lists_live_values),
      TEST(the_report_counts_slices_and_permutes),
      TEST(malformed_yaml_is_refused_with_its_line),
      TEST(an_unknown_operator_is_refused_with_its_line),
      TEST(a_wrong_shape_is_refused),
      TEST(a_missing_weight_is_refused_by_name),
      TEST(methods_that_disagree_about_a_buffer_are_refused),
      TEST(reserved_names_are_refused),
      TEST(a_directory_without_methods_is_refused),
      TEST(an_empty_method_is_refused),
      TEST(a_byte_order_mark_is_skipped),
      TEST(an_input_larger_than_63_bits_is_refused),
      TEST(a_failure_without_location_is_in_the_json),
      TEST(an_input_that_is_not_there_is_refused),
      TEST(a_truncated_archive_is_refused),
      TEST(all_problems_of_all_methods_are_reported),
      TEST(all_unsupported_operators_are_reported),
      TEST(a_full_disk_leaves_no_file),
      TEST(a_failed_plan_leaves_the_old_program),
      TEST(an_unwritable_output_is_refused),
      TEST(the_header_states_what_the_runtime_needs),
      TEST(colliding_macro_names_are_refused),
      TEST(an_old_layout_of_state_is_kept),
      TEST(invalid_option_values_are_refused),
      TEST(former_names_of_passes_are_taken),
      TEST(the_graph_after_a_pass_is_printed),
      TEST(a_failed_write_to_standard_output_is_reported),
  };
  return cmocka_run_group_tests(tests, make_directory, command_tear_down);
}
