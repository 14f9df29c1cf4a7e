// The gradients of a convolution. The gradient of the input is the convolution
// of the other form (plain for transposed and vice versa); that of the bias is
// a sum; that of the weight is, for each of its elements, the sum of the
// products of the inputs that it multiplied and the gradients of those results.

#include "runtime/kernels/convolution/convolution.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/registry/temporary_kernels.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/image/planes.h"
#include "runtime/kernels/core/parallel_for.h"

// The gradient of the weight pairs coarse position o with fine position o *
// stride - padding + k * dilation. Plain: coarse is the gradient of the result,
// fine the input; transposed: the other way round.
typedef struct weight_gradient {
  etx_volumes coarse, fine, out;
  int64_t coarse_channels, fine_channels;  // channels of one group
  etx_window windows[ETX_SPATIAL];         // from fine to coarse
  etx_compute_type wide;
} weight_gradient;

// Adds the products of two rows of at most ETX_BLOCK elements.
static void add_products(const weight_gradient* g, const char* coarse,
                         const char* fine, ptrdiff_t fine_step, size_t count,
                         etx_scalar* sum) {
  etx_block loaded[2];
  const void* a = etx_row_widen(&loaded[0], g->wide, g->coarse.dtype, coarse,
                                g->coarse.strides[2], count);
  const void* b =
      etx_row_widen(&loaded[1], g->wide, g->fine.dtype, fine, fine_step, count);
  if (g->wide == ETX_COMPUTE_F32) {
    sum->f32 += etx_striped_dot_f32(a, b, count);
    return;
  }
  const double* x = a;
  const double* y = b;
  for (size_t i = 0; i < count; ++i) sum->f64 += x[i] * y[i];
}

// One row of coarse positions with tap `tap` of the innermost dimension.
static void add_row(const weight_gradient* g, const char* coarse,
                    const char* fine, int64_t tap, etx_scalar* sum) {
  const etx_window* w = &g->windows[2];
  const etx_span span = etx_window_outputs(w, tap);
  const ptrdiff_t step = (ptrdiff_t)w->stride * g->fine.strides[2];
  for (int64_t x = span.first; x < span.end; x += ETX_BLOCK) {
    const int64_t left = span.end - x;
    const size_t count = left < ETX_BLOCK ? (size_t)left : ETX_BLOCK;
    const int64_t column = etx_window_start(w, x) + tap * w->dilation;
    // A step is taken between two elements only.
    add_products(g,
                 coarse + (ptrdiff_t)x * g->coarse.strides[2] * g->coarse.bytes,
                 fine + (ptrdiff_t)column * g->fine.strides[2] * g->fine.bytes,
                 step, count, sum);
  }
}

// All rows of a pair of volumes.
static void add_volume(const weight_gradient* g, const char* coarse,
                       const char* fine, const int64_t* tap, etx_scalar* sum) {
  const etx_window* w = g->windows;
  const etx_span depth = etx_window_outputs(&w[0], tap[0]);
  const etx_span height = etx_window_outputs(&w[1], tap[1]);
  for (int64_t z = depth.first; z < depth.end; ++z) {
    const int64_t fine_z = etx_window_start(&w[0], z) + tap[0] * w[0].dilation;
    for (int64_t y = height.first; y < height.end; ++y) {
      const int64_t fine_y =
          etx_window_start(&w[1], y) + tap[1] * w[1].dilation;
      const ptrdiff_t from = (ptrdiff_t)z * g->coarse.strides[0] +
                             (ptrdiff_t)y * g->coarse.strides[1];
      const ptrdiff_t with = (ptrdiff_t)fine_z * g->fine.strides[0] +
                             (ptrdiff_t)fine_y * g->fine.strides[1];
      add_row(g, coarse + from * g->coarse.bytes, fine + with * g->fine.bytes,
              tap[2], sum);
    }
  }
}

// Element `tap` of the weight between two channels.
static void weight_element(const weight_gradient* g, int64_t coarse_channel,
                           int64_t fine_in_group, const int64_t* tap) {
  const int64_t group = coarse_channel / g->coarse_channels;
  const int64_t fine_channel = group * g->fine_channels + fine_in_group;
  etx_scalar sum = {0};
  for (int64_t n = 0; n < g->coarse.images; ++n) {
    const ptrdiff_t coarse = (ptrdiff_t)n * g->coarse.image +
                             (ptrdiff_t)coarse_channel * g->coarse.channel;
    const ptrdiff_t fine = (ptrdiff_t)n * g->fine.image +
                           (ptrdiff_t)fine_channel * g->fine.channel;
    add_volume(g, g->coarse.data + coarse * g->coarse.bytes,
               g->fine.data + fine * g->fine.bytes, tap, &sum);
  }
  ptrdiff_t at = (ptrdiff_t)coarse_channel * g->out.image +
                 (ptrdiff_t)fine_in_group * g->out.channel;
  for (size_t d = 0; d < ETX_SPATIAL; ++d) {
    at += (ptrdiff_t)tap[d] * g->out.strides[d];
  }
  etx_convert(g->out.dtype, g->out.data + at * g->out.bytes, 1,
              etx_compute_type_dtype(g->wide), &sum, 1, 1);
}

static void weight_channels(const void* context, size_t first, size_t end) {
  const weight_gradient* g = context;
  const int64_t* sizes = g->out.sizes;
  for (size_t i = first; i < end; ++i) {
    const int64_t coarse = (int64_t)i / g->fine_channels;
    const int64_t fine = (int64_t)i % g->fine_channels;
    for (int64_t k = 0; k < sizes[0] * sizes[1] * sizes[2]; ++k) {
      const int64_t tap[] = {k / sizes[2] / sizes[1], k / sizes[2] % sizes[1],
                             k % sizes[2]};
      weight_element(g, coarse, fine, tap);
    }
  }
}

// Sum of one channel of the result's gradient.
static etx_scalar sum_channel(const etx_volumes* grad, etx_compute_type wide,
                              int64_t channel) {
  etx_scalar sum = {0};
  const int64_t rows = grad->sizes[0] * grad->sizes[1];
  for (int64_t i = 0; i < grad->images * rows; ++i) {
    const int64_t image = i / rows, z = i % rows / grad->sizes[1];
    const int64_t y = i % grad->sizes[1];
    const ptrdiff_t at =
        (ptrdiff_t)image * grad->image + (ptrdiff_t)channel * grad->channel +
        (ptrdiff_t)z * grad->strides[0] + (ptrdiff_t)y * grad->strides[1];
    for (int64_t x = 0; x < grad->sizes[2]; x += ETX_BLOCK) {
      const int64_t left = grad->sizes[2] - x;
      const size_t count = left < ETX_BLOCK ? (size_t)left : ETX_BLOCK;
      etx_block block;
      etx_block_load(
          &block, wide, grad->dtype,
          grad->data + (at + (ptrdiff_t)x * grad->strides[2]) * grad->bytes,
          grad->strides[2], count);
      if (!etx_is_f64(wide)) {
        sum.f32 += etx_striped_sum_f32(block.f32, count);
      } else {
        for (size_t k = 0; k < count; ++k) sum.f64 += block.f64[k];
      }
    }
  }
  return sum;
}

static void run_bias(const etx_volumes* grad, const etx_tensor* out) {
  const etx_compute_type wide = etx_compute_type_of(grad->dtype);
  char* to = out->data;
  for (int64_t i = 0; i < grad->channels; ++i) {
    const etx_scalar sum = sum_channel(grad, wide, i);
    etx_convert(out->dtype, to, 1, etx_compute_type_dtype(wide), &sum, 1, 1);
    to += out->strides[0] * (ptrdiff_t)etx_dtype_bytes(out->dtype);
  }
}

static bool wants(const etx_call* call, size_t gradient) {
  return etx_call_value(call, ETX_ARG_convolution_backward_output_mask)
                 ->as.booleans.items[gradient] != 0 &&
         etx_tensor_numel(etx_call_tensor(
             call, ETX_ARG_convolution_backward_out0 + gradient)) > 0;
}

// The gradient of the input as a convolution, without its windows.
static etx_convolution input_gradient(const etx_call* call) {
  const bool transposed =
      etx_call_boolean(call, ETX_ARG_convolution_backward_transposed);
  const etx_volumes grad = etx_volumes_of(
      etx_call_tensor(call, ETX_ARG_convolution_backward_grad_output));
  const etx_volumes weight = etx_volumes_of(
      etx_call_tensor(call, ETX_ARG_convolution_backward_weight));
  const etx_volumes out =
      etx_volumes_of(etx_call_tensor(call, ETX_ARG_convolution_backward_out0));
  return etx_convolution_of(
      &grad, &weight, &out,
      etx_call_integer(call, ETX_ARG_convolution_backward_groups), !transposed);
}

// Asked for before the shape rule has checked ranks and groups.
etx_status etx_temporary_convolution_backward(const etx_call* call,
                                              size_t* out_bytes) {
  const size_t ranks[] = {
      etx_call_tensor(call, ETX_ARG_convolution_backward_grad_output)->rank,
      etx_call_tensor(call, ETX_ARG_convolution_backward_weight)->rank,
      etx_call_tensor(call, ETX_ARG_convolution_backward_out0)->rank};
  *out_bytes = 0;
  if (ranks[0] < 3 || ranks[0] > 2 + ETX_SPATIAL || ranks[1] != ranks[0] ||
      ranks[2] != ranks[0] ||
      etx_call_integer(call, ETX_ARG_convolution_backward_groups) < 1) {
    return ETX_OK;
  }
  const etx_convolution c = input_gradient(call);
  return etx_convolution_temporary(&c, call, out_bytes);
}

static void run_input(const etx_call* call, const etx_window* windows) {
  etx_convolution c = input_gradient(call);
  for (size_t d = 0; d < ETX_SPATIAL; ++d) {
    c.windows[d] = windows[d];
    c.windows[d].in = windows[d].out;
    c.windows[d].out = windows[d].in;
  }
  etx_convolution_run(&c, call->parallel, call->temporary);
}

static void run_weight(const etx_call* call, const etx_window* windows,
                       bool transposed) {
  const etx_volumes grad = etx_volumes_of(
      etx_call_tensor(call, ETX_ARG_convolution_backward_grad_output));
  const etx_volumes input =
      etx_volumes_of(etx_call_tensor(call, ETX_ARG_convolution_backward_input));
  const etx_volumes out =
      etx_volumes_of(etx_call_tensor(call, ETX_ARG_convolution_backward_out1));
  const int64_t groups =
      etx_call_integer(call, ETX_ARG_convolution_backward_groups);
  weight_gradient g = {.coarse = transposed ? input : grad,
                       .fine = transposed ? grad : input,
                       .out = out,
                       .coarse_channels = out.images / groups,
                       .fine_channels = out.channels,
                       .wide = etx_compute_type_of(grad.dtype)};
  for (size_t d = 0; d < ETX_SPATIAL; ++d) {
    g.windows[d] = windows[d];
    g.windows[d].in = g.fine.sizes[d];
    g.windows[d].out = g.coarse.sizes[d];
  }
  const double work = (double)etx_tensor_numel(etx_call_tensor(
                          call, ETX_ARG_convolution_backward_grad_output)) *
                      (double)etx_tensor_numel(etx_call_tensor(
                          call, ETX_ARG_convolution_backward_out1));
  etx_parallel_for(call->parallel, (size_t)(out.images * out.channels), work,
                   weight_channels, &g);
}

// (grad_output, input, weight, bias_sizes, stride, padding, dilation,
// transposed, output_padding, groups, output_mask, grad_input, grad_weight,
// grad_bias)
static etx_status run_backward(etx_call* call) {
  const etx_tensor* input =
      etx_call_tensor(call, ETX_ARG_convolution_backward_input);
  const etx_volumes grad = etx_volumes_of(
      etx_call_tensor(call, ETX_ARG_convolution_backward_grad_output));
  const etx_volumes in = etx_volumes_of(input);
  const etx_volumes weight = etx_volumes_of(
      etx_call_tensor(call, ETX_ARG_convolution_backward_weight));
  const bool transposed =
      etx_call_boolean(call, ETX_ARG_convolution_backward_transposed);
  etx_window windows[ETX_SPATIAL];
  etx_windows_read(call, 4, &in, &grad, &weight, windows);
  if (wants(call, 0)) run_input(call, windows);
  if (wants(call, 1)) run_weight(call, windows, transposed);
  if (wants(call, 2))
    run_bias(&grad, etx_call_tensor(call, ETX_ARG_convolution_backward_out2));
  return ETX_OK;
}

etx_status etx_kernel_convolution_backward_out_prepare(etx_call* call) {
  const etx_compute_type wide = etx_compute_type_of(
      etx_call_tensor(call, ETX_ARG_convolution_backward_grad_output)->dtype);
  if (wide != ETX_COMPUTE_F32 && wide != ETX_COMPUTE_F64) {
    return etx_call_refuse_dtype(call, ETX_ARG_convolution_backward_grad_output,
                                 "a float");
  }
  ETX_TRY(etx_call_check_same_dtype(call,
                                    ETX_ARG_convolution_backward_grad_output,
                                    ETX_ARG_convolution_backward_input));
  ETX_TRY(etx_call_check_same_dtype(call,
                                    ETX_ARG_convolution_backward_grad_output,
                                    ETX_ARG_convolution_backward_weight));
  for (size_t i = 0; i < 3; ++i) {
    ETX_TRY(etx_call_check_same_dtype(call,
                                      ETX_ARG_convolution_backward_grad_output,
                                      ETX_ARG_convolution_backward_out0 + i));
  }
  if (!etx_call_is_again(call)) {
    ETX_TRY(etx_temporary_convolution_backward(call, &call->temporary_bytes));
  }
  call->run = run_backward;
  return ETX_OK;
}
