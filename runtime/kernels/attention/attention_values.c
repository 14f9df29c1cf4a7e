// Sums of weighted values, sixteen columns at a time. A row that is no multiple
// of sixteen wide has groups of columns that overlap: all lie in the row, so
// that values are read in place, and each sums in a place of its own. What is
// in two of them comes out of both with the same bits.

#include "runtime/kernels/attention/attention_tile.h"

enum { GROUP = ETX_ATTENTION_GROUP };

// From group to group of columns, but for the last one, which ends with the
// row. As many of them as can be are equally far from each other.
static size_t group_step(size_t width) {
  const size_t groups = (width + GROUP - 1) / GROUP;
  if (groups < 2) return GROUP;
  const size_t apart = width - GROUP;
  return apart % (groups - 1) == 0 ? apart / (groups - 1) : GROUP;
}

// Rows of less than a group: what is read behind them is of the next rows, and
// of the last ones a copy.
static void add_narrow(const etx_attention_tile* t, etx_gemm_block* b,
                       etx_attention_rows values, size_t count) {
  const size_t width = t->attention->value_width;
  const float* const weights = b->weights;
  size_t near = 0;
  if (values.stride > 0) {
    const size_t stride = (size_t)values.stride;
    const size_t behind = (GROUP - width + stride - 1) / stride;
    near = count > behind ? count - behind : 0;
  }
  b->taps = near;
  if (near > 0) t->loops->gemm_by_type[ETX_COMPUTE_F32](b);
  for (size_t k = near; k < count; k += b->taps) {
    float some[GROUP][GROUP] = {{0}};
    b->taps = count - k < GROUP ? count - k : GROUP;
    for (size_t i = 0; i < b->taps; ++i) {
      memcpy(some[i], values.data + (ptrdiff_t)(k + i) * values.stride,
             width * sizeof(float));
    }
    b->weights = weights + k;
    b->panel = some;
    b->panel_row = GROUP;
    b->starts = b->starts && k == 0;
    t->loops->gemm_by_type[ETX_COMPUTE_F32](b);
  }
}

void etx_attention_add_values(const etx_attention_tile* t, size_t r,
                              size_t many, const float* weights,
                              etx_attention_rows values, size_t count,
                              bool starts,
                              const etx_attention_prefetch_rows* ahead) {
  const size_t width = t->attention->value_width;
  const size_t step = group_step(width);
  float* const sums = t->sums + (ptrdiff_t)r * t->sums_stride;
  etx_gemm_block b = {.sums = sums,
                      .sum_row = t->sums_stride,
                      .weights = weights,
                      .weight_row = ETX_ATTENTION_KEYS,
                      .panel = values.data,
                      .panel_row = values.stride,
                      .panel_group = (ptrdiff_t)step,
                      .rows = many,
                      .taps = count,
                      .lanes = GROUP,
                      .starts = starts};
  if (width < GROUP) {
    add_narrow(t, &b, values, count);
    return;
  }
  const size_t last = width - GROUP;
  b.lanes = (last / step + 1) * GROUP;
  etx_attention_prefetch(&b, ahead);
  t->loops->gemm_by_type[ETX_COMPUTE_F32](&b);
  if (last % step == 0) return;
  b.sums = sums + b.lanes;
  b.panel = values.data + last;
  b.lanes = GROUP;
  b.ahead_pieces = 0;
  t->loops->gemm_by_type[ETX_COMPUTE_F32](&b);
}

// All of a group is read before any of it is written.
static __attribute__((noinline)) void scale_group(const float* sums,
                                                  etx_f32x4 factor,
                                                  float* out) {
  const etx_f32x4 a = etx_f32x4_load(sums), b = etx_f32x4_load(sums + 4);
  const etx_f32x4 c = etx_f32x4_load(sums + 8), d = etx_f32x4_load(sums + 12);
  etx_f32x4_store(out, a * factor);
  etx_f32x4_store(out + 4, b * factor);
  etx_f32x4_store(out + 8, c * factor);
  etx_f32x4_store(out + 12, d * factor);
}

void etx_attention_join(const etx_attention* a, const float* sums, float factor,
                        float* out) {
  const size_t width = a->value_width, step = group_step(width);
  const etx_f32x4 factors = etx_f32x4_broadcast(factor);
  float narrow[GROUP];
  if (width < GROUP) {
    scale_group(sums, factors, narrow);
    memcpy(out, narrow, width * sizeof *out);
    return;
  }
  const size_t last = width - GROUP;
  for (size_t at = 0; at < last + step; at += step, sums += GROUP) {
    scale_group(sums, factors, out + (at < last ? at : last));
  }
}
