// The operator's shape rule, asked about a call: the bridge between
// format/ops, which knows sizes, and the runtime, which has values.

#ifndef ETX_RUNTIME_SHAPES_CALL_SHAPE_H
#define ETX_RUNTIME_SHAPES_CALL_SHAPE_H

#include "format/shapes/op_shapes.h"
#include "runtime/kernel.h"

// A bit for each argument of `op` that a call writes ("(a!)"), by schema
// position.
uint64_t etx_op_written_arguments(const etx_op* op);

// Told each output of a call: its slot and the shape the rule found for it.
// With `at_most` the sizes depend on elements: the shape has the type, the rank
// and as many elements as there may be, and the kernel says when it runs
// (etx_call_resize_out).
typedef etx_status (*etx_call_resize)(void* context, const etx_value* output,
                                      const etx_shape* shape, bool at_most);

// Runs the shape rule of `call->op`, which writes tensors, on the call's
// present arguments. `written` is the result of etx_op_written_arguments.
// Refuses a list of outputs that is too short or too long. Messages go to
// `call->diag`.
ETX_MUST_USE etx_status etx_call_size_outputs(const etx_call* call,
                                              uint64_t written,
                                              etx_call_resize resize,
                                              void* context);

#endif
