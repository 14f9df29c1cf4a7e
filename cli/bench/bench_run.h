// A method made ready for repeated calls, and the calls, one by one or in
// groups that are timed together. `etx diff` and comparisons use it too.

#ifndef ETX_CLI_BENCH_BENCH_RUN_H
#define ETX_CLI_BENCH_BENCH_RUN_H

#include "cli/bench/synthetic_input.h"
#include "runtime/method.h"

typedef struct etx_bench_options {
  etx_synthetic_input_options inputs;
  const etx_case_file* cases;  // calls that lead up to the method; NULL: none
  double seconds;              // for the calls of a method
  bool restores;               // inputs and state before every call
} etx_bench_options;

// A method ready for calls: loaded, its inputs set, called once.
typedef struct etx_bench_run {
  etx_run_session* session;
  etx_method* method;
  etx_synthetic_inputs inputs;
  uint8_t* state;  // a copy of the state before the first call, or NULL
  bool restores;
  double load_seconds;
  double first_seconds;
  etx_diag* diag;
} etx_bench_run;

ETX_MUST_USE etx_status etx_bench_run_start(etx_bench_run* run,
                                            etx_run_session* session,
                                            const char* name,
                                            const etx_bench_options* wishes,
                                            etx_pool* pool, etx_diag* diag);
// Brings inputs and state back if the run does so, then calls; `out_seconds` is
// of the call alone. A call that is refused because of what earlier ones left
// is made again after bringing back, and so are all later ones.
ETX_MUST_USE etx_status etx_bench_run_call(etx_bench_run* run,
                                           double* out_seconds);

// `count` calls timed together, so that the clock is no part of short ones;
// `out_seconds` is of one of them. A run that brings things back in between
// makes one call.
ETX_MUST_USE etx_status etx_bench_run_calls(etx_bench_run* run, size_t count,
                                            double* out_seconds);

// How many calls of so many seconds are timed together: 1 if they are long
// against a reading of the clock.
size_t etx_bench_run_group_size(double seconds);
// The same for a run whose calls seem to take `*seconds` each. A time of a
// single call has the clock in it, so a group is timed as well: `*seconds`
// becomes what a call takes in it.
ETX_MUST_USE etx_status etx_bench_run_find_group(etx_bench_run* run,
                                                 double* seconds,
                                                 size_t* out_group);


#endif
