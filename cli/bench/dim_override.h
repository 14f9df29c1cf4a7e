// Sizes that somebody wishes for the dimensions of a method that vary, each as
// "SYMBOL=SIZE" or "INPUT[DIM]=SIZE". Dimensions that depend on one symbol have
// one value of it, so wishes are values of symbols.

#ifndef ETX_CLI_BENCH_DIM_OVERRIDE_H
#define ETX_CLI_BENCH_DIM_OVERRIDE_H

#include "cli/base/options.h"
#include "cli/program/port.h"
#include "exporter/host/host_memory.h"

typedef struct etx_dim_override_symbol {
  const char* word;  // the first wish that says so; NULL: it is the largest
  int64_t value;
} etx_dim_override_symbol;

typedef struct etx_dim_overrides {
  const etx_program* program;
  etx_text method;
  etx_dim_override_symbol* symbols;  // as the file counts them
} etx_dim_overrides;

// Reads all wishes for a method; `words` may be NULL. ETX_BAD_ARGUMENT if one
// is no number, names nothing that varies, is a size that cannot be, or
// contradicts an earlier one. The fixed size of a dimension may be wished, too.
// Memory is of the pool.
ETX_MUST_USE etx_status etx_dim_overrides_read(
    const etx_program* program, etx_text method, const etx_option_list* words,
    etx_pool* pool, etx_dim_overrides* out_dims, etx_diag* diag);

// Size of a dimension, or with -1 the value of an integer that varies;
// `otherwise` for one that does not vary. `out_word` is the wish that says so,
// or NULL.
int64_t etx_dim_override_size(const etx_dim_overrides* dims,
                              const etx_port* port, int32_t dim,
                              int64_t otherwise, const char** out_word);

// ETX_BAD_ARGUMENT if a value given for an input has another size than the
// wishes say.
ETX_MUST_USE etx_status etx_dim_overrides_agree(const etx_dim_overrides* dims,
                                                const etx_port* port,
                                                const etx_value* value,
                                                etx_diag* diag);

#endif
