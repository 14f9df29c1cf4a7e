// Copies rows, and stores rows of sums with bias, addition and clamp
// (etx_row_copy, etx_row_store). Include after f32_vec_template.h. A row is
// done a vector at a time; the last vector overlaps the one before it, so
// nothing behind a row is touched.
//
//   VECTOR_BYTES                  required
//       bytes of a vector register: 16, 32 or 64
//   ETX_F32_MAX(a, b)             required
//       the larger of each pair: f32_vec_template.h
//   ETX_F32_MIN(a, b)             required
//       the smaller of each pair: f32_vec_template.h
//   ROW_LOAD_SOME(from, lanes)    optional
//       a test's own version, with 64 bytes only
//   ROW_STORE_SOME(to, x, lanes)  optional
//       the same

#if !defined(VECTOR_BYTES) || !defined(ETX_F32_MAX) || !defined(ETX_F32_MIN)
#error "this header needs the macros of its table"
#endif

#include <string.h>

#include "runtime/kernels/simd/f32/conv_microkernels.h"

#if VECTOR_BYTES < 64
typedef float row_four __attribute__((vector_size(16)));
#endif
#if VECTOR_BYTES == 64
typedef float row_piece __attribute__((vector_size(64)));
typedef unsigned short row_lanes;
enum { ROW_PIECE = 16 };

// Masked loads and stores: the other lanes are not accessed.
#ifndef ROW_LOAD_SOME  // tests have their own
#define ROW_LOAD_SOME(from, lanes) \
  __builtin_ia32_loadups512_mask(from, (row_piece){0}, lanes)
#define ROW_STORE_SOME(to, x, lanes) \
  __builtin_ia32_storeups512_mask(to, x, lanes)
#endif

// Loads the first lanes: at most `count`.
static inline row_lanes row_first(ptrdiff_t count) {
  if (count <= 0) return 0;
  return (row_lanes)(count < ROW_PIECE ? (1u << count) - 1 : 0xffffu);
}
#elif VECTOR_BYTES > 16
typedef float row_piece __attribute__((vector_size(32)));
typedef int row_lanes __attribute__((vector_size(32)));
enum { ROW_PIECE = 8 };

// Masked load: the other lanes are not read.
#define ROW_LOAD_SOME(from, lanes) \
  __builtin_ia32_maskloadps256((const row_piece*)(const void*)(from), lanes)

// Stores the first lanes: at most `count`.
static inline row_lanes row_first(ptrdiff_t count) {
  const int n = count < 0 ? 0 : count < ROW_PIECE ? (int)count : ROW_PIECE;
  const row_lanes lane = {0, 1, 2, 3, 4, 5, 6, 7};
  return lane < (row_lanes){n, n, n, n, n, n, n, n};
}
#else
typedef row_four row_piece;
enum { ROW_PIECE = 4 };
#endif

// ------------------------------------------------ copies

#if VECTOR_BYTES == 64

static inline __attribute__((always_inline)) void pick_row(const float* from,
                                                           float* to,
                                                           size_t count) {
  row_piece a, b;
  size_t i = 0;
  for (; i + ROW_PIECE < count; i += ROW_PIECE) {
    memcpy(&a, from + 2 * i, sizeof a);
    memcpy(&b, from + 2 * i + ROW_PIECE, sizeof b);
    a = ETX_F32_EVEN(a, b);
    memcpy(to + i, &a, sizeof a);
  }
  const ptrdiff_t left = (ptrdiff_t)(count - i), reach = 2 * left - 1;
  const float* const at = from + 2 * i;
  a = ROW_LOAD_SOME(at, row_first(reach));
  b = ROW_LOAD_SOME(at + ROW_PIECE, row_first(reach - ROW_PIECE));
  a = ETX_F32_EVEN(a, b);
  ROW_STORE_SOME(to + i, a, row_first(left));
}

static inline __attribute__((always_inline)) void copy_row(const float* from,
                                                           float* to,
                                                           size_t count) {
  row_piece piece;
  size_t i = 0;
  for (; i + ROW_PIECE <= count; i += ROW_PIECE) {
    memcpy(&piece, from + i, sizeof piece);
    memcpy(to + i, &piece, sizeof piece);
  }
  if (i == count) return;
  const row_lanes lanes = row_first((ptrdiff_t)(count - i));
  piece = ROW_LOAD_SOME(from + i, lanes);
  ROW_STORE_SOME(to + i, piece, lanes);
}

#else

// Every second element; nothing behind the last of them is read.
static inline __attribute__((always_inline)) void pick_piece(const float* from,
                                                             float* to) {
  row_piece a, b;
  memcpy(&a, from, sizeof a);
  memcpy(&b, from + ROW_PIECE - 1, sizeof b);
#if VECTOR_BYTES > 16
  a = __builtin_shufflevector(a, b, 0, 2, 4, 6, 9, 11, 13, 15);
#else
  a = __builtin_shufflevector(a, b, 0, 2, 5, 7);
#endif
  memcpy(to, &a, sizeof a);
}

static inline __attribute__((always_inline)) void pick_row(const float* from,
                                                           float* to,
                                                           size_t count) {
  size_t i = 0;
  for (; i + ROW_PIECE <= count; i += ROW_PIECE) {
    pick_piece(from + 2 * i, to + i);
  }
  if (i == count) return;
  if (count >= ROW_PIECE) {
    pick_piece(from + 2 * (count - ROW_PIECE), to + count - ROW_PIECE);
    return;
  }
  for (; i < count; ++i) to[i] = from[2 * i];
}

static inline __attribute__((always_inline)) void copy_row(const float* from,
                                                           float* to,
                                                           size_t count) {
  row_piece piece;
  row_four low, high;
  if (count >= ROW_PIECE) {
    for (size_t i = 0; i + ROW_PIECE < count; i += ROW_PIECE) {
      memcpy(&piece, from + i, sizeof piece);
      memcpy(to + i, &piece, sizeof piece);
    }
    memcpy(&piece, from + count - ROW_PIECE, sizeof piece);
    memcpy(to + count - ROW_PIECE, &piece, sizeof piece);
  } else if (count >= 4) {
    memcpy(&low, from, sizeof low);
    memcpy(&high, from + count - 4, sizeof high);
    memcpy(to, &low, sizeof low);
    memcpy(to + count - 4, &high, sizeof high);
  } else {
    for (size_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

#endif

//   @copy_rows  float32 | rows of stride 1 or 2 copied side by side |
//     {ROW_PIECE} elements
static void copy_rows(const etx_row_copy* c) {
  const float* from = c->from;
  float* to = c->to;
  for (size_t r = 0; r < c->rows; ++r, from += c->from_row, to += c->to_row) {
    if (c->step == 1) {
      copy_row(from, to, c->count);
    } else if (c->step == 2) {
      pick_row(from, to, c->count);
    } else {
      for (size_t i = 0; i < c->count; ++i) {
        to[i] = from[(ptrdiff_t)i * c->step];
      }
    }
  }
}

// ------------------------------------------------ results

// The epilogue of one vector of sums: bias, addition, clamp. Vectors are passed
// by pointer, because passing them by value depends on compiler flags (ABI).
#define ROW_FINISH(name, VECTOR, CLAMP)                               \
  static inline __attribute__((always_inline)) void name(             \
      const etx_row_store* s, const VECTOR* sums, const float* added, \
      float* out) {                                                   \
    VECTOR x = *sums + s->bias;                                       \
    if (added != NULL) {                                              \
      VECTOR other;                                                   \
      memcpy(&other, added, sizeof other);                            \
      x = other + x;                                                  \
    }                                                                 \
    CLAMP(s, &x);                                                     \
    memcpy(out, &x, sizeof x);                                        \
  }

// LARGER(a, b) and SMALLER(a, b) return b if a and b are equal or unordered, so
// a NaN stays, and -0 is not replaced by 0.
#define ROW_CLAMP(name, VECTOR, LARGER, SMALLER)             \
  static inline __attribute__((always_inline)) void name(    \
      const etx_row_store* s, VECTOR* x) {                   \
    const VECTOR zero = {0};                                 \
    const VECTOR low = s->low - zero, high = s->high - zero; \
    *x = LARGER(low, *x);                                    \
    *x = SMALLER(high, *x);                                  \
  }

// The bias to add. Where `below` is greater than `low`, which then is 0, a
// result -0 has to become 0: adding 0 instead of -0 to the sum does that and
// changes nothing else.
static inline float row_bias(const etx_row_store* s, float bias) {
  return s->below > s->low ? bias + 0.0f : bias;
}

#if VECTOR_BYTES >= 32
ROW_CLAMP(clamp_piece, row_piece, ETX_F32_MAX, ETX_F32_MIN)
#if VECTOR_BYTES == 32
ROW_CLAMP(clamp_four, row_four, __builtin_ia32_maxps, __builtin_ia32_minps)
#endif
#else

typedef int row_four_mask __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) void clamp_four(
    const etx_row_store* s, row_four* x) {
  const row_four low = (row_four){0} + s->low, high = (row_four){0} + s->high;
  const row_four_mask is_low = *x<s->below, is_high = *x> s->high;
  row_four_mask bits =
      ((row_four_mask)low & is_low) | ((row_four_mask)*x & ~is_low);
  bits = ((row_four_mask)high & is_high) | (bits & ~is_high);
  *x = (row_four)bits;
}
#define clamp_piece clamp_four

#endif

#if VECTOR_BYTES == 64

ROW_FINISH(finish_piece, row_piece, clamp_piece)

static inline __attribute__((always_inline)) void store_row(
    const etx_row_store* s, const float* sums, const float* added, float* out) {
  const size_t count = s->count;
  row_piece x, other;
  size_t i = 0;
  for (; i + ROW_PIECE <= count; i += ROW_PIECE) {
    memcpy(&x, sums + i, sizeof x);
    finish_piece(s, &x, added == NULL ? NULL : added + i, out + i);
  }
  if (i == count) return;
  const row_lanes lanes = row_first((ptrdiff_t)(count - i));
  x = ROW_LOAD_SOME(sums + i, lanes);
  if (added != NULL) other = ROW_LOAD_SOME(added + i, lanes);
  finish_piece(s, &x, added == NULL ? NULL : (const float*)&other, (float*)&x);
  ROW_STORE_SOME(out + i, x, lanes);
}

#else

ROW_FINISH(finish_four, row_four, clamp_four)
#if VECTOR_BYTES > 16
ROW_FINISH(finish_piece, row_piece, clamp_piece)
#else
#define finish_piece finish_four
#endif

static inline __attribute__((always_inline)) void store_piece(
    const etx_row_store* s, const float* sums, const float* added, float* out) {
  row_piece x;
  memcpy(&x, sums, sizeof x);
  finish_piece(s, &x, added, out);
}

static inline __attribute__((always_inline)) void store_four(
    const etx_row_store* s, const float* sums, const float* added, float* out) {
  row_four x;
  memcpy(&x, sums, sizeof x);
  finish_four(s, &x, added, out);
}

static inline __attribute__((always_inline)) void store_row(
    const etx_row_store* s, const float* sums, const float* added, float* out) {
  const size_t count = s->count;
  size_t i = 0;
  if (count >= ROW_PIECE) {
    for (; i + ROW_PIECE < count; i += ROW_PIECE) {
      store_piece(s, sums + i, added == NULL ? NULL : added + i, out + i);
    }
    i = count - ROW_PIECE;
    store_piece(s, sums + i, added == NULL ? NULL : added + i, out + i);
    return;
  }
  if (count >= 4) {
    store_four(s, sums, added, out);
    i = count - 4;
    store_four(s, sums + i, added == NULL ? NULL : added + i, out + i);
    return;
  }
  for (; i < count; ++i) {
    float x = sums[i] + s->bias;
    if (added != NULL) x = added[i] + x;
    out[i] = x < s->below ? s->low : x > s->high ? s->high : x;
  }
}

#endif

//   @store_rows  float32 | rows stored with bias, addition, clamp |
//     {ROW_PIECE} elements
static void store_rows(const etx_row_store* given) {
  etx_row_store s = *given;  // which results do not change
  s.bias = row_bias(&s, s.bias);
  const float* sums = s.sums;
  float* out = s.out;
  for (size_t r = 0; r < s.rows; ++r, sums += s.sum_row, out += s.out_row) {
    if (s.added == NULL) {
      store_row(&s, sums, NULL, out);
    } else {
      store_row(&s, sums, s.added + (ptrdiff_t)r * s.out_row, out);
    }
  }
}
