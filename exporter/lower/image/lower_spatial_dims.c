// 1-D and 3-D operators by 2-D ones: a line is a plane of one row. A separable
// 3-D operator takes two steps: over rows and columns with the depth among the
// channels, then over the depth with rows and columns as one dimension.

#include "exporter/lower/builder/lowering_functions.h"

etx_status etx_build_add_row_dim(etx_builder* builder, uint32_t self,
                                 uint32_t* out) {
  const size_t rank = etx_builder_shape(builder, self)->rank;
  return etx_build_unsqueeze(builder, self, rank - 1, out);
}

etx_status etx_build_drop_row_dim(etx_builder* builder, uint32_t* value) {
  etx_shape shape = *etx_builder_shape(builder, *value);
  shape.dims[shape.rank - 2] = shape.dims[shape.rank - 1];
  return etx_build_view(builder, *value, shape.dims, shape.rank - 1u, value);
}

// [.., channels, depth, rows, columns] as [.., channels * depth, rows,
// columns], or as [.., channels, depth, rows * columns].
static etx_status join_dims(etx_builder* builder, uint32_t self,
                            bool joins_depth, uint32_t* out) {
  etx_shape s = *etx_builder_shape(builder, self);
  const size_t at = joins_depth ? s.rank - 4u : s.rank - 2u;
  ETX_TRY(etx_builder_product(builder, s.dims, at, at + 2, &s.dims[at]));
  for (size_t i = at + 1; i + 1 < s.rank; ++i) s.dims[i] = s.dims[i + 1];
  return etx_build_view(builder, self, s.dims, s.rank - 1u, out);
}

// Splits channels * depth again; `like` has the depth.
static etx_status split_depth(etx_builder* builder, uint32_t planes,
                              uint32_t like, uint32_t* out) {
  const etx_shape from = *etx_builder_shape(builder, planes);
  etx_shape s = *etx_builder_shape(builder, like);
  s.dims[s.rank - 2] = from.dims[from.rank - 2];
  s.dims[s.rank - 1] = from.dims[from.rank - 1];
  return etx_build_view(builder, planes, s.dims, s.rank, out);
}

// Splits rows * columns again; `like` has the rows and columns.
static etx_status split_plane(etx_builder* builder, uint32_t columns,
                              uint32_t like, uint32_t* out) {
  const etx_shape from = *etx_builder_shape(builder, columns);
  etx_shape s = *etx_builder_shape(builder, like);
  s.dims[s.rank - 3] = from.dims[from.rank - 2];
  return etx_build_view(builder, columns, s.dims, s.rank, out);
}

etx_status etx_build_by_spatial_dims(etx_builder* builder, uint32_t self,
                                     etx_build_spatial_function function,
                                     const void* context, uint32_t* out_value) {
  uint32_t value = 0, planes = 0;
  ETX_TRY(join_dims(builder, self, true, &value));
  ETX_TRY(function(builder, context, false, value, &value));
  ETX_TRY(split_depth(builder, value, self, &planes));
  ETX_TRY(join_dims(builder, planes, false, &value));
  ETX_TRY(function(builder, context, true, value, &value));
  return split_plane(builder, value, planes, out_value);
}
