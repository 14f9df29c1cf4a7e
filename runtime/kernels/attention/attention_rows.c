// Where the rows that a tile of attention reads lie, and how far it sees.

#include "runtime/kernels/attention/attention_tile.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/math/math_functions.h"

static ptrdiff_t place_of(const etx_attention* a,
                          const etx_attention_side* side,
                          const ptrdiff_t* strides, ptrdiff_t row_stride,
                          size_t batch, size_t row) {
  ptrdiff_t at = (ptrdiff_t)row * row_stride;
  for (size_t i = a->batch_rank; i-- > 0;) {
    const size_t size = (size_t)a->batch[i];
    const bool is_head = i + 1 == a->batch_rank;
    const size_t index = batch % size / (is_head ? side->repeat : 1);
    at += (ptrdiff_t)index * strides[i];
    batch /= size;
  }
  return at;
}

ptrdiff_t etx_attention_at(const etx_attention* a,
                           const etx_attention_side* side, size_t batch,
                           size_t row) {
  return place_of(a, side, side->batch, side->row, batch, row);
}

// ------------------------------------------------ conversion

// The row of a batch that row `r` of a tile is.
static size_t row_of(const etx_attention_tile* t, size_t r) {
  return t->has_heads ? t->first : t->first + r;
}

// Those without gaps are one.
void etx_attention_convert(const etx_attention* a,
                           const etx_attention_side* side, size_t batch,
                           size_t first, size_t count, size_t width,
                           float* out) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(side->dtype);
  const char* data =
      (const char*)side->data + etx_attention_at(a, side, batch, first) * bytes;
  const bool is_one =
      side->scales == NULL && side->inner == 1 && side->row == (ptrdiff_t)width;
  const size_t rows = is_one ? 1 : count, each = is_one ? count * width : width;
  for (size_t i = 0; i < rows; ++i, data += side->row * bytes) {
    etx_convert(ETX_DTYPE_FLOAT32, out + i * width, 1, side->dtype, data,
                side->inner, each);
  }
  if (side->scales == NULL) return;
  ptrdiff_t pair =
      place_of(a, side, side->pair_batch, side->pair_row, batch, first);
  for (size_t i = 0; i < count; ++i, out += width, pair += side->pair_row) {
    const float scale = side->scales[pair];
    const float zero = (float)side->zeros[pair];
    for (size_t k = 0; k < width; ++k) out[k] = (out[k] - zero) * scale;
  }
}

etx_attention_rows etx_attention_queries(const etx_attention_tile* t) {
  const etx_attention* a = t->attention;
  const etx_attention_side* side = &a->query;
  if (etx_attention_is_dense(side)) {
    const ptrdiff_t at = etx_attention_at(a, side, t->batch, t->first);
    return (etx_attention_rows){(const float*)side->data + at,
                                etx_attention_step(t, side, 1)};
  }
  const size_t rows = t->has_heads ? 1 : t->count;
  for (size_t r = 0; r < t->count; r += rows) {
    etx_attention_convert(a, side, etx_attention_batch(t, r), t->first, rows,
                          a->width, t->query_piece + r * a->width);
  }
  return (etx_attention_rows){t->query_piece, (ptrdiff_t)a->width};
}

// ------------------------------------------------ reach and masks

static float minus_infinity(void) {
  return etx_f32_of_bits(UINT32_C(0xff800000));
}

// Number of the first key that a row does not see for its position.
static int64_t reach_of(const etx_attention* a, size_t batch, size_t row) {
  int64_t reach = (int64_t)a->keys;
  if (a->is_causal && a->first + (int64_t)row + 1 < reach) {
    reach = a->first + (int64_t)row + 1;
  }
  if (a->last.data == NULL) return reach;
  int64_t last;
  memcpy(
      &last,
      (const int64_t*)a->last.data + etx_attention_at(a, &a->last, batch, row),
      sizeof last);
  // All before the first key are alike, and some have no number before them.
  if (last < -1) last = -1;
  return last < reach ? last + 1 : reach;
}

bool etx_attention_is_in_reach(const etx_attention* a, size_t batch, size_t row,
                               size_t key) {
  return (int64_t)key < reach_of(a, batch, row);
}

size_t etx_attention_look(etx_attention_tile* t) {
  const etx_attention* a = t->attention;
  const bool are_alike = !a->is_causal && a->last.data == NULL;
  size_t most = 0;
  t->least_reach = (int64_t)a->keys;
  for (size_t r = 0; r < t->count && are_alike; ++r) {
    t->reach[r] = (int64_t)a->keys;
    t->keys[r] = a->keys;
  }
  if (are_alike) return a->keys;
  for (size_t r = 0; r < t->count; ++r) {
    const int64_t reach = reach_of(a, etx_attention_batch(t, r), row_of(t, r));
    const bool sees_all = reach <= 0 && a->hidden > (double)minus_infinity();
    size_t keys = reach < 0 ? 0 : (size_t)reach;
    if (sees_all) keys = a->keys;
    t->reach[r] = reach;
    if (reach < t->least_reach) t->least_reach = reach;
    if (keys > most) most = keys;
    t->keys[r] = keys;
  }
  for (size_t r = 0; r < t->count;) {
    const size_t shared = etx_attention_shared(t, r);
    for (size_t i = 1; i < shared; ++i) {
      if (t->keys[r + i] > t->keys[r]) t->keys[r] = t->keys[r + i];
    }
    r += shared;
  }
  return most;
}

// Floats side by side, which most masks are.
static void add_dense(const float* mask, size_t count, float scale,
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

// Asks for the elements of a later row of a dense mask. Long rows lie far from
// each other, and processors see only many lines of one coming; a mask of short
// ones stays in a cache.
static __attribute__((noinline)) void ask_mask(const etx_attention_tile* t,
                                               size_t r, size_t first,
                                               size_t count) {
  enum { AHEAD = 2, LINE = 64 / sizeof(float) };
  const etx_attention* a = t->attention;
  if (r + AHEAD >= t->count) return;
  r += AHEAD;
  const float* row =
      (const float*)a->mask.data + first +
      etx_attention_at(a, &a->mask, etx_attention_batch(t, r), row_of(t, r));
  for (size_t k = 0; k < count; k += LINE) {
    // Without it a compiler takes the function for one that does nothing.
    __asm__ volatile("");
    __builtin_prefetch(row + k);
  }
}

static void add_mask(const etx_attention_tile* t, size_t r, size_t first,
                     size_t count, float scale, float* scores) {
  const etx_attention* a = t->attention;
  const etx_attention_side* mask = &a->mask;
  const ptrdiff_t at =
      etx_attention_at(a, mask, etx_attention_batch(t, r), row_of(t, r)) +
      (ptrdiff_t)first * mask->inner;
  if (etx_attention_is_dense(mask)) {
    if (a->keys >= LONG_MASK) ask_mask(t, r, first, count);
    add_dense((const float*)mask->data + at, count, scale, scores);
    return;
  }
  etx_block block;
  etx_block_load(
      &block, ETX_COMPUTE_F32, mask->dtype,
      (const char*)mask->data + at * (ptrdiff_t)etx_dtype_bytes(mask->dtype),
      mask->inner, count);
  const bool keeps = mask->dtype == ETX_DTYPE_BOOL;
  const float hidden = (float)a->hidden;
  for (size_t k = 0; k < count; ++k) {
    const float scaled = scores[k] * scale;
    const float kept = block.f32[k] != 0 ? scaled : hidden;
    scores[k] = keeps ? kept : scaled + block.f32[k];
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
  const int64_t seen = t->reach[r] - (int64_t)first;
  for (size_t k = seen < 0 ? 0 : (size_t)seen; k < count; ++k) {
    scores[k] = (float)a->hidden;
  }
}
