// Images as batches of channels of planes, in any memory format (NCHW, channels
// last, or other strides).

#ifndef ETX_RUNTIME_KERNELS_IMAGE_PLANES_H
#define ETX_RUNTIME_KERNELS_IMAGE_PLANES_H

#include "runtime/kernels/core/convert.h"
#include "runtime/tensor.h"

typedef struct etx_planes {
  char* data;
  etx_dtype dtype;
  ptrdiff_t bytes;  // bytes of an element
  int64_t images, channels, rows, columns;
  ptrdiff_t image, channel, row, column;  // strides in elements
} etx_planes;

// The planes of a tensor [batch, channels, rows, columns] or [channels, rows,
// columns].
static inline etx_planes etx_planes_of(const etx_tensor* tensor) {
  const size_t r = tensor->rank;
  const int32_t* sizes = tensor->sizes;
  const int32_t* strides = tensor->strides;
  const etx_planes planes = {
      .data = tensor->data,
      .dtype = tensor->dtype,
      .bytes = (ptrdiff_t)etx_dtype_bytes(tensor->dtype),
      .images = r == 4 ? sizes[0] : 1,
      .channels = sizes[r - 3],
      .rows = sizes[r - 2],
      .columns = sizes[r - 1],
      .image = r == 4 ? strides[0] : 0,
      .channel = strides[r - 3],
      .row = strides[r - 2],
      .column = strides[r - 1],
  };
  return planes;
}

// Element (0, 0) of a plane.
static inline char* etx_planes_at(const etx_planes* p, int64_t image,
                                  int64_t channel) {
  const ptrdiff_t at =
      (ptrdiff_t)image * p->image + (ptrdiff_t)channel * p->channel;
  return p->data + at * p->bytes;
}

// True if the channels of an element are contiguous (channels last). The
// innermost loop then runs over channels.
static inline bool etx_planes_are_channels_last(const etx_planes* p) {
  return p->channels > 1 && p->channel == 1 && p->column != 1;
}

// At most ETX_BLOCK elements, `stride` elements apart, in the compute type: in
// place if they are contiguous and have this type, otherwise converted to
// `block`.
static inline const void* etx_row_widen(etx_block* block,
                                        etx_compute_type compute,
                                        etx_dtype dtype, const void* data,
                                        ptrdiff_t stride, size_t count) {
  if (stride == 1 && dtype == etx_compute_type_dtype(compute)) return data;
  etx_block_load(block, compute, dtype, data, stride, count);
  return block;
}

#endif
