// Shape functions of convolution, plain and transposed, and of its gradients.

#include "format/shapes/op_shapes_internal.h"

// One spatial dimension of the kernel.
typedef struct conv_window {
  etx_dim kernel;
  int64_t stride;
  int64_t padding;
  int64_t dilation;
  int64_t output_padding;  // of a transposed convolution
} conv_window;

// Positions of the arguments that convolution and its backward have in common.
typedef struct conv_arguments {
  size_t stride, padding, dilation, transposed, output_padding, groups;
} conv_arguments;

static const conv_arguments forward_arguments = {3, 4, 5, 6, 7, 8};
static const conv_arguments backward_arguments = {4, 5, 6, 7, 8, 9};

// (in + 2 padding - dilation (kernel - 1) - 1) / stride + 1
static etx_status forward_size(const etx_shape_call* call, const conv_window* w,
                               etx_dim in, etx_dim* out) {
  etx_dim reach, span;
  ETX_TRY(etx_dim_subtract(call, w->kernel, 1, &reach));
  ETX_TRY(etx_dim_multiply(call, reach, w->dilation, &reach));
  ETX_TRY(etx_dim_add(call, in, 2 * w->padding - 1, &span));
  ETX_TRY(etx_dim_subtract(call, span, reach, &span));
  if (etx_dim_is_below(call, span, 0)) {
    return etx_shape_refuse(call,
                            "the window is larger than the padded size "
                            "%i",
                            etx_dim_for_message(call, in) + 2 * w->padding);
  }
  ETX_TRY(etx_dim_floor_divide(call, span, w->stride, &span));
  return etx_dim_add(call, span, 1, out);
}

// (in - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1
static etx_status transposed_size(const etx_shape_call* call,
                                  const conv_window* w, etx_dim in,
                                  etx_dim least, etx_dim* out) {
  if (w->output_padding >= w->stride && w->output_padding >= w->dilation) {
    return etx_shape_refuse(call,
                            "the output padding is %i, expected less than "
                            "the stride %i or the dilation %i",
                            w->output_padding, w->stride, w->dilation);
  }
  etx_dim size, reach;
  ETX_TRY(etx_dim_subtract(call, in, 1, &size));
  ETX_TRY(etx_dim_multiply(call, size, w->stride, &size));
  ETX_TRY(etx_dim_subtract(call, w->kernel, 1, &reach));
  ETX_TRY(etx_dim_multiply(call, reach, w->dilation, &reach));
  ETX_TRY(etx_dim_add(call, size, reach, &size));
  const int64_t constant = w->output_padding + 1 - 2 * w->padding;
  ETX_TRY(etx_dim_add(call, size, constant, out));
  if (!etx_dim_is_below(call, *out, least)) return ETX_OK;
  return etx_shape_refuse(call, "the result's size is %i, expected more",
                          etx_dim_for_message(call, *out));
}

// Channels of a convolution: in and out, checked against the groups.
static etx_status channels(const etx_shape_call* call, const conv_arguments* p,
                           const etx_shape* input, const etx_shape* weight,
                           bool transposed, etx_dim* out) {
  int64_t groups;
  ETX_TRY(etx_shape_number(call, p->groups, 0, &groups));
  if (groups <= 0) {
    return etx_shape_refuse(call, "there are %i groups, expected at least 1",
                            groups);
  }
  etx_dim expected;
  ETX_TRY(etx_dim_multiply(call, weight->dims[transposed ? 0 : 1],
                           transposed ? 1 : groups, &expected));
  ETX_TRY(etx_shape_check_equal(call, "the number of input channels", expected,
                                input->dims[1]));
  ETX_TRY(etx_dim_multiply(call, weight->dims[transposed ? 1 : 0],
                           transposed ? groups : 1, out));
  const etx_dim divided = weight->dims[0];
  if (etx_shape_is_number(call, divided) && divided % groups != 0) {
    return etx_shape_refuse(call, "%i channels do not divide into %i groups",
                            divided, groups);
  }
  return ETX_OK;
}

static etx_status spatial_size(const etx_shape_call* call,
                               const conv_arguments* p, const etx_shape* input,
                               const etx_shape* weight, size_t i,
                               etx_dim* out) {
  const etx_spatial_dim at = {(size_t)input->rank - 2, i};
  const etx_dim in = input->dims[2 + i];
  conv_window w = {.kernel = weight->dims[2 + i]};
  ETX_TRY(etx_shape_spatial(call, p->stride, "the stride", at, 1, &w.stride));
  ETX_TRY(
      etx_shape_spatial(call, p->padding, "the padding", at, 0, &w.padding));
  ETX_TRY(
      etx_shape_spatial(call, p->dilation, "the dilation", at, 1, &w.dilation));
  if (!etx_shape_boolean(call, p->transposed)) {
    return forward_size(call, &w, in, out);
  }
  ETX_TRY(etx_shape_spatial(call, p->output_padding, "the output padding", at,
                            0, &w.output_padding));
  // With a batch of 0 the result may be empty.
  const etx_dim least = etx_dim_is(call, input->dims[0], 0) ? 0 : 1;
  return transposed_size(call, &w, in, least, out);
}

// The sizes of the result.
static etx_status result(const etx_shape_call* call, const conv_arguments* p,
                         const etx_shape* input, const etx_shape* weight,
                         etx_shape* out) {
  if (input->rank < 3 || input->rank > 5) {
    return etx_shape_refuse(call, "rank of 'input' is %i, expected 3 to 5",
                            (int64_t)input->rank);
  }
  ETX_TRY(etx_shape_check_rank(call, "weight", weight, input->rank));
  *out = *input;
  ETX_TRY(channels(call, p, input, weight,
                   etx_shape_boolean(call, p->transposed), &out->dims[1]));
  const size_t spatial = (size_t)input->rank - 2;
  for (size_t i = 0; i < spatial; ++i) {
    ETX_TRY(spatial_size(call, p, input, weight, i, &out->dims[2 + i]));
  }
  return ETX_OK;
}

static etx_status check_bias(const etx_shape_call* call, const etx_shape* out) {
  etx_shape bias;
  if (etx_shape_is_none(call, 2)) return ETX_OK;
  ETX_TRY(etx_shape_tensor(call, 2, &bias));
  ETX_TRY(etx_shape_check_rank(call, "bias", &bias, 1));
  return etx_shape_check_equal(call, "the size of 'bias'", out->dims[1],
                               bias.dims[0]);
}

static etx_status forward(const etx_shape_call* call, etx_shape* out) {
  etx_shape input, weight;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(etx_shape_tensor(call, 1, &weight));
  ETX_TRY(result(call, &forward_arguments, &input, &weight, out));
  return check_bias(call, out);
}

// (input, weight, bias, stride, padding, dilation, transposed,
// output_padding, groups)
etx_status etx_shape_convolution(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(forward(call, &out));
  return call->output(call->context, 0, &out);
}

// The same, followed by (others, steps)
etx_status etx_shape_convolution_chain(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(forward(call, &out));
  ETX_TRY(etx_shape_check_others(call, 9, &out));
  return call->output(call->context, 0, &out);
}

enum { PANEL_CHANNELS = 16 };

// The sizes of the weight before it was packed to [O / 16, I / groups,
// kernel.., 16].
static etx_status unpacked_weight(const etx_shape_call* call,
                                  const etx_shape* input, etx_shape* weight) {
  int64_t groups;
  etx_shape panels;
  if (input->rank < 3 || input->rank > 4) {
    return etx_shape_refuse(call, "rank of 'input' is %i, expected 3 or 4",
                            (int64_t)input->rank);
  }
  ETX_TRY(etx_shape_tensor(call, 1, &panels));
  ETX_TRY(etx_shape_check_rank(call, "panels", &panels, input->rank + 1u));
  ETX_TRY(etx_shape_check_equal(call, "the last size of 'panels'",
                                PANEL_CHANNELS, panels.dims[input->rank]));
  ETX_TRY(etx_shape_number(call, forward_arguments.groups, 0, &groups));
  const etx_dim count = panels.dims[0];
  if (groups <= 0 || !etx_shape_is_number(call, count) || count % groups != 0) {
    return etx_shape_refuse(call, "'panels' do not divide into %i groups",
                            groups);
  }
  *weight = panels;
  weight->rank = input->rank;
  if (etx_shape_boolean(call, forward_arguments.transposed)) {
    ETX_TRY(etx_dim_multiply(call, panels.dims[1], groups, &weight->dims[0]));
    weight->dims[1] = count / groups * PANEL_CHANNELS;
    return ETX_OK;
  }
  return etx_dim_multiply(call, count, PANEL_CHANNELS, &weight->dims[0]);
}

// (input, panels, bias, stride, padding, dilation, transposed, output_padding,
// groups, others, steps)
etx_status etx_shape_convolution_packed(etx_shape_call* call) {
  etx_shape input, weight, out;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(unpacked_weight(call, &input, &weight));
  ETX_TRY(result(call, &forward_arguments, &input, &weight, &out));
  ETX_TRY(check_bias(call, &out));
  ETX_TRY(etx_shape_check_others(call, 9, &out));
  return call->output(call->context, 0, &out);
}

// (input [N, I, H, W], panels [O / 16, I, kernel, kernel, 16], bias, ..): the
// result; its last two sizes are still those of the input.
static etx_status panels_result(const etx_shape_call* call, int64_t kernel,
                                etx_shape* out) {
  const etx_dim lasts[] = {kernel, kernel, PANEL_CHANNELS};
  etx_shape panels;
  ETX_TRY(etx_shape_tensor(call, 0, out));
  ETX_TRY(etx_shape_tensor(call, 1, &panels));
  ETX_TRY(etx_shape_check_rank(call, "input", out, 4));
  ETX_TRY(etx_shape_check_rank(call, "panels", &panels, 5));
  ETX_TRY(etx_shape_check_equal(call, "the number of input channels",
                                panels.dims[1], out->dims[1]));
  if (etx_dim_is(call, panels.dims[1], 0)) {
    return etx_shape_refuse(call, "'panels' has no input channels");
  }
  for (size_t i = 0; i < 3; ++i) {
    ETX_TRY(etx_shape_check_equal(call, "a last size of 'panels'", lasts[i],
                                  panels.dims[2 + i]));
  }
  ETX_TRY(
      etx_dim_multiply(call, panels.dims[0], PANEL_CHANNELS, &out->dims[1]));
  return check_bias(call, out);
}

// (.., others, steps)
etx_status etx_shape_convolution_panels(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(panels_result(call, 1, &out));
  ETX_TRY(etx_shape_check_others(call, 3, &out));
  return call->output(call->context, 0, &out);
}

// (.., padding, others, steps)
etx_status etx_shape_convolution_winograd(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(panels_result(call, 3, &out));
  for (size_t i = 0; i < 2; ++i) {
    conv_window w = {.kernel = 3, .stride = 1, .dilation = 1};
    ETX_TRY(etx_shape_spatial(call, 3, "the padding", (etx_spatial_dim){2, i},
                              0, &w.padding));
    ETX_TRY(forward_size(call, &w, out.dims[2 + i], &out.dims[2 + i]));
  }
  ETX_TRY(etx_shape_check_others(call, 4, &out));
  return call->output(call->context, 0, &out);
}

// ------------------------------------------------ uint8 images

// An image [N, H, W, C] with a fixed number of channels.
static etx_status byte_image(const etx_shape_call* call, etx_shape* out) {
  ETX_TRY(etx_shape_tensor(call, 0, out));
  ETX_TRY(etx_shape_check_rank(call, "input", out, 4));
  int64_t zero;
  ETX_TRY(etx_shape_number(call, 1, 0, &zero));
  if (zero < 0 || zero > UINT8_MAX) {
    return etx_shape_refuse(call, "the zero point is %i, expected 0 to 255",
                            zero);
  }
  if (etx_shape_is_number(call, out->dims[3]) && out->dims[3] > 0) {
    return ETX_OK;
  }
  return etx_shape_refuse(call, "'input' has no fixed number of channels");
}

// The size of dimension `1 + i` of a result; (stride, padding, dilation) are
// the arguments from `first` on.
static etx_status byte_size(const etx_shape_call* call, size_t first, size_t i,
                            int64_t kernel, etx_dim* size) {
  conv_window w = {.kernel = kernel};
  ETX_TRY(etx_shape_spatial(call, first, "the stride", (etx_spatial_dim){2, i},
                            1, &w.stride));
  ETX_TRY(etx_shape_spatial(call, first + 1, "the padding",
                            (etx_spatial_dim){2, i}, 0, &w.padding));
  ETX_TRY(etx_shape_spatial(call, first + 2, "the dilation",
                            (etx_spatial_dim){2, i}, 1, &w.dilation));
  return forward_size(call, &w, *size, size);
}

// (input, zero_point, panels, offsets, scales, bias, kernel_size, stride,
// padding, dilation, groups, out_zero_point, out_min, out_max, dtype)
etx_status etx_shape_convolution_u8(etx_shape_call* call) {
  etx_shape out;
  int64_t channels, groups;
  etx_dim inner, panels;
  ETX_TRY(byte_image(call, &out));
  ETX_TRY(etx_shape_u8_channels(call, 3, &channels));
  ETX_TRY(etx_shape_number(call, 10, 0, &groups));
  if (groups < 1 || channels % groups != 0 || out.dims[3] % groups != 0) {
    return etx_shape_refuse(call,
                            "%i and %i channels do not divide into %i groups",
                            out.dims[3], channels, groups);
  }
  inner = out.dims[3] / groups;
  for (size_t i = 0; i < 2; ++i) {
    int64_t kernel;
    ETX_TRY(etx_shape_spatial(call, 6, "the kernel size",
                              (etx_spatial_dim){2, i}, 1, &kernel));
    ETX_TRY(byte_size(call, 7, i, kernel, &out.dims[1 + i]));
    ETX_TRY(etx_dim_multiply(call, inner, kernel, &inner));
  }
  const int64_t own = channels / groups;
  ETX_TRY(
      etx_dim_multiply(call, groups, (own - 1) / PANEL_CHANNELS + 1, &panels));
  ETX_TRY(etx_shape_check_panels(call, 2, panels, inner));
  ETX_TRY(etx_shape_u8_result(call, 11, &out.dtype));
  out.dims[3] = channels;
  return call->output(call->context, 0, &out);
}

// (input, zero_point, weight [H, W, C], offsets, scales, bias, stride, padding,
// dilation, out_zero_point, out_min, out_max, dtype)
etx_status etx_shape_depthwise_u8(etx_shape_call* call) {
  etx_shape out, weight;
  int64_t channels;
  ETX_TRY(byte_image(call, &out));
  ETX_TRY(etx_shape_u8_channels(call, 3, &channels));
  ETX_TRY(etx_shape_tensor(call, 2, &weight));
  ETX_TRY(etx_shape_check_rank(call, "weight", &weight, 3));
  ETX_TRY(etx_shape_check_equal(call, "the channels of 'weight'", out.dims[3],
                                weight.dims[2]));
  ETX_TRY(etx_shape_check_equal(call, "the size of 'offsets'", out.dims[3],
                                channels));
  etx_dim taps = 1;
  for (size_t i = 0; i < 2; ++i) {
    const etx_dim kernel = weight.dims[i];
    if (!etx_shape_is_number(call, kernel) || kernel < 1) {
      return etx_shape_refuse(call, "'weight' has no fixed window");
    }
    ETX_TRY(etx_dim_multiply(call, taps, kernel, &taps));
    ETX_TRY(byte_size(call, 6, i, kernel, &out.dims[1 + i]));
  }
  ETX_TRY(etx_shape_u8_check_exact(call, taps));
  ETX_TRY(etx_shape_u8_result(call, 9, &out.dtype));
  return call->output(call->context, 0, &out);
}

// ------------------------------------------------ gradients

// A gradient that the mask does not request has no elements.
static etx_status put_gradient(const etx_shape_call* call, size_t index,
                               const etx_shape* shape) {
  const etx_shape none = {shape->dtype, 1, {0}};
  int64_t requested = 0;
  ETX_TRY(etx_shape_number(call, 10, index, &requested));
  return call->output(call->context, index, requested != 0 ? shape : &none);
}

// (grad_output, input, weight, bias_sizes, stride, padding, dilation,
// transposed, output_padding, groups, output_mask)
etx_status etx_shape_convolution_backward(etx_shape_call* call) {
  etx_shape grad, input, weight, out;
  ETX_TRY(etx_shape_tensor(call, 0, &grad));
  ETX_TRY(etx_shape_tensor(call, 1, &input));
  ETX_TRY(etx_shape_tensor(call, 2, &weight));
  ETX_TRY(result(call, &backward_arguments, &input, &weight, &out));
  ETX_TRY(etx_shape_check_rank(call, "grad_output", &grad, out.rank));
  for (size_t i = 0; i < out.rank; ++i) {
    ETX_TRY(etx_shape_check_equal(call, "a size of 'grad_output'", out.dims[i],
                                  grad.dims[i]));
  }
  const size_t count = call->list_count(call->context, 10);
  if (count != 3) {
    return etx_shape_refuse(call, "'output_mask' has %i entries, expected 3",
                            (int64_t)count);
  }
  const etx_shape bias = {input.dtype, 1, {out.dims[1]}};
  ETX_TRY(put_gradient(call, 0, &input));
  ETX_TRY(put_gradient(call, 1, &weight));
  return put_gradient(call, 2, &bias);
}
