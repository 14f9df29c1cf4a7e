// `etx run`, `inspect`, `dump`, `ops`, `verify`, `explain` as a user types
// them.

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
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define KV ETX_TEST_DATA "/pt2/kv"
#define CACHE ETX_BINARY "/stateful_model.pte"

enum { PATH_BYTES = 256 };

static char directory[64];
static char kv[PATH_BYTES];
static char file[PATH_BYTES];

static int plan_kv(void** state) {
  (void)state;
  command_make_directory(directory, sizeof directory);
  snprintf(kv, sizeof kv, "%s/kv.pte", directory);
  snprintf(file, sizeof file, "%s/out.npy", directory);
  command_expect(0, WORDS(ETX, "plan", KV, "-o", kv));
  return 0;
}

static int remove_directory(void** state) {
  (void)state;
  command_remove_directory(directory);
  return 0;
}

static void prints(const char* const* words, const char* text) {
  command_result result = command_run(words);
  if (result.code != 0) fail_msg("%s", result.err);
  if (strstr(result.out, text) == NULL) fail_msg("%s", result.out);
  command_end(&result);
}

static void says(int code, const char* const* words, const char* text) {
  command_result result = command_run(words);
  if (strstr(result.err, text) == NULL) fail_msg("%s", result.err);
  assert_int_equal(result.code, code);
  command_end(&result);
}

static void state_is_a_result_like_any_other(void** state) {
  (void)state;
  char to_file[PATH_BYTES + 16];
  snprintf(to_file, sizeof to_file, "cache=%s", file);
  command_expect(0, WORDS(ETX, "run", CACHE, "set_cache", "--in",
                          "data=[[1, 2]]", "--out", to_file));
}

static void results_go_to_files_and_come_back(void** state) {
  (void)state;
  char to_npy[PATH_BYTES + 16];
  char from_npy[PATH_BYTES + 16];
  char to_set[PATH_BYTES + 32];
  char from_set[PATH_BYTES + 32];
  snprintf(to_npy, sizeof to_npy, "data=%s", file);
  snprintf(from_npy, sizeof from_npy, "data=%s", file);
  snprintf(to_set, sizeof to_set, "cache=%s/a.safetensors", directory);
  snprintf(from_set, sizeof from_set, "data=%s/a.safetensors#cache", directory);
  command_expect(
      0, WORDS(ETX, "run", CACHE, "set_cache", "--in", "data=[[1, 2], [3, 4]]",
               "--out", to_npy, "--out", to_set));
  prints(WORDS(ETX, "run", CACHE, "get_cache", "--in", from_npy),
         "data: float32[2, 2] = [[0, 0], [0, 0]]");
  // The whole state, read back as an input of the largest size.
  prints(WORDS(ETX, "run", CACHE, "get_cache", "--in", from_set),
         "data: float32[10, 20] = [[0, 0, 0, ...");
}

static void inputs_that_are_wrong_are_refused(void** state) {
  (void)state;
  says(2, WORDS(ETX, "run", CACHE, "get_cache"), "data: float32[b, t]");
  says(2, WORDS(ETX, "run", CACHE, "get_cache", "--in", "x=1"),
       "has no input 'x'");
  says(2, WORDS(ETX, "run", CACHE, "get_cache", "--in", "data"), "NAME=VALUE");
  says(2, WORDS(ETX, "run", CACHE, "get_cache", "--in", "data=[[x]]"), "'x'");
  says(2, WORDS(ETX, "run", CACHE, "get_cache", "--in", "data=no.npy"),
       "no.npy");
  says(2, WORDS(ETX, "run", CACHE, "nothing"), "nothing");
  says(2, WORDS(ETX, "run", "/nowhere.pte", "x"), "/nowhere.pte");
  says(2, WORDS(ETX, "run", CACHE), "give one of");
}

static void sizes_out_of_bounds_are_refused_at_run_time(void** state) {
  (void)state;
  says(5,
       WORDS(ETX, "run", CACHE, "get_cache", "--in",
             "data=[[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1]]"),
       "10");
  says(5, WORDS(ETX, "run", CACHE, "get_cache", "--in", "data=[1]"), "rank");
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

static void a_program_is_described(void** state) {
  (void)state;
  prints(WORDS(ETX, "inspect", CACHE), "in  data: float32[b, t]");
  prints(WORDS(ETX, "inspect", CACHE), "size b: 1 to 10");
  prints(WORDS(ETX, "inspect", CACHE), "cache: float32[10, 20]");
  prints(WORDS(ETX, "inspect", CACHE), "max_length = 20");
  prints(WORDS(ETX, "inspect", kv), "changed by the call");
  command_result result = command_run(WORDS(ETX, "inspect", kv, "--json"));
  json_t* const root = json_loads(result.out, JSON_REJECT_DUPLICATES, NULL);
  assert_int_equal(json_array_size(json_object_get(root, "state")), 2);
  assert_true(json_array_size(json_object_get(root, "operators")) != 0);
  json_decref(root);
  command_end(&result);
}

static void a_stock_program_needs_no_etx(void** state) {
  (void)state;
  char stock[PATH_BYTES + 16];
  snprintf(stock, sizeof stock, "%s/stock.pte", directory);
  command_expect(0,
                 WORDS(ETX, "plan", KV, "-o", stock, "--target", "executorch"));
  prints(WORDS(ETX, "inspect", stock),
         "ExecuTorch with its portable operators");
}

static void a_program_is_shown_as_text(void** state) {
  (void)state;
  prints(WORDS(ETX, "dump", CACHE), "method: \"set_cache\"");
  prints(WORDS(ETX, "dump", CACHE), "name: \"cache\"");
  says(2, WORDS(ETX, "dump", KV), "-o DIR");
}

static void a_right_plan_is_proved(void** state) {
  (void)state;
  prints(WORDS(ETX, "verify", kv), "the plan is right");
  prints(WORDS(ETX, "verify", kv, "--json"), "\"proved\": true");
}

static void a_damaged_program_is_refused_by_every_command(void** state) {
  (void)state;
  char damaged[PATH_BYTES + 16];
  size_t size = 0;
  char* const bytes = command_read_file(kv, &size);
  snprintf(damaged, sizeof damaged, "%s/damaged.pte", directory);
  FILE* const out = fopen(damaged, "wb");
  assert_int_equal(fwrite(bytes, 1, size / 2, out), size / 2);
  fclose(out);
  free(bytes);
  says(2, WORDS(ETX, "run", damaged, "set_cache"), damaged);
  says(2, WORDS(ETX, "inspect", damaged), damaged);
  says(2, WORDS(ETX, "dump", damaged), damaged);
  says(2, WORDS(ETX, "verify", damaged), damaged);
}

static void operators_are_listed(void** state) {
  (void)state;
  prints(WORDS(ETX, "ops"), "aten::add.out(");
  prints(WORDS(ETX, "ops"), "types: uint8");
  prints(WORDS(ETX, "ops", "--json"), "\"operators\"");
}

// As `etx ops | head -1` does it: not a word, and the end that others have.
static void who_stops_reading_is_not_told(void** state) {
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

static void codes_are_explained(void** state) {
  (void)state;
  prints(WORDS(ETX, "explain", "4"), "proof");
  prints(WORDS(ETX, "explain", "ETX_TORN_STATE"), "torn");
  command_expect(2, WORDS(ETX, "explain", "99"));
}

static void every_command_teaches_itself(void** state) {
  (void)state;
#define COMMAND(name, sentence)                             \
  prints(WORDS(ETX, #name, "--help"), "usage: etx " #name); \
  prints(WORDS(ETX, "help", #name), "usage: etx " #name);   \
  prints(WORDS(ETX, "--help"), sentence);
#include "cli/commands.def"
#undef COMMAND
  says(2, WORDS(ETX, "nothing"), "unknown command 'nothing'");
  command_expect(2, WORDS(ETX));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(state_is_a_result_like_any_other),
      cmocka_unit_test(results_go_to_files_and_come_back),
      cmocka_unit_test(inputs_that_are_wrong_are_refused),
      cmocka_unit_test(sizes_out_of_bounds_are_refused_at_run_time),
      cmocka_unit_test(outputs_are_printed_as_json),
      cmocka_unit_test(a_program_is_described),
      cmocka_unit_test(a_stock_program_needs_no_etx),
      cmocka_unit_test(a_program_is_shown_as_text),
      cmocka_unit_test(a_right_plan_is_proved),
      cmocka_unit_test(a_damaged_program_is_refused_by_every_command),
      cmocka_unit_test(operators_are_listed),
      cmocka_unit_test(who_stops_reading_is_not_told),
      cmocka_unit_test(codes_are_explained),
      cmocka_unit_test(every_command_teaches_itself),
  };
  return cmocka_run_group_tests(tests, plan_kv, remove_directory);
}
