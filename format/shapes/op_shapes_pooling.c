// Shape functions of pooling over the last two dimensions of [channels, height,
// width], with or without a batch dimension.

#include "format/shapes/op_shapes_internal.h"

enum { SPATIAL = 2 };

// Positions of the arguments of a pooling operator; 0: it has no such argument.
typedef struct pool_arguments {
  size_t kernel, stride, padding, dilation, ceil_mode;
} pool_arguments;

static const pool_arguments max_arguments = {1, 2, 3, 4, 5};
static const pool_arguments max_backward_arguments = {2, 3, 4, 5, 6};
static const pool_arguments mean_arguments = {1, 2, 3, 0, 4};

typedef struct pool_window {
  int64_t kernel, stride, padding, dilation;
  bool ceil_mode;
} pool_window;

static etx_status read_window(const etx_shape_call* call,
                              const pool_arguments* p, size_t i,
                              pool_window* out) {
  const etx_spatial_dim at = {SPATIAL, i};
  ETX_TRY(etx_shape_spatial(call, p->kernel, "the kernel size", at, 1,
                            &out->kernel));
  out->stride = out->kernel;
  if (call->list_count(call->context, p->stride) != 0) {
    ETX_TRY(
        etx_shape_spatial(call, p->stride, "the stride", at, 1, &out->stride));
  }
  ETX_TRY(
      etx_shape_spatial(call, p->padding, "the padding", at, 0, &out->padding));
  out->dilation = 1;
  if (p->dilation != 0) {
    ETX_TRY(etx_shape_spatial(call, p->dilation, "the dilation", at, 1,
                              &out->dilation));
  }
  out->ceil_mode = etx_shape_boolean(call, p->ceil_mode);
  if (out->padding <= out->kernel / 2) return ETX_OK;
  return etx_shape_refuse(call,
                          "the padding is %i, expected at most half of the "
                          "kernel size %i",
                          out->padding, out->kernel);
}

// Number of windows along a dimension of size `in`. With ceil_mode the last one
// may extend beyond the padding, but starts in the input or in the padding
// before it.
static etx_status window_count(const etx_shape_call* call, const pool_window* w,
                               etx_dim in, etx_dim* out) {
  const int64_t reach = w->dilation * (w->kernel - 1) + 1;
  etx_dim span;
  ETX_TRY(etx_dim_add(call, in, 2 * w->padding - reach, &span));
  if (w->ceil_mode) ETX_TRY(etx_dim_add(call, span, w->stride - 1, &span));
  if (etx_dim_is_below(call, span, 0)) {
    return etx_shape_refuse(call,
                            "a window of %i elements is larger than the "
                            "padded size %i",
                            reach,
                            etx_dim_for_message(call, in) + 2 * w->padding);
  }
  ETX_TRY(etx_dim_floor_divide(call, span, w->stride, &span));
  ETX_TRY(etx_dim_add(call, span, 1, out));
  if (!w->ceil_mode) return ETX_OK;
  etx_dim starts;
  ETX_TRY(etx_dim_add(call, in, w->padding - 1, &starts));
  ETX_TRY(etx_dim_floor_divide(call, starts, w->stride, &starts));
  ETX_TRY(etx_dim_add(call, starts, 1, &starts));
  return etx_dim_minimum(call, *out, starts, out);
}

// Checks that there are three or four dimensions, and that only the batch is
// empty.
static etx_status check_images(const etx_shape_call* call, const char* what,
                               const etx_shape* self) {
  if (self->rank != 3 && self->rank != 4) {
    return etx_shape_refuse(call, "rank of '%s' is %i, expected 3 or 4", what,
                            (int64_t)self->rank);
  }
  for (size_t i = self->rank - 3u; i < self->rank; ++i) {
    if (!etx_dim_is(call, self->dims[i], 0)) continue;
    return etx_shape_refuse(call, "size %i of '%s' is 0, expected more",
                            (int64_t)i, what);
  }
  return ETX_OK;
}

static etx_status pooled(const etx_shape_call* call, const pool_arguments* p,
                         const etx_shape* self, etx_shape* out) {
  ETX_TRY(check_images(call, "self", self));
  *out = *self;
  for (size_t i = 0; i < SPATIAL; ++i) {
    const size_t at = self->rank - SPATIAL + i;
    pool_window w;
    ETX_TRY(read_window(call, p, i, &w));
    ETX_TRY(window_count(call, &w, self->dims[at], &out->dims[at]));
  }
  return ETX_OK;
}

// (self, kernel_size, stride, padding, dilation, ceil_mode)
static etx_status max_pooled(const etx_shape_call* call, etx_shape* out) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(pooled(call, &max_arguments, &self, out));
  return call->output(call->context, 0, out);
}

etx_status etx_shape_max_pool_values(etx_shape_call* call) {
  etx_shape out;
  return max_pooled(call, &out);
}

// The same of an image [N, H, W, C].
etx_status etx_shape_max_pool_u8(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(etx_shape_check_rank(call, "self", &out, 4));
  ETX_TRY(check_images(call, "self", &out));
  for (size_t i = 0; i < SPATIAL; ++i) {
    pool_window w;
    ETX_TRY(read_window(call, &max_arguments, i, &w));
    ETX_TRY(window_count(call, &w, out.dims[1 + i], &out.dims[1 + i]));
  }
  return call->output(call->context, 0, &out);
}

etx_status etx_shape_max_pool(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(max_pooled(call, &out));
  out.dtype = ETX_DTYPE_INT64;
  return call->output(call->context, 1, &out);
}

// (self, kernel_size, stride, padding, ceil_mode, count_include_pad,
// divisor_override)
etx_status etx_shape_mean_pool(etx_shape_call* call) {
  etx_shape self, out;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(pooled(call, &mean_arguments, &self, &out));
  if (!etx_shape_is_none(call, 6)) {
    int64_t divisor;
    ETX_TRY(etx_shape_number(call, 6, 0, &divisor));
    if (divisor == 0) return etx_shape_refuse(call, "the divisor is 0");
  }
  return call->output(call->context, 0, &out);
}

// (grad_output, self, kernel_size, stride, padding, dilation, ceil_mode,
// indices)
etx_status etx_shape_max_pool_backward(etx_shape_call* call) {
  etx_shape grad, self, indices, expected;
  ETX_TRY(etx_shape_tensor(call, 0, &grad));
  ETX_TRY(etx_shape_tensor(call, 1, &self));
  ETX_TRY(etx_shape_tensor(call, 7, &indices));
  ETX_TRY(pooled(call, &max_backward_arguments, &self, &expected));
  ETX_TRY(etx_shape_check_rank(call, "grad_output", &grad, expected.rank));
  ETX_TRY(etx_shape_check_rank(call, "indices", &indices, expected.rank));
  for (size_t i = 0; i < expected.rank; ++i) {
    ETX_TRY(etx_shape_check_equal(call, "a size of 'grad_output'",
                                  expected.dims[i], grad.dims[i]));
    ETX_TRY(etx_shape_check_equal(call, "a size of 'indices'", expected.dims[i],
                                  indices.dims[i]));
  }
  return call->output(call->context, 0, &self);
}

// (self, output_size)
etx_status etx_shape_adaptive_pool(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  const size_t count = call->list_count(call->context, 1);
  if (count != SPATIAL) {
    return etx_shape_refuse(call, "'output_size' has %i numbers, expected 2",
                            (int64_t)count);
  }
  if (self.rank != 3 && self.rank != 4) {
    return etx_shape_refuse(call, "rank of 'self' is %i, expected 3 or 4",
                            (int64_t)self.rank);
  }
  for (size_t i = 0; i < SPATIAL; ++i) {
    etx_dim* const size = &self.dims[self.rank - SPATIAL + i];
    if (etx_dim_is(call, *size, 0)) {
      return etx_shape_refuse(call, "a plane of 'self' has no elements");
    }
    *size = call->integer(call->context, 1, i);
    if (etx_dim_is_below(call, *size, 0)) {
      return etx_shape_refuse(call, "the result's size is %i",
                              etx_dim_for_message(call, *size));
    }
  }
  return call->output(call->context, 0, &self);
}

// (input, rois, spatial_scale, pooled_height, pooled_width)
etx_status etx_shape_roi_align(etx_shape_call* call) {
  etx_shape out, rois;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(etx_shape_tensor(call, 1, &rois));
  ETX_TRY(etx_shape_check_rank(call, "input", &out, 4));
  ETX_TRY(etx_shape_check_rank(call, "rois", &rois, 2));
  ETX_TRY(etx_shape_check_equal(call, "size 1 of 'rois'", 5, rois.dims[1]));
  out.dims[0] = rois.dims[0];
  for (size_t i = 2; i < 4; ++i) {
    int64_t low, high;
    out.dims[i] = call->integer(call->context, i + 1, 0);
    etx_dim_bounds(call, out.dims[i], &low, &high);
    if (low >= 0) continue;
    return etx_shape_refuse(call, "a pooled size is %i, expected at least 0",
                            low);
  }
  return call->output(call->context, 0, &out);
}
