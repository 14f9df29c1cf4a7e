// How an application lends its threads to runs that do not depend on each
// other. The caller implements etx_launcher, or takes that of a thread pool
// (runtime/threads/thread_pool.h).
//
// A work is submitted once, runs once on any thread, and is done. Its memory
// belongs to the caller, who keeps it until the work is done; a launcher that
// has a queue links works through `next`, so nothing is allocated.
//
// A work may submit other works and wait for them. For that, `wait` runs the
// work itself if no thread has begun it. So whoever waits, waits for a work
// that a thread is running, and a thread never waits for its own work: works
// of any depth end, with any number of threads.

#ifndef ETX_RUNTIME_LAUNCHER_H
#define ETX_RUNTIME_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>

// The life of a work, in `state`.
enum {
  ETX_WORK_NONE = 0,     // not submitted
  ETX_WORK_PENDING = 1,  // submitted; its thread may be running it
  ETX_WORK_DONE = 2      // has run; its results may be read
};

typedef struct etx_work etx_work;

// A function to run on some thread, with what a launcher needs for its queue.
struct etx_work {
  // The last thing that it does is to store ETX_WORK_DONE in `state`, with
  // sequential consistency. The work may have ended to exist right after that.
  void (*run)(etx_work* work);
  etx_work* next;  // the launcher's, while the work is pending
  uint32_t state;  // atomic; set to ETX_WORK_PENDING before it is submitted
};

// Threads of the caller.
typedef struct etx_launcher {
  // Has work->run(work) called once by any thread, now or later. Returns false
  // if it cannot; then the work is never run.
  bool (*submit)(void* context, etx_work* work);
  // Returns when the work is done. Any number of threads may wait for one work.
  // It runs the work itself if no other thread has begun it.
  void (*wait)(void* context, etx_work* work);
  void* context;  // handed to both unchanged
} etx_launcher;

// True if the work has run. What it wrote may be read then.
static inline bool etx_work_is_done(const etx_work* work) {
  return __atomic_load_n(&work->state, __ATOMIC_SEQ_CST) == ETX_WORK_DONE;
}

#endif
