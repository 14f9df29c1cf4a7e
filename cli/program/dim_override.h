// Sizes that the user gives for dynamic dimensions of a method, each as
// "SYMBOL=SIZE" or "INPUT[DIM]=SIZE". All dimensions that depend on one symbol
// follow from its value, so an override is the value of a symbol.

#ifndef ETX_CLI_PROGRAM_DIM_OVERRIDE_H
#define ETX_CLI_PROGRAM_DIM_OVERRIDE_H

#include "cli/base/options.h"
#include "cli/program/port.h"
#include "exporter/host/host_memory.h"

typedef struct etx_dim_override_symbol {
  const char* option;  // the --dim that gives it; NULL: the largest value
  int64_t value;
} etx_dim_override_symbol;

typedef struct etx_dim_overrides {
  const etx_program* program;
  etx_text method;
  etx_dim_override_symbol* symbols;  // in the order of the file
  const char* flag;                  // name of the option, for messages
} etx_dim_overrides;

typedef struct etx_dim_options {
  const char* flag;                // name of the option, for messages
  const etx_option_list* options;  // may be NULL
} etx_dim_options;

// Reads all overrides for a method. ETX_BAD_ARGUMENT if
// an override lacks the number, names something that is not a dynamic
// dimension, gives a size that the dimension cannot have, or contradicts an
// earlier one. A fixed dimension may be given the size that it has. Memory is
// in the pool.
ETX_MUST_USE etx_status etx_dim_overrides_read(
    const etx_program* program, etx_text method, const etx_dim_options* given,
    etx_pool* pool, etx_dim_overrides* out_dims, etx_diag* diag);

// True if an override "SYMBOL=SIZE" or "INPUT[DIM]=SIZE" names a symbol or an
// input of the method.
ETX_MUST_USE etx_status etx_dim_override_is_known(const etx_program* program,
                                                  etx_text method,
                                                  const char* option,
                                                  bool* out_known,
                                                  etx_diag* diag);

// Size of a dimension, or with dim -1 the value of a dynamic integer;
// `otherwise` if it is fixed. `out_option` is the --dim that gives it, or NULL.
int64_t etx_dim_override_size(const etx_dim_overrides* dims,
                              const etx_port* port, int32_t dim,
                              int64_t otherwise, const char** out_option);

// ETX_BAD_ARGUMENT if the value of an input has a size that contradicts an
// override.
ETX_MUST_USE etx_status etx_dim_overrides_agree(const etx_dim_overrides* dims,
                                                const etx_port* port,
                                                const etx_value* value,
                                                etx_diag* diag);

#endif
