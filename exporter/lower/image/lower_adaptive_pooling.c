// Adaptive pooling: window i of n covers positions floor(i size / n) to
// ceil((i + 1) size / n).
//
// Average pooling is the operator over planes, or a mean if there is one
// window. Max pooling has no operator and is done dimension by dimension: if n
// divides the size, as a reduction of a view, else with one slice for each
// window.

#include "exporter/lower/builder/lowering_functions.h"

enum {
  MAX_SPATIAL = 3,
  // Windows of different sizes along one dimension; each needs two nodes.
  MAX_SLICES = 64,
};

typedef struct pooling_target {
  size_t spatial;
  etx_dim sizes[MAX_SPATIAL];
} pooling_target;

// (self, output_size)
static etx_status read_target(etx_builder* builder, size_t spatial,
                              pooling_target* out) {
  const etx_ir_arg* const sizes = &builder->args[1];
  const size_t rank =
      etx_builder_shape(builder, builder->args[0].as.value)->rank;
  if (sizes->as.list.count != spatial ||
      (rank != spatial + 1 && rank != spatial + 2)) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects %z output sizes and a tensor of rank %z "
                         "or %z, found %z and rank %z",
                         builder->node->aten, spatial, spatial + 1, spatial + 2,
                         sizes->as.list.count, rank);
  }
  out->spatial = spatial;
  for (size_t i = 0; i < spatial; ++i) {
    out->sizes[i] = sizes->as.list.items[i].as.integer;
  }
  return ETX_OK;
}

// ------------------------------------------------ means

static etx_status pool_planes(etx_builder* builder, uint32_t self, etx_dim rows,
                              etx_dim columns, uint32_t* out) {
  const etx_dim sizes[] = {rows, columns};
  etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_none()};
  ETX_TRY(etx_build_int_list(builder, sizes, 2, &args[1]));
  return etx_build_op(builder, ETX_OP_adaptive_avg_pool2d_out, args, 2, out);
}

static etx_status mean_step(etx_builder* builder, const void* context,
                            bool is_depth, uint32_t self, uint32_t* out) {
  const pooling_target* const t = context;
  const etx_shape* const shape = etx_builder_shape(builder, self);
  return is_depth ? pool_planes(builder, self, t->sizes[0],
                                shape->dims[shape->rank - 1], out)
                  : pool_planes(builder, self, t->sizes[1], t->sizes[2], out);
}

static etx_status mean_of_row(etx_builder* builder, uint32_t self,
                              const pooling_target* t) {
  uint32_t value = 0;
  etx_shape shape = *etx_builder_shape(builder, self);
  ETX_TRY(etx_build_unsqueeze(builder, self, shape.rank - 1u, &value));
  ETX_TRY(pool_planes(builder, value, 1, t->sizes[0], &value));
  shape.dims[shape.rank - 1] = t->sizes[0];
  return etx_build_view(builder, value, shape.dims, shape.rank,
                        &builder->results[0]);
}

static etx_status adaptive_mean(etx_builder* builder, size_t spatial) {
  pooling_target t = {0};
  const uint32_t self = builder->args[0].as.value;
  etx_dim dims[MAX_SPATIAL];
  bool is_global = true;
  ETX_TRY(read_target(builder, spatial, &t));
  for (size_t i = 0; i < spatial; ++i) {
    dims[i] = -(etx_dim)(i + 1);
    is_global = is_global && t.sizes[i] == 1;
  }
  if (is_global) {
    return etx_build_reduce(builder, ETX_OP_mean_out, self,
                            (etx_reduced_dims){dims, spatial, true},
                            &builder->results[0]);
  }
  if (spatial == 1) return mean_of_row(builder, self, &t);
  if (spatial == 3) {
    return etx_build_by_spatial_dims(builder, self, mean_step, &t,
                                     &builder->results[0]);
  }
  return pool_planes(builder, self, t.sizes[0], t.sizes[1],
                     &builder->results[0]);
}

etx_status etx_lowering_adaptive_avg_pool1d(etx_builder* builder) {
  return adaptive_mean(builder, 1);
}
etx_status etx_lowering_adaptive_avg_pool2d(etx_builder* builder) {
  return adaptive_mean(builder, 2);
}
etx_status etx_lowering_adaptive_avg_pool3d(etx_builder* builder) {
  return adaptive_mean(builder, 3);
}

// ------------------------------------------------ maxima

// The maximum over positions [start, end) of a dimension, which keeps size 1.
static etx_status window_maximum(etx_builder* builder, uint32_t self,
                                 size_t axis, etx_dim start, etx_dim end,
                                 uint32_t* out) {
  const etx_dim dims[] = {(etx_dim)axis};
  uint32_t part = 0;
  ETX_TRY(etx_build_slice(builder, self, (etx_dim_slice){axis, start, end, 1},
                          &part));
  return etx_build_reduce(builder, ETX_OP_amax_out, part,
                          (etx_reduced_dims){dims, 1, true}, out);
}

// The bound floor((window * size + extra) / count).
static etx_status window_bound(etx_builder* builder, etx_dim size,
                               int64_t window, int64_t extra, int64_t count,
                               etx_dim* out) {
  etx_symbols* const symbols = &builder->method->symbols;
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, size, window, out));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_ADD, *out, extra, out));
  return etx_symbols_apply(symbols, ETX_SYMBOL_FLOOR_DIVIDE, *out, count, out);
}

// Windows of equal size: [.., size, ..] is viewed as [.., n, size / n, ..] and
// reduced over the second of these.
static etx_status divided_maximum(etx_builder* builder, uint32_t self,
                                  size_t axis, int64_t count, uint32_t* out) {
  etx_shape s = *etx_builder_shape(builder, self);
  const etx_dim dims[] = {(etx_dim)axis + 1};
  if (s.rank == ETX_MAX_RANK) return ETX_OUT_OF_RANGE;
  for (size_t i = s.rank; i > axis; --i) s.dims[i] = s.dims[i - 1];
  s.dims[axis + 1] = s.dims[axis] / count;
  s.dims[axis] = count;
  uint32_t value = 0;
  ETX_TRY(etx_build_view(builder, self, s.dims, s.rank + 1u, &value));
  return etx_build_reduce(builder, ETX_OP_amax_out, value,
                          (etx_reduced_dims){dims, 1, false}, out);
}

static etx_status sliced_maximum(etx_builder* builder, uint32_t self,
                                 size_t axis, int64_t count, uint32_t* out) {
  const etx_dim size = etx_builder_shape(builder, self)->dims[axis];
  etx_ir_arg parts[MAX_SLICES];
  for (int64_t i = 0; i < count; ++i) {
    etx_dim start = 0;
    etx_dim end = 0;
    uint32_t part = 0;
    ETX_TRY(window_bound(builder, size, i, 0, count, &start));
    ETX_TRY(window_bound(builder, size, i + 1, count - 1, count, &end));
    ETX_TRY(window_maximum(builder, self, axis, start, end, &part));
    parts[i] = etx_ir_value_arg(part);
  }
  const etx_ir_arg args[] = {etx_ir_list(parts, (size_t)count),
                             etx_ir_int((etx_dim)axis)};
  return etx_build_op(builder, ETX_OP_cat_out, args, 2, out);
}

static etx_status dimension_maximum(etx_builder* builder, uint32_t self,
                                    size_t axis, etx_dim count, uint32_t* out) {
  const etx_dim size = etx_builder_shape(builder, self)->dims[axis];
  if (etx_symbols_equal(&builder->method->symbols, size, count)) {
    *out = self;
    return ETX_OK;
  }
  if (count == 1) {
    const etx_dim dims[] = {(etx_dim)axis};
    return etx_build_reduce(builder, ETX_OP_amax_out, self,
                            (etx_reduced_dims){dims, 1, true}, out);
  }
  const bool are_numbers = etx_dim_is_number(size) && etx_dim_is_number(count);
  if (are_numbers && count > 0 && size % count == 0) {
    return divided_maximum(builder, self, axis, count, out);
  }
  if (etx_dim_is_number(count) && count > 0 && count <= MAX_SLICES &&
      size <= INT32_MAX) {
    return sliced_maximum(builder, self, axis, count, out);
  }
  return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                       "'%t' to a size that varies, or to more than %i windows "
                       "of different sizes, is not supported",
                       builder->node->aten, (int64_t)MAX_SLICES);
}

// The indices are not computed; a node that reads them is refused.
static etx_status adaptive_maximum(etx_builder* builder, size_t spatial) {
  pooling_target t = {0};
  uint32_t value = builder->args[0].as.value;
  ETX_TRY(read_target(builder, spatial, &t));
  const size_t rank = etx_builder_shape(builder, value)->rank;
  for (size_t i = spatial; i-- > 0;) {
    ETX_TRY(dimension_maximum(builder, value, rank - spatial + i, t.sizes[i],
                              &value));
  }
  builder->results[0] = value;
  return ETX_OK;
}

etx_status etx_lowering_adaptive_max_pool1d(etx_builder* builder) {
  return adaptive_maximum(builder, 1);
}
etx_status etx_lowering_adaptive_max_pool2d(etx_builder* builder) {
  return adaptive_maximum(builder, 2);
}
etx_status etx_lowering_adaptive_max_pool3d(etx_builder* builder) {
  return adaptive_maximum(builder, 3);
}
