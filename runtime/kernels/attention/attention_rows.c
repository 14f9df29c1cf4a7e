// The rows of an operand that a tile reads: addresses, conversion to float32,
// and the mask of their scores.

#include "runtime/kernels/attention/attention_tile.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/simd/elementwise/half_loops.h"

static ptrdiff_t offset_of(const etx_attention* a,
                           const etx_attention_view* operand,
                           const ptrdiff_t* strides, ptrdiff_t row_stride,
                           size_t batch, size_t row) {
  ptrdiff_t at = (ptrdiff_t)row * row_stride;
  for (size_t i = a->batch_rank; i-- > 0;) {
    const size_t size = (size_t)a->batch[i];
    const bool is_head = i + 1 == a->batch_rank;
    const size_t index = batch % size / (is_head ? operand->repeat : 1);
    at += (ptrdiff_t)index * strides[i];
    batch /= size;
  }
  return at;
}

ptrdiff_t etx_attention_row_offset(const etx_attention* a,
                                   const etx_attention_view* operand,
                                   size_t batch, size_t row) {
  return offset_of(a, operand, operand->batch, operand->row, batch, row);
}

// ------------------------------------------------ conversion

// Converts a row of elements side by side. Rows may be short and many: the
// instruction set is found once for all of them.
static void convert_row(const etx_half_loops* halves, etx_dtype dtype,
                        const char* data, size_t count, float* out) {
  if (ETX_HAS_DTYPE(FLOAT16) && dtype == ETX_DTYPE_FLOAT16) {
    halves->read(out, (const uint16_t*)(const void*)data, count);
  } else if (ETX_HAS_DTYPE(BFLOAT16) && dtype == ETX_DTYPE_BFLOAT16) {
    halves->read_bfloats(out, (const uint16_t*)(const void*)data, count);
  } else if (ETX_HAS_DTYPE(INT8) && dtype == ETX_DTYPE_INT8) {
    halves->read_bytes(out, (const int8_t*)(const void*)data, count);
  } else {
    etx_convert(ETX_DTYPE_FLOAT32, out, 1, dtype, data, 1, count);
  }
}

// Rows without gaps between them are converted as one long row.
void etx_attention_convert(const etx_attention* a,
                           const etx_attention_row_range* range, float* out) {
  const etx_attention_view* operand = range->operand;
  const size_t width = range->width, count = range->count;
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(operand->dtype);
  const char* data =
      (const char*)operand->data +
      etx_attention_row_offset(a, operand, range->batch, range->first) * bytes;
  const bool is_contiguous =
      operand->inner == 1 && operand->row == (ptrdiff_t)width;
  const size_t rows = is_contiguous ? 1 : count;
  const size_t elements = is_contiguous ? count * width : width;
  const etx_half_loops* halves = etx_half_loops_best();
  for (size_t i = 0; i < rows; ++i, data += operand->row * bytes) {
    if (operand->inner == 1) {
      convert_row(halves, operand->dtype, data, elements, out + i * width);
    } else {
      etx_convert(ETX_DTYPE_FLOAT32, out + i * width, 1, operand->dtype, data,
                  operand->inner, elements);
    }
  }
  if (operand->zero_points == NULL) return;
  ptrdiff_t qparam = offset_of(a, operand, operand->qparam_batch,
                               operand->qparam_row, range->batch, range->first);
  for (size_t i = 0; i < count;
       ++i, out += width, qparam += operand->qparam_row) {
    const float scale = operand->scales[qparam];
    const float zero = (float)operand->zero_points[qparam];
    for (size_t k = 0; k < width; ++k) out[k] = (out[k] - zero) * scale;
  }
}

const float* etx_attention_scales_at(const etx_attention* a,
                                     const etx_attention_row_range* range) {
  const etx_attention_view* operand = range->operand;
  return operand->scales + offset_of(a, operand, operand->qparam_batch,
                                     operand->qparam_row, range->batch,
                                     range->first);
}

void etx_attention_read_scales(const etx_attention* a,
                               const etx_attention_row_range* range,
                               float out[ETX_ATTENTION_KEYS]) {
  const ptrdiff_t step = range->operand->qparam_row;
  const float* from = etx_attention_scales_at(a, range);
  if (step == 1 && range->count == ETX_ATTENTION_KEYS) {
    memcpy(out, from, ETX_ATTENTION_KEYS * sizeof *out);
    return;
  }
  for (size_t k = 0; k < range->count; ++k, from += step) out[k] = *from;
  for (size_t k = range->count; k < ETX_ATTENTION_KEYS; ++k) out[k] = 0;
}

void etx_attention_apply_scales(const etx_attention* a,
                                const etx_attention_row_range* range,
                                size_t rows,
                                float (*scores)[ETX_ATTENTION_KEYS]) {
  const etx_attention_view* operand = range->operand;
  float scales[ETX_ATTENTION_KEYS];
  if (operand->scales == NULL || operand->zero_points != NULL) return;
  etx_attention_read_scales(a, range, scales);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t k = 0; k < range->count; ++k) scores[r][k] *= scales[k];
  }
}

etx_attention_rows etx_attention_queries(const etx_attention_tile* t) {
  const etx_attention* a = t->attention;
  const etx_attention_view* operand = &a->query;
  if (etx_attention_is_dense(operand)) {
    const ptrdiff_t at =
        etx_attention_row_offset(a, operand, t->batch, t->first);
    return (etx_attention_rows){(const float*)operand->data + at,
                                etx_attention_row_step(t, operand, 1)};
  }
  const size_t rows = t->spans_heads ? 1 : t->count;
  for (size_t r = 0; r < t->count; r += rows) {
    const etx_attention_row_range range = {.operand = operand,
                                           .batch = etx_attention_batch(t, r),
                                           .first = t->first,
                                           .count = rows,
                                           .width = a->width};
    etx_attention_convert(a, &range, t->query_workspace + r * a->width);
  }
  return (etx_attention_rows){t->query_workspace, (ptrdiff_t)a->width};
}

// ------------------------------------------------ masks

// The common case: a mask of contiguous floats.
static void add_dense_mask(const float* mask, size_t count, float scale,
                           float* scores) {
  enum { FOUR = 4 };
  const etx_f32x4 scales = etx_f32x4_broadcast(scale);
  size_t k = 0;
  for (; k + FOUR <= count; k += FOUR) {
    const etx_f32x4 scaled = etx_f32x4_load(scores + k) * scales;
    etx_f32x4_store(scores + k, scaled + etx_f32x4_load(mask + k));
  }
  for (; k < count; ++k) scores[k] = scores[k] * scale + mask[k];
}

enum { LONG_MASK = 512 };

// Prefetches elements of a later row of a dense mask. Long rows lie far from
// each other, so the hardware prefetcher, which needs several lines of one row,
// starts too late. A mask with short rows stays in a cache anyway.
static __attribute__((noinline)) void prefetch_mask(const etx_attention_tile* t,
                                                    size_t r, size_t first,
                                                    size_t count) {
  enum { AHEAD = 2, LINE = 64 / sizeof(float) };
  const etx_attention* a = t->attention;
  if (r + AHEAD >= t->count) return;
  r += AHEAD;
  const float* row =
      (const float*)a->mask.data + first +
      etx_attention_row_offset(a, &a->mask, etx_attention_batch(t, r),
                               etx_attention_batch_row(t, r));
  for (size_t k = 0; k < count; k += LINE) {
    // Without it a compiler removes calls: the function has no effects.
    __asm__ volatile("");
    __builtin_prefetch(row + k);
  }
}

static void add_mask(const etx_attention_tile* t, size_t r, size_t first,
                     size_t count, float scale, float* scores) {
  const etx_attention* a = t->attention;
  const etx_attention_view* mask = &a->mask;
  const ptrdiff_t at =
      etx_attention_row_offset(a, mask, etx_attention_batch(t, r),
                               etx_attention_batch_row(t, r)) +
      (ptrdiff_t)first * mask->inner;
  if (etx_attention_is_dense(mask)) {
    if (a->keys >= LONG_MASK) prefetch_mask(t, r, first, count);
    add_dense_mask((const float*)mask->data + at, count, scale, scores);
    return;
  }
  etx_block block;
  etx_block_load(
      &block, ETX_COMPUTE_F32, mask->dtype,
      (const char*)mask->data + at * (ptrdiff_t)etx_dtype_bytes(mask->dtype),
      mask->inner, count);
  const bool is_bool = mask->dtype == ETX_DTYPE_BOOL;
  const float masked = (float)a->masked_score;
  for (size_t k = 0; k < count; ++k) {
    const float scaled = scores[k] * scale;
    const float selected = block.f32[k] != 0 ? scaled : masked;
    scores[k] = is_bool ? selected : scaled + block.f32[k];
  }
}

void etx_attention_mask(const etx_attention_tile* t, size_t r, size_t first,
                        size_t count, float scale, float* scores) {
  const etx_attention* a = t->attention;
  if (a->has_mask) {
    add_mask(t, r, first, count, scale, scores);
  } else {
    for (size_t k = 0; scale != 1 && k < count; ++k) scores[k] *= scale;
  }
  const int64_t visible = t->visible_end[r] - (int64_t)first;
  for (size_t k = visible < 0 ? 0 : (size_t)visible; k < count; ++k) {
    scores[k] = (float)a->masked_score;
  }
}
