// The same call in two programs, from the same inputs and states: the first
// instruction whose result differs, and the outputs that differ.

#ifndef ETX_CLI_BISECT_PROGRAM_DIFF_H
#define ETX_CLI_BISECT_PROGRAM_DIFF_H

#include <jansson.h>

#include "cli/bench/bench_run.h"
#include "cli/run/tensor_log.h"
#include "cli/tensors/tensor_compare.h"

// One of the two programs. The session and the log are opened by the caller.
typedef struct etx_diff_side {
  const char* path;
  bool logs;           // the results of instructions are kept
  const char* method;  // the method that was called
  etx_run_session session;
  etx_bench_run run;
  etx_tensor_log log;
} etx_diff_side;

typedef struct etx_diff_result {
  bool prints_outputs;               // each output that differs is printed
  size_t compared;                   // instructions whose results were compared
  const etx_logged_tensor* rows[2];  // the first pair that differs, or NULL
  char why[ETX_TENSOR_COMPARE_TEXT_BYTES];  // of that pair
  size_t outputs;                           // outputs that differ
  size_t first_output;                      // the first of them
  char output_why[ETX_TENSOR_COMPARE_TEXT_BYTES];
} etx_diff_result;

// Calls a method and logs the results of its instructions. With recorded calls,
// the inputs are those of the first one of the method, after the calls before
// it; `cases` NULL: they are generated.
ETX_MUST_USE etx_status etx_program_diff_call(etx_diff_side* side,
                                              const char* method,
                                              const etx_case_file* cases,
                                              etx_pool* pool, etx_diag* diag);

// Compares the two calls. `out` is zero but for `prints_outputs`.
ETX_MUST_USE etx_status etx_program_diff_compare(const etx_diff_side* sides,
                                                 etx_tolerance tolerance,
                                                 etx_pool* pool,
                                                 etx_diff_result* out,
                                                 etx_diag* diag);

// Compares the outputs only.
ETX_MUST_USE etx_status etx_program_diff_outputs(const etx_diff_side* sides,
                                                 etx_tolerance tolerance,
                                                 etx_pool* pool,
                                                 etx_diff_result* out,
                                                 etx_diag* diag);

// The result as text on standard output, and as JSON.
void etx_program_diff_print(const etx_diff_side* sides,
                            const etx_diff_result* found);
json_t* etx_program_diff_json(const etx_diff_side* sides,
                              const etx_diff_result* found);

#endif
