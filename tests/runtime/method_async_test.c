// Asynchronous runs: inline, with launchers of the test's own, and with the
// pool of threads; what is refused; failures. It is also run under the thread
// sanitizer. Expected numbers are sums that the test computes itself.

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/future.h"
#include "runtime/threads/thread_pool.h"
#include "shared_memory/shared_memory.h"
#include "tests/support/assert_status.h"
#include "tests/support/counter_program.h"
#include "tests/support/loaded_method.h"
#include "tests/support/short_kernel_table.h"

enum { MOST_INSTANCES = 12 };

static etx_diag diag;

// Method `name` of the counter program with a session of its own.
typedef struct instance {
  test_block block;
  etx_shared_memory shared;
  test_loaded loaded;
  etx_future future;
  float input[2];
  int64_t index;
} instance;

static void start_instance(instance* it, const etx_program* program,
                           const char* name) {
  size_t needed = 0;
  memset(it, 0, sizeof *it);
  assert_int_equal(etx_shared_memory_needed(program, &needed), ETX_OK);
  it->block = test_block_new(needed, ETX_SHARED_MEMORY_ALIGNMENT);
  assert_ok(
      etx_shared_memory_init(&it->shared, program, it->block.bytes, &diag));
  assert_ok(test_load(&it->loaded, program, name, &it->shared.planned, &diag));
}

static void end_instance(instance* it) {
  assert_true(test_unload(&it->loaded));
  assert_true(test_block_end(&it->block));
}

static void set_sum(instance* it, float value) {
  it->input[0] = it->input[1] = value;
  const etx_tensor x = TEST_TENSOR(it->input, ETX_DTYPE_FLOAT32, 2);
  assert_ok(etx_method_set_input(&it->loaded.method, 0, &x, &diag));
}

static float sum_of(const instance* it) {
  return ((const float*)test_output_tensor(&it->loaded.method, 0)->data)[1];
}

typedef struct async_fixture {
  test_program* p;
  etx_program program;
  etx_thread_pool pool;
  void* pool_memory;
} async_fixture;

// With `thread_count` 0 there is no pool.
static void start(async_fixture* f, size_t thread_count) {
  memset(f, 0, sizeof *f);
  if (thread_count > 0) {
    const size_t size = etx_thread_pool_needed(thread_count) / 64 * 64 + 64;
    f->pool_memory = aligned_alloc(64, size);
    assert_ok(etx_thread_pool_init(
        &f->pool, thread_count,
        (etx_bytes_mut){f->pool_memory, etx_thread_pool_needed(thread_count)},
        &diag));
  }
  f->p = counter_program(true, false);
  assert_ok(etx_program_open(&f->program, test_file(f->p), &test_few_kernels,
                             NULL, &diag));
}

static void end(async_fixture* f) {
  if (f->pool_memory != NULL) etx_thread_pool_close(&f->pool);
  free(f->pool_memory);
  test_program_end(f->p);
}

static const etx_launcher* launcher_of(const async_fixture* f) {
  return f->pool_memory == NULL ? NULL : &f->pool.launcher;
}

// Rounds of runs of several instances at the same time.
static void check_rounds(size_t thread_count, size_t rounds) {
  async_fixture f;
  instance instances[MOST_INSTANCES];
  float expected[MOST_INSTANCES];
  start(&f, thread_count);
  for (size_t i = 0; i < MOST_INSTANCES; ++i) {
    start_instance(&instances[i], &f.program, "add");
    expected[i] = 1;  // the initial value
  }
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < MOST_INSTANCES; ++i) {
      instance* const it = &instances[i];
      set_sum(it, (float)(i + round % 3));
      expected[i] += (float)(i + round % 3);
      assert_ok(etx_method_run_async(&it->loaded.method, launcher_of(&f),
                                     &it->future, &diag));
    }
    for (size_t i = 0; i < MOST_INSTANCES; ++i) {
      // In the other order, and some by asking.
      instance* const it = &instances[MOST_INSTANCES - 1 - i];
      if (round % 4 == 0) etx_future_is_done(&it->future);
      assert_ok(etx_future_wait(&it->future, &diag));
      assert_true(etx_future_is_done(&it->future));
      if (sum_of(it) != expected[MOST_INSTANCES - 1 - i]) {
        fail_msg("round %zu, instance %zu: %f, expected %f", round,
                 MOST_INSTANCES - 1 - i, (double)sum_of(it),
                 (double)expected[MOST_INSTANCES - 1 - i]);
      }
    }
  }
  for (size_t i = 0; i < MOST_INSTANCES; ++i) end_instance(&instances[i]);
  end(&f);
}

static void runs_give_the_same_inline_and_with_threads(void** state) {
  (void)state;
  check_rounds(0, 100);
  check_rounds(1, 100);
  check_rounds(2, ETX_POOL_JOBS / 50);
  check_rounds(8, ETX_POOL_JOBS / 50);
}

// ---- a launcher that waits to be told ----

typedef struct slow_launcher {
  etx_launcher launcher;
  etx_work* works[MOST_INSTANCES];
  size_t count;
  bool refuses;
} slow_launcher;

static bool keep(void* context, etx_work* work) {
  slow_launcher* const slow = context;
  if (slow->refuses) return false;
  slow->works[slow->count++] = work;
  return true;
}

static void run_kept(slow_launcher* slow) {
  for (size_t i = 0; i < slow->count; ++i) slow->works[i]->run(slow->works[i]);
  slow->count = 0;
}

static void wait_kept(void* context, etx_work* work) {
  (void)work;
  run_kept(context);
}

static void start_slow(slow_launcher* slow) {
  memset(slow, 0, sizeof *slow);
  slow->launcher =
      (etx_launcher){.submit = keep, .wait = wait_kept, .context = slow};
}

static void a_pending_method_is_busy(void** state) {
  (void)state;
  async_fixture f;
  slow_launcher slow;
  instance a, b;
  etx_future second = {.status = ETX_OK};
  start(&f, 0);
  start_slow(&slow);
  start_instance(&a, &f.program, "add");
  start_instance(&b, &f.program, "add");
  etx_method* const method = &a.loaded.method;
  set_sum(&a, 2);
  set_sum(&b, 5);
  assert_refused(etx_future_wait(&a.future, &diag), ETX_BAD_STATE,
                 "the future has no run");
  assert_ok(etx_method_run_async(method, &slow.launcher, &a.future, &diag));
  assert_false(etx_future_is_done(&a.future));
  assert_refused(etx_method_run_async(method, &slow.launcher, &second, &diag),
                 ETX_BAD_STATE, "method 'add' is in use");
  assert_refused(etx_method_run(method, &diag), ETX_BAD_STATE, "is in use");
  assert_refused(etx_method_bind(method, &b.shared.planned, &diag),
                 ETX_BAD_STATE, "is running");
  assert_refused(etx_method_prepare(method, &diag), ETX_BAD_STATE, "is in use");
  assert_refused(etx_method_forget(method, &diag), ETX_BAD_STATE, "is in use");
  assert_refused(etx_method_reset(method, &diag), ETX_BAD_STATE, "is in use");
  // Another method cannot have a future that is pending.
  assert_refused(
      etx_method_run_async(&b.loaded.method, &slow.launcher, &a.future, &diag),
      ETX_BAD_STATE, "the future has a run that is not done");
  assert_int_equal(slow.count, 1);
  assert_ok(etx_method_run(&b.loaded.method, &diag));
  assert_true(sum_of(&b) == 6);
  run_kept(&slow);
  assert_true(etx_future_is_done(&a.future));
  assert_ok(etx_future_wait(&a.future, &diag));
  assert_true(sum_of(&a) == 3);
  // Again, with `wait` of the launcher.
  assert_ok(etx_method_run_async(method, &slow.launcher, &a.future, &diag));
  assert_ok(etx_future_wait(&a.future, &diag));
  assert_true(sum_of(&a) == 5);
  end_instance(&b);
  end_instance(&a);
  end(&f);
}

static void a_launcher_may_refuse(void** state) {
  (void)state;
  async_fixture f;
  slow_launcher slow;
  instance a;
  start(&f, 0);
  start_slow(&slow);
  start_instance(&a, &f.program, "add");
  set_sum(&a, 2);
  slow.refuses = true;
  assert_refused(
      etx_method_run_async(&a.loaded.method, &slow.launcher, &a.future, &diag),
      ETX_HOST_FAILED, "did not accept a run of method 'add'");
  assert_false(etx_future_is_done(&a.future));
  assert_refused(etx_future_wait(&a.future, &diag), ETX_BAD_STATE, "no run");
  // Neither the method nor the future is busy, and nothing has run.
  assert_ok(etx_method_run_async(&a.loaded.method, NULL, &a.future, &diag));
  assert_true(etx_future_is_done(&a.future));
  assert_true(sum_of(&a) == 3);
  end_instance(&a);
  end(&f);
}

// Status and message of a failure are those of a direct run.
static void check_failures(size_t thread_count) {
  async_fixture f;
  instance direct, other;
  float value = 7;
  etx_diag direct_diag;
  start(&f, thread_count);
  instance* const both[] = {&direct, &other};
  for (size_t i = 0; i < 2; ++i) {
    instance* const it = both[i];
    start_instance(it, &f.program, "put");
    it->index = 99;  // refused after a part is written
    const etx_tensor at = TEST_TENSOR(&it->index, ETX_DTYPE_INT64, 1);
    const etx_tensor v = TEST_TENSOR(&value, ETX_DTYPE_FLOAT32, 1);
    if (i == 1) {
      // An input that was never set is found by the run, not by its start.
      assert_ok(etx_method_run_async(&it->loaded.method, launcher_of(&f),
                                     &it->future, &diag));
      assert_refused(etx_future_wait(&it->future, &diag), ETX_BAD_STATE,
                     "input 'at' of method 'put' was never set");
    }
    assert_ok(etx_method_set_input(&it->loaded.method, 0, &at, &diag));
    assert_ok(etx_method_set_input(&it->loaded.method, 1, &v, &diag));
  }
  etx_diag_init(&direct_diag);
  const etx_status expected =
      etx_method_run(&direct.loaded.method, &direct_diag);
  assert_int_not_equal(expected, ETX_OK);
  assert_ok(etx_method_run_async(&other.loaded.method, launcher_of(&f),
                                 &other.future, &diag));
  assert_status(etx_future_wait(&other.future, &diag), expected);
  assert_string_equal(diag.text, direct_diag.text);
  assert_string_equal(other.future.diag.text, direct_diag.text);
  assert_int_equal(diag.status, expected);
  // Waiting again gives the same.
  assert_status(etx_future_wait(&other.future, &diag), expected);
  assert_string_equal(diag.text, direct_diag.text);
  assert_int_equal(etx_future_wait(&other.future, NULL), expected);
  // The first failure of a message stays.
  etx_diag earlier;
  etx_diag_init(&earlier);
  assert_int_equal(etx_diag_fail(&earlier, ETX_NOT_FOUND, "earlier"),
                   ETX_NOT_FOUND);
  assert_int_equal(etx_future_wait(&other.future, &earlier), expected);
  if (ETX_MESSAGES) assert_int_equal(earlier.status, ETX_NOT_FOUND);
  assert_true(test_message_is(&earlier, "earlier"));
  assert_true(etx_shared_memory_is_torn(&other.shared));
  end_instance(&other);
  end_instance(&direct);
  end(&f);
}

static void failures_arrive_whole(void** state) {
  (void)state;
  check_failures(0);
  check_failures(1);
  check_failures(2);
  check_failures(8);
}

// ---- work that waits for other work ----

// Runs a method of its own and waits for two other works of its kind, so that a
// tree of works has many that wait at the same time.
typedef struct tree_node {
  etx_work work;
  const etx_launcher* launcher;
  struct tree_node* children[2];
  instance it;
  etx_status status;
} tree_node;

static void finish(tree_node* node) {
  __atomic_store_n(&node->work.state, ETX_WORK_DONE, __ATOMIC_SEQ_CST);
}

static void run_node(etx_work* work) {
  tree_node* const node = (tree_node*)(void*)work;
  const etx_launcher* const launcher = node->launcher;
  for (size_t i = 0; i < 2 && node->children[i] != NULL; ++i) {
    etx_work* const child = &node->children[i]->work;
    __atomic_store_n(&child->state, ETX_WORK_PENDING, __ATOMIC_RELEASE);
    if (!launcher->submit(launcher->context, child)) abort();
  }
  node->status = etx_method_run_async(&node->it.loaded.method, launcher,
                                      &node->it.future, NULL);
  for (size_t i = 0; i < 2 && node->children[i] != NULL; ++i) {
    etx_work* const child = &node->children[i]->work;
    if (!etx_work_is_done(child)) launcher->wait(launcher->context, child);
    if (node->children[i]->status != ETX_OK) {
      node->status = node->children[i]->status;
    }
  }
  if (node->status == ETX_OK) {
    node->status = etx_future_wait(&node->it.future, NULL);
  }
  finish(node);
}

static void check_tree(size_t thread_count) {
  enum { NODES = 31, ROUNDS = 20 };
  static tree_node nodes[NODES];
  async_fixture f;
  start(&f, thread_count);
  for (size_t i = 0; i < NODES; ++i) {
    tree_node* const node = &nodes[i];
    memset(node, 0, sizeof *node);
    node->work.run = run_node;
    node->launcher = &f.pool.launcher;
    for (size_t k = 0; k < 2; ++k) {
      const size_t child = 2 * i + 1 + k;
      node->children[k] = child < NODES ? &nodes[child] : NULL;
    }
    start_instance(&node->it, &f.program, "add");
    set_sum(&node->it, (float)i);
  }
  for (size_t round = 1; round <= ROUNDS; ++round) {
    run_node(&nodes[0].work);
    assert_int_equal(nodes[0].status, ETX_OK);
    for (size_t i = 0; i < NODES; ++i) {
      assert_true(sum_of(&nodes[i].it) == 1 + (float)(i * round));
    }
  }
  for (size_t i = 0; i < NODES; ++i) end_instance(&nodes[i].it);
  end(&f);
}

static void works_may_wait_for_works(void** state) {
  (void)state;
  check_tree(1);
  check_tree(2);
  check_tree(8);
}

// ---- several threads that submit and wait ----

typedef struct submitter {
  const etx_launcher* launcher;
  instance it;
  size_t rounds;
  size_t wrong;
  etx_future* other;  // a future of another thread, which this one waits for
} submitter;

static void* submit_many(void* argument) {
  submitter* const user = argument;
  etx_method* const method = &user->it.loaded.method;
  float expected = 1;
  for (size_t i = 0; i < user->rounds; ++i) {
    expected += 1;
    if (etx_method_run_async(method, user->launcher, &user->it.future, NULL) !=
            ETX_OK ||
        etx_future_wait(&user->it.future, NULL) != ETX_OK ||
        sum_of(&user->it) != expected) {
      ++user->wrong;
    }
  }
  return NULL;
}

static void threads_share_a_launcher(void** state) {
  (void)state;
  enum { THREADS = 4 };
  async_fixture f;
  submitter users[THREADS];
  pthread_t threads[THREADS];
  start(&f, 3);
  for (size_t i = 0; i < THREADS; ++i) {
    memset(&users[i], 0, sizeof users[i]);
    users[i].launcher = &f.pool.launcher;
    users[i].rounds = ETX_POOL_JOBS / 50;
    start_instance(&users[i].it, &f.program, "add");
    set_sum(&users[i].it, 1);
  }
  for (size_t i = 0; i < THREADS; ++i) {
    assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &users[i]),
                     0);
  }
  for (size_t i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    assert_int_equal(users[i].wrong, 0);
    end_instance(&users[i].it);
  }
  end(&f);
}

static void* wait_for(void* argument) {
  submitter* const user = argument;
  if (etx_future_wait(user->other, NULL) != ETX_OK) ++user->wrong;
  return NULL;
}

// All threads that wait for one run are woken, whoever did it.
static void threads_wait_for_one_run(void** state) {
  (void)state;
  enum { THREADS = 4, ROUNDS = 200 };
  async_fixture f;
  instance it;
  start(&f, 2);
  start_instance(&it, &f.program, "add");
  set_sum(&it, 1);
  for (size_t round = 0; round < ROUNDS; ++round) {
    submitter users[THREADS];
    pthread_t threads[THREADS];
    memset(users, 0, sizeof users);
    assert_ok(etx_method_run_async(&it.loaded.method, &f.pool.launcher,
                                   &it.future, &diag));
    for (size_t i = 0; i < THREADS; ++i) {
      users[i].other = &it.future;
      assert_int_equal(pthread_create(&threads[i], NULL, wait_for, &users[i]),
                       0);
    }
    for (size_t i = 0; i < THREADS; ++i) {
      pthread_join(threads[i], NULL);
      assert_int_equal(users[i].wrong, 0);
    }
    assert_true(sum_of(&it) == 2 + (float)round);
  }
  end_instance(&it);
  end(&f);
}

// Work whose run takes so long that a waiting thread goes to sleep.
typedef struct long_work {
  etx_work work;
  uint32_t has_begun;  // atomic
  uint32_t may_end;    // atomic
} long_work;

static void run_long(etx_work* work) {
  long_work* const it = (long_work*)(void*)work;
  __atomic_store_n(&it->has_begun, 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(&it->may_end, __ATOMIC_ACQUIRE) == 0) {
    const struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
  }
  __atomic_store_n(&work->state, ETX_WORK_DONE, __ATOMIC_SEQ_CST);
}

static void* wait_for_long(void* argument) {
  void** const both = argument;
  const etx_launcher* const launcher = both[0];
  launcher->wait(launcher->context, both[1]);
  return NULL;
}

static void a_waiting_thread_that_sleeps_is_woken(void** state) {
  (void)state;
  async_fixture f;
  start(&f, 2);
  for (size_t i = 0; i < 5; ++i) {
    long_work it = {.work = {.run = run_long, .state = ETX_WORK_PENDING}};
    pthread_t thread;
    void* both[] = {&f.pool.launcher, &it.work};
    assert_true(f.pool.launcher.submit(&f.pool, &it.work));
    while (__atomic_load_n(&it.has_begun, __ATOMIC_ACQUIRE) == 0) {
    }
    assert_int_equal(pthread_create(&thread, NULL, wait_for_long, both), 0);
    const struct timespec pause = {0, 5000000};
    nanosleep(&pause, NULL);
    __atomic_store_n(&it.may_end, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    assert_true(etx_work_is_done(&it.work));
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_give_the_same_inline_and_with_threads),
      cmocka_unit_test(a_pending_method_is_busy),
      cmocka_unit_test(a_launcher_may_refuse),
      cmocka_unit_test(failures_arrive_whole),
      cmocka_unit_test(works_may_wait_for_works),
      cmocka_unit_test(threads_share_a_launcher),
      cmocka_unit_test(threads_wait_for_one_run),
      cmocka_unit_test(a_waiting_thread_that_sleeps_is_woken),
  };
  return cmocka_run_group_tests_name("method_async", tests, NULL, NULL);
}
