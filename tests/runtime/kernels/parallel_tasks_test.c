// The contract of an application's parallel_for: task numbers from the count on
// are ignored, and a build without NDEBUG traps if a task is left out or repeated.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/kernels/core/parallel_for.h"

enum { TASKS = 12 };

typedef enum order {
  BACKWARDS,
  TWO_MORE,
  WITHOUT_ONE,
  ONE_TWICE,
  ANOTHER_TWICE,  // the right number of tasks, but not of each
} order;

static void run_in_order(void* context,
                         void (*task)(void* argument, size_t i), void* argument,
                         size_t count) {
  const order how = *(const order*)context;
  for (size_t i = count; i-- > 0;) {
    if (i == 3 && (how == WITHOUT_ONE || how == ANOTHER_TWICE)) continue;
    task(argument, i);
    if (i == 7 && (how == ONE_TWICE || how == ANOTHER_TWICE)) task(argument, i);
  }
  if (how == TWO_MORE) {
    task(argument, count);
    task(argument, SIZE_MAX);
  }
}

static void count_run(void* argument, size_t i) { ++((int*)argument)[i]; }

static void run_tasks(order how, int* runs) {
  const etx_parallel parallel = {
      .parallel_for = run_in_order, .context = &how, .thread_count = 1};
  memset(runs, 0, TASKS * sizeof *runs);
  etx_parallel_run_tasks(&parallel, count_run, runs, TASKS);
}

static void each_task_runs_once_in_any_order(void** state) {
  (void)state;
  int runs[TASKS];
  run_tasks(BACKWARDS, runs);
  for (size_t i = 0; i < TASKS; ++i) assert_int_equal(runs[i], 1);
}

static void numbers_beyond_the_count_are_ignored(void** state) {
  (void)state;
  int runs[TASKS];
  run_tasks(TWO_MORE, runs);
  for (size_t i = 0; i < TASKS; ++i) assert_int_equal(runs[i], 1);
}

#ifndef NDEBUG
static void tasks_left_out_or_repeated_are_a_trap(void** state) {
  (void)state;
  const order wrong[] = {WITHOUT_ONE, ONE_TWICE, ANOTHER_TWICE};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      int runs[TASKS];
      run_tasks(wrong[i], runs);
      _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_task_runs_once_in_any_order),
      cmocka_unit_test(numbers_beyond_the_count_are_ignored),
#ifndef NDEBUG
      cmocka_unit_test(tasks_left_out_or_repeated_are_a_trap),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
