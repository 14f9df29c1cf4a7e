#include "cli/bench_compare.h"

#include "cli/machine_limits.h"

enum { LEAST_ROUNDS = 15, MOST_ROUNDS = 1000, MOST_CALLS = 4096 };

// Seconds of one program's part of a round: long against a clock reading and a
// change of caches, short against the drift of the machine.
static const double part_seconds = 0.01;

static etx_status run_part(etx_bench_run* run, double* times, size_t calls,
                           double* out_median) {
  for (size_t i = 0; i < calls; ++i) {
    ETX_TRY(etx_bench_run_call(run, &times[i]));
  }
  *out_median = etx_bench_times_of(times, calls).median;
  return ETX_OK;
}

// Calls of a part, from some calls that also warm the caches.
static etx_status count_calls(etx_bench_run* run, size_t* out_calls) {
  double least = 0;
  for (int i = 0; i < 5; ++i) {
    double one = 0;
    ETX_TRY(etx_bench_run_call(run, &one));
    if (i == 0 || one < least) least = one;
  }
  const double calls = part_seconds / (least + 1e-9);
  *out_calls = calls < 1 ? 1 : calls > MOST_CALLS ? MOST_CALLS : (size_t)calls;
  return ETX_OK;
}

etx_status etx_bench_compare(etx_session* sessions[2], const char* name,
                             const etx_bench_wishes* wishes, etx_pool* pool,
                             etx_bench_pair* out_pair, etx_diag* diag) {
  etx_bench_run runs[2];
  size_t calls[2];
  double* times = etx_pool_take(pool, MOST_CALLS * sizeof *times);
  double* medians[2] = {etx_pool_take(pool, MOST_ROUNDS * sizeof(double)),
                        etx_pool_take(pool, MOST_ROUNDS * sizeof(double))};
  double* ratios = etx_pool_take(pool, MOST_ROUNDS * sizeof *ratios);
  if (times == NULL || medians[0] == NULL || medians[1] == NULL ||
      ratios == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY, "no memory for times");
  }
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(
        etx_bench_run_start(&runs[i], sessions[i], name, wishes, pool, diag));
    ETX_TRY(count_calls(&runs[i], &calls[i]));
  }
  const double start = etx_seconds_now();
  size_t rounds = 0;
  while (
      rounds < MOST_ROUNDS &&
      (rounds < LEAST_ROUNDS || etx_seconds_now() - start < wishes->seconds)) {
    for (size_t k = 0; k < 2; ++k) {
      const size_t i = (rounds + k) % 2;
      ETX_TRY(run_part(&runs[i], times, calls[i], &medians[i][rounds]));
    }
    ratios[rounds] = medians[1][rounds] / medians[0][rounds];
    ++rounds;
  }
  etx_bench_pair pair = {.name = name};
  pair.ratios = etx_bench_times_of(ratios, rounds);
  pair.lower = ratios[rounds / 4];
  pair.upper = ratios[rounds - 1 - rounds / 4];
  for (size_t i = 0; i < 2; ++i) {
    pair.times[i] = etx_bench_times_of(medians[i], rounds);
  }
  *out_pair = pair;
  return ETX_OK;
}
