// One convolution over one to three dimensions, plain or transposed, over
// tensors of any strides. The operator and its gradients are made of it.

#ifndef ETX_RUNTIME_KERNELS_CONVOLUTION_CONVOLUTION_H
#define ETX_RUNTIME_KERNELS_CONVOLUTION_CONVOLUTION_H

#include "runtime/kernels/core/chain.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/image/window.h"

// Missing dimensions have size 1 and come first.
enum { ETX_SPATIAL = 3 };

typedef struct etx_volumes {
  char* data;
  etx_dtype dtype;
  ptrdiff_t bytes;  // bytes of an element
  int64_t images, channels;
  int64_t sizes[ETX_SPATIAL];
  ptrdiff_t image, channel;  // strides in elements
  ptrdiff_t strides[ETX_SPATIAL];
} etx_volumes;

typedef struct etx_convolution {
  etx_volumes in, out;
  etx_volumes
      weight;  // the window's sizes and strides are `sizes` and `strides`
  // Strides of the weight in elements: from group to group, and between the
  // channels of a group.
  ptrdiff_t weight_group, weight_out, weight_in;
  // Weights of sixteen output channels are neighbours; those of the next
  // sixteen follow 16 * weight_out elements later.
  bool has_panels;
  const etx_tensor* bias;  // [groups * out_channels], or NULL
  int64_t groups;
  int64_t in_channels, out_channels;  // channels of one group
  etx_window windows[ETX_SPATIAL];
  bool transposed;
  // Computed on contiguous float32 results while they are in cache; NULL: none.
  // A plane of results is a row of the chain.
  const etx_chain* chain;
} etx_convolution;

// A tensor of rank 3 to 5 as volumes. Also for a weight, whose first two
// dimensions are then called images and channels.
etx_volumes etx_volumes_of(const etx_tensor* tensor);

// Reads the windows from lists of a call: stride at argument `first`, then
// padding and dilation. Argument 0 has the rank of the images.
void etx_windows_read(const etx_call* call, size_t first, const etx_volumes* in,
                      const etx_volumes* out, const etx_volumes* weight,
                      etx_window* windows);

// A convolution of `in` by `weight` to `out`. `transposed` states the layout of
// the weight: [out, in of a group] or [in, out of a group].
etx_convolution etx_convolution_of(const etx_volumes* in,
                                   const etx_volumes* weight,
                                   const etx_volumes* out, int64_t groups,
                                   bool transposed);

enum { ETX_CONVOLUTION_PANEL = 16 };

// The offset of the weights of an output channel of a group, in elements.
static inline ptrdiff_t etx_convolution_row(const etx_convolution* c,
                                            size_t channel) {
  const size_t lane = c->has_panels ? channel % ETX_CONVOLUTION_PANEL : 0;
  return (ptrdiff_t)(channel - lane) * c->weight_out + (ptrdiff_t)lane;
}

// States the bytes of temporary memory: a tile for each thread, of whichever
// variant. It depends on the type and the sizes only, and does not fall when a
// size rises; the windows need not be set. A failure leaves a message.
etx_status etx_convolution_temporary(const etx_convolution* convolution,
                                     const etx_call* call, size_t* out_bytes);

// `temporary` has etx_convolution_temporary bytes.
void etx_convolution_run(const etx_convolution* convolution,
                         const etx_parallel* parallel, void* temporary);

#endif
