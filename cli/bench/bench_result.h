// What is known of one method after measuring it, or after reading its file.

#ifndef ETX_CLI_BENCH_BENCH_RESULT_H
#define ETX_CLI_BENCH_BENCH_RESULT_H

#include "cli/bench/bench_times.h"
#include "cli/bench/operator_cost.h"
#include "cli/machine/machine_limits.h"
#include "cli/bench/synthetic_input.h"
#include "runtime/method.h"

// One operator over all its calls in a run.
typedef struct etx_bench_operator {
  const etx_op* op;
  size_t calls;    // in one run
  double seconds;  // of one run, the clock's own time taken off
  etx_operator_cost cost;   // of one run
} etx_bench_operator;

typedef struct etx_bench_result {
  const char* name;
  etx_method* method;
  etx_synthetic_inputs inputs;
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
  etx_operator_cost cost;        // of one run
  // What the machine does at most with as much memory as the method works on.
  etx_machine_limits limits;
} etx_bench_result;


#endif
