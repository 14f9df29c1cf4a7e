// Shape functions of elementwise operators and of creation.

#include "format/shapes/op_shapes_internal.h"
#include "format/tensor/promotion.h"

static etx_status put(const etx_shape_call* call, const etx_shape* shape) {
  return call->output(call->context, 0, shape);
}

etx_status etx_shape_by_kernel(etx_shape_call* call) {
  (void)call;
  return ETX_OK;
}

etx_status etx_shape_same(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  return put(call, &self);
}

// The absolute value of a complex number is real.
etx_status etx_shape_magnitude(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  self.dtype = etx_dtype_real_type(self.dtype);
  return put(call, &self);
}

etx_status etx_shape_same_float(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  self.dtype = etx_shape_float_type(self.dtype);
  return put(call, &self);
}

etx_status etx_shape_same_bool(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  self.dtype = ETX_DTYPE_BOOL;
  return put(call, &self);
}

etx_status etx_shape_cast(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  self.dtype = ETX_DTYPE_FROM_OUT;
  return put(call, &self);
}

// Only the category of a number argument influences the type.
static etx_status promote_number(const etx_shape_call* call, size_t argument,
                                 etx_dtype* dtype) {
  etx_dtype_category category;
  switch (call->kind(call->context, argument)) {
    case ETX_SHAPE_INT:
      category = ETX_CATEGORY_INTEGER;
      break;
    case ETX_SHAPE_DOUBLE:
      category = ETX_CATEGORY_FLOATING;
      break;
    case ETX_SHAPE_BOOL:
      category = ETX_CATEGORY_BOOLEAN;
      break;
    default:
      return etx_shape_refuse(call, "argument %i is not a number",
                              (int64_t)argument);
  }
  if (etx_dtype_category_of(*dtype) <= ETX_CATEGORY_FLOATING) {
    *dtype = etx_dtype_promote_scalar(*dtype, category);
  }
  return ETX_OK;
}

// The common shape and type of `count` tensors from argument `first` on; all
// but the first may be None.
static etx_status broadcast_tensors(const etx_shape_call* call, size_t first,
                                    size_t count, etx_shape* out) {
  etx_promotion promotion = etx_promotion_start();
  ETX_TRY(etx_shape_tensor(call, first, out));
  (void)etx_promotion_add(&promotion, out->dtype, out->rank);
  for (size_t i = first + 1; i < first + count; ++i) {
    etx_shape other;
    if (etx_shape_is_none(call, i)) continue;
    ETX_TRY(etx_shape_tensor(call, i, &other));
    ETX_TRY(etx_shape_broadcast_into(call, out, &other));
    if (!etx_promotion_add(&promotion, other.dtype, other.rank) ||
        !etx_promotion_result(&promotion, &out->dtype)) {
      return etx_shape_refuse(call, "types '%s' and '%s' have no common type",
                              etx_dtype_name(out->dtype),
                              etx_dtype_name(other.dtype));
    }
  }
  return ETX_OK;
}

// The common shape and type of arguments 0 and 1; one may be a number.
static etx_status broadcast_pair(const etx_shape_call* call, etx_shape* out) {
  const bool number_first = call->kind(call->context, 0) != ETX_SHAPE_TENSOR;
  const size_t second = number_first ? 0 : 1;
  if (call->kind(call->context, second) == ETX_SHAPE_TENSOR) {
    return broadcast_tensors(call, 0, 2, out);
  }
  ETX_TRY(etx_shape_tensor(call, 1 - second, out));
  return promote_number(call, second, &out->dtype);
}

etx_status etx_shape_broadcast(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(broadcast_pair(call, &out));
  return put(call, &out);
}

etx_status etx_shape_broadcast_float(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(broadcast_pair(call, &out));
  out.dtype = etx_shape_float_type(out.dtype);
  return put(call, &out);
}

etx_status etx_shape_broadcast_bool(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(broadcast_pair(call, &out));
  out.dtype = ETX_DTYPE_BOOL;
  return put(call, &out);
}

// Division without a rounding mode (argument 2) gives floats.
etx_status etx_shape_divide_mode(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(broadcast_pair(call, &out));
  if (etx_shape_is_none(call, 2)) out.dtype = etx_shape_float_type(out.dtype);
  return put(call, &out);
}

static bool have_equal_sizes(const etx_shape_call* call, const etx_shape* a,
                             const etx_shape* b) {
  if (a->rank != b->rank) return false;
  for (size_t i = 0; i < a->rank; ++i) {
    if (!etx_dim_always_equal(call, a->dims[i], b->dims[i])) return false;
  }
  return true;
}

// True if a tensor of the list has one element, or is a vector of the size of
// `shape`'s last dimension.
static bool is_repeated(const etx_shape_call* call, const etx_shape* other,
                        const etx_shape* shape) {
  size_t front = 0;
  while (front + 1 < other->rank && etx_dim_is(call, other->dims[front], 1)) {
    ++front;
  }
  if (other->rank == 0) return true;
  if (front + 1 < other->rank) return false;
  const etx_dim last = other->dims[other->rank - 1];
  return (shape->rank > 0 &&
          etx_dim_always_equal(call, last, shape->dims[shape->rank - 1])) ||
         etx_dim_is(call, last, 1);
}

etx_status etx_shape_check_others(const etx_shape_call* call, size_t argument,
                                  const etx_shape* shape) {
  const size_t count = call->list_count(call->context, argument);
  for (size_t i = 0; i < count; ++i) {
    etx_shape other;
    ETX_TRY(etx_shape_tensor_item(call, argument, i, &other));
    if (have_equal_sizes(call, &other, shape) ||
        is_repeated(call, &other, shape)) {
      continue;
    }
    ETX_TRY(etx_shape_check_rank(call, "another tensor", &other, shape->rank));
    for (size_t d = 0; d < other.rank; ++d) {
      ETX_TRY(etx_shape_check_equal(call, "a size of another tensor",
                                    shape->dims[d], other.dims[d]));
    }
  }
  return ETX_OK;
}

// (self, others, steps)
etx_status etx_shape_chain(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(etx_shape_check_others(call, 1, &out));
  return put(call, &out);
}

// (self, min, max) with numbers, either of which may be None.
etx_status etx_shape_clamp(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  for (size_t i = 1; i <= 2; ++i) {
    if (etx_shape_is_none(call, i)) continue;
    ETX_TRY(promote_number(call, i, &out.dtype));
  }
  if (etx_shape_is_none(call, 1) && etx_shape_is_none(call, 2)) {
    return etx_shape_refuse(call, "both bounds are missing");
  }
  return put(call, &out);
}

etx_status etx_shape_clamp_tensor(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(broadcast_tensors(call, 0, 3, &out));
  if (etx_shape_is_none(call, 1) && etx_shape_is_none(call, 2)) {
    return etx_shape_refuse(call, "both bounds are missing");
  }
  return put(call, &out);
}

etx_status etx_shape_broadcast_three(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(broadcast_tensors(call, 0, 3, &out));
  return put(call, &out);
}

// (self, dim): half of a dimension, which must be even.
etx_status etx_shape_glu(etx_shape_call* call) {
  etx_shape out;
  size_t dimension;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  if (out.rank == 0) {
    return etx_shape_refuse(call, "a tensor of rank 0 has no halves");
  }
  ETX_TRY(etx_shape_dimension(call, 1, 0, out.rank, &dimension));
  const etx_dim whole = out.dims[dimension];
  etx_dim half, twice;
  ETX_TRY(etx_dim_floor_divide(call, whole, 2, &half));
  ETX_TRY(etx_dim_add(call, half, half, &twice));
  ETX_TRY(etx_shape_check_equal(call, "the size to halve", twice, whole));
  out.dims[dimension] = half;
  return put(call, &out);
}

// (input, p, train): in PyTorch a mask without elements has the input's type.
etx_status etx_shape_native_dropout(etx_shape_call* call) {
  etx_shape out;
  etx_dim numel;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(put(call, &out));
  ETX_TRY(etx_shape_numel(call, &out, &numel));
  if (!etx_dim_is(call, numel, 0)) out.dtype = ETX_DTYPE_BOOL;
  return call->output(call->context, 1, &out);
}

etx_status etx_shape_where(etx_shape_call* call) {
  etx_shape condition, out;
  ETX_TRY(etx_shape_tensor(call, 0, &condition));
  ETX_TRY(broadcast_tensors(call, 1, 2, &out));
  ETX_TRY(etx_shape_broadcast_into(call, &out, &condition));
  return put(call, &out);
}

etx_status etx_shape_masked_fill(etx_shape_call* call) {
  etx_shape out, mask;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(etx_shape_tensor(call, 1, &mask));
  ETX_TRY(etx_shape_broadcast_into(call, &out, &mask));
  return put(call, &out);
}

// (self, src): the source is broadcast to self.
etx_status etx_shape_copy(etx_shape_call* call) {
  etx_shape self, source;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_tensor(call, 1, &source));
  ETX_TRY(etx_shape_check_broadcasts(call, &source, &self));
  return put(call, &self);
}

etx_status etx_shape_fill_tensor(etx_shape_call* call) {
  etx_shape self, value;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_tensor(call, 1, &value));
  ETX_TRY(etx_shape_check_rank(call, "value", &value, 0));
  return put(call, &self);
}

// A list of sizes as argument 0.
etx_status etx_shape_sizes(etx_shape_call* call) {
  const size_t rank = call->list_count(call->context, 0);
  etx_shape out = {.dtype = ETX_DTYPE_FROM_OUT};
  for (size_t i = 0; i < rank; ++i) {
    const etx_dim size = call->integer(call->context, 0, i);
    if (etx_dim_is_below(call, size, 0)) {
      return etx_shape_refuse(call, "size %i is negative",
                              etx_dim_for_message(call, size));
    }
    ETX_TRY(etx_shape_insert(call, &out, out.rank, size));
  }
  return put(call, &out);
}

etx_status etx_shape_scalar_tensor(etx_shape_call* call) {
  const etx_shape out = {.dtype = ETX_DTYPE_FROM_OUT};
  return put(call, &out);
}

// ceil((end - start) / step) in integers, never below 0.
static etx_status integer_steps(const etx_shape_call* call, etx_dim start,
                                etx_dim end, etx_dim step, etx_dim* out) {
  etx_dim span, negative, count;
  ETX_TRY(etx_dim_subtract(call, start, end, &span));
  ETX_TRY(etx_dim_floor_divide(call, span, step, &negative));
  ETX_TRY(etx_dim_subtract(call, 0, negative, &count));
  return etx_dim_maximum(call, count, 0, out);
}

static etx_status real_steps(const etx_shape_call* call, double start,
                             double end, double step, etx_dim* out) {
  const double count = (end - start) / step;
  if (!(count <= 2147483647.0)) {
    return etx_shape_refuse_as(call, ETX_OUT_OF_RANGE,
                               "the range has %f elements, expected at most "
                               "2147483647",
                               count);
  }
  const int64_t whole = count <= 0 ? 0 : (int64_t)count;
  *out = whole + ((double)whole < count);
  return ETX_OK;
}

// PyTorch refuses a step of 0 and one that leads away from the end.
static etx_status check_step(const etx_shape_call* call, double start,
                             double end, double step) {
  if (step == 0 || step != step) {
    return etx_shape_refuse(call, "the step is %f", step);
  }
  if ((step > 0) == (start <= end) || start == end) return ETX_OK;
  return etx_shape_refuse(call, "a step of %f does not lead from %f to %f",
                          step, start, end);
}

// The same for integers of which some are symbolic.
static etx_status check_symbolic_step(const etx_shape_call* call,
                                      const etx_dim whole[3]) {
  if (etx_dim_is(call, whole[2], 0)) {
    return etx_shape_refuse(call, "the step is 0");
  }
  const bool is_down = etx_dim_is_below(call, whole[2], 0);
  if (!etx_dim_is_below(call, whole[is_down ? 0 : 1], whole[is_down ? 1 : 0])) {
    return ETX_OK;
  }
  return etx_shape_refuse(call, "the step does not lead from %i to %i",
                          etx_dim_for_message(call, whole[0]),
                          etx_dim_for_message(call, whole[1]));
}

static etx_status put_steps(etx_shape_call* call, size_t count,
                            const size_t* arguments) {
  etx_shape out = {.dtype = ETX_DTYPE_FROM_OUT, .rank = 1};
  // start, end, step; absent ones keep these values.
  etx_dim whole[3] = {0, 0, 1};
  double real[3] = {0, 0, 1};
  bool is_whole = true, is_known = true;
  for (size_t i = 0; i < count; ++i) {
    const size_t argument = arguments[i];
    const size_t at = count == 1 ? 1 : i;
    if (call->kind(call->context, argument) == ETX_SHAPE_INT) {
      whole[at] = call->integer(call->context, argument, 0);
      is_known = is_known && !etx_dim_is_symbolic(call, whole[at]);
      real[at] = (double)whole[at];
    } else {
      is_whole = false;
      real[at] = call->real(call->context, argument, 0);
    }
  }
  if (is_known) ETX_TRY(check_step(call, real[0], real[1], real[2]));
  if (is_whole && !is_known) ETX_TRY(check_symbolic_step(call, whole));
  if (is_whole) {
    ETX_TRY(integer_steps(call, whole[0], whole[1], whole[2], &out.dims[0]));
  } else if (!is_known) {
    return etx_shape_refuse_as(call, ETX_UNSUPPORTED,
                               "the range mixes a dynamic size with a float");
  } else {
    ETX_TRY(real_steps(call, real[0], real[1], real[2], &out.dims[0]));
  }
  return put(call, &out);
}

etx_status etx_shape_arange(etx_shape_call* call) {
  const size_t arguments[] = {0};
  return put_steps(call, 1, arguments);
}

etx_status etx_shape_arange_start(etx_shape_call* call) {
  const size_t arguments[] = {0, 1, 2};
  return put_steps(call, 3, arguments);
}
