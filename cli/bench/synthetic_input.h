// Inputs for a method that nobody gave: valid, the same from run to run, and
// brought back after runs that changed them.
//
// Floats are spread between -1 and 1, truth values are true, integers are all
// one number: 0 is an index that every table has, 1 a length that most have.
// Dimensions that vary take their largest size unless told otherwise.

#ifndef ETX_CLI_BENCH_SYNTHETIC_INPUT_H
#define ETX_CLI_BENCH_SYNTHETIC_INPUT_H

#include "cli/run/case_file.h"
#include "cli/base/options.h"
#include "cli/run/dim_order_input.h"
#include "cli/program/port.h"
#include "cli/run/run_session.h"
#include "cli/bench/dim_override.h"

typedef struct etx_synthetic_input_options {
  const etx_option_list* values;  // "NAME=VALUE"; may be NULL
  const etx_option_list* dims;    // of dim_override.h; may be NULL
  const etx_case_call* call;      // recorded inputs; NULL: none
  int64_t whole;                  // what integers are filled with
} etx_synthetic_input_options;

typedef struct etx_synthetic_input {
  etx_port port;
  bool is_made;               // nobody gave or recorded it
  etx_value value;            // as it was set; of a tensor the kind alone
  etx_host_tensor tensor;     // of a tensor; its data is what the method gets
  etx_dim_order_input given;  // the same as the method has it
  void* kept;                 // a copy of that data
} etx_synthetic_input;

typedef struct etx_synthetic_inputs {
  etx_synthetic_input* items;
  size_t count;
} etx_synthetic_inputs;

// Refuses what no run can heed: a value for an input that is not there or that
// was given before, sizes that cannot be, sizes that contradict each other or
// a value. The method need not be loaded.
ETX_MUST_USE etx_status etx_synthetic_input_options_check(
    const etx_program* program, etx_text method,
    const etx_synthetic_input_options* wishes, etx_pool* pool, etx_diag* diag);

// Makes and sets all inputs of a loaded method. Memory is of the pool and must
// stay as long as the method has them.
ETX_MUST_USE etx_status etx_synthetic_inputs_set(
    etx_run_session* session, const char* name, etx_method* method,
    const etx_synthetic_input_options* wishes, etx_pool* pool,
    etx_synthetic_inputs* out_inputs, etx_diag* diag);

// Gives every tensor the content that it was set with.
void etx_synthetic_inputs_restore(const etx_synthetic_inputs* inputs);

#endif
