// What the shape rules share: reading arguments with refusals, broadcasting,
// handing out results. Included by format/ops/op_shapes*.c alone.

#ifndef ETX_FORMAT_SHAPES_OP_SHAPES_INTERNAL_H
#define ETX_FORMAT_SHAPES_OP_SHAPES_INTERNAL_H

#include "format/shapes/op_shapes.h"

// Reads a tensor; refuses if the argument is None or something else.
etx_status etx_shape_tensor(const etx_shape_call* call, size_t argument,
                            etx_shape* out_shape);
// Reads item `item` of a tensor list.
etx_status etx_shape_tensor_item(const etx_shape_call* call, size_t argument,
                                 size_t item, etx_shape* out_shape);

// True if the argument is None or absent.
bool etx_shape_is_none(const etx_shape_call* call, size_t argument);
bool etx_shape_boolean(const etx_shape_call* call, size_t argument);

// Reads an integer that must be a number here.
etx_status etx_shape_number(const etx_shape_call* call, size_t argument,
                            size_t item, int64_t* out_number);

// Reads a dimension in -rank..rank-1 (rank 0 counts as 1) and wraps it.
etx_status etx_shape_dimension(const etx_shape_call* call, size_t argument,
                               size_t item, size_t rank, size_t* out_dimension);
// Wraps a dimension that is already at hand.
etx_status etx_shape_wrap(const etx_shape_call* call, int64_t value,
                          size_t rank, size_t* out_dimension);

// Refuses unless the two sizes are equal; `what` names them in the message.
etx_status etx_shape_check_equal(const etx_shape_call* call, const char* what,
                                 etx_dim expected, etx_dim found);
// Refuses unless `shape` has that rank.
etx_status etx_shape_check_rank(const etx_shape_call* call, const char* what,
                                const etx_shape* shape, size_t rank);

// Broadcasts `shape` into `dims`, right-aligned; types are left alone.
etx_status etx_shape_broadcast_into(const etx_shape_call* call, etx_shape* into,
                                    const etx_shape* shape);
// Refuses unless the tensors of list `argument` can be the others of a chain
// (chain_steps.h) over `shape`: of its sizes, along its last dimension, or of
// one element.
etx_status etx_shape_check_others(const etx_shape_call* call, size_t argument,
                                  const etx_shape* shape);
// Refuses unless `from` broadcasts to exactly `to`.
etx_status etx_shape_check_broadcasts(const etx_shape_call* call,
                                      const etx_shape* from,
                                      const etx_shape* to);

// Promotes `into`'s type with another tensor's; refuses a pair without a
// common type.
etx_status etx_shape_promote(const etx_shape_call* call, etx_dtype* into,
                             etx_dtype other);
// The type that a function to floats gives: float32 for integers and bool.
etx_dtype etx_shape_float_type(etx_dtype dtype);

// Product of all sizes.
etx_status etx_shape_numel(const etx_shape_call* call, const etx_shape* shape,
                           etx_dim* out_numel);

// Hands out an output whose sizes depend on elements; refuses if the
// shape_query cannot take it.
etx_status etx_shape_put_at_most(const etx_shape_call* call, size_t index,
                                 const etx_shape* most);

// Reads number `item` of a list with one number for each of `spatial`
// dimensions, or one for all; refuses it below `least`. `what` names the
// number in the message.
etx_status etx_shape_spatial(const etx_shape_call* call, size_t argument,
                             const char* what, size_t spatial, size_t item,
                             int64_t least, int64_t* out_number);

// Refuses results that are sums of more products of a byte and an int8 than 32
// bits hold.
etx_status etx_shape_u8_check_exact(const etx_shape_call* call,
                                    int64_t products);
// Panels of int8 weights, four numbers of sixteen output channels side by side:
// refuses unless they are [count, ceil(inner / 4), 16, 4]. Sizes that vary are
// refused: panels are constants.
etx_status etx_shape_check_panels(const etx_shape_call* call, size_t argument,
                                  int64_t count, int64_t inner);
// What sums of bytes become (op_schema.def): the arguments from `first` on are
// (offsets, scales, bias), each [channels], whose count is given back.
etx_status etx_shape_u8_channels(const etx_shape_call* call, size_t first,
                                 int64_t* out_channels);
// (out_zero_point, out_min, out_max, dtype) from `first` on: the result's type.
etx_status etx_shape_u8_result(const etx_shape_call* call, size_t first,
                               etx_dtype* out_dtype);

// Removes or inserts one dimension.
void etx_shape_remove(etx_shape* shape, size_t dimension);
etx_status etx_shape_insert(const etx_shape_call* call, etx_shape* shape,
                            size_t dimension, etx_dim dim);

#endif
