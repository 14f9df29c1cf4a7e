// Measures two programs in turns, so that other load on the machine slows both.

#ifndef ETX_CLI_BENCH_BENCH_COMPARE_H
#define ETX_CLI_BENCH_BENCH_COMPARE_H

#include "cli/bench/bench_run.h"
#include "cli/bench/bench_times.h"

typedef struct etx_bench_pair {
  const char* name;          // of the method
  etx_bench_times times[2];  // of each program: the medians of its rounds
  size_t calls[2];           // of each program in a round
  etx_bench_times ratios;  // of the rounds: time of the second program divided
                           // by that of the first
  double lower, upper;     // quartiles of the ratios
} etx_bench_pair;

// Measures a method that both programs have. ETX_UNSUPPORTED if its inputs
// differ in type or sizes. There are at least 15 rounds, which alternate the
// program that begins. Short calls are timed in groups. If one program restores
// inputs and state before every call, both do.
ETX_MUST_USE etx_status etx_bench_compare(etx_run_session* sessions[2],
                                          const char* name,
                                          const etx_bench_options* options,
                                          etx_pool* pool,
                                          etx_bench_pair* out_pair,
                                          etx_diag* diag);

#endif
