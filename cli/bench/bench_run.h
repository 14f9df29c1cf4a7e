// A method prepared for repeated calls, and the calls: one by one, or in groups
// that are timed together. Used by etx bench and etx diff.

#ifndef ETX_CLI_BENCH_BENCH_RUN_H
#define ETX_CLI_BENCH_BENCH_RUN_H

#include "cli/bench/synthetic_input.h"
#include "runtime/method.h"

typedef struct etx_bench_options {
  etx_synthetic_input_options inputs;
  const etx_case_file* cases;  // recorded calls; NULL: none
  double seconds;              // time to spend on the calls of a method
  bool restores;               // restore inputs and state before every call
  etx_run_trace* trace;        // records the calls up to the first one of each
                               // method; NULL: nothing is recorded
} etx_bench_options;

// A method that is loaded, has its inputs and was called once.
typedef struct etx_bench_run {
  etx_run_session* session;
  etx_method* method;
  etx_synthetic_inputs inputs;
  uint8_t* state;  // a copy of the state before the first call; NULL: no state
  bool restores;   // restore inputs and state before every call
  double load_seconds;
  double first_seconds;
  etx_diag* diag;
} etx_bench_run;

// Loads method `name`, makes the recorded calls before its first one, sets its
// inputs and calls it once. Memory is in the pool.
ETX_MUST_USE etx_status etx_bench_run_start(etx_bench_run* run,
                                            etx_run_session* session,
                                            const char* name,
                                            const etx_bench_options* options,
                                            etx_pool* pool, etx_diag* diag);
// Calls the method; `out_seconds` is the time of the call alone. Before it,
// inputs and state are restored if run->restores is set. If the method refuses
// the state that earlier calls left, run->restores is set and the call
// repeated.
ETX_MUST_USE etx_status etx_bench_run_call(etx_bench_run* run,
                                           double* out_seconds);

// Makes `count` calls that are timed together, because reading the clock takes
// as long as a short call; `out_seconds` is the time of one of them. A run that
// restores makes one call.
ETX_MUST_USE etx_status etx_bench_run_calls(etx_bench_run* run, size_t count,
                                            double* out_seconds);

// The number of calls that are timed together if one call takes `seconds`: 1 if
// that is long compared with reading the clock.
size_t etx_bench_run_group_size(double seconds);

// The same for a run. `seconds` is the time of a single call, which includes
// reading the clock; it is replaced by the time of a call in a group.
ETX_MUST_USE etx_status etx_bench_run_find_group(etx_bench_run* run,
                                                 double* seconds,
                                                 size_t* out_group);

#endif
