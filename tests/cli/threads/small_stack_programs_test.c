// Whole programs on threads with 48 KB of stack: each method is loaded and runs
// at its smallest and largest sizes, with each instruction set.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/run/run_session.h"
#include "cli/run/smoke_run.h"
#include "tests/cli/command.h"
#include "tests/support/test_instruction_sets.h"

#define ETX ETX_BINARY "/etx"

enum { STACK_BYTES = ETX_THREAD_STACK_BYTES, PATH_BYTES = 256 };

typedef struct small_run {
  etx_run_session session;
  etx_status status;
  size_t failed;
  char message[512];
} small_run;

static void on_called(void* context, etx_text method, const char* sizes,
                      etx_smoke_outcome outcome, const char* message) {
  small_run* const run = context;
  if (outcome != ETX_SMOKE_FAILED) return;
  ++run->failed;
  snprintf(run->message, sizeof run->message, "%.*s, %s: %s", (int)method.size,
           method.data, sizes, message);
}

static void* run_smoke(void* argument) {
  small_run* const run = argument;
  const etx_smoke_sink sink = {on_called, run};
  run->status = etx_smoke_run(&run->session, &sink);
  return NULL;
}

// The system may demand a larger stack: 128 KB on ARM64.
static size_t stack_bytes(void) {
  const long least = sysconf(_SC_THREAD_STACK_MIN);
  return least > STACK_BYTES ? (size_t)least : STACK_BYTES;
}

// A function that needs more stack reaches the guard page behind it.
static void run_with(const char* path, etx_instruction_set set) {
  small_run* const run = calloc(1, sizeof *run);
  etx_diag diag;
  pthread_t thread;
  pthread_attr_t attributes;
  const etx_run_session_options options = {.threads = 1};
  assert_non_null(run);
  etx_diag_init(&diag);
  if (etx_run_session_open(&run->session, path, &options, &diag) != ETX_OK) {
    fail_msg("%s: %s", path, diag.text);
  }
  run->session.pool.parallel.instruction_set = set;
  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstacksize(&attributes, stack_bytes()), 0);
  assert_int_equal(pthread_create(&thread, &attributes, run_smoke, run), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  pthread_attr_destroy(&attributes);
  etx_run_session_close(&run->session);
  if (run->failed != 0) fail_msg("%s: %s", path, run->message);
  free(run);
}

static void run_program(const char* path) {
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  for (int set = ETX_SET_BASE; set <= (int)best;
       set = test_next_instruction_set(set)) {
    run_with(path, (etx_instruction_set)set);
  }
}

static void samples_need_little_stack(void** state) {
  (void)state;
  run_program(ETX_BINARY "/stateful_model.pte");
  run_program(ETX_BINARY "/translate.pte");
  run_program(ETX_TEST_DATA "/exported/kv_cache.pte");
  run_program(ETX_TEST_DATA "/exported/dynamic_layers.pte");
  run_program(ETX_TEST_DATA "/exported/loop.pte");
  run_program(ETX_TEST_DATA "/pte/apple_add.pte");
}

static void planned_models_need_little_stack(void** state) {
  (void)state;
  static const char* const models[] = {
      "boxes",   "branches", "caches", "cnn",        "cond",      "gru",
      "guards",  "halves",   "kv",     "late",       "lines",     "llama",
      "loops",   "mixed",    "parts",  "planes",     "quantized", "recurrent",
      "slides",  "scans",    "shapes", "statistics", "torchao",   "varying",
      "whisper", "wrapped"};
  char program[PATH_BYTES];
  snprintf(program, sizeof program, "%s/model.pte", command_directory);
  for (size_t i = 0; i < sizeof models / sizeof models[0]; ++i) {
    char source[PATH_BYTES];
    snprintf(source, sizeof source, ETX_TEST_DATA "/pt2/%s", models[i]);
    command_expect(0, WORDS(ETX, "plan", source, "-o", program, "-q"));
    run_program(program);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_need_little_stack),
      cmocka_unit_test(planned_models_need_little_stack),
  };
  return cmocka_run_group_tests_name("small_stack_programs", tests,
                                     command_set_up, command_tear_down);
}
