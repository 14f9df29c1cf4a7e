// Two programs measured in turns, so that what else the machine does meets
// both.

#ifndef ETX_CLI_BENCH_BENCH_COMPARE_H
#define ETX_CLI_BENCH_BENCH_COMPARE_H

#include "cli/bench/bench_run.h"
#include "cli/bench/bench_times.h"

typedef struct etx_bench_pair {
  const char* name;          // of the method
  etx_bench_times times[2];  // of rounds: the median of a round's calls
  size_t calls[2];           // of each program in a round
  etx_bench_times ratios;    // of the rounds: the second program's time through
                             // the first one's
  double lower, upper;       // quartiles of the ratios
} etx_bench_pair;

// Measures a method that both programs have. ETX_UNSUPPORTED if its inputs
// differ in type or sizes: the two times would be of different work. Each round
// calls first the one and then the other, the next the other way round; there
// are at least 15. Short calls are timed in groups. If one program brings
// inputs and state back before every call, both do.
ETX_MUST_USE etx_status etx_bench_compare(etx_run_session* sessions[2],
                                          const char* name,
                                          const etx_bench_options* wishes,
                                          etx_pool* pool,
                                          etx_bench_pair* out_pair,
                                          etx_diag* diag);

#endif
