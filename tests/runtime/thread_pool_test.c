// The thread pool runs every task of every job once, whatever the threads do
// meanwhile. The test is linked with each way to sleep, and is run under the
// thread sanitizer.

#define _POSIX_C_SOURCE 200809L

#include "runtime/threads/thread_pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/threads/thread_host.h"
#include "tests/support/assert_status.h"

enum { MOST_TASKS = 64 };

static etx_diag diag;

typedef struct pool_fixture {
  etx_thread_pool pool;
  etx_bytes_mut memory;
} pool_fixture;

static void start(pool_fixture* f, size_t thread_count) {
  f->memory.size = etx_thread_pool_needed(thread_count);
  f->memory.data = aligned_alloc(16, (f->memory.size + 31) / 16 * 16);
  assert_non_null(f->memory.data);
  assert_ok(etx_thread_pool_init(&f->pool, thread_count, f->memory, &diag));
}

static void end(pool_fixture* f) {
  etx_thread_pool_close(&f->pool);
  free(f->memory.data);
}

static void run(pool_fixture* f, void (*task)(void*, size_t), void* argument,
                size_t count) {
  const etx_parallel* parallel = &f->pool.parallel;
  parallel->parallel_for(parallel->context, task, argument, count);
}

// Ordinary memory without atomics: the caller must see what tasks write, and
// the tasks what the caller wrote.
typedef struct pool_job {
  uint32_t number;
  uint32_t seen[MOST_TASKS];   // number of the job, by task
  uint32_t times[MOST_TASKS];  // how often each ran
} pool_job;

static void note(void* argument, size_t i) {
  pool_job* j = argument;
  j->seen[i] = j->number;
  ++j->times[i];
}

static void check_job(pool_fixture* f, pool_job* j, size_t count) {
  memset(j->times, 0, sizeof j->times);
  ++j->number;
  run(f, note, j, count);
  for (size_t i = 0; i < MOST_TASKS; ++i) {
    if (j->times[i] == (i < count ? 1u : 0u) &&
        (i >= count || j->seen[i] == j->number)) {
      continue;
    }
    fail_msg("job %u of %zu tasks: task %zu ran %u times", j->number, count, i,
             j->times[i]);
  }
}

static void check_jobs(size_t thread_count, size_t jobs) {
  pool_fixture f;
  pool_job j = {0, {0}, {0}};
  uint32_t random = (uint32_t)thread_count;
  start(&f, thread_count);
  for (size_t i = 0; i < jobs; ++i) {
    random = random * 1664525u + 1013904223u;
    check_job(&f, &j, 1 + (random >> 26));
  }
  end(&f);
}

static void every_task_of_a_job_runs_once(void** state) {
  (void)state;
  check_jobs(1, 1000);
  check_jobs(2, ETX_POOL_JOBS);
  check_jobs(3, ETX_POOL_JOBS / 10);
}

// More threads than processors: the system always keeps some waiting, with a
// task or just before they take one.
static void tasks_run_once_if_threads_are_preempted(void** state) {
  (void)state;
  check_jobs(8, ETX_POOL_JOBS / 50);
}

static void idle_ns(long ns) {
  const struct timespec time = {0, ns};
  nanosleep(&time, NULL);
}

static void sleeping_threads_are_woken(void** state) {
  (void)state;
  pool_fixture f;
  pool_job j = {0, {0}, {0}};
  start(&f, 3);
  for (size_t i = 0; i < 40; ++i) {
    idle_ns(i % 4 == 0 ? 20000000 : 50000);
    check_job(&f, &j, 2 + i);
  }
  end(&f);
}

// A job whose tasks wait for each other needs both threads at once.
static void meet(void* argument, size_t i) {
  uint32_t* here = argument;
  (void)i;
  __atomic_add_fetch(here, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(here, __ATOMIC_ACQUIRE) < 2) etx_host_thread_yield();
}

static void a_sleeping_thread_takes_part(void** state) {
  (void)state;
  pool_fixture f;
  start(&f, 2);
  for (size_t i = 0; i < 5; ++i) {
    uint32_t here = 0;
    idle_ns(20000000);
    run(&f, meet, &here, 2);
    assert_int_equal(here, 2);
  }
  end(&f);
}

typedef struct nest {
  pool_fixture* f;
  pool_job jobs[8];
} nest;

static void start_job(void* argument, size_t i) {
  nest* n = argument;
  n->jobs[i].number = 7;
  run(n->f, note, &n->jobs[i], MOST_TASKS);
}

static void a_task_may_start_a_job(void** state) {
  (void)state;
  pool_fixture f;
  nest n;
  memset(&n, 0, sizeof n);
  n.f = &f;
  start(&f, 3);
  run(&f, start_job, &n, 8);
  for (size_t i = 0; i < 8; ++i) {
    for (size_t k = 0; k < MOST_TASKS; ++k) {
      assert_int_equal(n.jobs[i].times[k], 1);
    }
  }
  end(&f);
}

static void* check_many(void* argument) {
  pool_job j = {0, {0}, {0}};
  for (size_t i = 0; i < ETX_POOL_JOBS / 50; ++i) {
    check_job(argument, &j, 1 + i % MOST_TASKS);
  }
  return NULL;
}

static void callers_may_share_a_pool(void** state) {
  (void)state;
  pool_fixture f;
  pthread_t other;
  start(&f, 2);
  assert_int_equal(pthread_create(&other, NULL, check_many, &f), 0);
  check_many(&f);
  pthread_join(other, NULL);
  end(&f);
}

static void pools_come_and_go(void** state) {
  (void)state;
  for (size_t i = 0; i < 200; ++i) {
    pool_fixture f;
    pool_job j = {0, {0}, {0}};
    start(&f, 1 + i % 8);
    if (i % 3 != 0) check_job(&f, &j, 5);
    end(&f);
  }
}

static void invalid_pools_are_refused(void** state) {
  (void)state;
  etx_thread_pool pool;
  _Alignas(16) uint8_t block[1024];
  const size_t needed = etx_thread_pool_needed(3);
  assert_true(needed + 16 <= sizeof block);
  assert_int_equal(etx_thread_pool_needed(1), 0);
  assert_refused(
      etx_thread_pool_init(&pool, 0, (etx_bytes_mut){block, 1024}, &diag),
      ETX_BAD_ARGUMENT, "a pool of 0 threads, expected 1 to 256");
  assert_refused(
      etx_thread_pool_init(&pool, 257, (etx_bytes_mut){block, 1024}, &diag),
      ETX_BAD_ARGUMENT, "a pool of 257 threads, expected 1 to 256");
  assert_refused(
      etx_thread_pool_init(&pool, 3, (etx_bytes_mut){block, needed - 1}, &diag),
      ETX_OUT_OF_MEMORY, "a pool of 3 threads needs");
  assert_refused(
      etx_thread_pool_init(&pool, 3, (etx_bytes_mut){block + 8, needed}, &diag),
      ETX_BAD_ARGUMENT, "not aligned to 16 bytes");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_task_of_a_job_runs_once),
      cmocka_unit_test(tasks_run_once_if_threads_are_preempted),
      cmocka_unit_test(sleeping_threads_are_woken),
      cmocka_unit_test(a_sleeping_thread_takes_part),
      cmocka_unit_test(a_task_may_start_a_job),
      cmocka_unit_test(callers_may_share_a_pool),
      cmocka_unit_test(pools_come_and_go),
      cmocka_unit_test(invalid_pools_are_refused),
  };
  return cmocka_run_group_tests_name("thread_pool", tests, NULL, NULL);
}
