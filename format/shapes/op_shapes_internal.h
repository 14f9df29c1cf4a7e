// Shared by the shape functions: reading arguments, checks with messages,
// broadcasting. Only format/shapes includes it.

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

// Reads an integer that must not be symbolic.
etx_status etx_shape_number(const etx_shape_call* call, size_t argument,
                            size_t item, int64_t* out_number);

// Reads a dimension in -rank..rank-1 (rank 0 counts as 1) and makes it
// non-negative.
etx_status etx_shape_dimension(const etx_shape_call* call, size_t argument,
                               size_t item, size_t rank, size_t* out_dimension);

// Refuses unless the two sizes are equal; `what` names them in the message.
etx_status etx_shape_check_equal(const etx_shape_call* call, const char* what,
                                 etx_dim expected, etx_dim found);
// Refuses unless `shape` has that rank.
etx_status etx_shape_check_rank(const etx_shape_call* call, const char* what,
                                const etx_shape* shape, size_t rank);

// Broadcasts the sizes of `shape` into `into`, right-aligned. Dtypes are not
// touched.
etx_status etx_shape_broadcast_into(const etx_shape_call* call, etx_shape* into,
                                    const etx_shape* shape);
// Refuses unless the tensors of list `argument` can be operands of a chain
// (chain_steps.h) over `shape`: each has the same sizes, the size of the last
// dimension alone, or one element.
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
// The result type of functions that return floats: float32 for integers and
// bool.
etx_dtype etx_shape_float_type(etx_dtype dtype);

// Product of all sizes.
etx_status etx_shape_numel(const etx_shape_call* call, const etx_shape* shape,
                           etx_dim* out_numel);

// Passes an output whose sizes depend on elements to `output_at_most`; refuses
// if the caller has no such callback.
etx_status etx_shape_put_bounded(const etx_shape_call* call, size_t index,
                                 const etx_shape* most);

// One of `count` spatial dimensions.
typedef struct etx_spatial_dim {
  size_t count;
  size_t index;
} etx_spatial_dim;

// Reads the number of dimension `dim` from a list with one number for each
// spatial dimension, or one for all; refuses numbers below `least`. `what`
// names the number in the message.
etx_status etx_shape_spatial(const etx_shape_call* call, size_t argument,
                             const char* what, etx_spatial_dim dim,
                             int64_t least, int64_t* out_number);

// Refuses more products of uint8 and int8 in a sum than 32 bits can hold.
etx_status etx_shape_u8_check_exact(const etx_shape_call* call,
                                    int64_t products);
// Refuses packed int8 weights unless they are [count, ceil(inner / 4), 16, 4].
// Their sizes must not be symbolic, since they are constants.
etx_status etx_shape_check_panels(const etx_shape_call* call, size_t argument,
                                  int64_t count, int64_t inner);
// Checks (offsets, scales, bias) from argument `first` on, each [channels], and
// returns the number of channels. See op_schema.def.
etx_status etx_shape_u8_channels(const etx_shape_call* call, size_t first,
                                 int64_t* out_channels);
// Checks (out_zero_point, out_min, out_max, dtype) from argument `first` on and
// returns the dtype of the result.
etx_status etx_shape_u8_result(const etx_shape_call* call, size_t first,
                               etx_dtype* out_dtype);

// Removes or inserts one dimension.
void etx_shape_remove(etx_shape* shape, size_t dimension);
etx_status etx_shape_insert(const etx_shape_call* call, etx_shape* shape,
                            size_t dimension, etx_dim dim);

#endif
