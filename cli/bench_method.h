// One method measured: what loading takes, the first call, many calls, and
// where the time goes.

#ifndef ETX_CLI_BENCH_METHOD_H
#define ETX_CLI_BENCH_METHOD_H

#include "cli/call_cost.h"
#include "cli/machine_limits.h"
#include "cli/made_input.h"
#include "runtime/method.h"

typedef struct etx_bench_wishes {
  etx_input_wishes inputs;
  const etx_case_file* cases;  // calls that lead up to the method; NULL: none
  double seconds;              // for the calls of a method
  bool restores;               // inputs and state before every call
} etx_bench_wishes;

// One operator over all its calls in a run.
typedef struct etx_bench_operator {
  const etx_op* op;
  size_t calls;    // in one run
  double seconds;  // of one run, the clock's own time taken off
  etx_cost cost;   // of one run
} etx_bench_operator;

typedef struct etx_bench_times {
  size_t calls;                                          // that were measured
  double least, tenth, median, ninetieth, most_but_one;  // seconds; the last is
                                                         // the 99th percentile
} etx_bench_times;

typedef struct etx_bench_result {
  const char* name;
  etx_method* method;
  etx_made_inputs inputs;
  etx_memory_needed memory;
  bool restores;  // was restored before every call
  double load_seconds;
  double first_seconds;
  etx_bench_times times;
  etx_bench_operator* operators;  // the most expensive first
  size_t operator_count;
  size_t instructions;  // in the file, those for control flow too
  size_t calls;         // of kernels in one run; statically each once
  double seconds;       // of all of them, in one run
  etx_cost cost;        // of one run
  // What the machine does at most with as much memory as the method works on.
  etx_machine_limits limits;
} etx_bench_result;

// Loads and measures the method. Memory is of the pool. ETX_OUT_OF_RANGE and
// others as the method refuses; the message says what to give.
ETX_MUST_USE etx_status etx_bench_method(etx_session* session, const char* name,
                                         const etx_bench_wishes* wishes,
                                         etx_pool* pool,
                                         etx_bench_result* out_result,
                                         etx_diag* diag);

// The same facts as far as the file tells them, at the largest sizes: no times,
// inputs or method.
ETX_MUST_USE etx_status etx_bench_method_statically(
    const etx_program* program, const char* name, etx_pool* pool,
    etx_bench_result* out_result, etx_diag* diag);

// Instructions of a method in the file, as etx inspect counts them.
size_t etx_bench_instruction_count(const etx_pte_plan* plan);

// The parts, for who measures two programs in turns.

// A method ready for calls: loaded, its inputs set, called once.
typedef struct etx_bench_run {
  etx_session* session;
  etx_method* method;
  etx_made_inputs inputs;
  uint8_t* state;  // a copy of the state before the first call, or NULL
  bool restores;
  double load_seconds;
  double first_seconds;
  etx_diag* diag;
} etx_bench_run;

ETX_MUST_USE etx_status etx_bench_run_start(etx_bench_run* run,
                                            etx_session* session,
                                            const char* name,
                                            const etx_bench_wishes* wishes,
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
size_t etx_bench_group(double seconds);
// The same for a run whose calls seem to take `*seconds` each. A time of a
// single call has the clock in it, so a group is timed as well: `*seconds`
// becomes what a call takes in it.
ETX_MUST_USE etx_status etx_bench_run_find_group(etx_bench_run* run,
                                                 double* seconds,
                                                 size_t* out_group);

// Median and so on of `count` values, which are sorted in place.
etx_bench_times etx_bench_times_of(double* seconds, size_t count);

#endif
