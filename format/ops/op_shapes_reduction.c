// Rules of reductions and normalisations.

#include "format/ops/op_shapes_internal.h"

static etx_status put(const etx_shape_call* call, const etx_shape* shape) {
  return call->output(call->context, 0, shape);
}

// The dimensions that argument `argument` names, as bits: a list, one integer,
// or all for None. An empty list is all dimensions if `empty_is_all`.
static etx_status chosen_dims(const etx_shape_call* call, size_t argument,
                              size_t rank, bool empty_is_all,
                              uint32_t* out_bits) {
  const uint32_t all = rank == 0 ? 0 : (UINT32_C(2) << (rank - 1)) - 1;
  const bool is_list = call->kind(call->context, argument) == ETX_SHAPE_LIST;
  const size_t count = is_list ? call->list_count(call->context, argument) : 1;
  *out_bits = all;
  if (etx_shape_is_none(call, argument)) return ETX_OK;
  if (count == 0 && empty_is_all) return ETX_OK;
  uint32_t bits = 0;
  for (size_t i = 0; i < count; ++i) {
    size_t at;
    ETX_TRY(etx_shape_dimension(call, argument, i, rank, &at));
    if ((bits >> at) & 1) {
      return etx_shape_refuse(call, "dimension %i is given twice", (int64_t)at);
    }
    bits |= UINT32_C(1) << at;
  }
  *out_bits = bits & all;
  return ETX_OK;
}

static void reduce_dims(etx_shape* shape, uint32_t bits, bool keeps) {
  for (size_t i = shape->rank; i-- > 0;) {
    if (((bits >> i) & 1) == 0) continue;
    if (keeps) {
      shape->dims[i] = 1;
    } else {
      etx_shape_remove(shape, i);
    }
  }
}

// (self, dim, keepdim, ...) with self's type.
static etx_status reduced(const etx_shape_call* call, bool empty_is_all,
                          etx_shape* out) {
  uint32_t bits;
  ETX_TRY(etx_shape_tensor(call, 0, out));
  ETX_TRY(chosen_dims(call, 1, out->rank, empty_is_all, &bits));
  reduce_dims(out, bits, etx_shape_boolean(call, 2));
  return ETX_OK;
}

static bool is_exact(etx_dtype dtype) {
  return etx_shape_float_type(dtype) != dtype;
}

// The type that a dtype argument names, or `otherwise`.
static etx_status stated_type(const etx_shape_call* call, size_t argument,
                              etx_dtype otherwise, etx_dtype* out) {
  *out = otherwise;
  if (etx_shape_is_none(call, argument)) return ETX_OK;
  const etx_dim code = call->integer(call->context, argument, 0);
  if (!etx_dtype_is_valid(code)) {
    return etx_shape_refuse(call, "type %i does not exist", code);
  }
  *out = (etx_dtype)code;
  return ETX_OK;
}

static etx_dtype sum_type(etx_dtype dtype) {
  return is_exact(dtype) ? ETX_DTYPE_INT64 : dtype;
}

etx_status etx_shape_sum(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(reduced(call, true, &out));
  ETX_TRY(stated_type(call, 3, sum_type(out.dtype), &out.dtype));
  return put(call, &out);
}

etx_status etx_shape_mean(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(reduced(call, true, &out));
  ETX_TRY(stated_type(call, 3, out.dtype, &out.dtype));
  if (is_exact(out.dtype)) {
    return etx_shape_refuse(call, "the mean of type '%s' is not defined",
                            etx_dtype_name(out.dtype));
  }
  return put(call, &out);
}

etx_status etx_shape_prod_dim(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(reduced(call, true, &out));
  ETX_TRY(stated_type(call, 3, sum_type(out.dtype), &out.dtype));
  return put(call, &out);
}

etx_status etx_shape_prod_all(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  out.rank = 0;
  ETX_TRY(stated_type(call, 1, sum_type(out.dtype), &out.dtype));
  return put(call, &out);
}

etx_status etx_shape_reduce(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(reduced(call, true, &out));
  return put(call, &out);
}

// PyTorch keeps uint8 here, the type of its masks of old.
static etx_dtype any_type(etx_dtype dtype) {
  return dtype == ETX_DTYPE_UINT8 ? ETX_DTYPE_UINT8 : ETX_DTYPE_BOOL;
}

etx_status etx_shape_any_all(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  out.rank = 0;
  out.dtype = any_type(out.dtype);
  return put(call, &out);
}

etx_status etx_shape_any_dims(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(reduced(call, false, &out));
  out.dtype = any_type(out.dtype);
  return put(call, &out);
}

etx_status etx_shape_arg_extreme(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(reduced(call, true, &out));
  out.dtype = ETX_DTYPE_INT64;
  return put(call, &out);
}

// Two outputs: values and indices.
etx_status etx_shape_extreme_dim(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(reduced(call, true, &out));
  ETX_TRY(put(call, &out));
  out.dtype = ETX_DTYPE_INT64;
  return call->output(call->context, 1, &out);
}

etx_status etx_shape_extreme_all(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  out.rank = 0;
  return put(call, &out);
}

etx_status etx_shape_cumsum(etx_shape_call* call) {
  etx_shape out;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(etx_shape_dimension(call, 1, 0, out.rank, &at));
  ETX_TRY(stated_type(call, 2, sum_type(out.dtype), &out.dtype));
  return put(call, &out);
}

etx_status etx_shape_softmax(etx_shape_call* call) {
  etx_shape out;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(etx_shape_dimension(call, 1, 0, out.rank, &at));
  return put(call, &out);
}

// Refuses unless an optional weight or bias has the normalised sizes.
static etx_status want_normalized(const etx_shape_call* call, size_t argument,
                                  const char* name, const etx_shape* wanted) {
  if (etx_shape_is_none(call, argument)) return ETX_OK;
  etx_shape shape;
  ETX_TRY(etx_shape_tensor(call, argument, &shape));
  ETX_TRY(etx_shape_want_rank(call, name, &shape, wanted->rank));
  for (size_t i = 0; i < shape.rank; ++i) {
    ETX_TRY(etx_shape_want_equal(call, "a size of weight or bias",
                                 wanted->dims[i], shape.dims[i]));
  }
  return ETX_OK;
}

// The last dimensions of `input`, which argument 1 names; in `statistics` they
// are 1.
static etx_status normalized(const etx_shape_call* call, const etx_shape* input,
                             etx_shape* wanted, etx_shape* statistics) {
  const size_t count = call->list_count(call->context, 1);
  if (count == 0 || count > input->rank) {
    return etx_shape_refuse(call,
                            "%i dimensions are normalised, expected 1 "
                            "to %i",
                            (int64_t)count, (int64_t)input->rank);
  }
  *wanted = (etx_shape){.dtype = input->dtype, .rank = (uint8_t)count};
  *statistics = *input;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = input->rank - count + i;
    wanted->dims[i] = call->integer(call->context, 1, i);
    statistics->dims[at] = 1;
    ETX_TRY(etx_shape_want_equal(call, "a size of 'input'", wanted->dims[i],
                                 input->dims[at]));
  }
  return ETX_OK;
}

// (input, normalized_shape, weight, eps)
etx_status etx_shape_rms_norm(etx_shape_call* call) {
  etx_shape input, wanted, statistics;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(normalized(call, &input, &wanted, &statistics));
  ETX_TRY(want_normalized(call, 2, "weight", &wanted));
  return put(call, &input);
}

// (input, normalized_shape, weight, bias, eps): result, mean, 1/deviation.
etx_status etx_shape_layer_norm(etx_shape_call* call) {
  etx_shape input, wanted, statistics;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(normalized(call, &input, &wanted, &statistics));
  ETX_TRY(want_normalized(call, 2, "weight", &wanted));
  ETX_TRY(want_normalized(call, 3, "bias", &wanted));
  ETX_TRY(put(call, &input));
  ETX_TRY(call->output(call->context, 1, &statistics));
  return call->output(call->context, 2, &statistics);
}
