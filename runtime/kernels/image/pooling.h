// What pooling over windows of a plane shares: how the results are cut into
// blocks, and how the input's elements for a tap of the window are found.
//
// Results that lie side by side are the lanes of a block: each tap of the
// window is one row of elements, one for each lane. Where channels lie
// innermost, they are the lanes. Windows that are wide for their result (up to
// all of the input) make blocks of one lane, which are gone through by row.

#ifndef ETX_RUNTIME_KERNELS_IMAGE_POOLING_H
#define ETX_RUNTIME_KERNELS_IMAGE_POOLING_H

#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/image/planes.h"
#include "runtime/kernels/image/window.h"

typedef struct etx_pooling {
  etx_planes in, out;
  etx_window y, x;
  etx_compute_type wide;
  bool has_lanes;           // else blocks have one lane
  bool are_lanes_channels;  // else columns of the result
} etx_pooling;

// A block of results: of columns from `x` on, or channels from `channel` on.
typedef struct etx_pooling_lanes {
  size_t count;  // at most ETX_BLOCK
  int64_t image, channel, y, x;
  const char* in;     // element (0, 0) of the first lane's input plane
  ptrdiff_t in_step;  // between lanes, in elements
  bool are_inside;    // every tap of every lane lies inside its row
} etx_pooling_lanes;

// Elements of some lanes.
typedef struct etx_pooling_elements {
  const void* data;  // of the wide type, densely
  size_t first;      // lane of the first element
  size_t count;
} etx_pooling_elements;

typedef void (*etx_pooling_function)(const void* context,
                                     const etx_pooling_lanes* lanes);

// Reads input, output (arguments 0 and `out`) and the window's lists from
// argument `first` on: kernel size, stride, padding, and dilation if
// `has_dilation`.
etx_pooling etx_pooling_read(const etx_call* call, size_t out, size_t first,
                             bool has_dilation);

// Calls `function` for every block of results, on several threads.
void etx_pooling_run(const etx_pooling* pool, const etx_parallel* parallel,
                     etx_pooling_function function, const void* context);

// The input row that tap row `ky` sees; it must lie inside.
static inline const char* etx_pooling_row(const etx_pooling* p,
                                          const etx_pooling_lanes* l,
                                          int64_t ky) {
  const int64_t y = etx_window_start(&p->y, l->y) + ky * p->y.dilation;
  return l->in + (ptrdiff_t)y * p->in.row * p->in.bytes;
}

// The elements of a row that tap column `kx` sees, through `block` where they
// are not of the wide type or not dense.
etx_pooling_elements etx_pooling_tap(const etx_pooling* p,
                                     const etx_pooling_lanes* l,
                                     const char* row, int64_t kx,
                                     etx_block* block);

// Where the first lane's result lies in planes like those of the output.
static inline char* etx_pooling_place(const etx_planes* planes,
                                      const etx_pooling_lanes* l) {
  return etx_planes_at(planes, l->image, l->channel) +
         ((ptrdiff_t)l->y * planes->row + (ptrdiff_t)l->x * planes->column) *
             planes->bytes;
}

// From one lane's result to the next, in elements.
static inline ptrdiff_t etx_pooling_step(const etx_pooling* p,
                                         const etx_planes* planes) {
  return p->are_lanes_channels ? planes->channel : planes->column;
}

// Column of the result that a lane stands for.
static inline int64_t etx_pooling_column(const etx_pooling* p,
                                         const etx_pooling_lanes* l,
                                         size_t lane) {
  return l->x + (p->are_lanes_channels ? 0 : (int64_t)lane);
}

// Lane `lane` of a block.
static inline void* etx_pooling_lane(etx_block* block, etx_compute_type wide,
                                     size_t lane) {
  const size_t bytes = wide == ETX_COMPUTE_F32 ? sizeof(float) : sizeof(double);
  return (char*)block + lane * bytes;
}

#endif
