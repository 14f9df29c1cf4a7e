// A run on one thread asks the operating system for nothing: it is made in a
// process that is ended at its first system call.

#define _GNU_SOURCE

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench/synthetic_input.h"
#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"

enum { RUNS = 3, COULD_NOT = 3, REFUSED = 4 };

// Ends the process by the one call that is left.
static void leave(int code) { syscall(SYS_exit, code); }

// The first run may still make system calls: the C library looks things up when
// they are first used.
static void run_method(const char* path, const char* name, bool asks) {
  static const etx_synthetic_input_options input_options = {NULL, NULL, NULL,
                                                            0};
  static const etx_run_session_options options = {.threads = 1};
  static etx_run_session session;
  etx_synthetic_inputs inputs;
  etx_method* method = NULL;
  etx_pool pool;
  etx_diag diag;
  etx_pool_init(&pool);
  etx_diag_init(&diag);
  if (etx_run_session_open(&session, path, &options, &diag) != ETX_OK ||
      etx_run_session_method(&session, name, &method, &diag) != ETX_OK ||
      etx_synthetic_inputs_set(method, &input_options, &pool, &inputs, &diag) !=
          ETX_OK ||
      etx_method_run(method, &diag) != ETX_OK) {
    leave(REFUSED);
  }
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) leave(COULD_NOT);
  for (int i = 0; i < RUNS; ++i) {
    if (etx_method_run(method, &diag) != ETX_OK) leave(REFUSED);
  }
  if (asks) syscall(SYS_getpid);
  leave(0);
}

static int status_of(const char* path, const char* name, bool asks) {
  const pid_t child = fork();
  if (child == 0) run_method(path, name, asks);
  int status = 0;
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

static void a_run_makes_no_system_call(void** state) {
  (void)state;
  char path[256];
  snprintf(path, sizeof path, "%s/translate.pte", command_directory);
  command_expect(
      0, WORDS(ETX, "plan", ETX_SOURCE "/samples/translate/model/pt2", "-o",
               path, "--quiet"));
  static const char* const names[] = {"encode", "decode"};
  for (int i = 0; i < 2; ++i) {
    const int status = status_of(path, names[i], false);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      fail_msg("%s ended with status %x", names[i], (unsigned)status);
    }
    // With the last argument, the process makes a system call, which ends it.
    assert_true(WIFSIGNALED(status_of(path, names[i], true)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_makes_no_system_call),
  };
  return cmocka_run_group_tests_name("system_calls", tests, command_set_up,
                                     command_tear_down);
}
