#include "cli/machine/machine_limits.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/monotonic_clock.h"
#include "cli/machine/machine_peak.h"

enum {
  MAX_WORDS = 128 << 17,  // 128 MB: more than the caches of most machines
  MIN_WORDS = 32 << 7,    // 32 KB
  READ_WORDS = 64 << 17,  // 64 MB: a trial reads at least this much
  ITERATIONS = 1 << 20,   // of the multiply loop: some milliseconds
  TRIALS = 7,             // the fastest one counts
};

typedef struct peak_trial {
  const uint64_t* words;
  size_t words_each;  // read by each task
  size_t times;       // times that a task reads them
  uint64_t sums;      // depends on all results, so that the compiler keeps the
                      // loops; atomic
  uint64_t multiplied;  // multiply-adds done; atomic
} peak_trial;

static void read_part(void* argument, size_t i) {
  peak_trial* t = argument;
  uint64_t sum = 0;
  for (size_t k = 0; k < t->times; ++k) {
    sum += etx_machine_peak_read(t->words + i * t->words_each, t->words_each);
  }
  __atomic_add_fetch(&t->sums, sum, __ATOMIC_RELAXED);
}

static void multiply_part(void* argument, size_t i) {
  peak_trial* t = argument;
  float sink = 0.001f * (float)(i + 1);
  const uint64_t done = etx_machine_peak_multiply_f32(ITERATIONS, &sink);
  uint32_t bits;
  memcpy(&bits, &sink, sizeof bits);
  __atomic_add_fetch(&t->sums, bits, __ATOMIC_RELAXED);
  __atomic_add_fetch(&t->multiplied, done, __ATOMIC_RELAXED);
}

static void multiply_byte_part(void* argument, size_t i) {
  peak_trial* t = argument;
  int32_t sink = (int32_t)(i + 1);
  const uint64_t done = etx_machine_peak_multiply_int8(ITERATIONS, &sink);
  __atomic_add_fetch(&t->sums, (uint32_t)sink, __ATOMIC_RELAXED);
  __atomic_add_fetch(&t->multiplied, done, __ATOMIC_RELAXED);
}

static double best_time(const etx_parallel* parallel,
                        void (*task)(void*, size_t), peak_trial* t) {
  double best = 0;
  for (int i = 0; i < TRIALS; ++i) {
    t->multiplied = 0;
    const double start = etx_monotonic_clock_seconds();
    parallel->parallel_for(parallel->context, task, t, parallel->thread_count);
    const double seconds = etx_monotonic_clock_seconds() - start;
    if (best == 0 || seconds < best) best = seconds;
  }
  return best;
}

double etx_machine_limits_multiply_rate_f32(const etx_parallel* parallel) {
  peak_trial t = {.words = NULL};
  const double seconds = best_time(parallel, multiply_part, &t);
  return (double)t.multiplied / seconds;
}

double etx_machine_limits_multiply_rate_int8(const etx_parallel* parallel) {
  peak_trial t = {.words = NULL};
  const double seconds = best_time(parallel, multiply_byte_part, &t);
  return (double)t.multiplied / seconds;
}

double etx_machine_limits_read_rate(const etx_parallel* parallel,
                                    uint64_t bytes) {
  const uint64_t requested = bytes / sizeof(uint64_t);
  const size_t count = requested < MIN_WORDS   ? MIN_WORDS
                       : requested > MAX_WORDS ? MAX_WORDS
                                               : (size_t)requested;
  uint64_t* words = malloc(count * sizeof *words);
  if (words == NULL) return 0;
  memset(words, 1, count * sizeof *words);
  peak_trial t = {.words = words};
  t.words_each = count / parallel->thread_count / 32 * 32;
  t.times = READ_WORDS / count + 1;
  const double seconds = best_time(parallel, read_part, &t);
  free(words);
  return (double)(t.words_each * parallel->thread_count * t.times *
                  sizeof *words) /
         seconds;
}
