// The weights of a convolution as panels of sixteen output channels, for tests
// of kernels that read them.

#ifndef ETX_TESTS_RUNTIME_KERNELS_IMAGE_CONVOLUTION_WEIGHT_PANELS_H
#define ETX_TESTS_RUNTIME_KERNELS_IMAGE_CONVOLUTION_WEIGHT_PANELS_H

#include "runtime/kernels/convolution/convolution.h"
#include "tests/format/fixtures/format_test.h"
#include "tests/support/guarded_memory.h"

// The same convolution over panels, which are stored in `panels`. The output
// channels of a group are a multiple of sixteen.
static inline etx_convolution test_in_panels(const etx_convolution* c,
                                             test_block* panels) {
  enum { PANEL = ETX_CONVOLUTION_PANEL };
  const etx_volumes* from = &c->weight;
  const int64_t width = from->sizes[2], height = from->sizes[1];
  const int64_t taps = from->sizes[0] * height * width;
  const int64_t rows = c->groups * c->out_channels;
  const size_t count = (size_t)(rows * c->in_channels * taps);
  *panels = test_block_new(count * sizeof(float), sizeof(float));
  float* to = (float*)(void*)panels->bytes.data;
  for (size_t at = 0; at < count; ++at) {
    const int64_t lane = (int64_t)at % PANEL, place = (int64_t)at / PANEL;
    const int64_t tap = place % taps, channel = place / taps % c->in_channels;
    const int64_t row = place / taps / c->in_channels * PANEL + lane;
    const int64_t x = tap % width, y = tap / width % height;
    to[at] = ((const float*)(const void*)
                  from->data)[row / c->out_channels * c->weight_group +
                              row % c->out_channels * c->weight_out +
                              channel * c->weight_in +
                              tap / width / height * from->strides[0] +
                              y * from->strides[1] + x * from->strides[2]];
  }
  etx_volumes weight = *from;
  weight.data = (char*)panels->bytes.data;
  weight.images = rows;
  weight.channels = c->in_channels;
  weight.image = (ptrdiff_t)(c->in_channels * taps);
  weight.channel = (ptrdiff_t)(taps * PANEL);
  weight.strides[2] = PANEL;
  weight.strides[1] = (ptrdiff_t)width * PANEL;
  weight.strides[0] = (ptrdiff_t)(height * width) * PANEL;
  etx_convolution packed =
      etx_convolution_of(&c->in, &weight, &c->out, c->groups, false);
  packed.transposed = c->transposed;
  packed.has_panels = true;
  packed.bias = c->bias;
  packed.chain = c->chain;
  for (size_t d = 0; d < ETX_SPATIAL; ++d) packed.windows[d] = c->windows[d];
  return packed;
}

// Runs a convolution with temporary memory of exactly the stated size.
static inline void test_run_convolution(const etx_convolution* c,
                                        const etx_parallel* parallel) {
  const etx_call call = {.parallel = parallel};
  size_t bytes = 0;
  assert_ok(etx_convolution_temporary(c, &call, &bytes));
  test_block block = test_block_new(bytes, 16);
  etx_convolution_run(c, parallel, block.bytes.data);
  assert_true(test_block_end(&block));
}

#endif
