// A pool of threads behind the runtime's hooks: etx_parallel, for the parts of
// one operator, and etx_launcher, for runs that do not depend on each other.
// Optional, hosted, in memory that the caller gives.
//
//   etx_thread_pool pool;                  // stays where it is while in use
//   etx_thread_pool_init(&pool, 4, memory, &diag);
//   const etx_limits limits = {.parallel = &pool.parallel};
//   etx_program_open(&program, file, kernels, &limits, &diag);
//   ...                                    // runs now use four threads
//   etx_method_run_async(&method, &pool.launcher, &future, &diag);
//   etx_future_wait(&future, &diag);
//   etx_thread_pool_close(&pool);
//
// The thread that calls works too. It waits only for tasks that another thread
// has taken, never for one that sleeps: a job is never slower than its tasks.
// Threads without work spin for a while, so that the next operator of a run
// finds them awake, and then sleep.
//
// Submitted works wait in a queue, first in, first out; a free thread takes
// parts of operators first. Who waits for a work that no thread has begun runs
// it. A pool of one thread runs a work when it is submitted.
//
// Ownership  the pool borrows `memory`; it is closed after the last run and
//            before its memory ends, and after the last work is done.
// Failure    only etx_thread_pool_init can fail, and leaves nothing behind.
// Threads    any number of threads may run methods that share a pool. One job
//            at a time has the pool's threads; who comes while it is taken, a
//            task that starts a job too, does its tasks itself.

#ifndef ETX_RUNTIME_THREADS_THREAD_POOL_H
#define ETX_RUNTIME_THREADS_THREAD_POOL_H

#include "format/base/diag.h"
#include "runtime/kernel.h"
#include "runtime/launcher.h"

enum {
  // More than this many threads are refused: kernels cut work into a few parts
  // a thread, so more would have nothing to do.
  ETX_THREAD_POOL_MOST = 256,
  // Words that several threads write lie this far apart: two lines of a cache,
  // because processors fetch lines in pairs.
  ETX_THREAD_POOL_APART = 128,
};

struct etx_host_thread;  // a thread of the operating system
struct etx_host_gate;    // threads sleep here

// Fields are private to runtime/threads/, but for `parallel` and `launcher`.
typedef struct etx_thread_pool {
  etx_parallel parallel;            // the hook to hand to etx_limits
  etx_launcher launcher;            // the hook for etx_method_run_async
  struct etx_host_thread* workers;  // in the caller's memory, as the next
  struct etx_host_gate* gate;       // workers without tasks; NULL: no worker
  struct etx_host_gate* done_gate;  // threads that wait for a work; the same
  size_t worker_count;              // thread_count - 1
  // The job, written before its tasks can be taken.
  void (*task)(void* argument, size_t i);
  void* argument;  // handed to it
  size_t first;    // number of its first task
  uint32_t busy;   // 1 while a job has the threads; atomic
  uint8_t apart_before_left[ETX_THREAD_POOL_APART];  // unused
  uint32_t left;  // tasks that no thread has taken yet; atomic
  uint8_t apart_before_unfinished[ETX_THREAD_POOL_APART];  // unused
  uint32_t unfinished;  // tasks that have not returned; atomic
  uint8_t apart_before_sleepers[ETX_THREAD_POOL_APART];  // unused
  uint32_t sleepers;  // workers that sleep or are about to; atomic
  uint32_t is_over;   // 1: workers end; atomic
  uint8_t apart_before_works[ETX_THREAD_POOL_APART];  // unused
  etx_work* first_work;  // of the queue; read and written under `lock`
  etx_work* last_work;   // the same
  uint32_t lock;         // 1: a thread changes the queue; atomic
  uint32_t queued;       // works in the queue; atomic
  uint32_t waiters;      // threads that sleep until a work is done; atomic
} etx_thread_pool;

// Bytes of memory that a pool of `thread_count` threads needs, the caller's own
// among them: 0 for one thread.
size_t etx_thread_pool_needed(size_t thread_count);

// Starts `thread_count` - 1 threads; between 1 and ETX_THREAD_POOL_MOST are
// accepted. `memory` is aligned to 16 and has the bytes that are needed.
// ETX_BAD_ARGUMENT: another number of threads, or `memory` is not aligned;
// ETX_OUT_OF_MEMORY: it is too small; ETX_HOST_FAILED: the system starts no
// more threads.
ETX_MUST_USE etx_status etx_thread_pool_init(etx_thread_pool* pool,
                                             size_t thread_count,
                                             etx_bytes_mut memory,
                                             etx_diag* diag);

// Ends the threads and waits for them. No job may be running.
void etx_thread_pool_close(etx_thread_pool* pool);

// Processors that this process may use, at least 1.
size_t etx_thread_pool_processors(void);

#endif
