// The lowering functions that the rows of exporter/ir/aten_operators.def name,
// and functions of one family that other families call.
//
//   etx_status etx_lowering_<function>(etx_builder* lower);
//
// reads the node's arguments from `lower->args` (one for each argument of the
// schema), appends nodes with the builder, and stores one value for each output
// of the node in `lower->results`. A failure with a message in `diag` is a
// problem of the user's program and is reported; only OUT_OF_MEMORY and
// INTERNAL end the pass.

#ifndef ETX_EXPORTER_LOWER_BUILDER_LOWERING_FUNCTIONS_H
#define ETX_EXPORTER_LOWER_BUILDER_LOWERING_FUNCTIONS_H

#include "exporter/lower/builder/builder.h"

// self [.., M, K] @ other [.., K, N] with torch.matmul's rules.
ETX_MUST_USE etx_status etx_build_matmul(etx_builder* builder, uint32_t self,
                                         uint32_t other, uint32_t* out_value);
// Exchanges the last two dimensions.
ETX_MUST_USE etx_status etx_build_transposed_matrix(etx_builder* builder,
                                                    uint32_t self,
                                                    uint32_t* out_value);
// input @ weight^T + bias; bias may be ETX_IR_NONE.
ETX_MUST_USE etx_status etx_build_linear(etx_builder* builder, uint32_t input,
                                         uint32_t weight, uint32_t bias,
                                         uint32_t* out_value);
// For each value, the number of boundaries that are less than it (`right`: less
// or equal), as int64. The shapes are [.., values, 1] and [.., 1, boundaries]
// or [boundaries].
ETX_MUST_USE etx_status etx_build_count_before(etx_builder* builder,
                                               uint32_t values,
                                               uint32_t boundaries, bool right,
                                               uint32_t* out_value);
// log(exp(a) + exp(b)) of two tensors of one dtype.
ETX_MUST_USE etx_status etx_build_logaddexp(etx_builder* builder, uint32_t a,
                                            uint32_t b, uint32_t* out_value);
// 0, 1, .. along `axis` of `shape`, with size 1 in the other dimensions.
ETX_MUST_USE etx_status etx_build_positions(etx_builder* builder,
                                            const etx_shape* shape, size_t axis,
                                            uint32_t* out_value);
// The largest element so far along `axis` of a tensor of integers.
ETX_MUST_USE etx_status etx_build_running_maximum(etx_builder* builder,
                                                  uint32_t self, size_t axis,
                                                  uint32_t* out_value);
// All elements in order along `dim`, and their indices. A stable sort keeps
// the order of equal elements; target executorch has none.
ETX_MUST_USE etx_status etx_build_sorted(etx_builder* builder, uint32_t self,
                                         etx_dim dim, bool stable,
                                         bool descending, uint32_t* out_values);
// Views [.., columns] as [.., 1, columns], for operators over planes, and back.
ETX_MUST_USE etx_status etx_build_add_row_dim(etx_builder* builder,
                                              uint32_t self, uint32_t* out);
ETX_MUST_USE etx_status etx_build_drop_row_dim(etx_builder* builder,
                                               uint32_t* value);
// One step over [.., rows, columns]. With `is_depth`, the rows are the depth of
// a volume, and the step must keep the columns.
typedef etx_status (*etx_build_spatial_function)(etx_builder* builder,
                                                 const void* context,
                                                 bool is_depth, uint32_t self,
                                                 uint32_t* out);
// Applies a separable operator to [.., channels, depth, rows, columns] in two
// steps: over rows and columns, then over depth.
ETX_MUST_USE etx_status etx_build_by_spatial_dims(
    etx_builder* builder, uint32_t self, etx_build_spatial_function function,
    const void* context, uint32_t* out_value);
// _fft_r2c(self, dim, normalization, onesided). Two-sided results are refused
// for target executorch, whose kernel fails at run time.
ETX_MUST_USE etx_status etx_build_fft_r2c(etx_builder* builder,
                                          const etx_ir_arg* args,
                                          uint32_t* out_value);
// constant_pad_nd with zeros by `pads`, also of complex tensors.
ETX_MUST_USE etx_status etx_build_pad_zeros(etx_builder* builder, uint32_t self,
                                            const etx_ir_arg* pads,
                                            uint32_t* out_value);

// Prototypes of all lowering functions, from the rows.
#define ATEN(name, arguments, results, lowering) lowering
#define LOWER(function) \
  ETX_MUST_USE etx_status etx_lowering_##function(etx_builder* builder);
#define LOWER_OP(function, op) LOWER(function)
#define LOWER_ETX(function, etx_function, op) \
  LOWER(function)                             \
  LOWER(etx_function)
#define REFUSED
#include "exporter/ir/aten_operators.def"
#undef ATEN
#undef LOWER
#undef LOWER_OP
#undef LOWER_ETX
#undef REFUSED

#endif
