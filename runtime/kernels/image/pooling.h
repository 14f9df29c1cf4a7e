// The loop structure of pooling: results are split into blocks of lanes, and
// each tap of the window gives one input element for each lane.
//
// The lanes are neighbouring columns of the result, or the channels of one
// result if the memory format is channels last. If windows are wide compared
// with the result, as in global pooling, blocks have one lane, and the kernel
// reads whole rows of a window instead.

#ifndef ETX_RUNTIME_KERNELS_IMAGE_POOLING_H
#define ETX_RUNTIME_KERNELS_IMAGE_POOLING_H

#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/image/planes.h"
#include "runtime/kernels/image/window.h"

typedef struct etx_pooling {
  etx_planes in, out;
  etx_window y, x;
  etx_compute_type compute;
  bool has_lanes;           // false: blocks have one lane
  bool are_lanes_channels;  // false: lanes are columns of the result
} etx_pooling;

// A block of results: columns from `x` on, or channels from `channel` on.
typedef struct etx_pooling_lanes {
  size_t count;  // at most ETX_BLOCK
  int64_t image, channel, y, x;
  const char* in;     // element (0, 0) of the first lane's input plane
  ptrdiff_t in_step;  // between lanes, in elements
  bool are_inside;    // every tap of every lane lies inside its row
} etx_pooling_lanes;

// The input elements of one tap for consecutive lanes.
typedef struct etx_pooling_elements {
  const void* data;  // contiguous, of the compute type
  size_t first;      // lane of the first element
  size_t count;
} etx_pooling_elements;

typedef void (*etx_pooling_function)(const void* context,
                                     const etx_pooling_lanes* lanes);

// Reads the input (argument 0), the output (argument `out`) and the lists of
// the window, from argument `first` on: kernel size, stride, padding and, if
// has_dilation, dilation.
etx_pooling etx_pooling_read(const etx_call* call, size_t out, size_t first,
                             bool has_dilation);

// Calls `function` for every block of results, from several threads.
void etx_pooling_run(const etx_pooling* pooling, const etx_parallel* parallel,
                     etx_pooling_function function, const void* context);

// The input row of tap row `ky`, which must lie inside the image.
static inline const char* etx_pooling_row(const etx_pooling* p,
                                          const etx_pooling_lanes* l,
                                          int64_t ky) {
  const int64_t y = etx_window_start(&p->y, l->y) + ky * p->y.dilation;
  return l->in + (ptrdiff_t)y * p->in.row * p->in.bytes;
}

// The elements of `row` at tap column `kx`. They are converted to `block`
// unless they are contiguous and of the compute type.
etx_pooling_elements etx_pooling_tap(const etx_pooling* p,
                                     const etx_pooling_lanes* l,
                                     const char* row, int64_t kx,
                                     etx_block* block);

// The address of the result of the first lane in `planes`, which are those of
// an output.
static inline char* etx_pooling_place(const etx_planes* planes,
                                      const etx_pooling_lanes* l) {
  return etx_planes_at(planes, l->image, l->channel) +
         ((ptrdiff_t)l->y * planes->row + (ptrdiff_t)l->x * planes->column) *
             planes->bytes;
}

// The distance of the results of neighbouring lanes in `planes`, in elements.
static inline ptrdiff_t etx_pooling_step(const etx_pooling* p,
                                         const etx_planes* planes) {
  return p->are_lanes_channels ? planes->channel : planes->column;
}

// The column of the output that a lane computes.
static inline int64_t etx_pooling_column(const etx_pooling* p,
                                         const etx_pooling_lanes* l,
                                         size_t lane) {
  return l->x + (p->are_lanes_channels ? 0 : (int64_t)lane);
}

// The address of a lane in a block of the compute type.
static inline void* etx_pooling_lane(etx_block* block, etx_compute_type compute,
                                     size_t lane) {
  const size_t bytes =
      compute == ETX_COMPUTE_F32 ? sizeof(float) : sizeof(double);
  return (char*)block + lane * bytes;
}

#endif
