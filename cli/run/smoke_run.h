// Loads every method of a program and calls it with zeros, at the smallest and
// at the largest sizes of its inputs. States are reset before every call.
//
// An error that depends on data, such as an index or a divisor, counts as
// passed, because zeros need not be valid inputs.

#ifndef ETX_CLI_RUN_SMOKE_RUN_H
#define ETX_CLI_RUN_SMOKE_RUN_H

#include "cli/run/run_session.h"
#include "exporter/host/host_memory.h"

// Inputs of zeros for a loaded method.
typedef struct etx_zero_inputs {
  const etx_program* program;
  etx_method* method;
  etx_text name;   // of the method
  bool largest;    // at the largest sizes, not at the smallest
  etx_pool* pool;  // has the memory, which the method borrows
} etx_zero_inputs;

// Sets all inputs.
ETX_MUST_USE etx_status etx_zero_inputs_set(const etx_zero_inputs* inputs,
                                            etx_diag* diag);

typedef enum etx_smoke_outcome {
  ETX_SMOKE_PASSED,
  ETX_SMOKE_REFUSED_DATA,  // counts as passed
  ETX_SMOKE_FAILED,
} etx_smoke_outcome;

// Called after each call. `sizes` is "smallest sizes" or "largest sizes", or
// "load" if the method could not be loaded. `message` is empty if it passed.
typedef struct etx_smoke_sink {
  void (*called)(void* context, etx_text method, const char* sizes,
                 etx_smoke_outcome outcome, const char* message);
  void* context;
} etx_smoke_sink;

// Returns the status of the first failure, or ETX_OK.
ETX_MUST_USE etx_status etx_smoke_run(etx_run_session* session,
                                      const etx_smoke_sink* sink);

#endif
