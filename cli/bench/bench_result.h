// The figures of one method: measured, or counted from the file alone.

#ifndef ETX_CLI_BENCH_BENCH_RESULT_H
#define ETX_CLI_BENCH_BENCH_RESULT_H

#include "cli/bench/bench_times.h"
#include "cli/program/operator_cost.h"
#include "cli/machine/machine_limits.h"
#include "cli/bench/synthetic_input.h"
#include "runtime/method.h"

// One operator over all its calls in a run.
typedef struct etx_bench_operator {
  const etx_op* op;
  size_t calls;            // in one run
  double seconds;          // of one run, without the time of reading the clock
  etx_operator_cost cost;  // of one run
} etx_bench_operator;

// What changes of inputs cost, in the measured calls (runtime/variants.h).
typedef struct etx_bench_changes {
  uint64_t phases;     // shape phases
  uint64_t hits;       // changes of sizes to those of a kept copy
  uint64_t addresses;  // times that the addresses of all values were computed
} etx_bench_changes;

typedef struct etx_bench_result {
  const char* name;
  etx_method* method;
  etx_text variant;  // that ran; empty: the method's own instructions
  etx_synthetic_inputs inputs;
  etx_memory_needed memory;
  bool restores;  // inputs and state were restored before every call
  double load_seconds;
  double first_seconds;
  etx_bench_changes changes;  // after the first calls
  etx_bench_times times;
  etx_bench_operator* operators;  // the most expensive first
  size_t operator_count;
  size_t instructions;     // of what ran, including control flow
  size_t calls;            // of kernels in one run; static: each once
  double seconds;          // of all kernels in one run
  etx_operator_cost cost;  // of one run
  // Peak rates of the machine, reading as much memory as the method uses.
  etx_machine_limits limits;
} etx_bench_result;

// Rows of a table by operator: those of op_schema.def by id, then some for
// operators of the application, which have no id.
enum { ETX_BENCH_OWN = 32, ETX_BENCH_ROWS = ETX_OP_COUNT + ETX_BENCH_OWN };

// The row of an operator in a table of ETX_BENCH_ROWS rows, which start with
// zeros. The application's operators beyond 32 share the last row.
static inline size_t etx_bench_row_of(const etx_bench_operator* rows,
                                      const etx_op* op) {
  size_t row = op->id;
  if (op->id < ETX_OP_COUNT) return row;
  while (row + 1 < ETX_BENCH_ROWS && rows[row].op != NULL &&
         rows[row].op != op) {
    ++row;
  }
  return row;
}

#endif
