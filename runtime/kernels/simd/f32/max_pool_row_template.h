// A row of max pooling (etx_max_pool_row). Include after row_copy_template.h.
// At the ends of a row, sets with masked loads use them; the others compute the
// results one by one.
//
//   VECTOR_BYTES                required  bytes of a vector register: 16, 32 or
//                                         64
//   ROW_LOAD_SOME(from, lanes)  optional  loads some lanes,
//                                         row_copy_template.h; needed if
//                                         VECTOR_BYTES >= 32

#if !defined(VECTOR_BYTES)
#error "define VECTOR_BYTES before this header"
#endif

#include "runtime/kernels/simd/f32/conv_microkernels.h"

typedef int max_pool_mask __attribute__((vector_size(VECTOR_BYTES)));

enum { MOST_LANES = ETX_F32_LANES };

// Every second element, of which the last one is the last that is read.
#if VECTOR_BYTES == 64
#define MAX_POOL_SELECT(a, b)                                                  \
  __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, \
                          27, 29, 31)
#elif VECTOR_BYTES == 32
#define MAX_POOL_SELECT(a, b) \
  __builtin_shufflevector(a, b, 0, 2, 4, 6, 9, 11, 13, 15)
#else
#define MAX_POOL_SELECT(a, b) __builtin_shufflevector(a, b, 0, 2, 5, 7)
#endif

#if VECTOR_BYTES < 32
// A result by itself.
static float max_pool_one(const etx_max_pool_row* m, size_t at) {
  const ptrdiff_t start = m->first + (ptrdiff_t)at * m->stride;
  float best = -__builtin_inff();
  for (size_t y = 0; y < m->rows; ++y) {
    const float* row = m->in + (ptrdiff_t)y * m->in_row;
    for (size_t k = 0; k < m->taps; ++k) {
      const ptrdiff_t column = start + (ptrdiff_t)k * m->tap;
      if (column < 0 || column >= m->columns) continue;
      const float x = row[column];
      best = x > best || x != x ? x : best;
    }
  }
  return best;
}
#endif

// Elements of a row from `column` on; those that do not count are -infinity.
static inline __attribute__((always_inline)) etx_f32_vec max_pool_load(
    const etx_max_pool_row* m, const float* row, ptrdiff_t column,
    bool is_whole) {
  etx_f32_vec x;
#if VECTOR_BYTES >= 32
  const etx_f32_vec least = ETX_F32_BROADCAST(-__builtin_inff());
  if (!is_whole) {
    const row_lanes inside =
        (row_lanes)(row_first(m->columns - column) & ~row_first(-column));
    const etx_f32_vec none =
        ROW_LOAD_SOME((const float*)&least, (row_lanes)~inside);
    x = ROW_LOAD_SOME(row + column, inside);
    return (etx_f32_vec)((max_pool_mask)x | (max_pool_mask)none);
  }
#else
  (void)m;
  (void)is_whole;
#endif
  memcpy(&x, row + column, sizeof x);
  return x;
}

static inline __attribute__((always_inline)) etx_f32_vec max_pool_vector(
    const etx_max_pool_row* m, size_t at, ptrdiff_t stride, bool is_whole) {
  const float* row = m->in;
  etx_f32_vec best = ETX_F32_BROADCAST(-__builtin_inff());
  for (size_t y = 0; y < m->rows; ++y, row += m->in_row) {
    ptrdiff_t column = m->first + (ptrdiff_t)at * stride;
    for (size_t k = 0; k < m->taps; ++k, column += m->tap) {
      etx_f32_vec x = max_pool_load(m, row, column, is_whole);
      if (stride == 2) {
        x = MAX_POOL_SELECT(
            x, max_pool_load(m, row, column + MOST_LANES - 1, is_whole));
      }
      const max_pool_mask takes = (x > best) | (x != x);
      best = (etx_f32_vec)(((max_pool_mask)x & takes) |
                           ((max_pool_mask)best & ~takes));
    }
  }
  return best;
}

// Results `at` on, of which `count` are stored.
static inline __attribute__((always_inline)) void max_pool_some(
    const etx_max_pool_row* m, size_t at, size_t count, ptrdiff_t stride) {
  const ptrdiff_t begin = m->first + (ptrdiff_t)at * stride;
  const ptrdiff_t end =
      begin + (MOST_LANES - 1) * stride + ((ptrdiff_t)m->taps - 1) * m->tap + 1;
  if (begin >= 0 && end <= m->columns && count == MOST_LANES) {
    const etx_f32_vec best = max_pool_vector(m, at, stride, true);
    memcpy(m->out + at, &best, sizeof best);
    return;
  }
#if VECTOR_BYTES >= 32
  const etx_f32_vec best = max_pool_vector(m, at, stride, false);
  float results[MOST_LANES];
  memcpy(results, &best, sizeof results);
  copy_row(results, m->out + at, count);
#else
  for (size_t i = 0; i < count; ++i) m->out[at + i] = max_pool_one(m, at + i);
#endif
}

// The last vector overlaps the one before it.
static inline __attribute__((always_inline)) void max_pool_vectors(
    const etx_max_pool_row* m, ptrdiff_t stride) {
  size_t at = 0;
  for (; at + MOST_LANES < m->count; at += MOST_LANES) {
    max_pool_some(m, at, MOST_LANES, stride);
  }
  if (m->count < MOST_LANES) {
    max_pool_some(m, 0, m->count, stride);
  } else {
    max_pool_some(m, m->count - MOST_LANES, MOST_LANES, stride);
  }
}

//   @max_pool_row  float32 | max pooling of a row | {ETX_F32_LANES} pixels
static void max_pool_row(const etx_max_pool_row* given) {
  const etx_max_pool_row m = *given;  // which results do not change
  if (m.stride == 1) {
    max_pool_vectors(&m, 1);
  } else {
    max_pool_vectors(&m, 2);
  }
}
