// Largest elements (etx_row_most). Read once for each instruction set, after
// fused_template.h. The last vector of a row overlaps the one before it, so
// that nothing behind a row is touched.

#include "runtime/kernels/row_loops.h"

typedef int most_mask __attribute__((vector_size(VECTOR_BYTES)));

enum { MOST_LANES = ETX_FUSED_LANES };

// Every second element, of which the last one is the last that is read.
#if VECTOR_BYTES == 64
#define MOST_PICK(a, b)                                                       \
  __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23,    \
                          25, 27, 29, 31)
#elif VECTOR_BYTES == 32
#define MOST_PICK(a, b) \
  __builtin_shufflevector(a, b, 0, 2, 4, 6, 9, 11, 13, 15)
#else
#define MOST_PICK(a, b) __builtin_shufflevector(a, b, 0, 2, 5, 7)
#endif

static inline __attribute__((always_inline)) void most_vector(
    const etx_row_most* m, size_t at, ptrdiff_t stride) {
  const float* row = m->in + (ptrdiff_t)at * stride;
  etx_fused best = ETX_FUSED_ALL(-__builtin_inff());
  for (size_t y = 0; y < m->rows; ++y, row += m->in_row) {
    const float* from = row;
    for (size_t k = 0; k < m->taps; ++k, from += m->tap) {
      etx_fused x, next;
      memcpy(&x, from, sizeof x);
      if (stride == 2) {
        memcpy(&next, from + MOST_LANES - 1, sizeof next);
        x = MOST_PICK(x, next);
      }
      const most_mask takes = (x > best) | (x != x);
      best = (etx_fused)(((most_mask)x & takes) | ((most_mask)best & ~takes));
    }
  }
  memcpy(m->out + at, &best, sizeof best);
}

static inline __attribute__((always_inline)) void most_vectors(
    const etx_row_most* m, ptrdiff_t stride) {
  size_t at = 0;
  for (; at + MOST_LANES < m->count; at += MOST_LANES) {
    most_vector(m, at, stride);
  }
  most_vector(m, m->count - MOST_LANES, stride);
}

static void row_most(const etx_row_most* given) {
  const etx_row_most m = *given;  // which results do not change
  if (m.count >= MOST_LANES && m.stride == 1) {
    most_vectors(&m, 1);
    return;
  }
  if (m.count >= MOST_LANES && m.stride == 2) {
    most_vectors(&m, 2);
    return;
  }
  for (size_t i = 0; i < m.count; ++i) {
    float best = -__builtin_inff();
    for (size_t y = 0; y < m.rows; ++y) {
      const float* from =
          m.in + (ptrdiff_t)i * m.stride + (ptrdiff_t)y * m.in_row;
      for (size_t k = 0; k < m.taps; ++k, from += m.tap) {
        best = *from > best || *from != *from ? *from : best;
      }
    }
    m.out[i] = best;
  }
}
