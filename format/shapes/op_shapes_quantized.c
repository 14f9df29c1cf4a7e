// Shape functions of quantised tensors.

#include "format/shapes/op_shapes_internal.h"

static etx_status put(const etx_shape_call* call, const etx_shape* shape) {
  return call->output(call->context, 0, shape);
}

// The range of a quantised type; false for other types.
static bool find_range(etx_dtype dtype, int64_t* low, int64_t* high) {
  switch (dtype) {
    case ETX_DTYPE_UINT8:
      *low = 0;
      *high = UINT8_MAX;
      return true;
    case ETX_DTYPE_INT8:
      *low = INT8_MIN;
      *high = INT8_MAX;
      return true;
    case ETX_DTYPE_INT16:
      *low = INT16_MIN;
      *high = INT16_MAX;
      return true;
    case ETX_DTYPE_INT32:
      *low = INT32_MIN;
      *high = INT32_MAX;
      return true;
    default:
      return false;
  }
}

static etx_status read_dtype(const etx_shape_call* call, size_t argument,
                             etx_dtype* out) {
  int64_t code = 0;
  ETX_TRY(etx_shape_number(call, argument, 0, &code));
  if (!etx_dtype_is_valid(code)) {
    return etx_shape_refuse(call, "there is no type %i", code);
  }
  *out = (etx_dtype)code;
  return ETX_OK;
}

// Checks that arguments `bounds` and `bounds + 1`, the smallest and the largest
// quantised number, are within the range of the type in argument `type`.
static etx_status check_bounds(const etx_shape_call* call, size_t bounds,
                               size_t type, etx_dtype* out_dtype) {
  int64_t low, high, least = 0, most = 0;
  ETX_TRY(read_dtype(call, type, out_dtype));
  ETX_TRY(etx_shape_number(call, bounds, 0, &low));
  ETX_TRY(etx_shape_number(call, bounds + 1, 0, &high));
  if (!find_range(*out_dtype, &least, &most)) {
    return etx_shape_refuse_as(call, ETX_UNSUPPORTED,
                               "'%s' is not a quantised type, expected uint8, "
                               "int8, int16 or int32",
                               etx_dtype_name(*out_dtype));
  }
  if (low >= least && high <= most) return ETX_OK;
  return etx_shape_refuse(call,
                          "the quantised range is %i to %i, expected within %i "
                          "to %i",
                          low, high, least, most);
}

// The type of the result: that of the argument, or float32 if it is None.
static etx_status read_float_dtype(const etx_shape_call* call, size_t argument,
                                   etx_dtype* out) {
  *out = ETX_DTYPE_FLOAT32;
  if (etx_shape_is_none(call, argument)) return ETX_OK;
  ETX_TRY(read_dtype(call, argument, out));
  if (etx_dtype_category_of(*out) == ETX_CATEGORY_FLOATING) return ETX_OK;
  return etx_shape_refuse(call, "the result has type '%s', expected floats",
                          etx_dtype_name(*out));
}

// Checks that a tensor has one element.
static etx_status check_one_element(const etx_shape_call* call, size_t argument,
                                    const char* what) {
  etx_shape shape;
  etx_dim numel;
  if (call->kind(call->context, argument) != ETX_SHAPE_TENSOR) return ETX_OK;
  ETX_TRY(etx_shape_tensor(call, argument, &shape));
  ETX_TRY(etx_shape_numel(call, &shape, &numel));
  return etx_shape_check_equal(call, what, 1, numel);
}

// (input, scale, zero_point, quant_min, quant_max, dtype): numbers or tensors
// of one element.
etx_status etx_shape_quantize_per_tensor(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(check_one_element(call, 1, "the number of scales"));
  ETX_TRY(check_one_element(call, 2, "the number of zero points"));
  ETX_TRY(check_bounds(call, 3, 5, &out.dtype));
  return put(call, &out);
}

// (input, scale, zero_point, quant_min, quant_max, dtype, out_dtype)
etx_status etx_shape_dequantize_per_tensor(etx_shape_call* call) {
  etx_shape out;
  etx_dtype from = ETX_DTYPE_INT8;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(check_one_element(call, 1, "the number of scales"));
  ETX_TRY(check_one_element(call, 2, "the number of zero points"));
  ETX_TRY(read_dtype(call, 5, &from));
  ETX_TRY(read_float_dtype(call, 6, &out.dtype));
  return put(call, &out);
}

// Checks a vector of scales or zero points: one for each channel, or one for
// all.
static etx_status check_channel_vector(const etx_shape_call* call,
                                       size_t argument, const char* what,
                                       etx_dim size) {
  etx_shape shape;
  if (etx_shape_is_none(call, argument)) return ETX_OK;
  ETX_TRY(etx_shape_tensor(call, argument, &shape));
  ETX_TRY(etx_shape_check_rank(call, what, &shape, 1));
  if (etx_dim_is(call, shape.dims[0], 1)) return ETX_OK;
  return etx_shape_check_equal(call, what, size, shape.dims[0]);
}

static etx_status check_channels(const etx_shape_call* call,
                                 const etx_shape* input) {
  size_t axis;
  if (input->rank == 0) return etx_shape_check_rank(call, "input", input, 1);
  ETX_TRY(etx_shape_dimension(call, 3, 0, input->rank, &axis));
  ETX_TRY(check_channel_vector(call, 1, "scales", input->dims[axis]));
  return check_channel_vector(call, 2, "zero_points", input->dims[axis]);
}

// (input, scales, zero_points, axis, quant_min, quant_max, dtype)
etx_status etx_shape_quantize_per_channel(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(check_channels(call, &out));
  ETX_TRY(check_bounds(call, 4, 6, &out.dtype));
  return put(call, &out);
}

// (input, scales, zero_points, axis, quant_min, quant_max, dtype, out_dtype)
etx_status etx_shape_dequantize_per_channel(etx_shape_call* call) {
  etx_shape out;
  etx_dtype from = ETX_DTYPE_INT8;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(check_channels(call, &out));
  ETX_TRY(check_bounds(call, 4, 6, &from));
  ETX_TRY(read_float_dtype(call, 7, &out.dtype));
  return put(call, &out);
}

// The shape of one number for each row: the last size is 1.
static etx_status rows_of(const etx_shape_call* call, const etx_shape* input,
                          etx_shape* out) {
  *out = *input;
  if (input->rank == 0) return etx_shape_check_rank(call, "input", input, 1);
  out->dims[out->rank - 1] = 1;
  return ETX_OK;
}

static etx_status check_row_vector(const etx_shape_call* call, size_t argument,
                                   const char* what, const etx_shape* input) {
  etx_shape rows, given;
  etx_dim expected, found;
  ETX_TRY(rows_of(call, input, &rows));
  ETX_TRY(etx_shape_tensor(call, argument, &given));
  ETX_TRY(etx_shape_numel(call, &rows, &expected));
  ETX_TRY(etx_shape_numel(call, &given, &found));
  ETX_TRY(etx_shape_check_equal(call, what, expected, found));
  return etx_shape_check_broadcasts(call, &given, &rows);
}

// (input, scales, zero_points, quant_min, quant_max, dtype)
etx_status etx_shape_quantize_per_token(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(check_row_vector(call, 1, "the number of scales", &out));
  ETX_TRY(check_row_vector(call, 2, "the number of zero points", &out));
  ETX_TRY(check_bounds(call, 3, 5, &out.dtype));
  return put(call, &out);
}

// (input, scales, zero_points, quant_min, quant_max, dtype, output_dtype)
etx_status etx_shape_dequantize_per_token(etx_shape_call* call) {
  etx_shape out;
  etx_dtype from = ETX_DTYPE_INT8;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(check_row_vector(call, 1, "the number of scales", &out));
  ETX_TRY(check_row_vector(call, 2, "the number of zero points", &out));
  ETX_TRY(check_bounds(call, 3, 5, &from));
  ETX_TRY(read_float_dtype(call, 6, &out.dtype));
  return put(call, &out);
}

// A scale and a zero point of the same sizes.
static etx_status put_pair(const etx_shape_call* call, etx_shape* shape) {
  shape->dtype = ETX_DTYPE_FLOAT64;
  ETX_TRY(call->output(call->context, 0, shape));
  shape->dtype = ETX_DTYPE_INT64;
  return call->output(call->context, 1, shape);
}

// (input, quant_min, quant_max, eps, dtype)
etx_status etx_shape_choose_qparams(etx_shape_call* call) {
  etx_shape input, out = {.rank = 1, .dims = {1}};
  etx_dtype dtype = ETX_DTYPE_INT8;
  etx_dim numel;
  int64_t low, high;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(etx_shape_numel(call, &input, &numel));
  if (etx_dim_is(call, numel, 0)) {
    return etx_shape_refuse(call, "'input' has no element");
  }
  ETX_TRY(check_bounds(call, 1, 4, &dtype));
  ETX_TRY(etx_shape_number(call, 1, 0, &low));
  ETX_TRY(etx_shape_number(call, 2, 0, &high));
  if (low > 0 || high < 0 || low >= high) {
    return etx_shape_refuse(
        call,
        "the quantised range is %i to %i, expected one that "
        "contains 0",
        low, high);
  }
  return put_pair(call, &out);
}

// (input, dtype)
etx_status etx_shape_choose_qparams_per_token(etx_shape_call* call) {
  etx_shape input, out;
  etx_dtype dtype = ETX_DTYPE_INT8;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(read_dtype(call, 1, &dtype));
  if (dtype != ETX_DTYPE_INT8) {
    return etx_shape_refuse_as(call, ETX_UNSUPPORTED,
                               "'dtype' is '%s', expected int8",
                               etx_dtype_name(dtype));
  }
  ETX_TRY(rows_of(call, &input, &out));
  if (etx_dim_is(call, input.dims[input.rank - 1], 0)) {
    return etx_shape_refuse(call, "a row of 'input' has no element");
  }
  return put_pair(call, &out);
}

// (input)
etx_status etx_shape_quantize_rows(etx_shape_call* call) {
  etx_shape input, factors;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(rows_of(call, &input, &factors));
  input.dtype = ETX_DTYPE_INT8;
  factors.dtype = ETX_DTYPE_FLOAT32;
  ETX_TRY(call->output(call->context, 0, &input));
  return call->output(call->context, 1, &factors);
}

// (a, scale, zero_point, min, max, b, scale, zero_point, min, max, ...)
etx_status etx_shape_quantized_add(etx_shape_call* call) {
  etx_shape a, b;
  ETX_TRY(etx_shape_tensor(call, 0, &a));
  ETX_TRY(etx_shape_tensor(call, 5, &b));
  ETX_TRY(etx_shape_broadcast_into(call, &a, &b));
  return put(call, &a);
}

// True if the argument has parameters of groups instead of zero points: int16.
static bool has_group_params(const etx_shape_call* call, size_t argument) {
  etx_shape shape;
  return !etx_shape_is_none(call, argument) &&
         etx_shape_tensor(call, argument, &shape) == ETX_OK &&
         shape.dtype == ETX_DTYPE_INT16;
}

// (weight, scales, zero_points, quant_min, quant_max, indices[, dtype]): each
// byte of `weight` packs `in_byte` numbers, and each row has equal groups, one
// for each of its scales.
static etx_status embedding(const etx_shape_call* call, int64_t in_byte) {
  etx_shape weight, scales, zeros, out;
  ETX_TRY(etx_shape_tensor(call, 0, &weight));
  ETX_TRY(etx_shape_tensor(call, 1, &scales));
  ETX_TRY(etx_shape_tensor(call, 5, &out));
  ETX_TRY(etx_shape_check_rank(call, "weight", &weight, 2));
  if (scales.rank != 1) {
    ETX_TRY(etx_shape_check_rank(call, "weight_scales", &scales, 2));
  }
  ETX_TRY(etx_shape_check_equal(call, "the number of rows of 'weight_scales'",
                                weight.dims[0], scales.dims[0]));
  etx_shape groups = scales;
  if (in_byte == 2 && has_group_params(call, 2)) {
    ETX_TRY(etx_shape_check_rank(call, "weight_scales", &scales, 1));
    ETX_TRY(etx_shape_tensor(call, 2, &groups));
    ETX_TRY(etx_shape_check_rank(call, "weight_zero_points", &groups, 2));
    ETX_TRY(etx_shape_check_equal(call, "a size of 'weight_zero_points'",
                                  weight.dims[0], groups.dims[0]));
  } else if (!etx_shape_is_none(call, 2)) {
    ETX_TRY(etx_shape_tensor(call, 2, &zeros));
    ETX_TRY(
        etx_shape_check_rank(call, "weight_zero_points", &zeros, scales.rank));
    for (size_t i = 0; i < scales.rank; ++i) {
      ETX_TRY(etx_shape_check_equal(call, "a size of 'weight_zero_points'",
                                    scales.dims[i], zeros.dims[i]));
    }
  }
  etx_dim width;
  ETX_TRY(etx_dim_multiply(call, weight.dims[1], in_byte, &width));
  if (groups.rank == 2 && etx_shape_is_number(call, width) &&
      etx_shape_is_number(call, groups.dims[1]) &&
      (groups.dims[1] == 0 || width % groups.dims[1] != 0)) {
    return etx_shape_refuse(call, "%i columns do not divide into %i groups",
                            width, groups.dims[1]);
  }
  ETX_TRY(etx_shape_insert(call, &out, out.rank, width));
  out.dtype = scales.dtype;
  const bool is_typed = call->op->overload[0] == 'd';
  if (is_typed && !etx_shape_is_none(call, 6)) {
    ETX_TRY(read_float_dtype(call, 6, &out.dtype));
  }
  return put(call, &out);
}

// Checks that the bounds of packed numbers are those of their width.
static etx_status check_packed_bounds(const etx_shape_call* call, int64_t low) {
  int64_t least, most;
  ETX_TRY(etx_shape_number(call, 3, 0, &least));
  ETX_TRY(etx_shape_number(call, 4, 0, &most));
  if (least == low && most == -low - 1) return ETX_OK;
  return etx_shape_refuse(call,
                          "the quantised range is %i to %i, expected %i to %i",
                          least, most, low, -low - 1);
}

etx_status etx_shape_embedding_byte(etx_shape_call* call) {
  return embedding(call, 1);
}
etx_status etx_shape_embedding_4bit(etx_shape_call* call) {
  ETX_TRY(check_packed_bounds(call, -8));
  return embedding(call, 2);
}
etx_status etx_shape_embedding_2bit(etx_shape_call* call) {
  ETX_TRY(check_packed_bounds(call, -2));
  return embedding(call, 4);
}

// Checks that `argument` is None or a vector of `size`.
static etx_status check_vector(const etx_shape_call* call, size_t argument,
                               const char* what, etx_dim size) {
  etx_shape shape;
  if (etx_shape_is_none(call, argument)) return ETX_OK;
  ETX_TRY(etx_shape_tensor(call, argument, &shape));
  ETX_TRY(etx_shape_check_rank(call, what, &shape, 1));
  return etx_shape_check_equal(call, what, size, shape.dims[0]);
}

// Reads input [.., K] and a weight matrix.
static etx_status read_input_and_weight(const etx_shape_call* call,
                                        etx_shape* input, etx_shape* weight) {
  ETX_TRY(etx_shape_tensor(call, 0, input));
  ETX_TRY(etx_shape_tensor(call, 1, weight));
  if (input->rank == 0) return etx_shape_check_rank(call, "input", input, 1);
  return etx_shape_check_rank(call, "weight", weight, 2);
}

// (input [M, K], weight [K, N], scales [K], zero_points)
etx_status etx_shape_mixed_mm(etx_shape_call* call) {
  etx_shape input, weight;
  ETX_TRY(read_input_and_weight(call, &input, &weight));
  ETX_TRY(etx_shape_check_rank(call, "input", &input, 2));
  ETX_TRY(etx_shape_check_equal(call, "the inner size of 'weight'",
                                input.dims[1], weight.dims[0]));
  ETX_TRY(check_vector(call, 2, "weight_scales", weight.dims[0]));
  input.dims[1] = weight.dims[1];
  return put(call, &input);
}

// (input [M, K], weight [N, K], scales [N] or [N, groups], zero_points, dtype)
etx_status etx_shape_mixed_linear(etx_shape_call* call) {
  etx_shape input, weight, scales;
  ETX_TRY(read_input_and_weight(call, &input, &weight));
  ETX_TRY(etx_shape_tensor(call, 2, &scales));
  ETX_TRY(etx_shape_check_rank(call, "input", &input, 2));
  ETX_TRY(etx_shape_check_equal(call, "the inner size of 'weight'",
                                input.dims[1], weight.dims[1]));
  if (scales.rank != 1) {
    ETX_TRY(etx_shape_check_rank(call, "weight_scales", &scales, 2));
  }
  ETX_TRY(etx_shape_check_equal(call, "the number of rows of 'weight_scales'",
                                weight.dims[0], scales.dims[0]));
  input.dims[1] = weight.dims[0];
  if (etx_shape_is_none(call, 4)) {
    input.dtype = ETX_DTYPE_FROM_OUT;
  } else {
    ETX_TRY(read_float_dtype(call, 4, &input.dtype));
  }
  return put(call, &input);
}

// Scales [N], or [N, groups] with groups of the same size.
static etx_status check_scales(const etx_shape_call* call, etx_dim rows,
                               etx_dim inner) {
  etx_shape scales;
  etx_dim size = 0, whole = 0;
  ETX_TRY(etx_shape_tensor(call, 2, &scales));
  if (scales.rank == 1) return check_vector(call, 2, "scales", rows);
  ETX_TRY(etx_shape_check_rank(call, "scales", &scales, 2));
  ETX_TRY(etx_shape_check_equal(call, "scales", rows, scales.dims[0]));
  if (!etx_dim_is_number(scales.dims[1]) || scales.dims[1] == 0) {
    return etx_shape_refuse(call,
                            "a row of 'scales' has no elements, expected one "
                            "for each group");
  }
  ETX_TRY(etx_dim_floor_divide(call, inner, scales.dims[1], &size));
  ETX_TRY(etx_dim_multiply(call, size, scales.dims[1], &whole));
  return etx_shape_check_equal(call, "the inner size in equal groups", inner,
                               whole);
}

// (input [.., K], weight [N, K], scales [N] or [N, groups], bias [N])
etx_status etx_shape_linear_w8(etx_shape_call* call) {
  etx_shape input, weight;
  ETX_TRY(read_input_and_weight(call, &input, &weight));
  etx_dim* last = &input.dims[input.rank - 1];
  ETX_TRY(etx_shape_check_equal(call, "the inner size of 'weight'", *last,
                                weight.dims[1]));
  ETX_TRY(check_scales(call, weight.dims[0], weight.dims[1]));
  ETX_TRY(check_vector(call, 3, "bias", weight.dims[0]));
  *last = weight.dims[0];
  return put(call, &input);
}

// The shape of the result of (input [.., K], panels [ceil(N / 16), K / 4, 16,
// 4], scales [N], sums [N], bias [N])
static etx_status panel_results(etx_shape_call* call, etx_shape* out) {
  enum { COLUMNS = 16, INPUTS = 4 };
  etx_shape panels, scales;
  etx_dim inner, count;
  ETX_TRY(etx_shape_tensor(call, 0, out));
  ETX_TRY(etx_shape_tensor(call, 1, &panels));
  ETX_TRY(etx_shape_check_rank(call, "panels", &panels, 4));
  if (out->rank == 0) return etx_shape_check_rank(call, "input", out, 1);
  etx_dim* last = &out->dims[out->rank - 1];
  ETX_TRY(etx_shape_check_equal(call, "the columns of a panel", COLUMNS,
                                panels.dims[2]));
  ETX_TRY(etx_shape_check_equal(call, "the last size of 'panels'", INPUTS,
                                panels.dims[3]));
  ETX_TRY(etx_dim_multiply(call, panels.dims[1], INPUTS, &inner));
  ETX_TRY(
      etx_shape_check_equal(call, "the inner size of 'panels'", *last, inner));
  ETX_TRY(etx_shape_tensor(call, 2, &scales));
  ETX_TRY(etx_shape_check_rank(call, "scales", &scales, 1));
  const etx_dim columns = scales.dims[0];
  ETX_TRY(etx_dim_add(call, columns, COLUMNS - 1, &count));
  ETX_TRY(etx_dim_floor_divide(call, count, COLUMNS, &count));
  ETX_TRY(etx_shape_check_equal(call, "the number of panels", count,
                                panels.dims[0]));
  ETX_TRY(check_vector(call, 3, "sums", columns));
  ETX_TRY(check_vector(call, 4, "bias", columns));
  *last = columns;
  return ETX_OK;
}

etx_status etx_shape_linear_a8w8_panels(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(panel_results(call, &out));
  return put(call, &out);
}

// (.., bool keepdim): the last size is 1, or the dimension is removed.
etx_status etx_shape_linear_a8w8_panels_argmax(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(panel_results(call, &out));
  if (etx_shape_boolean(call, 5)) {
    out.dims[out.rank - 1] = 1;
  } else {
    --out.rank;
  }
  out.dtype = ETX_DTYPE_INT64;
  return put(call, &out);
}

// Checks that `argument` is None or has one number for each group of each row.
static etx_status check_groups(const etx_shape_call* call, size_t argument,
                               const char* what, etx_dim rows, etx_dim groups) {
  etx_shape shape;
  if (etx_shape_is_none(call, argument)) return ETX_OK;
  ETX_TRY(etx_shape_tensor(call, argument, &shape));
  ETX_TRY(etx_shape_check_rank(call, what, &shape, 2));
  ETX_TRY(etx_shape_check_equal(call, what, rows, shape.dims[0]));
  return etx_shape_check_equal(call, what, groups, shape.dims[1]);
}

// (input [.., K], packed [N, K / 2], scales [N, K / group_size], zero_points,
// group_size, bias [N])
etx_status etx_shape_linear_w4g(etx_shape_call* call) {
  etx_shape input, packed;
  etx_dim inner, groups, whole;
  int64_t size = 0;
  ETX_TRY(read_input_and_weight(call, &input, &packed));
  ETX_TRY(etx_shape_number(call, 4, 0, &size));
  if (size <= 0 || size % 2 != 0) {
    return etx_shape_refuse(call,
                            "'group_size' is %i, expected a positive even "
                            "number",
                            size);
  }
  etx_dim* last = &input.dims[input.rank - 1];
  ETX_TRY(etx_dim_multiply(call, packed.dims[1], 2, &inner));
  ETX_TRY(etx_shape_check_equal(call, "twice the inner size of 'packed'", *last,
                                inner));
  ETX_TRY(etx_dim_floor_divide(call, inner, size, &groups));
  ETX_TRY(etx_dim_multiply(call, groups, size, &whole));
  ETX_TRY(etx_shape_check_equal(call, "the inner size in whole groups", inner,
                                whole));
  if (has_group_params(call, 3)) {
    ETX_TRY(check_vector(call, 2, "scales", packed.dims[0]));
  } else {
    ETX_TRY(check_groups(call, 2, "scales", packed.dims[0], groups));
  }
  ETX_TRY(check_groups(call, 3, "zero_points", packed.dims[0], groups));
  ETX_TRY(check_vector(call, 5, "bias", packed.dims[0]));
  *last = packed.dims[0];
  return put(call, &input);
}
