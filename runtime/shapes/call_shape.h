// Calls an operator's shape function (format/shapes) with the values of a call.

#ifndef ETX_RUNTIME_SHAPES_CALL_SHAPE_H
#define ETX_RUNTIME_SHAPES_CALL_SHAPE_H

#include "format/shapes/op_shapes.h"
#include "runtime/kernel.h"

// A bit for each argument of `op` that a call writes ("(a!)"), by schema
// position.
uint64_t etx_op_written_arguments(const etx_op* op);

// Receives each output of a call: its slot and its shape. With `at_most` the
// sizes depend on elements: the shape has upper bounds, and the kernel sets the
// sizes when it runs (etx_call_resize_out).
typedef etx_status (*etx_call_resize)(void* context, const etx_value* output,
                                      const etx_shape* shape, bool at_most);

// Runs the shape function of `call->op`, which writes tensors, on the call's
// current arguments. `written` is the result of etx_op_written_arguments.
// Refuses a list of outputs that is too short or too long. Messages go to
// `call->diag`.
ETX_MUST_USE etx_status etx_call_size_outputs(const etx_call* call,
                                              uint64_t written,
                                              etx_call_resize resize,
                                              void* context);

// Symbolic sizes in place of the present ones. The functions get the context of
// `resize`.
typedef struct etx_call_symbols {
  const etx_dim_math* math;
  bool* undecided;  // see etx_shape_call
  // Writes the sizes of a tensor, as many as its rank.
  void (*sizes)(void* context, const etx_value* tensor, etx_dim* out_dims);
  // An Int. One that is not known sets `undecided`.
  etx_dim (*integer)(void* context, const etx_value* number);
  // True for a number that is not fixed.
  bool (*varies)(void* context, const etx_value* number);
} etx_call_symbols;

// The same for sizes that are expressions over symbols.
ETX_MUST_USE etx_status etx_call_size_symbolic(const etx_call* call,
                                               uint64_t written,
                                               const etx_call_symbols* symbols,
                                               etx_call_resize resize,
                                               void* context);

#endif
