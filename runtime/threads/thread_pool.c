// A pool of threads.
//
// The word `left` has the first task that is left in its upper half and the end
// of the tasks that are left in its lower half; 0 means none. A thread takes a
// task with a compare-and-swap, and reads the job's function and argument after
// that. A job cannot end before all its taken tasks have returned, so these
// fields belong to the present job, however old the value was that the thread
// compared: a thread that was preempted between reading and swapping takes a
// task of a later job, or fails. So the word needs no generation number against
// ABA.
//
// The caller takes tasks from the front and workers take them from the back. If
// jobs split their data in the same way, threads tend to get the data that is
// in their caches.
//
// Sleeping and submitting race: a worker increments `sleepers` and reads `left`
// again; a caller writes `left` and reads `sleepers`. All four are sequentially
// consistent, so at least one sees the other, and no job is missed. The worker
// reads the gate's epoch before that, so a notification before it sleeps ends
// the wait at once. A submission writes `queued` instead of `left`. A thread
// that waits for a work and one that has run a work race in the same way, with
// `waiters` and the state of the work.
//
// Works are linked in a queue under a lock, which a thread holds for a few
// instructions. A thread that waits for a work takes it out of the queue and
// runs it. If it is not there, a thread has begun it.

#include "runtime/threads/thread_pool.h"

#include <string.h>

#include "runtime/threads/thread_host.h"

enum {
  // How long a worker without tasks spins before it sleeps. Longer than the
  // operators that
  // a model has between two that are split, and than waking a thread (about 10
  // us); a longer
  // spin would waste energy.
  SPIN_NS = 60000,
  // Pauses between two reads of the clock.
  PAUSES = 16,
  FIRST_SHIFT = 16,
  MAX_TASKS = UINT16_MAX,  // of a job: half of the word
};

static uint32_t load_acquire(const uint32_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

// Takes the first or the last task that is left. Returns false if there is
// none.
static bool take_task(etx_thread_pool* pool, bool takes_last,
                      uint32_t* out_index) {
  uint32_t left = load_acquire(&pool->left);
  while (left != 0) {
    const uint32_t first = left >> FIRST_SHIFT, end = left & MAX_TASKS;
    const uint32_t next = takes_last ? left - 1 : left + (1u << FIRST_SHIFT);
    const uint32_t now = first + 1 == end ? 0 : next;
    if (__atomic_compare_exchange_n(&pool->left, &left, now, true,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      *out_index = takes_last ? end - 1 : first;
      return true;
    }
  }
  return false;
}

// Runs tasks until none is left, and then subtracts their number from
// `unfinished`: one atomic write instead of one for each task.
static void run_tasks_left(etx_thread_pool* pool, bool takes_last) {
  uint32_t done = 0;
  uint32_t index;
  while (take_task(pool, takes_last, &index)) {
    pool->task(pool->argument, pool->first + index);
    ++done;
  }
  if (done != 0) __atomic_sub_fetch(&pool->unfinished, done, __ATOMIC_RELEASE);
}

// ---- works ----

static void lock_queue(etx_thread_pool* pool) {
  while (__atomic_exchange_n(&pool->lock, 1, __ATOMIC_ACQUIRE) != 0) {
    etx_host_thread_yield();
  }
}

static void unlock_queue(etx_thread_pool* pool) {
  __atomic_store_n(&pool->lock, 0, __ATOMIC_RELEASE);
}

static void append_work(etx_thread_pool* pool, etx_work* work) {
  work->next = NULL;
  lock_queue(pool);
  if (pool->last_work == NULL) {
    pool->first_work = work;
  } else {
    pool->last_work->next = work;
  }
  pool->last_work = work;
  __atomic_add_fetch(&pool->queued, 1, __ATOMIC_SEQ_CST);
  unlock_queue(pool);
}

// Takes `wanted` out of the queue, or the first work if `wanted` is NULL.
// Returns NULL if it is not there.
static etx_work* take_work(etx_thread_pool* pool, const etx_work* wanted) {
  etx_work* before = NULL;
  if (load_acquire(&pool->queued) == 0) return NULL;
  lock_queue(pool);
  etx_work* work = pool->first_work;
  while (work != NULL && wanted != NULL && work != wanted) {
    before = work;
    work = work->next;
  }
  if (work != NULL) {
    if (before == NULL) {
      pool->first_work = work->next;
    } else {
      before->next = work->next;
    }
    if (pool->last_work == work) pool->last_work = before;
    __atomic_sub_fetch(&pool->queued, 1, __ATOMIC_RELAXED);
  }
  unlock_queue(pool);
  return work;
}

// The memory of the work may have ended when its function returns.
static void run_work(etx_thread_pool* pool, etx_work* work) {
  work->run(work);
  const uint32_t waiters = __atomic_load_n(&pool->waiters, __ATOMIC_SEQ_CST);
  if (waiters != 0) etx_host_gate_notify(pool->done_gate, waiters);
}

// ---- workers ----

// True if a worker has something to do.
static bool has_work(const etx_thread_pool* pool) {
  return __atomic_load_n(&pool->left, __ATOMIC_SEQ_CST) != 0 ||
         __atomic_load_n(&pool->queued, __ATOMIC_SEQ_CST) != 0;
}

// Spins until there is a task or a work. Returns false after SPIN_NS.
static bool spin_for_work(const etx_thread_pool* pool) {
  const uint64_t start = etx_host_thread_now_ns();
  do {
    for (int i = 0; i < PAUSES; ++i) {
      if (has_work(pool)) return true;
      etx_host_thread_pause();
    }
  } while (etx_host_thread_now_ns() - start < SPIN_NS);
  return false;
}

static void sleep_once(etx_thread_pool* pool) {
  const uint32_t epoch = load_acquire(&pool->gate->epoch);
  __atomic_add_fetch(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
  if (!has_work(pool) && load_acquire(&pool->is_over) == 0) {
    etx_host_gate_wait(pool->gate, epoch);
  }
  __atomic_sub_fetch(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
}

static void run_worker(void* argument) {
  etx_thread_pool* pool = argument;
  while (load_acquire(&pool->is_over) == 0) {
    if (!spin_for_work(pool)) {
      sleep_once(pool);
      continue;
    }
    run_tasks_left(pool, true);
    etx_work* const work = take_work(pool, NULL);
    if (work != NULL) run_work(pool, work);
  }
}

// ---- callers ----

// Waits for the tasks that workers have taken. After SPIN_NS a worker may have
// lost its processor, so the wait yields this one.
static void wait_finished(const etx_thread_pool* pool) {
  const uint64_t start = etx_host_thread_now_ns();
  for (;;) {
    for (int i = 0; i < PAUSES; ++i) {
      if (load_acquire(&pool->unfinished) == 0) return;
      etx_host_thread_pause();
    }
    if (etx_host_thread_now_ns() - start > SPIN_NS) etx_host_thread_yield();
  }
}

static void run_job(etx_thread_pool* pool, void (*task)(void*, size_t),
                    void* argument, size_t first, uint32_t count) {
  pool->task = task;
  pool->argument = argument;
  pool->first = first;
  __atomic_store_n(&pool->unfinished, count, __ATOMIC_RELAXED);
  __atomic_store_n(&pool->left, count, __ATOMIC_SEQ_CST);
  const uint32_t sleepers = __atomic_load_n(&pool->sleepers, __ATOMIC_SEQ_CST);
  if (sleepers != 0) {
    etx_host_gate_notify(pool->gate,
                         sleepers < count - 1 ? sleepers : count - 1);
  }
  run_tasks_left(pool, false);
  if (load_acquire(&pool->unfinished) != 0) wait_finished(pool);
}

static void run_serially(void (*task)(void*, size_t), void* argument,
                         size_t count) {
  for (size_t i = 0; i < count; ++i) task(argument, i);
}

static void run_tasks(void* context, void (*task)(void*, size_t),
                      void* argument, size_t count) {
  etx_thread_pool* pool = context;
  if (count < 2 || pool->worker_count == 0 ||
      __atomic_exchange_n(&pool->busy, 1, __ATOMIC_ACQUIRE) != 0) {
    run_serially(task, argument, count);
    return;
  }
  for (size_t first = 0; first < count;) {
    const size_t rest = count - first;
    const uint32_t part = rest < MAX_TASKS ? (uint32_t)rest : MAX_TASKS;
    run_job(pool, task, argument, first, part);
    first += part;
  }
  __atomic_store_n(&pool->busy, 0, __ATOMIC_RELEASE);
}

static bool submit_work(void* context, etx_work* work) {
  etx_thread_pool* const pool = context;
  if (pool->worker_count == 0) {
    work->run(work);
    return true;
  }
  append_work(pool, work);
  if (__atomic_load_n(&pool->sleepers, __ATOMIC_SEQ_CST) != 0) {
    etx_host_gate_notify(pool->gate, 1);
  }
  return true;
}

// Spins until the work is done. Returns false after SPIN_NS.
static bool spin_until_done(const etx_work* work) {
  const uint64_t start = etx_host_thread_now_ns();
  do {
    for (int i = 0; i < PAUSES; ++i) {
      if (etx_work_is_done(work)) return true;
      etx_host_thread_pause();
    }
  } while (etx_host_thread_now_ns() - start < SPIN_NS);
  return false;
}

static void sleep_until_done(etx_thread_pool* pool, const etx_work* work) {
  while (!etx_work_is_done(work)) {
    const uint32_t epoch = load_acquire(&pool->done_gate->epoch);
    __atomic_add_fetch(&pool->waiters, 1, __ATOMIC_SEQ_CST);
    if (!etx_work_is_done(work)) etx_host_gate_wait(pool->done_gate, epoch);
    __atomic_sub_fetch(&pool->waiters, 1, __ATOMIC_SEQ_CST);
  }
}

static void wait_for_work(void* context, etx_work* work) {
  etx_thread_pool* const pool = context;
  if (etx_work_is_done(work)) return;
  etx_work* const mine = take_work(pool, work);
  if (mine != NULL) {
    run_work(pool, mine);
    return;
  }
  if (spin_until_done(work)) return;
  if (pool->worker_count != 0) {
    sleep_until_done(pool, work);
    return;
  }
  // Another thread submitted the work, and runs it while it does so.
  while (!etx_work_is_done(work)) etx_host_thread_yield();
}

// ---- start and end ----

size_t etx_thread_pool_needed(size_t thread_count) {
  if (thread_count < 2) return 0;
  return 2 * sizeof(etx_host_gate) +
         (thread_count - 1) * sizeof(etx_host_thread);
}

static etx_status check(size_t thread_count, etx_bytes_mut memory,
                        etx_diag* diag) {
  const size_t needed = etx_thread_pool_needed(thread_count);
  if (thread_count < 1 || thread_count > ETX_THREAD_POOL_MOST) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "a pool of %z threads, expected 1 to %z", thread_count,
                         (size_t)ETX_THREAD_POOL_MOST);
  }
  if (memory.size < needed) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "a pool of %z threads needs %z bytes, %z were given",
                         thread_count, needed, memory.size);
  }
  if (needed > 0 && (uintptr_t)memory.data % 16 != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the pool's memory is not aligned to 16 bytes");
  }
  return ETX_OK;
}

static bool start_workers(etx_thread_pool* pool, size_t count) {
  while (pool->worker_count < count) {
    etx_host_thread* worker = &pool->workers[pool->worker_count];
    if (!etx_host_thread_start(worker, run_worker, pool)) return false;
    ++pool->worker_count;
  }
  return true;
}

static bool start_gates(etx_thread_pool* pool) {
  if (!etx_host_gate_init(pool->gate)) return false;
  pool->done_gate = pool->gate + 1;
  if (etx_host_gate_init(pool->done_gate)) return true;
  etx_host_gate_close(pool->gate);
  return false;
}

static etx_status init(etx_thread_pool* pool, size_t thread_count,
                       etx_bytes_mut memory, etx_diag* diag) {
  ETX_TRY(check(thread_count, memory, diag));
  memset(pool, 0, sizeof *pool);
  pool->parallel = (etx_parallel){
      .parallel_for = run_tasks, .context = pool, .thread_count = thread_count};
  pool->launcher = (etx_launcher){
      .submit = submit_work, .wait = wait_for_work, .context = pool};
  if (thread_count == 1) return ETX_OK;
  pool->gate = (etx_host_gate*)(void*)memory.data;
  pool->workers = (etx_host_thread*)(void*)(pool->gate + 2);
  if (!start_gates(pool)) {
    memset(pool, 0, sizeof *pool);
    return etx_diag_fail(diag, ETX_HOST_FAILED,
                         "cannot create the gates of a pool");
  }
  if (start_workers(pool, thread_count - 1)) return ETX_OK;
  const size_t refused = pool->worker_count + 1;
  etx_thread_pool_close(pool);
  return etx_diag_fail(diag, ETX_HOST_FAILED,
                       "cannot start thread %z of %z: use fewer threads",
                       refused, thread_count - 1);
}

etx_status etx_thread_pool_init(etx_thread_pool* pool, size_t thread_count,
                                etx_bytes_mut memory, etx_diag* diag) {
  return etx_diag_seal(diag, init(pool, thread_count, memory, diag));
}

void etx_thread_pool_close(etx_thread_pool* pool) {
  __atomic_store_n(&pool->is_over, 1, __ATOMIC_SEQ_CST);
  if (pool->gate != NULL) {
    etx_host_gate_notify(pool->gate, pool->worker_count);
    for (size_t i = 0; i < pool->worker_count; ++i) {
      etx_host_thread_join(&pool->workers[i]);
    }
    etx_host_gate_close(pool->gate);
    etx_host_gate_close(pool->done_gate);
  }
  memset(pool, 0, sizeof *pool);
}

size_t etx_thread_pool_processors(void) { return etx_host_thread_processors(); }
