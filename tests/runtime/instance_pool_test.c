// Pools of instances: many threads get and put instances and never share one;
// exact memory; what is refused; what an instance keeps. It is also run under
// the thread sanitizer.

#define _POSIX_C_SOURCE 200809L

#include "runtime/pool/instance_pool.h"

#include <pthread.h>
#include <sched.h>

#include "tests/support/assert_status.h"
#include "tests/support/counter_program.h"
#include "tests/support/loaded_method.h"
#include "tests/support/short_kernel_table.h"

enum { THREADS = 8, MOST_INSTANCES = 8, ADD = 0, READ = 1, PUT = 2 };

static etx_diag diag;

typedef struct instances_fixture {
  test_program* p;
  etx_program program;
  test_block block;
  etx_instance_pool pool;
} instances_fixture;

static void start_with(instances_fixture* f, bool has_blob,
                       const etx_instance_pool_options* options) {
  size_t needed = 0;
  f->p = counter_program(has_blob, false);
  assert_ok(etx_program_open(&f->program, test_file(f->p), &test_few_kernels,
                             NULL, &diag));
  assert_ok(etx_instance_pool_needed(&f->program, options, &needed, &diag));
  f->block = test_block_new(needed, ETX_INSTANCE_POOL_ALIGNMENT);
  if (options->is_zeroed) memset(f->block.bytes.data, 0, needed);
  assert_ok(etx_instance_pool_init(&f->pool, &f->program, options,
                                   f->block.bytes, NULL, &diag));
}

static void start(instances_fixture* f, size_t instances, bool keeps_state) {
  const etx_instance_pool_options options = {.instance_count = instances,
                                             .keeps_state = keeps_state};
  start_with(f, true, &options);
}

static void end(instances_fixture* f) {
  assert_true(test_block_end(&f->block));
  test_program_end(f->p);
}

// Adds to state; returns the output, or a negative number after a failure.
static float add(const etx_instance_lease* lease, float value) {
  float data[2] = {value, value};
  const etx_value* out = NULL;
  const etx_tensor x = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 2);
  etx_method* const method = &lease->methods[ADD];
  if (etx_method_set_input(method, 0, &x, NULL) != ETX_OK ||
      etx_method_run(method, NULL) != ETX_OK ||
      etx_method_output(method, 0, &out) != ETX_OK) {
    return -1;
  }
  return ((const float*)out->as.tensor.data)[1];
}

static float count_of(const etx_instance_lease* lease) {
  const etx_value* out = NULL;
  assert_ok(etx_method_run(&lease->methods[READ], &diag));
  assert_int_equal(etx_method_output(&lease->methods[READ], 0, &out), ETX_OK);
  return ((const float*)out->as.tensor.data)[0];
}

// Writes table[at]; the kernel refuses 99 after it has written a part.
static etx_status put_at(const etx_instance_lease* lease, int64_t at) {
  float value = 7;
  const etx_tensor index = TEST_TENSOR(&at, ETX_DTYPE_INT64, 1);
  const etx_tensor v = TEST_TENSOR(&value, ETX_DTYPE_FLOAT32, 1);
  assert_ok(etx_method_set_input(&lease->methods[PUT], 0, &index, &diag));
  assert_ok(etx_method_set_input(&lease->methods[PUT], 1, &v, &diag));
  return etx_method_run(&lease->methods[PUT], NULL);
}

// ---- threads ----

// Shared by the threads. `owner` is ordinary memory: the thread sanitizer
// reports it if two threads have an instance without an order between them.
typedef struct shared_pool {
  etx_instance_pool* pool;
  uint32_t owner[MOST_INSTANCES];  // thread that has it; 0: none
  bool runs_methods;
} shared_pool;

typedef struct pool_user {
  shared_pool* shared;
  uint32_t number;  // from 1 on
  size_t jobs;
  uint64_t gets;     // that returned an instance
  uint64_t empties;  // gets that found none
  size_t wrong;      // jobs that went wrong
  float added;       // to the instances' states
} pool_user;

static void use(pool_user* user, const etx_instance_lease* lease, size_t job) {
  uint32_t* const owner = &user->shared->owner[lease->index];
  if (*owner != 0) ++user->wrong;
  *owner = user->number;
  ++user->gets;
  if (!user->shared->runs_methods) return;
  // With kept state, sums stay below 2^24, so that floats have them exactly.
  const bool keeps = user->shared->pool->keeps_state;
  const float value = keeps ? 1 : (float)(user->number * 1000 + job % 1000);
  const float found = add(lease, value);
  user->added += value;
  // Otherwise each lease starts with the initial value 1.
  if (keeps ? found < 2 : found != 1 + value) ++user->wrong;
}

static void give_back(pool_user* user, const etx_instance_lease* lease) {
  uint32_t* const owner = &user->shared->owner[lease->index];
  if (*owner != user->number) ++user->wrong;
  *owner = 0;
  if (etx_instance_pool_put(user->shared->pool, lease, NULL) != ETX_OK)
    ++user->wrong;
}

static void* use_many(void* argument) {
  pool_user* const user = argument;
  etx_instance_pool* const pool = user->shared->pool;
  for (size_t job = 0; job < user->jobs; ++job) {
    etx_instance_lease lease;
    while (etx_instance_pool_get(pool, &lease) != ETX_OK) {
      ++user->empties;
      sched_yield();
    }
    use(user, &lease, job);
    give_back(user, &lease);
  }
  return NULL;
}

typedef struct thread_plan {
  void* (*work)(void*);
  size_t instances;
  size_t jobs;  // of all threads
  bool runs_methods;
  bool keeps_state;
} thread_plan;

// The sum of what the instances' states have gained, each from 1 on. Checks
// that all instances are still there, each once.
static float take_all(etx_instance_pool* pool, size_t instances) {
  bool seen[MOST_INSTANCES] = {false};
  etx_instance_lease lease;
  float sum = 0;
  for (size_t i = 0; i < instances; ++i) {
    assert_int_equal(etx_instance_pool_get(pool, &lease), ETX_OK);
    assert_false(seen[lease.index]);
    seen[lease.index] = true;
    sum += count_of(&lease) - 1;
  }
  assert_int_equal(etx_instance_pool_get(pool, &lease), ETX_BAD_STATE);
  return sum;
}

// Runs all threads and checks that no instance was lost, taken twice or wrong.
static void check_threads(const thread_plan* plan) {
  instances_fixture f;
  shared_pool shared;
  pool_user users[THREADS];
  pthread_t threads[THREADS];
  uint64_t empties = 0, gets = 0;
  float added = 0;
  memset(&shared, 0, sizeof shared);
  start(&f, plan->instances, plan->keeps_state);
  shared.pool = &f.pool;
  shared.runs_methods = plan->runs_methods;
  for (uint32_t i = 0; i < THREADS; ++i) {
    users[i] = (pool_user){
        .shared = &shared, .number = i + 1, .jobs = plan->jobs / THREADS};
    assert_int_equal(pthread_create(&threads[i], NULL, plan->work, &users[i]),
                     0);
  }
  for (size_t i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    assert_int_equal(users[i].wrong, 0);
    gets += users[i].gets;
    empties += users[i].empties;
    added += users[i].added;
  }
  const etx_instance_pool_statistics counts = etx_instance_pool_count(&f.pool);
  assert_int_equal(counts.in_use, 0);
  assert_true(counts.most_in_use >= 1 && counts.most_in_use <= plan->instances);
  assert_int_equal(counts.gets, gets);
  assert_int_equal(counts.empties, empties);
  const float kept = take_all(&f.pool, plan->instances);
  assert_true(kept == (plan->keeps_state ? added : 0));
  end(&f);
}

// Leases of changing length: several instances are out at a time, and go back
// in another order than they came.
static void* hold_several(void* argument) {
  pool_user* const user = argument;
  etx_instance_pool* const pool = user->shared->pool;
  uint32_t random = user->number;
  for (size_t job = 0; job < user->jobs; ++job) {
    etx_instance_lease leases[3];
    size_t count = 0;
    random = random * 1664525u + 1013904223u;
    const size_t wanted = 1 + (random >> 16) % 3;
    while (count < wanted &&
           etx_instance_pool_get(pool, &leases[count]) == ETX_OK) {
      use(user, &leases[count++], job);
    }
    if (count < wanted) ++user->empties;
    const size_t first = count == 0 ? 0 : (random >> 24) % count;
    for (size_t i = 0; i < count; ++i) {
      give_back(user, &leases[(first + i) % count]);
    }
  }
  return NULL;
}

static void threads_never_share_an_instance(void** state) {
  (void)state;
  check_threads(&(thread_plan){use_many, 1, ETX_POOL_JOBS / 10, false, false});
  check_threads(&(thread_plan){use_many, 5, ETX_POOL_JOBS, false, false});
  check_threads(&(thread_plan){hold_several, 5, ETX_POOL_JOBS, false, false});
}

static void threads_get_the_results_of_one_instance(void** state) {
  (void)state;
  check_threads(&(thread_plan){use_many, 3, ETX_POOL_JOBS / 4, true, false});
  check_threads(
      &(thread_plan){hold_several, 8, ETX_POOL_JOBS / 4, true, false});
}

// The states are sums over all leases of an instance, so their total shows that
// no run was lost.
static void no_run_is_lost_where_state_is_kept(void** state) {
  (void)state;
  check_threads(&(thread_plan){use_many, 5, ETX_POOL_JOBS / 4, true, true});
}

// ---- one thread ----

static void a_pool_hands_out_each_instance_once(void** state) {
  (void)state;
  instances_fixture f;
  etx_instance_lease leases[3];
  etx_instance_lease none = {.index = 77};
  start(&f, 3, false);
  for (size_t i = 0; i < 3; ++i) {
    assert_int_equal(etx_instance_pool_get(&f.pool, &leases[i]), ETX_OK);
    assert_int_equal(leases[i].method_count, 3);
    assert_true(add(&leases[i], (float)i) == 1 + (float)i);
  }
  assert_int_equal(etx_instance_pool_get(&f.pool, &none), ETX_BAD_STATE);
  assert_int_equal(none.index, 77);
  // Each has a state of its own.
  for (size_t i = 0; i < 3; ++i) {
    assert_true(count_of(&leases[i]) == 1 + (float)i);
  }
  etx_instance_pool_statistics counts = etx_instance_pool_count(&f.pool);
  assert_int_equal(counts.in_use, 3);
  assert_int_equal(counts.most_in_use, 3);
  assert_int_equal(counts.gets, 3);
  assert_int_equal(counts.empties, 1);
  // The last one back is the next one out.
  assert_ok(etx_instance_pool_put(&f.pool, &leases[2], &diag));
  assert_ok(etx_instance_pool_put(&f.pool, &leases[0], &diag));
  assert_int_equal(etx_instance_pool_get(&f.pool, &none), ETX_OK);
  assert_int_equal(none.index, leases[0].index);
  counts = etx_instance_pool_count(&f.pool);
  assert_int_equal(counts.in_use, 2);
  assert_int_equal(counts.most_in_use, 3);
  assert_int_equal(counts.gets, 4);
  end(&f);
}

static void what_is_not_out_cannot_be_put(void** state) {
  (void)state;
  instances_fixture f, other;
  etx_instance_lease lease, again, foreign;
  start(&f, 2, false);
  start(&other, 2, false);
  assert_int_equal(etx_instance_pool_get(&f.pool, &lease), ETX_OK);
  const etx_instance_lease stale = lease;
  assert_ok(etx_instance_pool_put(&f.pool, &lease, &diag));
  assert_refused(etx_instance_pool_put(&f.pool, &lease, &diag), ETX_BAD_STATE,
                 "was put back already");
  // A copy of the old lease does not end the next one of the same instance.
  assert_int_equal(etx_instance_pool_get(&f.pool, &again), ETX_OK);
  assert_int_equal(again.index, stale.index);
  assert_refused(etx_instance_pool_put(&f.pool, &stale, &diag), ETX_BAD_STATE,
                 "was put back already");
  assert_int_equal(etx_instance_pool_count(&f.pool).in_use, 1);
  assert_true(add(&again, 4) == 5);
  assert_int_equal(etx_instance_pool_get(&other.pool, &foreign), ETX_OK);
  assert_refused(etx_instance_pool_put(&f.pool, &foreign, &diag),
                 ETX_BAD_ARGUMENT, "not of this pool");
  foreign.index = 2;
  assert_refused(etx_instance_pool_put(&f.pool, &foreign, &diag),
                 ETX_BAD_ARGUMENT, "not of this pool");
  // A lease with a ticket that was never given.
  etx_instance_lease forged = again;
  forged.ticket += 1;
  assert_refused(etx_instance_pool_put(&f.pool, &forged, &diag), ETX_BAD_STATE,
                 "is not out");
  assert_ok(etx_instance_pool_put(&f.pool, &again, &diag));
  end(&other);
  end(&f);
}

static void a_running_instance_stays_out(void** state) {
  (void)state;
  instances_fixture f;
  etx_instance_lease lease;
  start(&f, 1, false);
  assert_int_equal(etx_instance_pool_get(&f.pool, &lease), ETX_OK);
  __atomic_store_n(&lease.methods[READ].busy, 1u, __ATOMIC_RELEASE);
  assert_refused(etx_instance_pool_put(&f.pool, &lease, &diag), ETX_BAD_STATE,
                 "is in use by another thread");
  assert_int_equal(etx_instance_pool_count(&f.pool).in_use, 1);
  __atomic_store_n(&lease.methods[READ].busy, 0u, __ATOMIC_RELEASE);
  assert_ok(etx_instance_pool_put(&f.pool, &lease, &diag));
  end(&f);
}

static void count_call(void* context, size_t instruction,
                       const etx_call* call) {
  (void)instruction;
  (void)call;
  ++*(size_t*)context;
}

// What the last caller set or left is gone.
static void a_lease_begins_as_the_first_did(void** state) {
  (void)state;
  for (int has_blob = 0; has_blob < 2; ++has_blob) {
    instances_fixture f;
    etx_instance_lease lease;
    size_t calls = 0;
    const etx_run_observer observer = {count_call, count_call, &calls};
    const etx_instance_pool_options options = {.instance_count = 1};
    start_with(&f, has_blob != 0, &options);
    assert_int_equal(etx_instance_pool_get(&f.pool, &lease), ETX_OK);
    etx_method_observe(&lease.methods[ADD], &observer);
    assert_true(add(&lease, 3) == 4);
    assert_true(add(&lease, 3) == 7);
    assert_int_not_equal(put_at(&lease, 99), ETX_OK);
    assert_true(etx_shared_memory_is_torn(lease.session));
    assert_ok(etx_instance_pool_put(&f.pool, &lease, &diag));
    assert_int_equal(etx_instance_pool_get(&f.pool, &lease), ETX_OK);
    assert_false(etx_shared_memory_is_torn(lease.session));
    assert_refused(etx_method_run(&lease.methods[ADD], &diag), ETX_BAD_STATE,
                   "was never set");
    assert_true(count_of(&lease) == 1);
    calls = 0;
    assert_true(add(&lease, 3) == 4);
    assert_int_equal(calls, 0);
    end(&f);
  }
}

static void kept_state_stays_unless_it_is_torn(void** state) {
  (void)state;
  instances_fixture f;
  etx_instance_lease lease;
  start(&f, 1, true);
  assert_int_equal(etx_instance_pool_get(&f.pool, &lease), ETX_OK);
  assert_true(add(&lease, 3) == 4);
  assert_ok(etx_instance_pool_put(&f.pool, &lease, &diag));
  assert_int_equal(etx_instance_pool_get(&f.pool, &lease), ETX_OK);
  assert_true(count_of(&lease) == 4);
  assert_refused(etx_method_run(&lease.methods[ADD], &diag), ETX_BAD_STATE,
                 "was never set");
  assert_int_not_equal(put_at(&lease, 99), ETX_OK);
  assert_ok(etx_instance_pool_put(&f.pool, &lease, &diag));
  assert_int_equal(etx_instance_pool_get(&f.pool, &lease), ETX_OK);
  assert_true(count_of(&lease) == 1);
  end(&f);
}

// A method that the caller bound to another session works on the instance's own
// again.
static void methods_are_bound_to_their_session_again(void** state) {
  (void)state;
  instances_fixture f;
  etx_instance_lease first, second;
  start(&f, 2, true);
  assert_int_equal(etx_instance_pool_get(&f.pool, &first), ETX_OK);
  assert_int_equal(etx_instance_pool_get(&f.pool, &second), ETX_OK);
  assert_ok(
      etx_method_bind(&first.methods[ADD], &second.session->planned, &diag));
  assert_true(add(&first, 5) == 6);
  assert_true(count_of(&second) == 6);
  assert_ok(etx_instance_pool_put(&f.pool, &first, &diag));
  assert_int_equal(etx_instance_pool_get(&f.pool, &first), ETX_OK);
  assert_true(add(&first, 1) == 2);
  assert_true(count_of(&second) == 6);
  end(&f);
}

static void one_byte_fewer_is_refused(void** state) {
  (void)state;
  for (int has_blob = 0; has_blob < 2; ++has_blob) {
    for (size_t instances = 1; instances < 4; ++instances) {
      instances_fixture f;
      const etx_instance_pool_options options = {.instance_count = instances};
      start_with(&f, has_blob != 0, &options);
      etx_bytes_mut less = f.block.bytes;
      --less.size;
      assert_refused(etx_instance_pool_init(&f.pool, &f.program, &options, less,
                                            NULL, &diag),
                     ETX_OUT_OF_MEMORY, "bytes, ");
      less.data += 32;
      less.size = f.block.bytes.size;
      assert_refused(etx_instance_pool_init(&f.pool, &f.program, &options, less,
                                            NULL, &diag),
                     ETX_BAD_ARGUMENT, "not aligned to 64 bytes");
      end(&f);
    }
  }
}

static void invalid_pools_are_refused(void** state) {
  (void)state;
  instances_fixture f;
  size_t needed = 0;
  start(&f, 1, false);
  etx_instance_pool_options options = {.instance_count = 0};
  assert_refused(etx_instance_pool_needed(&f.program, &options, &needed, &diag),
                 ETX_BAD_ARGUMENT, "a pool of 0 instances, expected 1 to");
  options.instance_count = ETX_INSTANCE_POOL_MOST + 1;
  assert_refused(etx_instance_pool_needed(&f.program, &options, &needed, &diag),
                 ETX_BAD_ARGUMENT, "a pool of 65536 instances");
  options.instance_count = ETX_INSTANCE_POOL_MOST;
  assert_ok(etx_instance_pool_needed(&f.program, &options, &needed, &diag));
  const etx_text names[] = {etx_text_of("read"), etx_text_of("reed")};
  options = (etx_instance_pool_options){
      .instance_count = 1, .methods = names, .method_count = 2};
  assert_refused(etx_instance_pool_needed(&f.program, &options, &needed, &diag),
                 ETX_NOT_FOUND, "reed");
  end(&f);
}

static void named_methods_alone_are_loaded(void** state) {
  (void)state;
  instances_fixture f;
  etx_instance_lease lease;
  const etx_text names[] = {etx_text_of("read")};
  const etx_instance_pool_options options = {.instance_count = 2,
                                             .methods = names,
                                             .method_count = 1,
                                             .is_zeroed = true};
  start_with(&f, true, &options);
  assert_int_equal(etx_instance_pool_get(&f.pool, &lease), ETX_OK);
  assert_int_equal(lease.method_count, 1);
  etx_method* const read = etx_instance_pool_method(&lease, names[0]);
  assert_ptr_equal(read, lease.methods);
  assert_null(etx_instance_pool_method(&lease, etx_text_of("add")));
  const etx_value* out = NULL;
  assert_ok(etx_method_run(read, &diag));
  assert_int_equal(etx_method_output(read, 1, &out), ETX_OK);
  assert_true(((const float*)out->as.tensor.data)[2] == 30);
  end(&f);
}

static void count_missing(void* context, etx_text name, etx_text overload,
                          size_t instruction) {
  (void)name;
  (void)overload;
  (void)instruction;
  ++*(size_t*)context;
}

static void missing_operators_are_named(void** state) {
  (void)state;
  static const etx_kernel_table none = {NULL, 0, NULL};
  instances_fixture f;
  size_t missing = 0;
  const etx_missing_sink sink = {count_missing, &missing, NULL};
  const etx_instance_pool_options options = {.instance_count = 1};
  start_with(&f, true, &options);
  assert_ok(etx_program_open(&f.program, test_file(f.p), &none, NULL, &diag));
  assert_status(etx_instance_pool_init(&f.pool, &f.program, &options,
                                       f.block.bytes, &sink, &diag),
                ETX_MISSING_OPERATOR);
  assert_true(missing > 0);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_never_share_an_instance),
      cmocka_unit_test(threads_get_the_results_of_one_instance),
      cmocka_unit_test(no_run_is_lost_where_state_is_kept),
      cmocka_unit_test(a_pool_hands_out_each_instance_once),
      cmocka_unit_test(what_is_not_out_cannot_be_put),
      cmocka_unit_test(a_running_instance_stays_out),
      cmocka_unit_test(a_lease_begins_as_the_first_did),
      cmocka_unit_test(kept_state_stays_unless_it_is_torn),
      cmocka_unit_test(methods_are_bound_to_their_session_again),
      cmocka_unit_test(one_byte_fewer_is_refused),
      cmocka_unit_test(invalid_pools_are_refused),
      cmocka_unit_test(named_methods_alone_are_loaded),
      cmocka_unit_test(missing_operators_are_named),
  };
  return cmocka_run_group_tests_name("instance_pool", tests, NULL, NULL);
}
