// A convolution whose windows are whole images is a product: a row of it is an
// image, a column a result channel. So are layers that squeeze an image to a
// pixel and excite its channels, and heads over pooled images.

#include "runtime/kernels/convolution_internal.h"
#include "runtime/kernels/product.h"

// True if the elements of an image, or of a result channel's weights, lie side
// by side.
static bool is_dense(const etx_volumes* v, ptrdiff_t channel) {
  ptrdiff_t dense = 1;
  for (size_t d = ETX_SPATIAL; d-- > 0;) {
    if (v->sizes[d] > 1 && v->strides[d] != dense) return false;
    dense *= (ptrdiff_t)v->sizes[d];
  }
  return v->channels == 1 || channel == dense;
}

static bool sees_all(const etx_convolution* c) {
  for (size_t d = 0; d < ETX_SPATIAL; ++d) {
    const etx_window* w = &c->windows[d];
    if (w->out != 1 || w->kernel != w->in || w->padding != 0 ||
        (w->kernel > 1 && w->dilation != 1)) {
      return false;
    }
  }
  return true;
}

bool etx_convolution_whole(const etx_convolution* c,
                           const etx_parallel* parallel) {
  if (c->transposed || c->groups != 1 || c->in.dtype != ETX_DTYPE_FLOAT32 ||
      c->weight.dtype != ETX_DTYPE_FLOAT32 || !sees_all(c) ||
      !is_dense(&c->in, c->in.channel) || !is_dense(&c->weight, c->weight_in) ||
      (c->out_channels > 1 && c->out.channel != 1)) {
    return false;
  }
  const int64_t positions = c->in.sizes[0] * c->in.sizes[1] * c->in.sizes[2];
  etx_product product = {.rows = (size_t)c->in.images,
                         .columns = (size_t)c->out_channels,
                         .inner = (size_t)(c->in_channels * positions),
                         .dtype = ETX_DTYPE_FLOAT32,
                         .left = c->in.data,
                         .left_row = c->in.image,
                         .left_inner = 1,
                         .right = c->weight.data,
                         .right_inner = 1,
                         .right_column = c->weight_out,
                         .out = c->out.data,
                         .out_row = c->out.image,
                         .alpha = {.f32 = 1},
                         .beta = {.f32 = 1}};
  if (c->bias != NULL) {
    product.added = c->bias->data;
    product.added_column = c->bias->strides[0];
  }
  etx_product_run(&product, parallel);
  return true;
}
