// 1-D, 2-D and 3-D pooling by the 2-D operators. 1-D pools a plane of one row.
// 3-D takes two steps, rows and columns, then depth, because maxima and means
// over a box are separable.

#include "exporter/lower/builder/lowering_functions.h"

// A list argument for planes. In 1-D, `front` is the entry for the row
// dimension.
static etx_status plane_list(etx_builder* builder, const etx_ir_arg* list,
                             size_t spatial, etx_dim front, etx_ir_arg* out) {
  const size_t count = list->as.list.count;
  if (count > spatial) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "a list argument of '%t' has %z entries, expected %z",
                         builder->node->aten, count, spatial);
  }
  *out = *list;
  if (spatial != 1 || count == 0) return ETX_OK;
  const etx_dim both[] = {front, list->as.list.items[0].as.integer};
  return etx_build_int_list(builder, both, 2, out);
}

static etx_status check_rank(etx_builder* builder, uint32_t self,
                             size_t spatial) {
  const size_t rank = etx_builder_shape(builder, self)->rank;
  if (rank == spatial + 1 || rank == spatial + 2) return ETX_OK;
  return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                       "'%t' expects a tensor of rank %z or %z, found rank %z",
                       builder->node->aten, spatial + 1, spatial + 2, rank);
}

// ------------------------------------------------ one dimension and two

// The arguments of a pooling operator.
typedef struct pooling_window {
  etx_ir_arg kernel, stride, padding;
  etx_ir_arg dilation;  // of max pooling
  bool ceil_mode;
  bool counts_padding;  // of average pooling
  etx_ir_arg divisor;   // of average pooling, or None
} pooling_window;

// Max pooling of planes; the indices are not computed if `out_indices` is NULL.
static etx_status pool_maximum(etx_builder* builder, const pooling_window* p,
                               uint32_t self, uint32_t* out_value,
                               uint32_t* out_indices) {
  const etx_ir_arg args[] = {
      etx_ir_value_arg(self),   p->kernel, p->stride, p->padding, p->dilation,
      etx_ir_bool(p->ceil_mode)};
  if (out_indices == NULL && builder->target == ETX_TARGET_ETX) {
    return etx_build_op(builder, ETX_OP_max_pool2d_out, args, 6, out_value);
  }
  uint32_t* const values =
      etx_pool_take(builder->module->pool, 2 * sizeof(uint32_t));
  if (values == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_build_op_outputs(builder, ETX_OP_max_pool2d_with_indices_out,
                               args, 6, NULL, values));
  *out_value = values[0];
  if (out_indices != NULL) *out_indices = values[1];
  return ETX_OK;
}

static etx_status pool_mean(etx_builder* builder, const pooling_window* p,
                            uint32_t self, uint32_t* out_value) {
  const etx_ir_arg args[] = {etx_ir_value_arg(self),
                             p->kernel,
                             p->stride,
                             p->padding,
                             etx_ir_bool(p->ceil_mode),
                             etx_ir_bool(p->counts_padding),
                             p->divisor};
  return etx_build_op(builder, ETX_OP_avg_pool2d_out, args, 7, out_value);
}

// (self, kernel_size, stride, padding, ..) over one dimension or two.
static etx_status read_pooling(etx_builder* builder, size_t spatial,
                               pooling_window* out) {
  const etx_ir_arg* const args = builder->args;
  ETX_TRY(check_rank(builder, args[0].as.value, spatial));
  ETX_TRY(plane_list(builder, &args[1], spatial, 1, &out->kernel));
  ETX_TRY(plane_list(builder, &args[2], spatial, 1, &out->stride));
  return plane_list(builder, &args[3], spatial, 0, &out->padding);
}

// (.., dilation, ceil_mode)
static etx_status lower_maximum(etx_builder* builder, size_t spatial,
                                bool has_indices) {
  pooling_window p = {.ceil_mode = builder->args[5].as.boolean};
  uint32_t self = builder->args[0].as.value;
  ETX_TRY(read_pooling(builder, spatial, &p));
  ETX_TRY(plane_list(builder, &builder->args[4], spatial, 1, &p.dilation));
  if (spatial == 1) ETX_TRY(etx_build_add_row_dim(builder, self, &self));
  const bool are_read = has_indices && etx_builder_is_read(builder, 1);
  uint32_t* const results = builder->results;
  ETX_TRY(pool_maximum(builder, &p, self, &results[0],
                       are_read ? &results[1] : NULL));
  if (spatial != 1) return ETX_OK;
  if (are_read) ETX_TRY(etx_build_drop_row_dim(builder, &results[1]));
  return etx_build_drop_row_dim(builder, &results[0]);
}

etx_status etx_lowering_max_pool1d(etx_builder* builder) {
  return lower_maximum(builder, 1, false);
}
etx_status etx_lowering_max_pool1d_with_indices(etx_builder* builder) {
  return lower_maximum(builder, 1, true);
}
etx_status etx_lowering_max_pool2d(etx_builder* builder) {
  return lower_maximum(builder, 2, false);
}
etx_status etx_lowering_max_pool2d_with_indices(etx_builder* builder) {
  return lower_maximum(builder, 2, true);
}

// (.., ceil_mode, count_include_pad, divisor_override)
static etx_status lower_mean(etx_builder* builder, size_t spatial) {
  const etx_ir_arg* const args = builder->args;
  pooling_window p = {
      .ceil_mode = args[4].as.boolean,
      .counts_padding = args[5].as.boolean,
      .divisor = builder->arg_count > 6 ? args[6] : etx_ir_none()};
  uint32_t self = args[0].as.value;
  ETX_TRY(read_pooling(builder, spatial, &p));
  if (spatial == 1) ETX_TRY(etx_build_add_row_dim(builder, self, &self));
  ETX_TRY(pool_mean(builder, &p, self, &builder->results[0]));
  return spatial == 1 ? etx_build_drop_row_dim(builder, &builder->results[0])
                      : ETX_OK;
}

etx_status etx_lowering_avg_pool1d(etx_builder* builder) {
  return lower_mean(builder, 1);
}
etx_status etx_lowering_avg_pool2d(etx_builder* builder) {
  return lower_mean(builder, 2);
}

// ------------------------------------------------ three dimensions

// The entries of a 3-D list argument for one step: `first` 1: rows and columns;
// `first` 0: the depth, and `other` for the columns.
static etx_status spatial_part(etx_builder* builder, const etx_ir_arg* list,
                               size_t first, etx_dim other, etx_ir_arg* out) {
  const size_t count = list->as.list.count;
  const etx_ir_arg* const items = list->as.list.items;
  if (count != 1 && count != 3) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "a list argument of '%t' has %z entries, expected 3",
                         builder->node->aten, count);
  }
  etx_dim both[] = {items[count == 1 ? 0 : first].as.integer, other};
  if (first > 0) both[1] = items[count == 1 ? 0 : first + 1].as.integer;
  return etx_build_int_list(builder, both, 2, out);
}

// The arguments for one step: rows and columns (`first` 1), or depth (0).
static etx_status spatial_window(etx_builder* builder, size_t first,
                                 pooling_window* p) {
  const etx_ir_arg* const args = builder->args;
  const bool has_stride = args[2].as.list.count > 0;
  ETX_TRY(spatial_part(builder, &args[1], first, 1, &p->kernel));
  ETX_TRY(
      spatial_part(builder, &args[has_stride ? 2 : 1], first, 1, &p->stride));
  return spatial_part(builder, &args[3], first, 0, &p->padding);
}

static etx_status maximum_step(etx_builder* builder, const void* context,
                               bool is_depth, uint32_t self, uint32_t* out) {
  pooling_window p = {.ceil_mode = builder->args[5].as.boolean};
  (void)context;
  ETX_TRY(spatial_window(builder, is_depth ? 0 : 1, &p));
  ETX_TRY(spatial_part(builder, &builder->args[4], is_depth ? 0 : 1, 1,
                       &p.dilation));
  return pool_maximum(builder, &p, self, out, NULL);
}

// The indices are not computed; a node that reads them is refused.
etx_status etx_lowering_max_pool3d(etx_builder* builder) {
  ETX_TRY(check_rank(builder, builder->args[0].as.value, 3));
  return etx_build_by_spatial_dims(builder, builder->args[0].as.value,
                                   maximum_step, NULL, &builder->results[0]);
}

// A given divisor applies to the second step; the first one then has divisor 1.
static etx_status mean_step(etx_builder* builder, const void* context,
                            bool is_depth, uint32_t self, uint32_t* out) {
  const etx_ir_arg* const args = builder->args;
  pooling_window p = {.ceil_mode = args[4].as.boolean,
                      .counts_padding = args[5].as.boolean,
                      .divisor = args[6]};
  (void)context;
  if (!is_depth && args[6].kind == ETX_IR_ARG_INT) p.divisor = etx_ir_int(1);
  ETX_TRY(spatial_window(builder, is_depth ? 0 : 1, &p));
  return pool_mean(builder, &p, self, out);
}

etx_status etx_lowering_avg_pool3d(etx_builder* builder) {
  ETX_TRY(check_rank(builder, builder->args[0].as.value, 3));
  return etx_build_by_spatial_dims(builder, builder->args[0].as.value,
                                   mean_step, NULL, &builder->results[0]);
}
