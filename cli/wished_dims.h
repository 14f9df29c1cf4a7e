// Sizes that somebody wishes for the dimensions of a method that vary, each as
// "SYMBOL=SIZE" or "INPUT[DIM]=SIZE". Dimensions that depend on one symbol have
// one value of it, so wishes are values of symbols.

#ifndef ETX_CLI_WISHED_DIMS_H
#define ETX_CLI_WISHED_DIMS_H

#include "cli/options.h"
#include "cli/program/port.h"
#include "exporter/host_memory.h"

typedef struct etx_wished_symbol {
  const char* word;  // the first wish that says so; NULL: it is the largest
  int64_t value;
} etx_wished_symbol;

typedef struct etx_wished_dims {
  const etx_program* program;
  etx_text method;
  etx_wished_symbol* symbols;  // as the file counts them
} etx_wished_dims;

// Reads all wishes for a method; `words` may be NULL. ETX_BAD_ARGUMENT if one
// is no number, names nothing that varies, is a size that cannot be, or
// contradicts an earlier one. The fixed size of a dimension may be wished, too.
// Memory is of the pool.
ETX_MUST_USE etx_status etx_wished_dims_read(
    const etx_program* program, etx_text method, const etx_option_list* words,
    etx_pool* pool, etx_wished_dims* out_dims, etx_diag* diag);

// Size of a dimension, or with -1 the value of an integer that varies;
// `otherwise` for one that does not vary. `out_word` is the wish that says so,
// or NULL.
int64_t etx_wished_dim(const etx_wished_dims* dims, const etx_port* port,
                       int32_t dim, int64_t otherwise, const char** out_word);

// ETX_BAD_ARGUMENT if a value given for an input has another size than the
// wishes say.
ETX_MUST_USE etx_status etx_wished_dims_agree(const etx_wished_dims* dims,
                                              const etx_port* port,
                                              const etx_value* value,
                                              etx_diag* diag);

#endif
