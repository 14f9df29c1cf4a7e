// The memory that methods need at given sizes, for etx inspect --at.

#ifndef ETX_CLI_REPORT_MEMORY_AT_H
#define ETX_CLI_REPORT_MEMORY_AT_H

#include "cli/program/dim_override.h"
#include "runtime/method.h"

// The needs of one method.
typedef struct etx_memory_at {
  bool is_asked;
  etx_memory_needed needed;
  size_t size_value_bytes;  // of values that are kept (runtime/size_values.h)
  etx_named_size* sizes;    // of all symbols of the method
  size_t size_count;
} etx_memory_at;

// Finds the needs of every method that has all the dimensions that are given.
// `out_memory` has a row for each method of the program and is in the pool.
// ETX_BAD_ARGUMENT: a size is impossible, or no method has all the dimensions.
ETX_MUST_USE etx_status etx_memory_at_find(const etx_program* program,
                                           const etx_dim_options* sizes,
                                           etx_pool* pool,
                                           const etx_memory_at** out_memory,
                                           etx_diag* diag);

#endif
