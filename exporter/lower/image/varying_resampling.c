#include "exporter/lower/image/varying_resampling.h"

// Parameter of the cubic convolution kernel (Keys), as in PyTorch.
static const double cubic = -0.75;

enum { TAPS = 4 };

static etx_dim size_of(const etx_builder* builder, const etx_axis_resampling* r,
                       uint32_t self) {
  return etx_builder_shape(builder, self)->dims[r->axis];
}

// `value` = value `op` number.
static etx_status apply_number(etx_builder* builder, etx_op_id op,
                               double number, uint32_t* value) {
  return etx_build_binary_constant(builder, op, *value, number, value);
}

// A size plus `offset`, but at least 1, as a tensor of rank 0.
static etx_status size_tensor(etx_builder* builder, etx_dim size,
                              int64_t offset, etx_dtype dtype, uint32_t* out) {
  etx_symbols* const symbols = &builder->method->symbols;
  etx_ir_arg number = etx_ir_int(0);
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_ADD, size, offset, &size));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MAXIMUM, size, 1,
                            &number.as.integer));
  return etx_build_scalar(builder, &number, dtype, out);
}

// The last index of the dimension, as a tensor of rank 0.
static etx_status last_index(etx_builder* builder, etx_dim size,
                             etx_dtype dtype, uint32_t* out) {
  etx_ir_arg number = etx_ir_int(0);
  ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_SUBTRACT,
                            size, 1, &number.as.integer));
  return etx_build_scalar(builder, &number, dtype, out);
}

// The number `step`, but 1 where both sizes are equal: a scale factor such as
// 1.3 counts for nothing there, as in PyTorch.
static etx_status stated_step(etx_builder* builder, double step, etx_dim in,
                              etx_dim size, etx_dtype dtype, uint32_t* out) {
  const etx_ir_arg number = etx_ir_double(step);
  const etx_ir_arg one = etx_ir_int(1);
  uint32_t sizes[2];
  uint32_t is_same = 0, whole = 0;
  ETX_TRY(size_tensor(builder, in, 0, ETX_DTYPE_INT64, &sizes[0]));
  ETX_TRY(size_tensor(builder, size, 0, ETX_DTYPE_INT64, &sizes[1]));
  ETX_TRY(etx_build_binary(builder, ETX_OP_eq_tensor_out, sizes[0], sizes[1],
                           &is_same));
  ETX_TRY(etx_build_scalar(builder, &one, dtype, &whole));
  ETX_TRY(etx_build_scalar(builder, &number, dtype, out));
  return etx_build_where(builder, is_same, whole, *out, out);
}

// The distance of two outputs in the input, as a tensor of rank 0.
static etx_status step_of(etx_builder* builder, const etx_axis_resampling* r,
                          etx_dim in, etx_dtype dtype, uint32_t* out) {
  uint32_t above = 0, below = 0;
  if (r->scale > 0 && !r->aligns_corners) {
    const etx_ir_arg number = etx_ir_double(1 / r->scale);
    if (!r->copies_equal) return etx_build_scalar(builder, &number, dtype, out);
    return stated_step(builder, 1 / r->scale, in, r->size, dtype, out);
  }
  if (r->aligns_corners) {
    ETX_TRY(last_index(builder, in, dtype, &above));
  } else {
    ETX_TRY(size_tensor(builder, in, 0, dtype, &above));
  }
  ETX_TRY(
      size_tensor(builder, r->size, r->aligns_corners ? -1 : 0, dtype, &below));
  return etx_build_binary(builder, ETX_OP_div_out, above, below, out);
}

static etx_status check_sizes(etx_builder* builder, etx_dim in, etx_dim out) {
  ETX_TRY(etx_build_at_least(builder, in, 1,
                             "the sizes of an interpolation are above 0"));
  return etx_build_at_least(builder, out, 1,
                            "the sizes of an interpolation are above 0");
}

// Positions of the outputs in the input: of their centres, from the start of
// the first element, or, with `aligns_corners`, from the first element on.
static etx_status positions_of(etx_builder* builder,
                               const etx_axis_resampling* r, etx_dim in,
                               etx_dtype dtype, uint32_t* out) {
  uint32_t step = 0;
  ETX_TRY(check_sizes(builder, in, r->size));
  ETX_TRY(etx_build_arange(builder, r->size, out));
  ETX_TRY(etx_build_cast(builder, *out, dtype, out));
  if (!r->aligns_corners && !r->from_starts) {
    ETX_TRY(apply_number(builder, ETX_OP_add_out, 0.5, out));
  }
  ETX_TRY(step_of(builder, r, in, dtype, &step));
  return etx_build_binary(builder, ETX_OP_mul_out, *out, step, out);
}

static etx_status select_at(etx_builder* builder, const etx_axis_resampling* r,
                            uint32_t self, uint32_t indices, uint32_t* out) {
  const etx_ir_arg args[] = {etx_ir_value_arg(self),
                             etx_ir_int((etx_dim)r->axis),
                             etx_ir_value_arg(indices)};
  return etx_build_op(builder, ETX_OP_index_select_out, args, 3, out);
}

etx_status etx_build_nearest(etx_builder* builder, const etx_axis_resampling* r,
                             uint32_t self, uint32_t* out) {
  const etx_dim in = size_of(builder, r, self);
  uint32_t index = 0, last = 0;
  ETX_TRY(positions_of(builder, r, in, ETX_DTYPE_FLOAT32, &index));
  ETX_TRY(etx_build_unary(builder, ETX_OP_floor_out, index, &index));
  ETX_TRY(etx_build_cast(builder, index, ETX_DTYPE_INT64, &index));
  ETX_TRY(last_index(builder, in, ETX_DTYPE_INT64, &last));
  ETX_TRY(etx_build_binary(builder, ETX_OP_minimum_out, index, last, &index));
  return select_at(builder, r, self, index, out);
}

// `self` [.., size, ..] times weights [size], cast to its type.
static etx_status weigh(etx_builder* builder, size_t axis, uint32_t weights,
                        uint32_t* self) {
  const etx_shape shape = *etx_builder_shape(builder, *self);
  // The weights broadcast along the dimensions behind the axis.
  const etx_dim dims[3] = {shape.dims[axis], 1, 1};
  ETX_TRY(etx_build_cast(builder, weights, shape.dtype, &weights));
  ETX_TRY(etx_build_view(builder, weights, dims, shape.rank - axis, &weights));
  return etx_build_binary(builder, ETX_OP_mul_out, *self, weights, self);
}

// ------------------------------------------------ linear

etx_status etx_build_two_taps(etx_builder* builder,
                              const etx_axis_resampling* r, uint32_t self,
                              uint32_t* out) {
  const etx_shape shape = *etx_builder_shape(builder, self);
  const etx_dim in = shape.dims[r->axis];
  const etx_dtype dtype =
      shape.dtype == ETX_DTYPE_FLOAT64 ? ETX_DTYPE_FLOAT64 : ETX_DTYPE_FLOAT32;
  uint32_t at = 0, last = 0, base = 0, next = 0, away = 0, near = 0;
  ETX_TRY(positions_of(builder, r, in, dtype, &at));
  if (!r->aligns_corners) {
    ETX_TRY(apply_number(builder, ETX_OP_sub_out, 0.5, &at));
    ETX_TRY(apply_number(builder, ETX_OP_maximum_out, 0, &at));
  }
  ETX_TRY(last_index(builder, in, dtype, &last));
  ETX_TRY(etx_build_unary(builder, ETX_OP_floor_out, at, &base));
  ETX_TRY(etx_build_binary(builder, ETX_OP_minimum_out, base, last, &base));
  ETX_TRY(etx_build_binary(builder, ETX_OP_sub_out, at, base, &away));
  ETX_TRY(apply_number(builder, ETX_OP_minimum_out, 1, &away));
  near = away;
  ETX_TRY(apply_number(builder, ETX_OP_sub_out, 1, &near));
  ETX_TRY(etx_build_unary(builder, ETX_OP_neg_out, near, &near));
  ETX_TRY(etx_build_cast(builder, base, ETX_DTYPE_INT64, &base));
  ETX_TRY(last_index(builder, in, ETX_DTYPE_INT64, &last));
  next = base;
  ETX_TRY(apply_number(builder, ETX_OP_add_out, 1, &next));
  ETX_TRY(etx_build_binary(builder, ETX_OP_minimum_out, next, last, &next));
  ETX_TRY(select_at(builder, r, self, base, &base));
  ETX_TRY(select_at(builder, r, self, next, &next));
  ETX_TRY(weigh(builder, r->axis, near, &base));
  ETX_TRY(weigh(builder, r->axis, away, &next));
  return etx_build_binary(builder, ETX_OP_add_out, base, next, out);
}

// ------------------------------------------------ bicubic

// The kernel at distance `x` <= 1: ((a + 2) x - (a + 3)) x x + 1.
static etx_status inner_weight(etx_builder* builder, double a, uint32_t x,
                               uint32_t* out) {
  *out = x;
  ETX_TRY(apply_number(builder, ETX_OP_mul_out, a + 2, out));
  ETX_TRY(apply_number(builder, ETX_OP_sub_out, a + 3, out));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, *out, x, out));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, *out, x, out));
  return apply_number(builder, ETX_OP_add_out, 1, out);
}

// The kernel at distance x of 1 to 2: ((a x - 5 a) x + 8 a) x - 4 a.
static etx_status outer_weight(etx_builder* builder, double a, uint32_t x,
                               uint32_t* out) {
  *out = x;
  ETX_TRY(apply_number(builder, ETX_OP_mul_out, a, out));
  ETX_TRY(apply_number(builder, ETX_OP_sub_out, 5 * a, out));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, *out, x, out));
  ETX_TRY(apply_number(builder, ETX_OP_add_out, 8 * a, out));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, *out, x, out));
  return apply_number(builder, ETX_OP_sub_out, 4 * a, out);
}

// The weights of the four elements around an output that is `behind` (0 to 1)
// behind the second of them.
static etx_status cubic_weights(etx_builder* builder, uint32_t behind,
                                uint32_t out[TAPS]) {
  uint32_t ahead = behind;
  uint32_t far_behind = behind;
  uint32_t far_ahead = 0;
  ETX_TRY(apply_number(builder, ETX_OP_sub_out, 1, &ahead));
  ETX_TRY(etx_build_unary(builder, ETX_OP_neg_out, ahead, &ahead));
  far_ahead = ahead;
  ETX_TRY(apply_number(builder, ETX_OP_add_out, 1, &far_behind));
  ETX_TRY(apply_number(builder, ETX_OP_add_out, 1, &far_ahead));
  ETX_TRY(outer_weight(builder, cubic, far_behind, &out[0]));
  ETX_TRY(inner_weight(builder, cubic, behind, &out[1]));
  ETX_TRY(inner_weight(builder, cubic, ahead, &out[2]));
  return outer_weight(builder, cubic, far_ahead, &out[3]);
}

// The index `offset` behind `base`, at the ends of the input that of the end.
static etx_status tap_index(etx_builder* builder, uint32_t base, double offset,
                            uint32_t last, uint32_t* out) {
  *out = base;
  ETX_TRY(apply_number(builder, ETX_OP_add_out, offset, out));
  ETX_TRY(apply_number(builder, ETX_OP_maximum_out, 0, out));
  return etx_build_binary(builder, ETX_OP_minimum_out, *out, last, out);
}

// Splits positions into the element before them and the distance from it.
static etx_status split_positions(etx_builder* builder,
                                  const etx_axis_resampling* r, etx_dim in,
                                  uint32_t positions, uint32_t out[2]) {
  const etx_dtype dtype = etx_builder_shape(builder, positions)->dtype;
  uint32_t last = 0;
  if (!r->aligns_corners) {
    ETX_TRY(apply_number(builder, ETX_OP_sub_out, 0.5, &positions));
  }
  ETX_TRY(last_index(builder, in, dtype, &last));
  ETX_TRY(etx_build_unary(builder, ETX_OP_floor_out, positions, &out[0]));
  ETX_TRY(etx_build_binary(builder, ETX_OP_minimum_out, out[0], last, &out[0]));
  ETX_TRY(
      etx_build_binary(builder, ETX_OP_sub_out, positions, out[0], &out[1]));
  return apply_number(builder, ETX_OP_minimum_out, 1, &out[1]);
}

etx_status etx_build_cubic(etx_builder* builder, const etx_axis_resampling* r,
                           uint32_t self, uint32_t* out) {
  const etx_shape shape = *etx_builder_shape(builder, self);
  const etx_dim in = shape.dims[r->axis];
  const etx_dtype dtype =
      shape.dtype == ETX_DTYPE_FLOAT64 ? ETX_DTYPE_FLOAT64 : ETX_DTYPE_FLOAT32;
  uint32_t positions = 0, last = 0;
  uint32_t parts[2];
  uint32_t weights[TAPS];
  ETX_TRY(positions_of(builder, r, in, dtype, &positions));
  ETX_TRY(split_positions(builder, r, in, positions, parts));
  ETX_TRY(cubic_weights(builder, parts[1], weights));
  ETX_TRY(etx_build_cast(builder, parts[0], ETX_DTYPE_INT64, &parts[0]));
  ETX_TRY(last_index(builder, in, ETX_DTYPE_INT64, &last));
  for (size_t i = 0; i < TAPS; ++i) {
    uint32_t index = 0, part = 0;
    ETX_TRY(tap_index(builder, parts[0], (double)i - 1, last, &index));
    ETX_TRY(select_at(builder, r, self, index, &part));
    ETX_TRY(weigh(builder, r->axis, weights[i], &part));
    if (i == 0) {
      *out = part;
    } else {
      ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, *out, part, out));
    }
  }
  return ETX_OK;
}

// ------------------------------------------------ antialiased bicubic

// Parameter of the kernel with antialiasing, as in PyTorch.
static const double antialiased_cubic = -0.5;

// The distances |i + 0.5 - middle of output| of all inputs i, [size, in], in
// kernels of the width max(step, 1).
static etx_status kernel_distances(etx_builder* builder,
                                   const etx_axis_resampling* r, etx_dim in,
                                   etx_dtype dtype, uint32_t* out) {
  const etx_dim column[2] = {r->size, 1};
  uint32_t middle = 0, input = 0, step = 0, width = 0;
  ETX_TRY(step_of(builder, r, in, dtype, &step));
  width = step;
  ETX_TRY(apply_number(builder, ETX_OP_maximum_out, 1, &width));
  ETX_TRY(etx_build_arange(builder, r->size, &middle));
  ETX_TRY(etx_build_cast(builder, middle, dtype, &middle));
  ETX_TRY(apply_number(builder, ETX_OP_add_out, 0.5, &middle));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, middle, step, &middle));
  ETX_TRY(etx_build_view(builder, middle, column, 2, &middle));
  ETX_TRY(etx_build_arange(builder, in, &input));
  ETX_TRY(etx_build_cast(builder, input, dtype, &input));
  ETX_TRY(apply_number(builder, ETX_OP_add_out, 0.5, &input));
  ETX_TRY(etx_build_binary(builder, ETX_OP_sub_out, input, middle, out));
  ETX_TRY(etx_build_unary(builder, ETX_OP_abs_out, *out, out));
  return etx_build_binary(builder, ETX_OP_div_out, *out, width, out);
}

etx_status etx_build_antialiased_cubic_weights(etx_builder* builder,
                                               const etx_axis_resampling* r,
                                               etx_dim in, etx_dtype dtype,
                                               uint32_t* out) {
  const etx_dim last[1] = {1};
  const etx_reduced_dims rows = {last, 1, true};
  uint32_t x = 0, inner = 0, outer = 0, is_far = 0, sum = 0;
  ETX_TRY(check_sizes(builder, in, r->size));
  ETX_TRY(kernel_distances(builder, r, in, dtype, &x));
  ETX_TRY(
      etx_build_binary_number(builder, ETX_OP_gt_scalar_out, x, 1, &is_far));
  ETX_TRY(inner_weight(builder, antialiased_cubic, x, &inner));
  // The kernel is 0 from distance 2 on.
  ETX_TRY(apply_number(builder, ETX_OP_minimum_out, 2, &x));
  ETX_TRY(outer_weight(builder, antialiased_cubic, x, &outer));
  ETX_TRY(etx_build_where(builder, is_far, outer, inner, out));
  ETX_TRY(etx_build_reduce(builder, ETX_OP_sum_intlist_out, *out, rows, &sum));
  return etx_build_binary(builder, ETX_OP_div_out, *out, sum, out);
}
