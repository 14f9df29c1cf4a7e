// What every instruction of a run wrote: copies of its tensors, for who
// compares two runs.

#ifndef ETX_CLI_RUN_TENSOR_LOG_H
#define ETX_CLI_RUN_TENSOR_LOG_H

#include "cli/tensors/host_tensor.h"
#include "runtime/method.h"

// One tensor that an instruction wrote.
typedef struct etx_logged_tensor {
  size_t instruction;
  const etx_op* op;
  etx_host_tensor tensor;
} etx_logged_tensor;

typedef struct etx_tensor_log {
  etx_run_observer observer;  // to be given to the method
  etx_logged_tensor* rows;
  size_t count;
  size_t capacity;
  etx_pool* pool;     // of the copies
  etx_status status;  // not ETX_OK: some are missing
} etx_tensor_log;

// Starts empty; stays where it is while a method is observed.
void etx_tensor_log_init(etx_tensor_log* log, etx_pool* pool);
void etx_tensor_log_close(etx_tensor_log* log);

// Rows of two logs that are the same operator on a result of the same type and
// sizes, in the order of both: as many as can be had. Writes the positions in
// `a` and `b` to `out_pairs`, two for each, which has room for the shorter
// one's rows, and their number. ETX_OUT_OF_MEMORY if the logs are too long.
ETX_MUST_USE etx_status etx_tensor_log_match(const etx_tensor_log* a,
                                             const etx_tensor_log* b,
                                             size_t* out_pairs,
                                             size_t* out_count);

#endif
