#include "runtime/kernels/convolution/convolution.h"

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

void etx_windows_read(const etx_call* call, size_t first, const etx_volumes* in,
                      const etx_volumes* out, const etx_volumes* weight,
                      etx_window* windows) {
  const size_t missing = ETX_SPATIAL + 2u - etx_call_tensor(call, 0)->rank;
  for (size_t d = 0; d < ETX_SPATIAL; ++d) {
    etx_window* w = &windows[d];
    *w = (etx_window){in->sizes[d], out->sizes[d], weight->sizes[d], 1, 0, 1};
    if (d < missing) continue;
    w->stride = etx_call_list_item(call, first, d - missing);
    w->padding = etx_call_list_item(call, first + 1, d - missing);
    w->dilation = etx_call_list_item(call, first + 2, d - missing);
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
