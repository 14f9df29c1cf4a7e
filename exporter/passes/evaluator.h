// How the exporter asks its caller to compute a node (constant folding). The
// exporter never sees a kernel; the command line hands it the runtime's.

#ifndef ETX_EXPORTER_PASSES_EVALUATOR_H
#define ETX_EXPORTER_PASSES_EVALUATOR_H

#include "format/base/diag.h"
#include "format/ops/op_schema.h"
#include "format/tensor/dtype.h"

typedef struct etx_eval_tensor {
  etx_dtype dtype;
  uint8_t rank;
  const int32_t* sizes;
  void* data;  // dense, default order
} etx_eval_tensor;

typedef enum etx_eval_kind {
  ETX_EVAL_NONE,
  ETX_EVAL_TENSOR,
  ETX_EVAL_INT,
  ETX_EVAL_DOUBLE,
  ETX_EVAL_BOOL,
  ETX_EVAL_STRING,
  ETX_EVAL_INTS,
  ETX_EVAL_DOUBLES,
  ETX_EVAL_BOOLS,
  ETX_EVAL_TENSORS,  // items; is_none[i] for a missing one
} etx_eval_kind;

typedef struct etx_eval_argument {
  etx_eval_kind kind;
  etx_eval_tensor tensor;
  int64_t integer;
  double real;
  bool boolean;
  etx_text string;
  const int64_t* integers;
  const double* reals;
  const uint8_t* booleans;
  const etx_eval_tensor* tensors;
  const uint8_t* is_none;
  size_t count;  // of the list
} etx_eval_argument;

typedef struct etx_evaluator {
  // Computes `op`. `arguments` has one entry for each schema argument, the
  // outs included, whose data the callee writes. ETX_MISSING_OPERATOR if there
  // is no kernel: the node is then left alone.
  etx_status (*evaluate)(void* context, const etx_op* op,
                         const etx_eval_argument* arguments, size_t count,
                         etx_diag* diag);
  void* context;
} etx_evaluator;

#endif
