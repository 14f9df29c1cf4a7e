// Shape functions of statically quantised uint8 operators (op_schema.def).

#include "format/shapes/op_shapes_internal.h"

enum {
  COLUMNS = 16,
  INPUTS = 4,
  // Products in a 32-bit sum; the absolute value of each is at most 255 * 128.
  MAX_PRODUCTS = INT32_MAX / (UINT8_MAX * -INT8_MIN),
};

etx_status etx_shape_u8_check_exact(const etx_shape_call* call,
                                   int64_t products) {
  if (products <= MAX_PRODUCTS) return ETX_OK;
  return etx_shape_refuse(call,
                          "a sum has %i products, expected at most %i, which "
                          "fit 32 bits",
                          products, (int64_t)MAX_PRODUCTS);
}

etx_status etx_shape_check_panels(const etx_shape_call* call, size_t argument,
                                 int64_t count, int64_t inner) {
  const int64_t input_groups = inner / INPUTS + (inner % INPUTS != 0);
  const etx_dim expected[] = {count, input_groups, COLUMNS, INPUTS};
  etx_shape panels;
  ETX_TRY(etx_shape_u8_check_exact(call, inner));
  ETX_TRY(etx_shape_tensor(call, argument, &panels));
  ETX_TRY(etx_shape_check_rank(call, "panels", &panels, 4));
  for (size_t i = 0; i < 4; ++i) {
    ETX_TRY(etx_shape_check_equal(call, "a size of 'panels'", expected[i],
                                 panels.dims[i]));
  }
  return ETX_OK;
}

// Checks that a tensor is a vector of `size`.
static etx_status check_vector(const etx_shape_call* call, size_t argument,
                              const char* what, etx_dim size) {
  etx_shape shape;
  ETX_TRY(etx_shape_tensor(call, argument, &shape));
  ETX_TRY(etx_shape_check_rank(call, what, &shape, 1));
  return etx_shape_check_equal(call, what, size, shape.dims[0]);
}

etx_status etx_shape_u8_channels(const etx_shape_call* call, size_t first,
                                 int64_t* out_channels) {
  etx_shape offsets;
  ETX_TRY(etx_shape_tensor(call, first, &offsets));
  ETX_TRY(etx_shape_check_rank(call, "offsets", &offsets, 1));
  const etx_dim channels = offsets.dims[0];
  if (!etx_shape_is_number(call, channels) || channels < 1) {
    return etx_shape_refuse(call,
                            "'offsets' has no fixed number of channels");
  }
  ETX_TRY(check_vector(call, first + 1, "scales", channels));
  if (!etx_shape_is_none(call, first + 2)) {
    ETX_TRY(check_vector(call, first + 2, "bias", channels));
  }
  *out_channels = channels;
  return ETX_OK;
}

static etx_status read_byte(const etx_shape_call* call, size_t argument,
                            const char* what, int64_t* out) {
  ETX_TRY(etx_shape_number(call, argument, 0, out));
  if (*out >= 0 && *out <= UINT8_MAX) return ETX_OK;
  return etx_shape_refuse(call, "%s is %i, expected 0 to 255", what, *out);
}

etx_status etx_shape_u8_result(const etx_shape_call* call, size_t first,
                               etx_dtype* out_dtype) {
  int64_t zero, least, most, code;
  ETX_TRY(read_byte(call, first, "the zero point of results", &zero));
  ETX_TRY(read_byte(call, first + 1, "the least result", &least));
  ETX_TRY(read_byte(call, first + 2, "the largest result", &most));
  if (least > most) {
    return etx_shape_refuse(call, "results are at least %i and at most %i",
                            least, most);
  }
  ETX_TRY(etx_shape_number(call, first + 3, 0, &code));
  if (code != ETX_DTYPE_UINT8 && code != ETX_DTYPE_FLOAT32) {
    return etx_shape_refuse(call,
                            "the result has type %i, expected "
                            "uint8 or float32",
                            code);
  }
  *out_dtype = (etx_dtype)code;
  return ETX_OK;
}

// (input [.., K], panels, offsets, scales, bias, out_zero_point, out_min,
// out_max, dtype)
etx_status etx_shape_linear_u8(etx_shape_call* call) {
  etx_shape out;
  int64_t channels;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  if (out.rank == 0) return etx_shape_check_rank(call, "input", &out, 1);
  etx_dim* const last = &out.dims[out.rank - 1];
  if (!etx_shape_is_number(call, *last) || *last < 1) {
    return etx_shape_refuse(call,
                            "the last size of 'input' is not fixed, or 0");
  }
  ETX_TRY(etx_shape_u8_channels(call, 2, &channels));
  ETX_TRY(etx_shape_check_panels(
      call, 1, channels / COLUMNS + (channels % COLUMNS != 0), *last));
  ETX_TRY(etx_shape_u8_result(call, 5, &out.dtype));
  *last = channels;
  return call->output(call->context, 0, &out);
}

// (self, scale, zero_point, others, scales, zero_points, steps, out_scale,
// out_zero_point, out_min, out_max, dtype)
etx_status etx_shape_chain_u8(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(etx_shape_check_others(call, 3, &out));
  const size_t others = call->list_count(call->context, 3);
  for (size_t list = 4; list < 6; ++list) {
    const size_t count = call->list_count(call->context, list);
    if (count == others) continue;
    return etx_shape_refuse(call, "there are %z tensors and %z %s", others,
                            count, list == 4 ? "scales" : "zero points");
  }
  ETX_TRY(etx_shape_u8_result(call, 8, &out.dtype));
  return call->output(call->context, 0, &out);
}

// (self [N, H, W, C], zero_point, scale, out_zero_point, out_min, out_max, dtype):
// [N, 1, 1, C]
etx_status etx_shape_mean_u8(etx_shape_call* call) {
  etx_shape out;
  int64_t zero;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(etx_shape_check_rank(call, "self", &out, 4));
  ETX_TRY(read_byte(call, 1, "the zero point", &zero));
  ETX_TRY(etx_shape_u8_result(call, 3, &out.dtype));
  out.dims[1] = 1;
  out.dims[2] = 1;
  return call->output(call->context, 0, &out);
}
