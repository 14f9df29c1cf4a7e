// Shape functions of reductions, sorting and distances.

#include "format/shapes/op_shapes_internal.h"

static etx_status put(const etx_shape_call* call, const etx_shape* shape) {
  return call->output(call->context, 0, shape);
}

// The dimensions in an argument as a bit set. The argument is a list, an
// integer, or None for all. An empty list means all if `empty_is_all`.
static etx_status read_dims(const etx_shape_call* call, size_t argument,
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

// (self, dim, ...) with self's type; `keepdim` is the position of that
// argument.
static etx_status reduced_at(const etx_shape_call* call, bool empty_is_all,
                             size_t keepdim, etx_shape* out) {
  uint32_t bits;
  ETX_TRY(etx_shape_tensor(call, 0, out));
  ETX_TRY(read_dims(call, 1, out->rank, empty_is_all, &bits));
  reduce_dims(out, bits, etx_shape_boolean(call, keepdim));
  return ETX_OK;
}

// (self, dim, keepdim, ...)
static etx_status reduced(const etx_shape_call* call, bool empty_is_all,
                          etx_shape* out) {
  return reduced_at(call, empty_is_all, 2, out);
}

static bool is_exact(etx_dtype dtype) {
  return etx_shape_float_type(dtype) != dtype;
}

// The type in a dtype argument, or `otherwise` if it is None.
static etx_status read_dtype(const etx_shape_call* call, size_t argument,
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
  ETX_TRY(read_dtype(call, 3, sum_type(out.dtype), &out.dtype));
  return put(call, &out);
}

etx_status etx_shape_mean(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(reduced(call, true, &out));
  ETX_TRY(read_dtype(call, 3, out.dtype, &out.dtype));
  if (is_exact(out.dtype)) {
    return etx_shape_refuse(call, "the mean of type '%s' is not defined",
                            etx_dtype_name(out.dtype));
  }
  return put(call, &out);
}

// (self, dtype)
etx_status etx_shape_mean_all(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  out.rank = 0;
  ETX_TRY(read_dtype(call, 1, out.dtype, &out.dtype));
  if (is_exact(out.dtype)) {
    return etx_shape_refuse(call, "the mean of type '%s' is not defined",
                            etx_dtype_name(out.dtype));
  }
  return put(call, &out);
}

// (self, dim, correction or unbiased, keepdim)
etx_status etx_shape_variance(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(reduced_at(call, true, 3, &out));
  return put(call, &out);
}

// The same with a second output, the mean.
etx_status etx_shape_variance_mean(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(reduced_at(call, true, 3, &out));
  ETX_TRY(put(call, &out));
  return call->output(call->context, 1, &out);
}

// (self, dim, keepdim) with a float result.
etx_status etx_shape_reduce_float(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(reduced(call, true, &out));
  out.dtype = etx_shape_float_type(out.dtype);
  return put(call, &out);
}

etx_status etx_shape_prod_dim(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(reduced(call, true, &out));
  ETX_TRY(read_dtype(call, 3, sum_type(out.dtype), &out.dtype));
  return put(call, &out);
}

etx_status etx_shape_prod_all(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  out.rank = 0;
  ETX_TRY(read_dtype(call, 1, sum_type(out.dtype), &out.dtype));
  return put(call, &out);
}

etx_status etx_shape_reduce(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(reduced(call, true, &out));
  return put(call, &out);
}

// In PyTorch uint8 was the type of masks, and any() of uint8 is still uint8.
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
  ETX_TRY(read_dtype(call, 2, sum_type(out.dtype), &out.dtype));
  return put(call, &out);
}

// Two outputs of one shape: values and indices.
static etx_status put_ordered(const etx_shape_call* call, etx_shape* shape) {
  ETX_TRY(put(call, shape));
  shape->dtype = ETX_DTYPE_INT64;
  return call->output(call->context, 1, shape);
}

// (self, dim)
etx_status etx_shape_running_extreme(etx_shape_call* call) {
  etx_shape out;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(etx_shape_dimension(call, 1, 0, out.rank, &at));
  return put_ordered(call, &out);
}

// (self, k, dim)
etx_status etx_shape_topk(etx_shape_call* call) {
  etx_shape out;
  size_t at;
  int64_t low, high, least, most;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(etx_shape_dimension(call, 2, 0, out.rank, &at));
  const etx_dim k = call->integer(call->context, 1, 0);
  const etx_dim size = out.rank == 0 ? 1 : out.dims[at];
  etx_dim_bounds(call, k, &low, &high);
  etx_dim_bounds(call, size, &least, &most);
  if (low < 0 || low > most) {
    return etx_shape_refuse(call, "'k' is %i, expected 0 to %i",
                            etx_dim_for_message(call, k), most);
  }
  if (out.rank > 0) out.dims[at] = k;
  return put_ordered(call, &out);
}

// (self, stable, dim)
etx_status etx_shape_sort(etx_shape_call* call) {
  etx_shape out;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(etx_shape_dimension(call, 2, 0, out.rank, &at));
  return put_ordered(call, &out);
}

// (self, other): one boolean.
etx_status etx_shape_allclose(etx_shape_call* call) {
  etx_shape self, other;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_tensor(call, 1, &other));
  ETX_TRY(etx_shape_broadcast_into(call, &self, &other));
  const etx_shape out = {.dtype = ETX_DTYPE_BOOL, .rank = 1, .dims = {1}};
  return put(call, &out);
}

// (x1 [..., P, M], x2 [..., R, M]): [..., P, R], leading sizes broadcast.
etx_status etx_shape_cdist(etx_shape_call* call) {
  etx_shape a, b;
  ETX_TRY(etx_shape_tensor(call, 0, &a));
  ETX_TRY(etx_shape_tensor(call, 1, &b));
  if (a.rank < 2 || b.rank < 2) {
    return etx_shape_refuse(call, "ranks are %i and %i, expected at least 2",
                            (int64_t)a.rank, (int64_t)b.rank);
  }
  ETX_TRY(etx_shape_check_equal(call, "the last size of 'x2'",
                                a.dims[a.rank - 1], b.dims[b.rank - 1]));
  const etx_dim rows = a.dims[a.rank - 2], columns = b.dims[b.rank - 2];
  a.rank = (uint8_t)(a.rank - 2);
  b.rank = (uint8_t)(b.rank - 2);
  ETX_TRY(etx_shape_broadcast_into(call, &a, &b));
  ETX_TRY(etx_shape_insert(call, &a, a.rank, rows));
  ETX_TRY(etx_shape_insert(call, &a, a.rank, columns));
  return put(call, &a);
}

// (self [N, M]): one distance for each of the N (N - 1) / 2 pairs.
etx_status etx_shape_pdist(etx_shape_call* call) {
  etx_shape out;
  etx_dim pairs;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(etx_shape_check_rank(call, "self", &out, 2));
  ETX_TRY(etx_dim_subtract(call, out.dims[0], 1, &pairs));
  ETX_TRY(etx_dim_multiply(call, out.dims[0], pairs, &pairs));
  ETX_TRY(etx_dim_floor_divide(call, pairs, 2, &out.dims[0]));
  out.rank = 1;
  return put(call, &out);
}

// (self, bins, min, max)
etx_status etx_shape_histc(etx_shape_call* call) {
  etx_shape self;
  int64_t bins = 0;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_number(call, 1, 0, &bins));
  if (bins < 1 || bins > INT32_MAX) {
    return etx_shape_refuse(call, "'bins' is %i, expected 1 to %i", bins,
                            (int64_t)INT32_MAX);
  }
  const etx_shape out = {self.dtype, 1, {bins}};
  return call->output(call->context, 0, &out);
}
