// Largest elements (etx_row_most). Read once for each instruction set, after
// row_template.h. At the ends of a row, sets that load some lanes alone do so,
// and others take results one by one.

#include "runtime/kernels/row_loops.h"

typedef int most_mask __attribute__((vector_size(VECTOR_BYTES)));

enum { MOST_LANES = ETX_FUSED_LANES };

// Every second element, of which the last one is the last that is read.
#if VECTOR_BYTES == 64
#define MOST_PICK(a, b)                                                        \
  __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, \
                          27, 29, 31)
#elif VECTOR_BYTES == 32
#define MOST_PICK(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 9, 11, 13, 15)
#else
#define MOST_PICK(a, b) __builtin_shufflevector(a, b, 0, 2, 5, 7)
#endif

#if VECTOR_BYTES < 32
// A result by itself.
static float most_one(const etx_row_most* m, size_t at) {
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
static inline __attribute__((always_inline)) etx_fused most_load(
    const etx_row_most* m, const float* row, ptrdiff_t column, bool is_whole) {
  etx_fused x;
#if VECTOR_BYTES >= 32
  const etx_fused least = ETX_FUSED_ALL(-__builtin_inff());
  if (!is_whole) {
    const row_lanes inside =
        (row_lanes)(row_first(m->columns - column) & ~row_first(-column));
    const etx_fused none =
        ROW_LOAD_SOME((const float*)&least, (row_lanes)~inside);
    x = ROW_LOAD_SOME(row + column, inside);
    return (etx_fused)((most_mask)x | (most_mask)none);
  }
#else
  (void)m;
  (void)is_whole;
#endif
  memcpy(&x, row + column, sizeof x);
  return x;
}

static inline __attribute__((always_inline)) etx_fused
most_vector(const etx_row_most* m, size_t at, ptrdiff_t stride, bool is_whole) {
  const float* row = m->in;
  etx_fused best = ETX_FUSED_ALL(-__builtin_inff());
  for (size_t y = 0; y < m->rows; ++y, row += m->in_row) {
    ptrdiff_t column = m->first + (ptrdiff_t)at * stride;
    for (size_t k = 0; k < m->taps; ++k, column += m->tap) {
      etx_fused x = most_load(m, row, column, is_whole);
      if (stride == 2) {
        x = MOST_PICK(x, most_load(m, row, column + MOST_LANES - 1, is_whole));
      }
      const most_mask takes = (x > best) | (x != x);
      best = (etx_fused)(((most_mask)x & takes) | ((most_mask)best & ~takes));
    }
  }
  return best;
}

// Results `at` on, of which `count` are stored.
static inline __attribute__((always_inline)) void most_some(
    const etx_row_most* m, size_t at, size_t count, ptrdiff_t stride) {
  const ptrdiff_t begin = m->first + (ptrdiff_t)at * stride;
  const ptrdiff_t end =
      begin + (MOST_LANES - 1) * stride + ((ptrdiff_t)m->taps - 1) * m->tap + 1;
  if (begin >= 0 && end <= m->columns && count == MOST_LANES) {
    const etx_fused best = most_vector(m, at, stride, true);
    memcpy(m->out + at, &best, sizeof best);
    return;
  }
#if VECTOR_BYTES >= 32
  const etx_fused best = most_vector(m, at, stride, false);
  float own[MOST_LANES];
  memcpy(own, &best, sizeof own);
  copy_row(own, m->out + at, count);
#else
  for (size_t i = 0; i < count; ++i) m->out[at + i] = most_one(m, at + i);
#endif
}

// The last vector overlaps the one before it.
static inline __attribute__((always_inline)) void most_vectors(
    const etx_row_most* m, ptrdiff_t stride) {
  size_t at = 0;
  for (; at + MOST_LANES < m->count; at += MOST_LANES) {
    most_some(m, at, MOST_LANES, stride);
  }
  if (m->count < MOST_LANES) {
    most_some(m, 0, m->count, stride);
  } else {
    most_some(m, m->count - MOST_LANES, MOST_LANES, stride);
  }
}

static void row_most(const etx_row_most* given) {
  const etx_row_most m = *given;  // which results do not change
  if (m.stride == 1) {
    most_vectors(&m, 1);
  } else {
    most_vectors(&m, 2);
  }
}
