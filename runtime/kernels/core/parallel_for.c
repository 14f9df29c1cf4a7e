#include "runtime/kernels/core/parallel_for.h"

#include "runtime/wide_registers.h"

enum {
  // With fewer operations, waking other threads costs more than it gains.
  MIN_WORK = 200000,
  // The most tasks for each thread, each smaller than the one before. Cores
  // differ in speed and in other load; with small last tasks, threads wait for
  // each other only briefly.
  MAX_ROUNDS = 5,
  MIN_ROUNDS = 2,
  ROUND_WORK = 500000,  // operations of a task; taking one costs 100 ns
  // Pixels of a strip. With fewer, too many cache lines are shared with the
  // next strip.
  MIN_POSITIONS = 384,
};

// ------------------------------------------------ tasks

typedef struct guarded_tasks {
  void (*task)(void* argument, size_t i);
  void* argument;
  size_t count;
  size_t runs, sum, squares;  // of the tasks that ran, modulo SIZE_MAX + 1
} guarded_tasks;

static void run_guarded(void* argument, size_t i) {
  guarded_tasks* const guarded = argument;
  if (i >= guarded->count) return;
#ifndef NDEBUG
  (void)__atomic_fetch_add(&guarded->runs, 1, __ATOMIC_RELAXED);
  (void)__atomic_fetch_add(&guarded->sum, i, __ATOMIC_RELAXED);
  (void)__atomic_fetch_add(&guarded->squares, i * i, __ATOMIC_RELAXED);
#endif
  guarded->task(guarded->argument, i);
  etx_leave_wide_registers();
}

#ifndef NDEBUG
// Numbers that have the count, the sum and the sum of squares of 0 .. count - 1
// are these numbers, but for rare mixtures.
static void trap_unless_each_ran_once(const guarded_tasks* guarded) {
  size_t sum = 0, squares = 0;
  for (size_t i = 0; i < guarded->count; ++i) {
    sum += i;
    squares += i * i;
  }
  if (guarded->runs != guarded->count || guarded->sum != sum ||
      guarded->squares != squares) {
    __builtin_trap();  // the application's parallel_for left its contract
  }
}
#endif

void etx_parallel_run_tasks(const etx_parallel* parallel,
                            void (*task)(void* argument, size_t i),
                            void* argument, size_t count) {
  guarded_tasks guarded = {task, argument, count, 0, 0, 0};
  parallel->parallel_for(parallel->context, run_guarded, &guarded, count);
#ifndef NDEBUG
  trap_unless_each_ran_once(&guarded);
#endif
}

// ------------------------------------------------ items

typedef struct split_work {
  etx_parallel_for_function run;
  const void* context;
  size_t items, threads, rounds;
  size_t callers_items;  // the first ones, which the caller begins with
} split_work;

// The number of items before those of `round`. The sizes of rounds are
// proportional to rounds, rounds - 1, .. 1.
static size_t items_before(const split_work* s, size_t items, size_t round) {
  const uint64_t part = round * (2 * s->rounds + 1 - round);
  return (size_t)(items * part / (s->rounds * (s->rounds + 1)));
}

// The caller takes tasks from the first one on, the threads of a pool from the
// last one on (thread_pool.c). So tasks from the first on are the caller's part
// of the items, in order, and tasks from the last on are rounds of the other
// threads, in order too: the next task continues where loops have prefetched.
static void run_task(void* argument, size_t task) {
  const split_work* s = argument;
  const size_t workers = s->threads - 1, static_items = s->callers_items;
  size_t first, end;
  if (task < s->rounds) {
    first = items_before(s, static_items, task);
    end = items_before(s, static_items, task + 1);
  } else {
    const size_t number = s->threads * s->rounds - 1 - task;
    const size_t round = number / workers, worker = number % workers;
    const size_t begin =
        static_items + items_before(s, s->items - static_items, round);
    const uint64_t all = static_items +
                         items_before(s, s->items - static_items, round + 1) -
                         begin;
    first = begin + (size_t)(all * worker / workers);
    end = begin + (size_t)(all * (worker + 1) / workers);
  }
  if (first < end) s->run(s->context, first, end);
}

// Splits `s`, all but its rounds, into tasks: `most` rounds, or fewer.
static void run_split(const etx_parallel* parallel, split_work* s,
                      size_t most) {
  const size_t each = (s->items + s->threads - 1) / s->threads;
  s->rounds = each < most ? each : most;
  etx_parallel_run_tasks(parallel, run_task, s, s->threads * s->rounds);
}

static bool is_split(const etx_parallel* parallel, size_t count, double work) {
  return parallel->thread_count >= 2 && work >= MIN_WORK && count >= 2;
}

void etx_parallel_for(const etx_parallel* parallel, size_t count, double work,
                      etx_parallel_for_function run, const void* context) {
  if (count == 0) return;
  if (!is_split(parallel, count, work)) {
    run(context, 0, count);
    return;
  }
  const double rounds = work / ROUND_WORK;
  const size_t wanted = rounds < MIN_ROUNDS   ? MIN_ROUNDS
                        : rounds < MAX_ROUNDS ? (size_t)rounds
                                              : MAX_ROUNDS;
  const size_t threads = parallel->thread_count;
  split_work s = {run, context, count, threads, 0, count / threads};
  run_split(parallel, &s, wanted);
}

void etx_parallel_for_repeated(const etx_parallel* parallel, size_t count,
                               double work, etx_parallel_for_function run,
                               const void* context) {
  if (count == 0) return;
  if (!is_split(parallel, count, work)) {
    run(context, 0, count);
    return;
  }
  // The caller begins first.
  const size_t threads = parallel->thread_count;
  split_work s = {run,     context, count,
                  threads, 0,       (count + threads - 1) / threads};
  run_split(parallel, &s, 1);
}

size_t etx_parallel_for_strips(const etx_parallel* parallel, size_t rows,
                               size_t positions) {
  const size_t large = positions / MIN_POSITIONS;
  const size_t limit = large < rows ? large : rows;
  const size_t strips =
      limit < parallel->thread_count ? limit : parallel->thread_count;
  return strips == 0 ? 1 : strips;
}
