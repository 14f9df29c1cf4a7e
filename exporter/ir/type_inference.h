// Types of the outputs of a lowered node, from the shape rule of its operator
// over the method's symbolic sizes.

#ifndef ETX_EXPORTER_IR_TYPE_INFERENCE_H
#define ETX_EXPORTER_IR_TYPE_INFERENCE_H

#include "exporter/ir/ir.h"

// The largest number of output tensors of an operator.
enum { ETX_TYPE_INFERENCE_MAX_OUTPUTS = 8 };

// The number of out tensors of `op`, which a lowered node has as outputs.
size_t etx_type_inference_output_count(const etx_op* op);

typedef struct etx_operator_call {
  const etx_op* op;
  const etx_ir_arg* args;  // all arguments of the schema but the outs
  size_t arg_count;
  // The dtype of the first output where the out tensor decides it (casts,
  // creation), or NULL.
  const etx_dtype* out_dtype;
  // The type of the first output where its sizes depend on data, or NULL: such
  // an operator is refused.
  const etx_shape* declared;
} etx_operator_call;

// Infers the types of the outputs of a call. `out_shapes` has room for
// etx_type_inference_output_count(op) entries. Errors of the shape rule are
// returned. Dims are handles of the method's symbols, whose table may grow.
ETX_MUST_USE etx_status
etx_type_inference_outputs(etx_ir_method* method, const etx_operator_call* call,
                           etx_shape* out_shapes, etx_diag* diag);

#endif
