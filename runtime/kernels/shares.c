#include "runtime/kernels/shares.h"

enum {
  // Operations below which other threads are not worth waking.
  LEAST_WORK = 200000,
  // Shares for each thread: cores differ, and machines are busy.
  SHARES_PER_THREAD = 4,
  // Positions of a strip: with fewer, too many of their lines of memory are
  // another strip's, too, or seen from there.
  LEAST_POSITIONS = 384,
};

typedef struct shares {
  etx_share_function run;
  const void* context;
  size_t items, count;
} shares;

// Shares of one item more are spread over all, so that halves are equal.
static size_t first_of(const shares* s, size_t index) {
  const size_t each = s->items / s->count, rest = s->items % s->count;
  return each * index + rest * index / s->count;
}

// A pool's threads take tasks from both ends until they meet (thread_pool.c):
// whoever comes from the last one goes up, too, through the second half. What
// is next is what a loop has asked memory for.
static void run_share(void* argument, size_t task) {
  const shares* s = argument;
  const size_t half = s->count / 2;
  const size_t index = task < half ? task : s->count - 1 - (task - half);
  s->run(s->context, first_of(s, index), first_of(s, index + 1));
}

void etx_shares_run(const etx_parallel* parallel, size_t count, double work,
                    etx_share_function run, const void* context) {
  if (count == 0) return;
  if (parallel->thread_count < 2 || work < LEAST_WORK || count < 2) {
    run(context, 0, count);
    return;
  }
  const size_t wanted = parallel->thread_count * SHARES_PER_THREAD;
  shares s = {run, context, count, wanted < count ? wanted : count};
  parallel->parallel_for(parallel->context, run_share, &s, s.count);
}

size_t etx_shares_strips(const etx_parallel* parallel, size_t rows,
                         size_t positions) {
  const size_t large = positions / LEAST_POSITIONS;
  const size_t most = large < rows ? large : rows;
  const size_t strips =
      most < parallel->thread_count ? most : parallel->thread_count;
  return strips == 0 ? 1 : strips;
}
