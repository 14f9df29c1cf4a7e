// etx run, inspect, dump, ops, verify and explain: output, errors and exit
// codes.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define KV ETX_TEST_DATA "/pt2/kv"
#define CACHE ETX_BINARY "/stateful_model.pte"

enum { PATH_BYTES = 256 };

static char kv[PATH_BYTES];
static char file[PATH_BYTES];

static int plan_kv(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(kv, sizeof kv, "%s/kv.pte", command_directory);
  snprintf(file, sizeof file, "%s/out.npy", command_directory);
  command_expect(0, WORDS(ETX, "plan", KV, "-o", kv));
  return 0;
}

static void a_state_can_be_written(void** state) {
  (void)state;
  char to_file[PATH_BYTES + 16];
  snprintf(to_file, sizeof to_file, "cache=%s", file);
  command_expect(0, WORDS(ETX, "run", CACHE, "set_cache", "--in",
                          "data=[[1, 2]]", "--out", to_file));
}

#define GET(saved)                                                          \
  WORDS(ETX, "run", CACHE, "get_cache", "--in", "data=[[0, 0]]", "--state", \
        saved)

static void state_goes_from_call_to_call(void** state) {
  (void)state;
  char saved[PATH_BYTES], to_file[PATH_BYTES + 16];
  snprintf(saved, sizeof saved, "%s/session.state", command_directory);
  snprintf(to_file, sizeof to_file, "data=%s/no/folder.npy", command_directory);
  command_expect_out(0, GET(saved), "[[0, 0]]");
  command_expect(0, WORDS(ETX, "run", CACHE, "set_cache", "--in",
                          "data=[[1, 2]]", "--state", saved));
  command_expect_out(0, GET(saved), "[[1, 2]]");
  // What fails leaves the file.
  command_expect(2, WORDS(ETX, "run", CACHE, "set_cache", "--in",
                          "data=[[3, 4]]", "--out", to_file, "--state", saved));
  command_expect_out(0, GET(saved), "[[1, 2]]");
  command_expect_err(
      2,
      WORDS(ETX, "run", kv, "prefill", "--in", "x=[[[0]]]", "--state", saved),
      "another");
  command_expect_out(0, GET(saved), "[[1, 2]]");
  command_expect_err(2, WORDS(ETX, "run", CACHE, "--smoke", "--state", saved),
                     "--state needs METHOD");
}

// For the target executorch these operators are decomposed.
static void infinities_have_the_results_of_pytorch(void** state) {
  (void)state;
  static const char graph[] =
      "etx: 1\n"
      "method: run\n"
      "inputs:\n"
      "  - {name: x, type: 'float32[4, 2]'}\n"
      "  - {name: h, type: 'float16[3]'}\n"
      "nodes:\n"
      "  - {out: y, op: aten.logsumexp.default, args: [x, [1]]}\n"
      "  - {out: z, op: aten.nan_to_num.default, args: [h]}\n"
      "outputs: [y, z]\n";
  static const char* const targets[] = {"etx", "executorch"};
  char methods[PATH_BYTES];
  char path[PATH_BYTES + 16];
  char program[PATH_BYTES];
  snprintf(methods, sizeof methods, "%s/infinities", command_directory);
  snprintf(path, sizeof path, "%s/run.yaml", methods);
  snprintf(program, sizeof program, "%s/infinities.pte", command_directory);
  assert_int_equal(mkdir(methods, 0777), 0);
  command_write_file(path, graph);
  for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
    command_expect(0, WORDS(ETX, "plan", methods, "-o", program, "-q",
                            "--target", targets[i]));
    command_expect_out(
        0,
        WORDS(ETX, "run", program, "run", "--in",
              "x=[[Infinity, 1], [-Infinity, -Infinity], [-Infinity, 1], "
              "[NaN, 1]]",
              "--in", "h=[Infinity, -Infinity, NaN]"),
        "float32[4] = [inf, -inf, 1, nan]");
    command_expect_out(0,
                       WORDS(ETX, "run", program, "run", "--in",
                             "x=[[0, 0], [0, 0], [0, 0], [0, 0]]", "--in",
                             "h=[Infinity, -Infinity, NaN]"),
                       "float16[3] = [65504, -65504, 0]");
  }
}

static void results_are_written_and_read_back(void** state) {
  (void)state;
  char to_npy[PATH_BYTES + 16];
  char from_npy[PATH_BYTES + 16];
  char to_set[PATH_BYTES + 32];
  char from_set[PATH_BYTES + 32];
  snprintf(to_npy, sizeof to_npy, "data=%s", file);
  snprintf(from_npy, sizeof from_npy, "data=%s", file);
  snprintf(to_set, sizeof to_set, "cache=%s/a.safetensors", command_directory);
  snprintf(from_set, sizeof from_set, "data=%s/a.safetensors#cache",
           command_directory);
  command_expect(
      0, WORDS(ETX, "run", CACHE, "set_cache", "--in", "data=[[1, 2], [3, 4]]",
               "--out", to_npy, "--out", to_set));
  command_expect_out(0, WORDS(ETX, "run", CACHE, "get_cache", "--in", from_npy),
                     "data: float32[2, 2] = [[0, 0], [0, 0]]");
  // Results that are written to files are not printed.
  command_result quiet = command_run(
      WORDS(ETX, "run", CACHE, "get_cache", "--in", from_npy, "--out", to_npy));
  assert_int_equal(quiet.code, 0);
  assert_string_equal(quiet.out, "");
  command_end(&quiet);
  // The whole state, read back as an input of the largest size.
  command_expect_out(0, WORDS(ETX, "run", CACHE, "get_cache", "--in", from_set),
                     "data: float32[10, 20] = [[0, 0, 0, ...");
}

static void invalid_inputs_are_refused(void** state) {
  (void)state;
  command_expect_err(2, WORDS(ETX, "run", CACHE, "get_cache"),
                     "data: float32[b, t]");
  command_expect_err(2, WORDS(ETX, "run", CACHE, "get_cache", "--in", "x=1"),
                     "has no input 'x'");
  command_expect_err(2, WORDS(ETX, "run", CACHE, "get_cache", "--in", "data"),
                     "NAME=VALUE");
  command_expect_err(
      2, WORDS(ETX, "run", CACHE, "get_cache", "--in", "data=[[x]]"), "'x'");
  command_expect_err(
      2, WORDS(ETX, "run", CACHE, "get_cache", "--in", "data=no.npy"),
      "cannot open 'no.npy': No such file or directory, in input 'data'");
  command_expect_err(
      2, WORDS(ETX, "run", CACHE, "get_cache", "--in", "data=a.safetensors"),
      "name one with 'a.safetensors#NAME', in input 'data'");
  command_expect_err(2,
                     WORDS(ETX, "run", CACHE, "get_cache", "--in", "data=[[1]]",
                           "--in", "data=[[2]]"),
                     "input 'data' is given twice");
  command_expect_err(2,
                     WORDS(ETX, "run", CACHE, "get_cache", "--data", "no.ptd"),
                     "data file 'no.ptd' cannot be opened");
  command_expect_err(2,
                     WORDS(ETX, "run", CACHE, "get_cache", "--in", "data=[[1]]",
                           "--rtol", "1"),
                     "need --bundled");
  command_expect_err(2, WORDS(ETX, "run", CACHE, "nothing"),
                     "no method 'nothing'; its methods are 'get_cache', "
                     "'set_cache'");
  command_expect_err(2, WORDS(ETX, "run", "/nowhere.pte", "x"), "/nowhere.pte");
  command_expect_err(2, WORDS(ETX, "run", CACHE), "give one of");
}

static void sizes_out_of_bounds_are_refused_at_run_time(void** state) {
  (void)state;
  command_expect_err(
      5,
      WORDS(ETX, "run", CACHE, "get_cache", "--in",
            "data=[[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1]]"),
      "10");
  command_expect_err(
      5, WORDS(ETX, "run", CACHE, "get_cache", "--in", "data=[1]"), "rank");
}

static void outputs_are_printed_as_json(void** state) {
  (void)state;
  command_result result = command_run(
      WORDS(ETX, "run", CACHE, "get_cache", "--in", "data=[[1, 2]]", "--json"));
  json_t* const root = json_loads(result.out, 0, NULL);
  const json_t* const data = json_object_get(root, "data");
  assert_string_equal(json_string_value(json_object_get(data, "type")),
                      "float32");
  assert_int_equal(json_array_size(json_object_get(data, "data")), 2);
  json_decref(root);
  command_end(&result);
}

// JSON has no infinities and no NaN.
static void infinities_and_nan_are_strings_in_json(void** state) {
  (void)state;
  char method[PATH_BYTES];
  char program[PATH_BYTES];
  snprintf(method, sizeof method, "%s/ends.yaml", command_directory);
  snprintf(program, sizeof program, "%s/ends.pte", command_directory);
  command_write_file(method,
                     "etx: 1\nmethod: ends\n"
                     "outputs: {a: .nan, b: -.inf, c: 2.5}\n");
  command_expect(0, WORDS(ETX, "plan", method, "-o", program));
  command_result result =
      command_run(WORDS(ETX, "run", program, "ends", "--json"));
  json_t* const root = json_loads(result.out, 0, NULL);
  assert_string_equal(json_string_value(json_object_get(root, "a")), "nan");
  assert_string_equal(json_string_value(json_object_get(root, "b")), "-inf");
  assert_true(json_real_value(json_object_get(root, "c")) == 2.5);
  json_decref(root);
  command_end(&result);
}

static void a_program_is_described(void** state) {
  (void)state;
  command_expect_out(0, WORDS(ETX, "inspect", CACHE),
                     "in  data: float32[b, t]");
  command_expect_out(0, WORDS(ETX, "inspect", CACHE), "size b: 1 to 10");
  command_expect_out(0, WORDS(ETX, "inspect", CACHE), "cache: float32[10, 20]");
  command_expect_out(0, WORDS(ETX, "inspect", CACHE), "max_length = 20");
  command_expect_out(0, WORDS(ETX, "inspect", kv), "changed by the call");
  command_result result = command_run(WORDS(ETX, "inspect", kv, "--json"));
  json_t* const root = json_loads(result.out, JSON_REJECT_DUPLICATES, NULL);
  assert_int_equal(json_array_size(json_object_get(root, "state")), 2);
  assert_true(json_array_size(json_object_get(root, "operators")) != 0);
  json_decref(root);
  command_end(&result);
}

static void a_program_for_executorch_runs_there(void** state) {
  (void)state;
  char stock[PATH_BYTES + 16];
  snprintf(stock, sizeof stock, "%s/stock.pte", command_directory);
  command_expect(0,
                 WORDS(ETX, "plan", KV, "-o", stock, "--target", "executorch"));
  command_expect_out(0, WORDS(ETX, "inspect", stock),
                     "ExecuTorch with its portable operators");
}

static void a_program_is_shown_as_text(void** state) {
  (void)state;
  command_expect_out(0, WORDS(ETX, "dump", CACHE), "method: \"set_cache\"");
  command_expect_out(0, WORDS(ETX, "dump", CACHE), "name: \"cache\"");
  command_expect_err(2, WORDS(ETX, "dump", KV), "-o DIR");
}

static void a_valid_plan_is_proved(void** state) {
  (void)state;
  command_expect_out(0, WORDS(ETX, "verify", kv), "the plan is proved");
  command_expect_out(0, WORDS(ETX, "verify", kv, "--json"), "\"proved\": true");
}

static void a_damaged_program_is_refused_by_every_command(void** state) {
  (void)state;
  char damaged[PATH_BYTES + 16];
  size_t size = 0;
  char* const bytes = command_read_file(kv, &size);
  snprintf(damaged, sizeof damaged, "%s/damaged.pte", command_directory);
  FILE* const out = fopen(damaged, "wb");
  assert_int_equal(fwrite(bytes, 1, size / 2, out), size / 2);
  fclose(out);
  free(bytes);
  command_expect_err(2, WORDS(ETX, "run", damaged, "set_cache"), damaged);
  command_expect_err(2, WORDS(ETX, "inspect", damaged), damaged);
  command_expect_err(2, WORDS(ETX, "dump", damaged), damaged);
  command_expect_err(2, WORDS(ETX, "verify", damaged), damaged);
}

static void files_of_other_kinds_are_refused(void** state) {
  (void)state;
  static const char* const commands[] = {"inspect", "verify", "mem", "bench"};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i) {
    command_expect_err(2, WORDS(ETX, commands[i], KV "/set_cache.pt2"),
                       "this is not a program: expected 'ET12' at byte 4");
  }
}

// A file name may have any bytes; in JSON, which is UTF-8, invalid ones become
// U+FFFD.
static void json_names_files_of_any_bytes(void** state) {
  (void)state;
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/x\xff\xc3\xbc.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", KV, "-o", path));
  command_result result = command_run(WORDS(ETX, "verify", path, "--json"));
  json_t* const root = json_loads(result.out, 0, NULL);
  const char* const name = json_string_value(json_object_get(root, "file"));
  assert_non_null(name);
  assert_non_null(strstr(name, "/x\xef\xbf\xbd\xc3\xbc.pte"));
  json_decref(root);
  command_end(&result);
}

static void operators_are_listed(void** state) {
  (void)state;
  command_expect_out(0, WORDS(ETX, "ops"), "aten::add.out(");
  command_expect_out(0, WORDS(ETX, "ops"), "types: uint8");
  command_expect_out(0, WORDS(ETX, "ops", "--json"), "\"operators\"");
  command_expect_err(2, WORDS(ETX, "ops", "--json", "--markdown"),
                     "--markdown prints the whole table");
  command_expect_err(2, WORDS(ETX, "ops", "add", "--markdown"),
                     "--markdown prints the whole table");
}

// As in `etx ops | head -1`: no message, and the process ends with SIGPIPE.
static void a_closed_pipe_ends_with_sigpipe(void** state) {
  (void)state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  close(ends[0]);
  FILE* const messages = tmpfile();
  assert_non_null(messages);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(fileno(messages), STDERR_FILENO);
    execl(ETX, ETX, "ops", "--json", (char*)NULL);
    _exit(127);
  }
  close(ends[1]);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGPIPE);
  fseek(messages, 0, SEEK_END);
  assert_int_equal(ftell(messages), 0);
  fclose(messages);
}

static void calls_run_on_several_threads(void** state) {
  (void)state;
  command_expect(0, WORDS(ETX, "run", kv, "--threads", "3", "--case",
                          ETX_TEST_DATA "/pt2/kv"));
  command_expect_err(2, WORDS(ETX, "run", kv, "--smoke", "-t", "1000"),
                     "a pool of 1000 threads, expected 1 to 256");
}

static void codes_are_explained(void** state) {
  (void)state;
  command_expect_out(0, WORDS(ETX, "explain", "4"), "proof");
  command_expect_out(0, WORDS(ETX, "explain", "ETX_TORN_STATE"), "torn");
  command_expect(2, WORDS(ETX, "explain", "99"));
}

static void every_command_has_help(void** state) {
  (void)state;
#define COMMAND(name, sentence)                                            \
  command_expect_out(0, WORDS(ETX, #name, "--help"), "usage: etx " #name); \
  command_expect_out(0, WORDS(ETX, "help", #name), "usage: etx " #name);   \
  command_expect_out(0, WORDS(ETX, "--help"), sentence);
#define LIST_COMMAND COMMAND
#include "cli/commands/commands.def"
#undef COMMAND
#undef LIST_COMMAND
  command_expect_err(2, WORDS(ETX, "nothing"), "unknown command 'nothing'");
  command_expect_out(0, WORDS(ETX, "--version"), "etx 0.");
  command_expect(2, WORDS(ETX));
}

// Recorded calls agree when no page of the file stays in memory.
static void the_file_may_leave_memory(void** state) {
  (void)state;
  command_expect(0, WORDS(ETX, "run", kv, "--resident", "1", "--case",
                          ETX_TEST_DATA "/pt2/kv"));
  command_expect_err(
      2,
      WORDS(ETX, "run", kv, "--smoke", "--resident", "1", "--parallel-regions"),
      "--resident observes the instructions one by one");
  command_expect_err(2,
                     WORDS(ETX, "run", kv, "--smoke", "--resident", "1",
                           "--trace-ops", "use.yaml"),
                     "--trace-ops and --resident");
  command_expect_err(
      2, WORDS(ETX, "run", kv, "--smoke", "--resident", "1", "--in-memory"),
      "--resident is for a file that is mapped");
  command_expect_err(2, WORDS(ETX, "bench", kv, "--resident", "1", "--mlock"),
                     "--resident lets parts of the file leave memory");
  command_expect_err(2, WORDS(ETX, "run", kv, "--smoke", "--resident", "much"),
                     "--resident");
}

// Recorded calls agree when the file is read ahead, and when it is locked.
static void the_file_may_be_read_ahead(void** state) {
  (void)state;
  static const char* const options[] = {"--prefault", "--mlock"};
  for (size_t i = 0; i < sizeof options / sizeof options[0]; ++i) {
    command_expect(0, WORDS(ETX, "run", kv, options[i], "--case",
                            ETX_TEST_DATA "/pt2/kv"));
    command_expect(0, WORDS(ETX, "run", kv, options[i], "--in-memory", "--case",
                            ETX_TEST_DATA "/pt2/kv"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_state_can_be_written),
      cmocka_unit_test(state_goes_from_call_to_call),
      cmocka_unit_test(infinities_have_the_results_of_pytorch),
      cmocka_unit_test(results_are_written_and_read_back),
      cmocka_unit_test(invalid_inputs_are_refused),
      cmocka_unit_test(sizes_out_of_bounds_are_refused_at_run_time),
      cmocka_unit_test(outputs_are_printed_as_json),
      cmocka_unit_test(infinities_and_nan_are_strings_in_json),
      cmocka_unit_test(a_program_is_described),
      cmocka_unit_test(a_program_for_executorch_runs_there),
      cmocka_unit_test(a_program_is_shown_as_text),
      cmocka_unit_test(a_valid_plan_is_proved),
      cmocka_unit_test(a_damaged_program_is_refused_by_every_command),
      cmocka_unit_test(files_of_other_kinds_are_refused),
      cmocka_unit_test(json_names_files_of_any_bytes),
      cmocka_unit_test(operators_are_listed),
      cmocka_unit_test(a_closed_pipe_ends_with_sigpipe),
      cmocka_unit_test(calls_run_on_several_threads),
      cmocka_unit_test(the_file_may_leave_memory),
      cmocka_unit_test(the_file_may_be_read_ahead),
      cmocka_unit_test(codes_are_explained),
      cmocka_unit_test(every_command_has_help),
  };
  return cmocka_run_group_tests(tests, plan_kv, command_tear_down);
}
