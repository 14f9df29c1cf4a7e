// Copies of the tensors that each instruction of a run wrote, to compare two
// runs.

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
  etx_run_observer observer;  // for etx_method_observe
  etx_logged_tensor* rows;
  size_t count;
  size_t capacity;
  etx_pool* pool;     // of the copies
  etx_status status;  // not ETX_OK: the log is incomplete
} etx_tensor_log;

// Starts an empty log. It must not be moved while a method is observed.
void etx_tensor_log_init(etx_tensor_log* log, etx_pool* pool);
void etx_tensor_log_close(etx_tensor_log* log);

// Matches as many rows of the two logs as possible, in the order of both. Two
// rows match if they have the same operator, dtype and sizes. Writes the
// positions in `a` and in `b` of each pair to `out_pairs`, which has room for
// as many pairs as the shorter log has rows, and the number of pairs to
// `out_count`. ETX_OUT_OF_MEMORY if the logs are too long.
ETX_MUST_USE etx_status etx_tensor_log_match(const etx_tensor_log* a,
                                             const etx_tensor_log* b,
                                             size_t* out_pairs,
                                             size_t* out_count);

#endif
