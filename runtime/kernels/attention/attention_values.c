// Weighted sums of values, in groups of sixteen columns. If the width of a row
// is not a multiple of sixteen, neighbouring groups overlap: then all groups
// lie inside the row and values are read in place. Each group has accumulators
// of its own. A column that is in two groups gets the same bits from both.

#include "runtime/kernels/attention/attention_tile.h"

enum { GROUP = ETX_ATTENTION_GROUP };

// The distance between neighbouring groups of columns. The last group ends with
// the row, so its distance may be smaller: unless an equal distance exists.
static size_t group_step(size_t width) {
  const size_t groups = (width + GROUP - 1) / GROUP;
  if (groups < 2) return GROUP;
  const size_t apart = width - GROUP;
  return apart % (groups - 1) == 0 ? apart / (groups - 1) : GROUP;
}

// Rows that are narrower than a group. A vector load reads past the end of a
// row into the next rows, which is harmless; the last rows are copied to a
// padded buffer, so that nothing is read past the end of the tensor.
static void add_narrow(const etx_attention_tile* t, etx_gemm_block* b,
                       etx_attention_rows values, size_t count) {
  const size_t width = t->attention->value_width;
  const float* const weights = b->weights;
  size_t in_place = 0;
  if (values.stride > 0) {
    const size_t stride = (size_t)values.stride;
    const size_t past_end = (GROUP - width + stride - 1) / stride;
    in_place = count > past_end ? count - past_end : 0;
  }
  b->taps = in_place;
  if (in_place > 0) t->loops->gemm_by_type[ETX_COMPUTE_F32](b);
  for (size_t k = in_place; k < count; k += b->taps) {
    float padded[GROUP][GROUP] = {{0}};
    b->taps = count - k < GROUP ? count - k : GROUP;
    for (size_t i = 0; i < b->taps; ++i) {
      memcpy(padded[i], values.data + (ptrdiff_t)(k + i) * values.stride,
             width * sizeof(float));
    }
    b->weights = weights + k;
    b->panel = padded;
    b->panel_row = GROUP;
    b->starts = b->starts && k == 0;
    t->loops->gemm_by_type[ETX_COMPUTE_F32](b);
  }
}

void etx_attention_add_values(const etx_attention_tile* t,
                              const etx_attention_weighted_values* w,
                              const etx_attention_prefetch_rows* ahead) {
  const size_t width = t->attention->value_width;
  const size_t step = group_step(width);
  float* const sums =
      t->accumulators + (ptrdiff_t)w->first_row * t->accumulator_stride;
  etx_gemm_block b = {.sums = sums,
                      .sum_row = t->accumulator_stride,
                      .weights = w->weights,
                      .weight_row = ETX_ATTENTION_KEYS,
                      .panel = w->values.data,
                      .panel_row = w->values.stride,
                      .panel_group = (ptrdiff_t)step,
                      .rows = w->rows,
                      .taps = w->count,
                      .lanes = GROUP,
                      .starts = w->starts};
  if (width < GROUP) {
    add_narrow(t, &b, w->values, w->count);
    return;
  }
  const size_t last = width - GROUP;
  b.lanes = (last / step + 1) * GROUP;
  etx_attention_prefetch(&b, ahead);
  t->loops->gemm_by_type[ETX_COMPUTE_F32](&b);
  if (last % step == 0) return;
  b.sums = sums + b.lanes;
  b.panel = w->values.data + last;
  b.lanes = GROUP;
  b.ahead_pieces = 0;
  t->loops->gemm_by_type[ETX_COMPUTE_F32](&b);
}

// Reads the whole group before it writes: `out` may overlap `sums`.
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

void etx_attention_store_row(const etx_attention* a, const float* sums,
                             float factor, float* out) {
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
