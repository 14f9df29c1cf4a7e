// The callback with which constant folding computes a node. The exporter does
// not link kernels; its caller, such as the command line, runs those of the
// runtime.

#ifndef ETX_EXPORTER_PASSES_EVALUATOR_H
#define ETX_EXPORTER_PASSES_EVALUATOR_H

#include "format/base/diag.h"
#include "format/ops/op_schema.h"
#include "format/tensor/dtype.h"

typedef struct etx_eval_tensor {
  etx_dtype dtype;
  uint8_t rank;
  const int32_t* sizes;
  void* data;  // contiguous, in the default order of dimensions
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
  ETX_EVAL_TENSORS,  // `tensors`; item i is None if is_none[i]
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
  size_t count;  // items of a list
} etx_eval_argument;

typedef struct etx_evaluator {
  // Computes `op`. `arguments` has one entry for each argument of the schema,
  // outputs included; the callee writes the data of the outputs.
  // ETX_MISSING_OPERATOR if there is no kernel: the node is then not folded.
  etx_status (*evaluate)(void* context, const etx_op* op,
                         const etx_eval_argument* arguments, size_t count,
                         etx_diag* diag);
  void* context;
  // The work of that call, for the budget of constant folding: multiply-adds,
  // and elements read and written. NULL: no call has any. The data of outputs
  // may be NULL.
  uint64_t (*work)(const etx_op* op, const etx_eval_argument* arguments,
                   size_t count);
} etx_evaluator;

#endif
