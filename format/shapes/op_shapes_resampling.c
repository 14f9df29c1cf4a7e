// Shape functions of resampling images [batch, channels, height, width], and of
// grid_sampler.

#include "format/shapes/op_shapes_internal.h"

enum { SPATIAL = 2 };

static etx_status check_images(const etx_shape_call* call, const char* what,
                               const etx_shape* input) {
  ETX_TRY(etx_shape_check_rank(call, what, input, SPATIAL + 2));
  for (size_t i = 1; i < input->rank; ++i) {
    if (!etx_dim_is(call, input->dims[i], 0)) continue;
    return etx_shape_refuse(call, "size %i of '%s' is 0, expected more",
                            (int64_t)i, what);
  }
  return ETX_OK;
}

static etx_status put(const etx_shape_call* call, const etx_shape* out) {
  for (size_t i = 2; i < out->rank; ++i) {
    const etx_dim size = out->dims[i];
    if (etx_dim_is_below(call, size, 1)) {
      return etx_shape_refuse(call, "the result's size is %i",
                              etx_dim_for_message(call, size));
    }
  }
  return call->output(call->context, 0, out);
}

static etx_status check_two_numbers(const etx_shape_call* call,
                                    size_t argument) {
  const size_t count = call->list_count(call->context, argument);
  if (count == SPATIAL) return ETX_OK;
  return etx_shape_refuse(call, "a list has %i numbers, expected 2",
                          (int64_t)count);
}

// Scales a symbolic size. This is exact only if the scale is an integer divided
// by a power of two, and for sizes that float32 has.
static etx_status scale_symbol(const etx_shape_call* call, double scale,
                               etx_dim* size) {
  int64_t divisor = 1;
  while (divisor < 1024 && scale * (double)divisor !=
                               (double)(int64_t)(scale * (double)divisor)) {
    divisor *= 2;
  }
  const double factor = scale * (double)divisor;
  if (factor != (double)(int64_t)factor) {
    return etx_shape_refuse_as(call, ETX_UNSUPPORTED,
                               "a dynamic size is scaled by %f, expected a "
                               "multiple of 1/1024",
                               scale);
  }
  if (etx_dim_is_below(call, 1 << 24, *size)) {
    return etx_shape_refuse_as(call, ETX_OUT_OF_RANGE, "a size overflows");
  }
  ETX_TRY(etx_dim_multiply(call, *size, (int64_t)factor, size));
  return etx_dim_floor_divide(call, *size, divisor, size);
}

// As in PyTorch: the size is rounded to float32, the product is a double.
static etx_status scale_size(const etx_shape_call* call, double scale,
                             etx_dim* size) {
  if (!(scale > 0 && scale <= INT32_MAX)) {
    return etx_shape_refuse(call, "the scale is %f, expected more than 0",
                            scale);
  }
  if (etx_dim_is_symbolic(call, *size)) {
    return scale_symbol(call, scale, size);
  }
  const double scaled = (double)(float)*size * scale;
  if (scaled > INT32_MAX) {
    return etx_shape_refuse_as(call, ETX_OUT_OF_RANGE, "a size overflows");
  }
  *size = (etx_dim)scaled;
  return ETX_OK;
}

// Exactly one of the arguments `sizes` and `scales` is given.
static etx_status resample(const etx_shape_call* call, size_t sizes,
                           size_t scales) {
  etx_shape input;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(check_images(call, "input", &input));
  const bool has_sizes = !etx_shape_is_none(call, sizes);
  if (has_sizes == !etx_shape_is_none(call, scales)) {
    return etx_shape_refuse(call,
                            "expected either 'output_size' or "
                            "'scale_factors', found %s",
                            has_sizes ? "both" : "neither");
  }
  ETX_TRY(check_two_numbers(call, has_sizes ? sizes : scales));
  for (size_t i = 0; i < SPATIAL; ++i) {
    if (has_sizes) {
      input.dims[2 + i] = call->integer(call->context, sizes, i);
      continue;
    }
    const double scale = call->real(call->context, scales, i);
    ETX_TRY(scale_size(call, scale, &input.dims[2 + i]));
  }
  return put(call, &input);
}

// (input, output_size, scale_factors)
etx_status etx_shape_nearest(etx_shape_call* call) {
  return resample(call, 1, 2);
}

// (input, output_size, align_corners, scale_factors)
etx_status etx_shape_bilinear(etx_shape_call* call) {
  return resample(call, 1, 3);
}

// (self, output_size, align_corners, scales_h, scales_w)
etx_status etx_shape_bilinear_smooth(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(check_images(call, "self", &self));
  ETX_TRY(check_two_numbers(call, 1));
  for (size_t i = 0; i < SPATIAL; ++i) {
    self.dims[2 + i] = call->integer(call->context, 1, i);
  }
  return put(call, &self);
}

// (input [N, C, H, W], grid [N, height, width, 2])
etx_status etx_shape_grid_sampler(etx_shape_call* call) {
  etx_shape input, grid;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(etx_shape_tensor(call, 1, &grid));
  ETX_TRY(etx_shape_check_rank(call, "input", &input, SPATIAL + 2));
  ETX_TRY(etx_shape_check_rank(call, "grid", &grid, SPATIAL + 2));
  ETX_TRY(etx_shape_check_equal(call, "the batch of 'grid'", input.dims[0],
                                grid.dims[0]));
  ETX_TRY(etx_shape_check_equal(call, "the last size of 'grid'", SPATIAL,
                                grid.dims[3]));
  for (size_t i = 0; i < SPATIAL; ++i) {
    if (etx_dim_is(call, input.dims[2 + i], 0)) {
      return etx_shape_refuse(call, "a plane of 'input' has no elements");
    }
    input.dims[2 + i] = grid.dims[1 + i];
  }
  return call->output(call->context, 0, &input);
}
