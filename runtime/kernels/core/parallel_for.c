#include "runtime/kernels/core/parallel_for.h"

enum {
  // Operations below which other threads are not worth waking.
  LEAST_WORK = 200000,
  // Shares for each thread, at most. Each is smaller than the one before: cores
  // differ, and machines are busy, so threads wait for the last ones.
  ROUNDS = 5,
  LEAST_ROUNDS = 2,
  ROUND_WORK = 500000,  // operations for each; taking a share costs 100 ns
  // Positions of a strip: with fewer, too many of their lines of memory are
  // another strip's, too, or seen from there.
  LEAST_POSITIONS = 384,
};

typedef struct shares {
  etx_parallel_for_function run;
  const void* context;
  size_t items, threads, rounds;
} shares;

// How many of `items` come before those of `round`, whose sizes are as
// rounds, rounds - 1, .. 1.
static size_t items_before(const shares* s, size_t items, size_t round) {
  const uint64_t part = round * (2 * s->rounds + 1 - round);
  return (size_t)(items * part / (s->rounds * (s->rounds + 1)));
}

// A pool's threads take tasks from both ends until they meet (thread_pool.c):
// the caller has the first items. Whoever comes from the last task goes up,
// too, through the others. What is next is what a loop has asked memory for.
static void run_share(void* argument, size_t task) {
  const shares* s = argument;
  const size_t workers = s->threads - 1, own = s->items / s->threads;
  size_t first, end;
  if (task < s->rounds) {
    first = items_before(s, own, task);
    end = items_before(s, own, task + 1);
  } else {
    const size_t number = s->threads * s->rounds - 1 - task;
    const size_t round = number / workers, worker = number % workers;
    const size_t begin = own + items_before(s, s->items - own, round);
    const uint64_t all =
        own + items_before(s, s->items - own, round + 1) - begin;
    first = begin + (size_t)(all * worker / workers);
    end = begin + (size_t)(all * (worker + 1) / workers);
  }
  if (first < end) s->run(s->context, first, end);
}

void etx_parallel_for(const etx_parallel* parallel, size_t count, double work,
                      etx_parallel_for_function run, const void* context) {
  if (count == 0) return;
  if (parallel->thread_count < 2 || work < LEAST_WORK || count < 2) {
    run(context, 0, count);
    return;
  }
  const size_t threads = parallel->thread_count;
  const size_t each = (count + threads - 1) / threads;
  const double worth = work / ROUND_WORK;
  const size_t wanted = worth < LEAST_ROUNDS ? LEAST_ROUNDS
                        : worth < ROUNDS     ? (size_t)worth
                                             : ROUNDS;
  shares s = {run, context, count, threads, each < wanted ? each : wanted};
  parallel->parallel_for(parallel->context, run_share, &s, threads * s.rounds);
}

size_t etx_parallel_for_strips(const etx_parallel* parallel, size_t rows,
                               size_t positions) {
  const size_t large = positions / LEAST_POSITIONS;
  const size_t most = large < rows ? large : rows;
  const size_t strips =
      most < parallel->thread_count ? most : parallel->thread_count;
  return strips == 0 ? 1 : strips;
}
