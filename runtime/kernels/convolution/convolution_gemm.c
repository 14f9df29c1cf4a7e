// Convolutions that are matrix products. If the window is the whole image, a
// row of the product is an image and a column an output channel;
// squeeze-and-excitation layers and heads over pooled images are such. In a
// transposed convolution of single positions, as generators begin with, the
// columns are all results of an image.

#include "runtime/kernels/convolution/convolution_variants.h"
#include "runtime/kernels/matmul/gemm.h"

// True if the elements of an image, or of an output channel's weights, are
// contiguous.
static bool is_dense(const etx_volumes* v, ptrdiff_t channel) {
  ptrdiff_t dense = 1;
  for (size_t d = ETX_SPATIAL; d-- > 0;) {
    if (v->sizes[d] > 1 && v->strides[d] != dense) return false;
    dense *= (ptrdiff_t)v->sizes[d];
  }
  return v->channels == 1 || channel == dense;
}

// True if one position of one side meets all positions of the other, each once.
static bool meets_all(const etx_window* w, int64_t one, int64_t all) {
  return one == 1 && w->kernel == all && w->padding == 0 &&
         (w->kernel == 1 || w->dilation == 1);
}

// True if each result reads a whole image.
static bool sees_all(const etx_convolution* c) {
  for (size_t d = 0; d < ETX_SPATIAL; ++d) {
    const etx_window* w = &c->windows[d];
    if (!meets_all(w, w->out, w->in)) return false;
  }
  return !c->transposed && is_dense(&c->in, c->in.channel) &&
         is_dense(&c->weight, c->weight_in) &&
         (c->out_channels == 1 || c->out.channel == 1);
}

// True if each tap of a transposed convolution gives one result.
static bool spreads_one(const etx_convolution* c) {
  for (size_t d = 0; d < ETX_SPATIAL; ++d) {
    const etx_window* w = &c->windows[d];
    if (!meets_all(w, w->in, w->out)) return false;
  }
  return c->transposed && is_dense(&c->out, c->out.channel) &&
         is_dense(&c->weight, c->weight_out);
}

static size_t positions_of(const etx_volumes* v) {
  return (size_t)(v->sizes[0] * v->sizes[1] * v->sizes[2]);
}

// Adds one number to all results of a channel.
static void add_bias(const etx_convolution* c) {
  const size_t positions = positions_of(&c->out);
  for (int64_t i = 0; i < c->out.images * c->out_channels; ++i) {
    const int64_t image = i / c->out_channels, channel = i % c->out_channels;
    float* out = (float*)(void*)c->out.data + (ptrdiff_t)image * c->out.image +
                 (ptrdiff_t)channel * c->out.channel;
    const float bias =
        ((const float*)c->bias->data)[(ptrdiff_t)channel * c->bias->strides[0]];
    for (size_t k = 0; k < positions; ++k) out[k] += bias;
  }
}

etx_gemm etx_convolution_gemm_sizes(const etx_convolution* c) {
  etx_gemm product = {.rows = (size_t)c->in.images,
                      .columns = (size_t)c->out_channels,
                      .inner = (size_t)c->in_channels,
                      .dtype = c->in.dtype,
                      .right_dtype = c->weight.dtype};
  if (c->transposed) {
    product.columns *= positions_of(&c->out);
  } else {
    product.inner *= positions_of(&c->in);
  }
  return product;
}

bool etx_convolution_gemm(const etx_convolution* c,
                          const etx_parallel* parallel, void* temporary) {
  if (c->groups != 1 || c->has_panels || c->in.dtype != ETX_DTYPE_FLOAT32 ||
      c->weight.dtype != ETX_DTYPE_FLOAT32 ||
      !(sees_all(c) || spreads_one(c))) {
    return false;
  }
  etx_gemm product = etx_convolution_gemm_sizes(c);
  product.left = c->in.data;
  product.left_row = c->in.image;
  product.left_inner = product.right_inner = product.right_column = 1;
  product.right = c->weight.data;
  product.out = c->out.data;
  product.out_row = c->out.image;
  product.alpha.f32 = product.beta.f32 = 1;
  if (c->transposed) {
    product.left_inner = c->in.channel;
    product.right_inner = c->weight_in;
  } else {
    product.right_column = c->weight_out;
    if (c->bias != NULL) {
      product.added = c->bias->data;
      product.added_column = c->bias->strides[0];
    }
  }
  etx_gemm_run(&product, parallel, temporary);
  if (c->transposed && c->bias != NULL) add_bias(c);
  return true;
}
