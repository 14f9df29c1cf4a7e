// The convolution operator: reads the call into one convolution.

#include "runtime/kernels/convolution.h"

#include "runtime/kernels/kernels.h"

etx_volumes etx_volumes_of(const etx_tensor* tensor) {
  etx_volumes v = {.data = tensor->data,
                   .dtype = tensor->dtype,
                   .bytes = (ptrdiff_t)etx_dtype_bytes(tensor->dtype),
                   .images = tensor->sizes[0],
                   .channels = tensor->sizes[1],
                   .image = tensor->strides[0],
                   .channel = tensor->strides[1]};
  const size_t missing = ETX_SPATIAL + 2u - tensor->rank;
  for (size_t d = 0; d < ETX_SPATIAL; ++d) {
    const bool exists = d >= missing;
    v.sizes[d] = exists ? tensor->sizes[2 + d - missing] : 1;
    v.strides[d] = exists ? tensor->strides[2 + d - missing] : 0;
  }
  return v;
}

void etx_windows_read(const etx_call* call, size_t first, size_t spatial,
                      const etx_volumes* in, const etx_volumes* out,
                      const etx_volumes* weight, etx_window* windows) {
  const size_t missing = ETX_SPATIAL - spatial;
  for (size_t d = 0; d < ETX_SPATIAL; ++d) {
    etx_window* w = &windows[d];
    *w = (etx_window){in->sizes[d], out->sizes[d], weight->sizes[d], 1, 0, 1};
    if (d < missing) continue;
    w->stride = etx_call_listed(call, first, d - missing);
    w->padding = etx_call_listed(call, first + 1, d - missing);
    w->dilation = etx_call_listed(call, first + 2, d - missing);
  }
}

etx_convolution etx_convolution_of(const etx_volumes* in,
                                   const etx_volumes* weight,
                                   const etx_volumes* out, int64_t groups,
                                   bool transposed) {
  const int64_t rows = weight->images / groups;
  const etx_convolution c = {
      .in = *in,
      .out = *out,
      .weight = *weight,
      .weight_group = (ptrdiff_t)rows * weight->image,
      .weight_out = transposed ? weight->channel : weight->image,
      .weight_in = transposed ? weight->image : weight->channel,
      .groups = groups,
      .in_channels = transposed ? rows : weight->channels,
      .out_channels = transposed ? weight->channels : rows,
      .transposed = transposed};
  return c;
}

// (input, weight, bias, stride, padding, dilation, transposed,
// output_padding, groups, out)
static etx_status run_convolution(etx_call* call) {
  const etx_tensor* input = etx_call_tensor(call, 0);
  const etx_volumes in = etx_volumes_of(input);
  const etx_volumes weight = etx_volumes_of(etx_call_tensor(call, 1));
  const etx_volumes out = etx_volumes_of(etx_call_tensor(call, 9));
  if (etx_tensor_numel(etx_call_tensor(call, 9)) == 0) return ETX_OK;
  etx_convolution c = etx_convolution_of(
      &in, &weight, &out, etx_call_integer(call, 8), etx_call_boolean(call, 6));
  if (!etx_call_is_none(call, 2)) c.bias = etx_call_tensor(call, 2);
  etx_windows_read(call, 3, input->rank - 2u, &in, &out, &weight, c.windows);
  etx_convolution_run(&c, call->parallel);
  return ETX_OK;
}

etx_status etx_kernel_convolution_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_real(call, 0));
  if (etx_call_tensor(call, 0)->dtype == ETX_DTYPE_BOOL) {
    return etx_call_refuse_dtype(call, 0, "numbers");
  }
  ETX_TRY(etx_call_check_same_dtype(call, 0, 1));
  if (!etx_call_is_none(call, 2)) {
    ETX_TRY(etx_call_check_same_dtype(call, 0, 2));
  }
  call->run = run_convolution;
  return etx_call_check_same_dtype(call, 0, 9);
}
