// One spatial dimension of pooling or convolution. Result position o reads the
// input positions o * stride - padding + k * dilation for each tap k of the
// window. Positions outside the input are padding.

#ifndef ETX_RUNTIME_KERNELS_IMAGE_WINDOW_H
#define ETX_RUNTIME_KERNELS_IMAGE_WINDOW_H

#include "runtime/kernel.h"

typedef struct etx_window {
  int64_t in, out;  // sizes
  int64_t kernel;   // taps
  int64_t stride, padding, dilation;
} etx_window;

// A range [first, end), empty if first >= end.
typedef struct etx_span {
  int64_t first, end;
} etx_span;

// Entry `item` of a list. A list with one entry applies to all dimensions.
static inline int64_t etx_call_list_item(const etx_call* call, size_t argument,
                                         size_t item) {
  const size_t count = etx_call_value(call, argument)->as.integers.count;
  return etx_call_item(call, argument, count == 1 ? 0 : item);
}

// a / b, rounded up, for b > 0.
static inline int64_t etx_ceil_div(int64_t a, int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

// The input position of tap 0.
static inline int64_t etx_window_start(const etx_window* w, int64_t out) {
  return out * w->stride - w->padding;
}

// The taps of result position `out` that lie inside the input. Even if there
// are none, `first` is the number of taps before the input.
static inline etx_span etx_window_taps(const etx_window* w, int64_t out) {
  const int64_t start = etx_window_start(w, out);
  etx_span taps = {start < 0 ? etx_ceil_div(-start, w->dilation) : 0,
                   etx_ceil_div(w->in - start, w->dilation)};
  if (taps.end > w->kernel) taps.end = w->kernel;
  return taps;
}

// The result positions whose tap `tap` lies inside the input.
static inline etx_span etx_window_outputs(const etx_window* w, int64_t tap) {
  const int64_t offset = tap * w->dilation - w->padding;
  etx_span outputs = {offset < 0 ? etx_ceil_div(-offset, w->stride) : 0,
                      etx_ceil_div(w->in - offset, w->stride)};
  if (outputs.end > w->out) outputs.end = w->out;
  return outputs;
}

#endif
