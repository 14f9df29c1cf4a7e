// Generated inputs for measuring a method: valid, the same in every run, and
// restorable after calls that changed them.
//
// Floats are spread between -1 and 1, booleans are true, integers all have one
// value: 0, a valid index of every table, or 1, a valid length in most cases.
// Dynamic dimensions have their largest size unless the options say otherwise.

#ifndef ETX_CLI_BENCH_SYNTHETIC_INPUT_H
#define ETX_CLI_BENCH_SYNTHETIC_INPUT_H

#include "cli/run/case_file.h"
#include "cli/base/options.h"
#include "cli/run/dim_order_input.h"
#include "cli/program/port.h"
#include "cli/run/run_session.h"
#include "cli/program/dim_override.h"

typedef struct etx_synthetic_input_options {
  const etx_option_list* values;  // "NAME=VALUE"; may be NULL
  const etx_option_list* dims;    // see dim_override.h; may be NULL
  const etx_case_call* call;      // recorded inputs; NULL: none
  int64_t integer;                // the value of generated integers
} etx_synthetic_input_options;

typedef struct etx_synthetic_input {
  etx_port port;
  bool is_generated;            // neither given nor recorded
  etx_value value;              // as it was set; of a tensor only the kind
  etx_host_tensor tensor;       // for a tensor: its type, sizes and data
  etx_dim_order_input ordered;  // the tensor in the dim order of the method
  void* initial;                // a copy of the ordered data
} etx_synthetic_input;

typedef struct etx_synthetic_inputs {
  etx_synthetic_input* items;
  size_t count;
} etx_synthetic_inputs;

// Checks the options against a method that need not be loaded. ETX_BAD_ARGUMENT
// for a value of an input that does not exist or has a value already, an
// impossible size, and sizes that contradict each other or a value.
ETX_MUST_USE etx_status etx_synthetic_input_options_check(
    const etx_program* program, etx_text method,
    const etx_synthetic_input_options* options, etx_pool* pool, etx_diag* diag);

// Makes and sets all inputs of a loaded method. Their memory is in the pool and
// must live as long as the method uses them.
ETX_MUST_USE etx_status etx_synthetic_inputs_set(
    etx_method* method, const etx_synthetic_input_options* options,
    etx_pool* pool, etx_synthetic_inputs* out_inputs, etx_diag* diag);

// Gives every tensor the content with which it was set.
void etx_synthetic_inputs_restore(const etx_synthetic_inputs* inputs);

#endif
