// Types of a lowered node's outputs, asked of the operator's shape rule with
// the method's symbolic sizes.

#ifndef ETX_EXPORTER_IR_TYPE_INFERENCE_H
#define ETX_EXPORTER_IR_TYPE_INFERENCE_H

#include "exporter/ir/ir.h"

// Output tensors of any operator that a lowered node may have.
enum { ETX_TYPE_INFERENCE_MAX_OUTPUTS = 8 };

// Tensors that `op` writes and that a lowered node of it has as outputs.
size_t etx_type_inference_output_count(const etx_op* op);

// Infers the outputs of `op` over `args` (all schema arguments but the outs).
// `out_dtype` is the type of the first output where the operator leaves it to
// its out tensor (casts, creation), or NULL. `out_shapes` has room for
// etx_type_inference_output_count(op) entries. Refuses what the shape rule
// refuses. Dims are handles of the method's symbols, whose table may grow.
ETX_MUST_USE etx_status etx_type_inference_outputs(
    etx_ir_method* method, const etx_op* op, const etx_ir_arg* args,
    size_t arg_count, const etx_dtype* out_dtype, etx_shape* out_shapes,
    etx_diag* diag);

#endif
