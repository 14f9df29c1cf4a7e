// Reads arguments and compares sizes, with messages that state what was
// expected and what was found.

#include "format/shapes/op_shapes_internal.h"

static etx_text argument_name(const etx_shape_call* call, size_t argument) {
  etx_argument_cursor cursor = etx_argument_first(call->op->arguments);
  etx_argument read = {.name = {"argument", 8}};
  for (size_t i = 0; i <= argument; ++i) {
    if (!etx_argument_next(&cursor, &read)) break;
  }
  return read.name;
}

etx_status etx_shape_tensor_item(const etx_shape_call* call, size_t argument,
                                 size_t item, etx_shape* out_shape) {
  if (!call->tensor(call->context, argument, item, out_shape)) {
    return etx_shape_refuse(call, "'%t' is not a tensor",
                            argument_name(call, argument));
  }
  return ETX_OK;
}

etx_status etx_shape_tensor(const etx_shape_call* call, size_t argument,
                            etx_shape* out_shape) {
  if (call->kind(call->context, argument) != ETX_SHAPE_TENSOR) {
    return etx_shape_refuse(call, "'%t' is not a tensor",
                            argument_name(call, argument));
  }
  return etx_shape_tensor_item(call, argument, 0, out_shape);
}

bool etx_shape_is_none(const etx_shape_call* call, size_t argument) {
  return call->kind(call->context, argument) == ETX_SHAPE_NONE;
}

bool etx_shape_boolean(const etx_shape_call* call, size_t argument) {
  return call->real(call->context, argument, 0) != 0;
}

etx_status etx_shape_number(const etx_shape_call* call, size_t argument,
                            size_t item, int64_t* out_number) {
  const etx_dim value = call->integer(call->context, argument, item);
  if (etx_dim_is_symbolic(call, value)) {
    return etx_shape_refuse_as(call, ETX_UNSUPPORTED,
                               "'%t' is a dynamic size, expected a number",
                               argument_name(call, argument));
  }
  *out_number = value;
  return ETX_OK;
}

// Converts a dimension in -rank..rank-1 to 0..rank-1.
static etx_status wrap_dimension(const etx_shape_call* call, int64_t value,
                                 size_t rank, size_t* out_dimension) {
  const int64_t limit = rank == 0 ? 1 : (int64_t)rank;
  if (value < -limit || value >= limit) {
    return etx_shape_refuse(call, "dimension %i is not in %i..%i", value,
                            -limit, limit - 1);
  }
  *out_dimension = (size_t)(value < 0 ? value + limit : value);
  return ETX_OK;
}

etx_status etx_shape_dimension(const etx_shape_call* call, size_t argument,
                               size_t item, size_t rank,
                               size_t* out_dimension) {
  int64_t value = 0;
  ETX_TRY(etx_shape_number(call, argument, item, &value));
  return wrap_dimension(call, value, rank, out_dimension);
}

etx_status etx_shape_check_equal(const etx_shape_call* call, const char* what,
                                 etx_dim expected, etx_dim found) {
  if (etx_dim_always_equal(call, expected, found)) return ETX_OK;
  return etx_shape_refuse(call, "%s is %i, expected %i", what,
                          etx_dim_for_message(call, found),
                          etx_dim_for_message(call, expected));
}

etx_status etx_shape_check_rank(const etx_shape_call* call, const char* what,
                                const etx_shape* shape, size_t rank) {
  if (shape->rank == rank) return ETX_OK;
  return etx_shape_refuse(call, "rank of '%s' is %i, expected %i", what,
                          (int64_t)shape->rank, (int64_t)rank);
}

// Broadcasts one size into another.
static etx_status broadcast_dim(const etx_shape_call* call, etx_dim* into,
                                etx_dim dim) {
  if (etx_dim_always_equal(call, *into, dim) ||
      etx_dim_always_is(call, dim, 1)) {
    return ETX_OK;
  }
  if (etx_dim_always_is(call, *into, 1)) {
    *into = dim;
    return ETX_OK;
  }
  return etx_shape_refuse(call, "sizes %i and %i do not broadcast",
                          etx_dim_for_message(call, *into),
                          etx_dim_for_message(call, dim));
}

etx_status etx_shape_broadcast_into(const etx_shape_call* call, etx_shape* into,
                                    const etx_shape* shape) {
  while (into->rank < shape->rank) {
    ETX_TRY(etx_shape_insert(call, into, 0, 1));
  }
  for (size_t i = 0; i < shape->rank; ++i) {
    const size_t at = (size_t)into->rank - shape->rank + i;
    ETX_TRY(broadcast_dim(call, &into->dims[at], shape->dims[i]));
  }
  return ETX_OK;
}

etx_status etx_shape_check_broadcasts(const etx_shape_call* call,
                                      const etx_shape* from,
                                      const etx_shape* to) {
  // Leading sizes of 1 may be dropped, as PyTorch does when it assigns.
  size_t extra = from->rank > to->rank ? (size_t)from->rank - to->rank : 0;
  for (size_t i = 0; i < extra; ++i) {
    ETX_TRY(etx_shape_check_equal(call, "a leading size", 1, from->dims[i]));
  }
  for (size_t i = extra; i < from->rank; ++i) {
    const size_t at = (size_t)to->rank + i - from->rank;
    if (etx_dim_always_is(call, from->dims[i], 1)) continue;
    if (etx_dim_always_equal(call, from->dims[i], to->dims[at])) continue;
    return etx_shape_refuse(call, "size %i does not broadcast to %i",
                            etx_dim_for_message(call, from->dims[i]),
                            etx_dim_for_message(call, to->dims[at]));
  }
  return ETX_OK;
}

etx_status etx_shape_promote(const etx_shape_call* call, etx_dtype* into,
                             etx_dtype other) {
  if (etx_dtype_promote(*into, other, into)) return ETX_OK;
  return etx_shape_refuse(call, "types '%s' and '%s' have no common type",
                          etx_dtype_name(*into), etx_dtype_name(other));
}

etx_dtype etx_shape_float_type(etx_dtype dtype) {
  const etx_dtype_category category = etx_dtype_category_of(dtype);
  const bool is_exact =
      category == ETX_CATEGORY_BOOLEAN || category == ETX_CATEGORY_INTEGER;
  return is_exact ? ETX_DTYPE_FLOAT32 : dtype;
}

etx_status etx_shape_numel(const etx_shape_call* call, const etx_shape* shape,
                           etx_dim* out_numel) {
  etx_dim numel = 1;
  for (size_t i = 0; i < shape->rank; ++i) {
    ETX_TRY(etx_dim_multiply(call, numel, shape->dims[i], &numel));
  }
  *out_numel = numel;
  return ETX_OK;
}

etx_status etx_shape_put_bounded(const etx_shape_call* call, size_t index,
                                 const etx_shape* most) {
  if (call->output_at_most == NULL) {
    return etx_shape_refuse_as(call, ETX_UNSUPPORTED,
                               "a size depends on the elements of a tensor");
  }
  return call->output_at_most(call->context, index, most);
}

etx_status etx_shape_spatial(const etx_shape_call* call, size_t argument,
                             const char* what, etx_spatial_dim dim,
                             int64_t least, int64_t* out_number) {
  const size_t count = call->list_count(call->context, argument);
  if (count != 1 && count != dim.count) {
    return etx_shape_refuse(call, "'%t' has %i numbers, expected 1 or %i",
                            argument_name(call, argument), (int64_t)count,
                            (int64_t)dim.count);
  }
  ETX_TRY(
      etx_shape_number(call, argument, count == 1 ? 0 : dim.index, out_number));
  if (*out_number >= least && *out_number <= INT32_MAX) return ETX_OK;
  return etx_shape_refuse(call, "%s is %i, expected %i to %i", what,
                          *out_number, least, (int64_t)INT32_MAX);
}

void etx_shape_remove(etx_shape* shape, size_t dimension) {
  for (size_t i = dimension + 1; i < shape->rank; ++i) {
    shape->dims[i - 1] = shape->dims[i];
  }
  --shape->rank;
}

etx_status etx_shape_insert(const etx_shape_call* call, etx_shape* shape,
                            size_t dimension, etx_dim dim) {
  if (shape->rank == ETX_MAX_RANK) {
    return etx_shape_refuse_as(call, ETX_OUT_OF_RANGE,
                               "the result has more than %i dimensions",
                               (int64_t)ETX_MAX_RANK);
  }
  for (size_t i = shape->rank; i > dimension; --i) {
    shape->dims[i] = shape->dims[i - 1];
  }
  shape->dims[dimension] = dim;
  ++shape->rank;
  return ETX_OK;
}
