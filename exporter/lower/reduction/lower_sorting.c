// sort and argsort, and elements that are found in the sorted order: median,
// kthvalue, mode. For target executorch, sorting is topk of all elements.

#include "exporter/lower/builder/lowering_functions.h"

// ------------------------------------------------ sorting

etx_status etx_build_sorted(etx_builder* builder, uint32_t self, etx_dim dim,
                            bool stable, bool descending,
                            uint32_t* out_values) {
  const etx_shape shape = *etx_builder_shape(builder, self);
  size_t axis = 0;
  ETX_TRY(etx_builder_axis(builder, dim, shape.rank, &axis));
  if (builder->target == ETX_TARGET_ETX) {
    const etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_bool(stable),
                               etx_ir_int((etx_dim)axis),
                               etx_ir_bool(descending)};
    return etx_build_op_outputs(builder, ETX_OP_sort_values_stable, args, 4,
                                NULL, out_values);
  }
  if (stable) return etx_builder_refuse_target(builder);
  const etx_dim size = shape.rank == 0 ? 1 : shape.dims[axis];
  const bool is_bool = shape.dtype == ETX_DTYPE_BOOL;
  // The portable kernel does not support bool.
  if (is_bool) ETX_TRY(etx_build_cast(builder, self, ETX_DTYPE_UINT8, &self));
  const etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_int(size),
                             etx_ir_int((etx_dim)axis), etx_ir_bool(descending),
                             etx_ir_bool(true)};
  ETX_TRY(etx_build_op_outputs(builder, ETX_OP_topk_values, args, 5, NULL,
                               out_values));
  return etx_build_cast(builder, out_values[0], shape.dtype, &out_values[0]);
}

// sort(self, dim, descending)
etx_status etx_lowering_sort(etx_builder* builder) {
  return etx_build_sorted(builder, builder->args[0].as.value,
                          builder->args[1].as.integer, false,
                          builder->args[2].as.boolean, builder->results);
}

// sort.stable(self, stable, dim, descending)
etx_status etx_lowering_sort_stable(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  const bool stable = args[1].kind == ETX_IR_ARG_BOOL && args[1].as.boolean;
  return etx_build_sorted(builder, args[0].as.value, args[2].as.integer, stable,
                          args[3].as.boolean, builder->results);
}

// argsort(self, dim, descending)
etx_status etx_lowering_argsort(etx_builder* builder) {
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  ETX_TRY(etx_build_sorted(builder, builder->args[0].as.value,
                           builder->args[1].as.integer, false,
                           builder->args[2].as.boolean, values));
  builder->results[0] = values[1];
  return ETX_OK;
}

// argsort.stable(self, stable, dim, descending)
etx_status etx_lowering_argsort_stable(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  ETX_TRY(etx_build_sorted(builder, args[0].as.value, args[2].as.integer,
                           args[1].as.boolean, args[3].as.boolean, values));
  builder->results[0] = values[1];
  return ETX_OK;
}

// ------------------------------------------------ one position

// Finds a value and its index along `axis`, which keeps size 1 in both results.
typedef etx_status (*pair_function)(etx_builder* builder, uint32_t self,
                                    size_t axis, etx_dim size, uint32_t* pair);

// Finds a value and its index along a dimension, and removes the dimension
// unless `keep`. A tensor of rank 0 counts as one of size 1.
static etx_status select_along(etx_builder* builder, pair_function find,
                               etx_dim dim, bool keep) {
  uint32_t self = builder->args[0].as.value;
  const etx_dim one = 1;
  const size_t rank = etx_builder_shape(builder, self)->rank;
  size_t axis = 0;
  uint32_t pair[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  ETX_TRY(etx_builder_axis(builder, dim, rank, &axis));
  if (rank == 0) ETX_TRY(etx_build_view(builder, self, &one, 1, &self));
  ETX_TRY(find(builder, self, axis,
               etx_builder_shape(builder, self)->dims[axis], pair));
  for (size_t i = 0; i < builder->node->output_count; ++i) {
    const etx_ir_arg args[] = {etx_ir_value_arg(pair[i]),
                               etx_ir_int((etx_dim)axis), etx_ir_int(0)};
    builder->results[i] = pair[i];
    if (keep && rank != 0) continue;
    ETX_TRY(etx_build_op(builder, ETX_OP_select_copy_int_out, args, 3,
                         &builder->results[i]));
  }
  return ETX_OK;
}

static etx_status slice_at(etx_builder* builder, const uint32_t* sorted_pair,
                           size_t axis, etx_dim position, uint32_t* pair) {
  etx_dim end = 0;
  ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_ADD, position,
                            1, &end));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_slice(builder, sorted_pair[i],
                            (etx_dim_slice){axis, position, end, 1}, &pair[i]));
  }
  return ETX_OK;
}

static bool has_nan(etx_dtype dtype) {
  return etx_dtype_category_of(dtype) == ETX_CATEGORY_FLOATING;
}

// The element in the middle, or the lower of two. If there is a NaN, the result
// is the first NaN, which max() returns then.
static etx_status find_median(etx_builder* builder, uint32_t self, size_t axis,
                              etx_dim size, uint32_t* pair) {
  etx_symbols* const symbols = &builder->method->symbols;
  uint32_t all[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  uint32_t maximum[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  uint32_t is_nan = 0;
  etx_dim middle = 0;
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, size, 1, &middle));
  ETX_TRY(
      etx_symbols_apply(symbols, ETX_SYMBOL_FLOOR_DIVIDE, middle, 2, &middle));
  ETX_TRY(etx_build_sorted(builder, self, (etx_dim)axis, false, false, all));
  ETX_TRY(slice_at(builder, all, axis, middle, pair));
  if (!has_nan(etx_builder_shape(builder, self)->dtype)) return ETX_OK;
  const etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_int((etx_dim)axis),
                             etx_ir_bool(true)};
  ETX_TRY(etx_build_op_outputs(builder, ETX_OP_max_dim_max, args, 3, NULL,
                               maximum));
  ETX_TRY(etx_build_unary(builder, ETX_OP_isnan_out, maximum[0], &is_nan));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_where(builder, is_nan, maximum[i], pair[i], &pair[i]));
  }
  return ETX_OK;
}

// The index of the median without NaN, which are sorted to the end: (size -
// count of NaN - 1) / 2, or 0 if all are NaN.
static etx_status middle_of_numbers(etx_builder* builder, uint32_t self,
                                    size_t axis, etx_dim size,
                                    uint32_t* out_index) {
  const etx_dim dim = (etx_dim)axis;
  const etx_ir_arg last = etx_ir_int(size);
  uint32_t count = 0;
  uint32_t value = 0;
  ETX_TRY(etx_build_unary(builder, ETX_OP_isnan_out, self, &value));
  ETX_TRY(etx_build_cast(builder, value, ETX_DTYPE_INT64, &value));
  ETX_TRY(etx_build_reduce(builder, ETX_OP_sum_intlist_out, value,
                           (etx_reduced_dims){&dim, 1, true}, &value));
  ETX_TRY(etx_build_scalar(builder, &last, ETX_DTYPE_INT64, &count));
  ETX_TRY(etx_build_binary(builder, ETX_OP_sub_out, count, value, &value));
  ETX_TRY(
      etx_build_binary_constant(builder, ETX_OP_sub_out, value, 1.0, &value));
  ETX_TRY(etx_build_binary_constant(builder, ETX_OP_maximum_out, value, 0.0,
                                    &value));
  const etx_ir_arg half[] = {etx_ir_value_arg(value), etx_ir_int(1)};
  return etx_build_op(builder, ETX_OP_bitwise_right_shift_tensor_scalar_out,
                      half, 2, out_index);
}

// The sorted values and their positions at `index` of each row.
static etx_status gather_pair(etx_builder* builder, const uint32_t* all,
                              size_t axis, uint32_t index, uint32_t* pair) {
  for (size_t i = 0; i < 2; ++i) {
    const etx_ir_arg args[] = {etx_ir_value_arg(all[i]),
                               etx_ir_int((etx_dim)axis),
                               etx_ir_value_arg(index)};
    ETX_TRY(etx_build_op(builder, ETX_OP_gather_out, args, 3, &pair[i]));
  }
  return ETX_OK;
}

static etx_status find_nanmedian(etx_builder* builder, uint32_t self,
                                 size_t axis, etx_dim size, uint32_t* pair) {
  uint32_t all[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  uint32_t index = 0;
  if (!has_nan(etx_builder_shape(builder, self)->dtype)) {
    return find_median(builder, self, axis, size, pair);
  }
  ETX_TRY(middle_of_numbers(builder, self, axis, size, &index));
  ETX_TRY(etx_build_sorted(builder, self, (etx_dim)axis, false, false, all));
  return gather_pair(builder, all, axis, index, pair);
}

// median.dim, nanmedian.dim(self, dim, keepdim)
etx_status etx_lowering_median(etx_builder* builder) {
  return select_along(builder, find_median, builder->args[1].as.integer,
                      builder->args[2].as.boolean);
}

etx_status etx_lowering_nanmedian(etx_builder* builder) {
  return select_along(builder, find_nanmedian, builder->args[1].as.integer,
                      builder->args[2].as.boolean);
}

// ------------------------------------------------ all elements

// The vector `self`, sorted, and NaN behind it: the median of no elements.
static etx_status sorted_before_nan(etx_builder* builder, uint32_t self,
                                    uint32_t* out_value) {
  const etx_dtype dtype = etx_builder_shape(builder, self)->dtype;
  const etx_dim one = 1;
  uint32_t all[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  uint32_t parts[2];
  ETX_TRY(etx_build_sorted(builder, self, 0, false, false, all));
  parts[0] = all[0];
  ETX_TRY(etx_build_full(builder, &one, 1, etx_ir_double(__builtin_nan("")),
                         dtype, &parts[1]));
  return etx_build_concat(builder, parts, 2, 0, out_value);
}

// The same as find_median for a vector that may be empty. NaN are sorted to the
// end, so the last element is NaN if any is.
static etx_status find_median_or_nan(etx_builder* builder, uint32_t self,
                                     size_t axis, etx_dim size,
                                     uint32_t* pair) {
  etx_symbols* const symbols = &builder->method->symbols;
  uint32_t all[2], last[2];
  uint32_t is_nan = 0;
  etx_dim end = 0, middle = 0;
  ETX_TRY(sorted_before_nan(builder, self, &all[0]));
  all[1] = all[0];
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, size, 1, &end));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MAXIMUM, end, 0, &end));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_FLOOR_DIVIDE, end, 2, &middle));
  ETX_TRY(slice_at(builder, all, axis, middle, pair));
  ETX_TRY(slice_at(builder, all, axis, end, last));
  ETX_TRY(etx_build_unary(builder, ETX_OP_isnan_out, last[0], &is_nan));
  return etx_build_where(builder, is_nan, last[0], pair[0], &pair[0]);
}

static etx_status find_nanmedian_or_nan(etx_builder* builder, uint32_t self,
                                        size_t axis, etx_dim size,
                                        uint32_t* pair) {
  uint32_t all = 0, index = 0;
  ETX_TRY(middle_of_numbers(builder, self, axis, size, &index));
  ETX_TRY(sorted_before_nan(builder, self, &all));
  const etx_ir_arg args[] = {etx_ir_value_arg(all), etx_ir_int((etx_dim)axis),
                             etx_ir_value_arg(index)};
  return etx_build_op(builder, ETX_OP_gather_out, args, 3, &pair[0]);
}

// median, nanmedian(self): over all elements. The median of no floats is NaN.
// That of no integers is their least number, which is not supported.
static etx_status select_of_all(etx_builder* builder, pair_function find,
                                pair_function find_or_nan) {
  const uint32_t self = builder->args[0].as.value;
  const etx_shape shape = *etx_builder_shape(builder, self);
  etx_dim count = 0;
  int64_t low = 0;
  int64_t high = 0;
  ETX_TRY(etx_builder_product(builder, shape.dims, 0, shape.rank, &count));
  etx_symbols_bounds(&builder->method->symbols, count, &low, &high);
  if (low == 0 && has_nan(shape.dtype)) find = find_or_nan;
  ETX_TRY(etx_build_view(builder, self, &count, 1, &builder->args[0].as.value));
  return select_along(builder, find, 0, false);
}

etx_status etx_lowering_median_all(etx_builder* builder) {
  return select_of_all(builder, find_median, find_median_or_nan);
}

etx_status etx_lowering_nanmedian_all(etx_builder* builder) {
  return select_of_all(builder, find_nanmedian, find_nanmedian_or_nan);
}

static etx_status find_kth(etx_builder* builder, uint32_t self, size_t axis,
                           etx_dim size, uint32_t* pair) {
  const etx_dim position = builder->args[1].as.integer;
  uint32_t all[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  etx_dim index = 0;
  if (etx_dim_is_number(position) &&
      (position < 1 || (etx_dim_is_number(size) && position > size))) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'k' is %i, outside a dimension of size %i", position,
                         size);
  }
  if (etx_dim_is_number(position)) {
    ETX_TRY(etx_build_at_least(builder, size, position,
                               "the dimension has at least k elements"));
  }
  ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_SUBTRACT,
                            position, 1, &index));
  ETX_TRY(etx_build_sorted(builder, self, (etx_dim)axis, false, false, all));
  return slice_at(builder, all, axis, index, pair);
}

// kthvalue(self, k, dim, keepdim): the k-th smallest; NaN sorts to the end.
etx_status etx_lowering_kthvalue(etx_builder* builder) {
  return select_along(builder, find_kth, builder->args[2].as.integer,
                      builder->args[3].as.boolean);
}

// ------------------------------------------------ most frequent

// For each element of a sorted tensor, the number of equal ones before it. A
// run of equal elements starts where an element differs from the one before.
static etx_status count_equal_before(etx_builder* builder, uint32_t self,
                                     size_t axis, etx_dim size,
                                     uint32_t* out_value) {
  const etx_ir_arg zero = etx_ir_int(0);
  const etx_shape shape = *etx_builder_shape(builder, self);
  uint32_t parts[2];
  uint32_t start = 0, position = 0, none = 0;
  etx_dim most = 0;
  ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_SUBTRACT,
                            size, 1, &most));
  ETX_TRY(etx_build_slice(builder, self, (etx_dim_slice){axis, 0, 1, 1},
                          &parts[0]));
  ETX_TRY(etx_build_slice(builder, self, (etx_dim_slice){axis, 0, most, 1},
                          &parts[1]));
  ETX_TRY(etx_build_concat(builder, parts, 2, axis, &start));
  ETX_TRY(etx_build_binary(builder, ETX_OP_ne_tensor_out, self, start, &start));
  ETX_TRY(etx_build_positions(builder, &shape, axis, &position));
  ETX_TRY(etx_build_scalar(builder, &zero, ETX_DTYPE_INT64, &none));
  ETX_TRY(etx_build_where(builder, start, position, none, &start));
  ETX_TRY(etx_build_running_maximum(builder, start, axis, &start));
  return etx_build_binary(builder, ETX_OP_sub_out, position, start, out_value);
}

// The end of the first of the longest runs of equal elements: the smallest of
// the most frequent ones.
static etx_status find_mode(etx_builder* builder, uint32_t self, size_t axis,
                            etx_dim size, uint32_t* pair) {
  uint32_t all[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  uint32_t index = 0;
  ETX_TRY(etx_build_at_least(builder, size, 1, "the dimension has elements"));
  ETX_TRY(etx_build_sorted(builder, self, (etx_dim)axis,
                           builder->target == ETX_TARGET_ETX, false, all));
  ETX_TRY(count_equal_before(builder, all[0], axis, size, &index));
  const etx_ir_arg largest[] = {etx_ir_value_arg(index),
                                etx_ir_int((etx_dim)axis), etx_ir_bool(true)};
  ETX_TRY(etx_build_op(builder, ETX_OP_argmax_out, largest, 3, &index));
  return gather_pair(builder, all, axis, index, pair);
}

// mode(self, dim, keepdim)
etx_status etx_lowering_mode(etx_builder* builder) {
  return select_along(builder, find_mode, builder->args[1].as.integer,
                      builder->args[2].as.boolean);
}
