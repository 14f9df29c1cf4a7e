// Plans and runs every recorded call sequence with the commands of a user, from
// archives of ATen and of core ATen operators.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"

static const char* const sets[] = {
    "tiny",    "kv",         "counter",      "swap",      "prefix",
    "mixed",   "integers",   "gru",          "weights",   "branches",
    "loops",   "cond",       "cnn",          "planes",    "quantized",
    "torchao", "static",     "in_place",     "wrapped",   "scans",
    "late",    "loop_sizes", "halves",       "recurrent", "caches",
    "rings",   "parts",      "data_numbers", "choices",   "inner_writes",
    "llama",   "whisper"};
enum { SET_COUNT = sizeof sets / sizeof *sets, PATH_BYTES = 512 };

// Each set is planned without one pass, for every STRIDE-th pass; neighbouring
// sets begin with another one. Builds of gcc and of clang have different
// halves, so that together they run all combinations. A sanitizer makes each
// plan ten times as long, so it sees a twelfth of them, and not those of the
// largest two sets, which have all passes with gcc.
enum { LARGE_SETS = 2, SMALL_SETS = SET_COUNT - LARGE_SETS };
#if defined ETX_TEST_SANITIZED
enum { PASS_SETS = SMALL_SETS, FIRST_PASS = 0, STRIDE = 12, LARGE_STRIDE = 3 };
#elif defined __clang__
enum { PASS_SETS = SET_COUNT, FIRST_PASS = 1, STRIDE = 2, LARGE_STRIDE = 3 };
#else
enum { PASS_SETS = SET_COUNT, FIRST_PASS = 0, STRIDE = 2, LARGE_STRIDE = 1 };
#endif

// The paths of one set, with ATen or core ATen archives.
typedef struct recorded_set {
  char cases[PATH_BYTES];    // cases.json and expected.safetensors
  char methods[PATH_BYTES];  // the archives
  char program[PATH_BYTES];  // planned here
} recorded_set;

static recorded_set recorded_set_of(size_t index, int is_core,
                                    const char* name) {
  recorded_set out;
  snprintf(out.cases, PATH_BYTES, ETX_TEST_DATA "/pt2/%s", sets[index]);
  snprintf(out.methods, PATH_BYTES, "%.400s%s", out.cases,
           is_core ? "/core" : "");
  snprintf(out.program, PATH_BYTES, "%s/%s%d_%s.pte", command_directory,
           sets[index], is_core, name);
  return out;
}

static void for_each_form(void (*check)(const recorded_set* files)) {
  for (size_t i = 0; i < SET_COUNT; ++i) {
    for (int is_core = 0; is_core < 2; ++is_core) {
      const recorded_set files = recorded_set_of(i, is_core, "program");
      check(&files);
    }
  }
}

static void agrees_when_planned_for_etx(const recorded_set* files) {
  command_expect(0, WORDS(ETX, "plan", files->methods, "-o", files->program));
  command_expect(0, WORDS(ETX, "verify", files->program));
  command_expect(0, WORDS(ETX, "run", files->program, "--case", files->cases));
}

static void every_call_agrees_when_planned_for_etx(void** state) {
  (void)state;
  for_each_form(agrees_when_planned_for_etx);
}

static void agrees_when_planned_for_executorch(const recorded_set* files) {
  // ExecuTorch's runtime has no operator for caches that drop their oldest
  // rows.
  if (strstr(files->cases, "/rings") != NULL) return;
  command_expect(0, WORDS(ETX, "plan", files->methods, "-o", files->program,
                          "--target", "executorch"));
  command_expect(0, WORDS(ETX, "verify", files->program));
  command_expect(0, WORDS(ETX, "run", files->program, "--case", files->cases));
}

static void every_call_agrees_when_planned_for_executorch(void** state) {
  (void)state;
  for_each_form(agrees_when_planned_for_executorch);
}

static void plans_its_dump_alike(const recorded_set* files) {
  char dump[PATH_BYTES];
  char again[PATH_BYTES];
  snprintf(dump, sizeof dump, "%.400s.dump", files->program);
  snprintf(again, sizeof again, "%.400s.again", files->program);
  command_expect(0, WORDS(ETX, "plan", files->methods, "-o", files->program));
  command_expect(0, WORDS(ETX, "dump", files->methods, "-o", dump));
  command_expect(0, WORDS(ETX, "plan", dump, "-o", again));
  command_expect_same_files(files->program, again);
}

static void a_dump_plans_to_the_same_bytes(void** state) {
  (void)state;
  for_each_form(plans_its_dump_alike);
}

static void passes_the_smoke_test(const recorded_set* files) {
  command_expect(0, WORDS(ETX, "plan", files->methods, "-o", files->program));
  command_expect(0, WORDS(ETX, "run", files->program, "--smoke"));
}

static void every_method_takes_its_smallest_and_largest_sizes(void** state) {
  (void)state;
  for_each_form(passes_the_smoke_test);
}

// Names of the passes that may be switched off.
#define PASS(name, function, kind, ir, sentence) PASS_##kind(#name)
#define PASS_OPTIONAL(name) name,
#define PASS_REQUIRED(name)
static const char* const passes[] = {
#include "exporter/passes/pass_list.def"
};
#undef PASS
enum { PASS_COUNT = sizeof passes / sizeof *passes };

static void agrees_without(const char* pass, const recorded_set* files) {
  char option[64];
  snprintf(option, sizeof option, "--passes=-%s", pass);
  command_expect(
      0, WORDS(ETX, "plan", files->methods, "-o", files->program, option));
  command_expect(0, WORDS(ETX, "run", files->program, "--case", files->cases));
}

static void optional_passes_change_no_result(void** state) {
  (void)state;
  for (size_t i = 0; i < PASS_SETS; ++i) {
    const recorded_set files = recorded_set_of(i, 0, "pass");
    const size_t stride = i < SMALL_SETS ? STRIDE : LARGE_STRIDE;
    for (size_t j = (i + FIRST_PASS) % stride; j < PASS_COUNT; j += stride) {
      agrees_without(passes[j], &files);
    }
  }
}

static void a_wrong_expectation_is_found(void** state) {
  (void)state;
  const recorded_set files = recorded_set_of(2, 0, "wrong");
  char cases[PATH_BYTES];
  char path[PATH_BYTES];
  snprintf(cases, sizeof cases, "%s/wrong", command_directory);
  assert_int_equal(mkdir(cases, 0777), 0);
  // The counter's recorded sequence, with a type that it does not return.
  snprintf(path, sizeof path, "%.400s/expected.safetensors", cases);
  command_write_file(path, "\x02");
  snprintf(path, sizeof path, "%.400s/cases.json", cases);
  command_write_file(
      path,
      "{\"format\": 1, \"atol\": 0, \"rtol\": 0, \"calls\": ["
      "{\"method\": \"get\", \"inputs\": [], \"outputs\": "
      "[{\"int\": 3}], \"input_mutations\": [], \"state\": {}}]}");
  command_expect(0, WORDS(ETX, "plan", files.methods, "-o", files.program));
  // A damaged file of expected values is refused.
  command_expect(2, WORDS(ETX, "run", files.program, "--case", cases));
  snprintf(path, sizeof path, "%.400s/expected.safetensors", cases);
  FILE* const file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite("\x02\0\0\0\0\0\0\0{}", 1, 10, file), 10);
  fclose(file);
  command_expect(6, WORDS(ETX, "run", files.program, "--case", cases));
  // A call that should be refused, but runs.
  snprintf(path, sizeof path, "%.400s/cases.json", cases);
  command_write_file(
      path,
      "{\"format\": 1, \"atol\": 0, \"rtol\": 0, \"calls\": ["
      "{\"method\": \"get\", \"refused\": true, \"inputs\": [], \"outputs\": "
      "[], \"input_mutations\": [], \"state\": {}}]}");
  command_expect(6, WORDS(ETX, "run", files.program, "--case", cases));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_call_agrees_when_planned_for_etx),
      cmocka_unit_test(every_call_agrees_when_planned_for_executorch),
      cmocka_unit_test(a_dump_plans_to_the_same_bytes),
      cmocka_unit_test(every_method_takes_its_smallest_and_largest_sizes),
      cmocka_unit_test(optional_passes_change_no_result),
      cmocka_unit_test(a_wrong_expectation_is_found),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
