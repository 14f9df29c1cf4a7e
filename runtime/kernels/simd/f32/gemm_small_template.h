// Small matrix products (etx_gemm_small_loop): nothing is packed, and lanes are
// columns, so a call has little overhead. Include after row_copy_template.h and
// transpose_pack_template.h.
//
//   VECTOR_BYTES                required  bytes of a vector register: 16, 32 or
//                                         64
//   ETX_F32_FMA(a, b, c)        required  a * b + c, rounded once:
//                                         f32_vec_template.h
//   ROW_LOAD_SOME(from, lanes)  optional  loads some lanes,
//                                         row_copy_template.h; needed if
//                                         VECTOR_BYTES >= 32

#if !defined(VECTOR_BYTES) || !defined(ETX_F32_FMA)
#error "this header needs the macros of its table"
#endif

#include <stdbool.h>
#include <string.h>

#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"
#include "runtime/kernels/simd/f32/gemm_args.h"

enum {
  GEMM_SMALL_GROUP = ETX_TRANSPOSE_ROWS,  // columns that are turned at a time
  SMALL_ROWS = 4,                         // hide the latency of an FMA
};

// Loads the first lanes of a vector; the others are not read.
#if VECTOR_BYTES >= 32
typedef row_lanes gemm_small_lanes;
#define GEMM_SMALL_FIRST(count) row_first((ptrdiff_t)(count))
#define GEMM_SMALL_LOAD(from, lanes) ROW_LOAD_SOME(from, lanes)
#else
typedef size_t gemm_small_lanes;  // number of lanes
#define GEMM_SMALL_FIRST(count) (count)
#define GEMM_SMALL_LOAD(from, lanes) gemm_small_load(from, lanes)

static inline etx_f32_vec gemm_small_load(const float* from,
                                          gemm_small_lanes lanes) {
  etx_f32_vec x = {0};
  if (lanes >= ETX_F32_LANES) {
    memcpy(&x, from, sizeof(x));
    return x;
  }
  for (size_t i = 0; i < lanes; ++i) x[i] = from[i];
  return x;
}
#endif

// Masked stores would do, but loads of the result cannot be forwarded from them
// and would wait.
static __attribute__((noinline)) void gemm_small_store_some(float* to,
                                                            etx_f32_vec x,
                                                            size_t count) {
  const float* from = (const float*)&x;
#if VECTOR_BYTES == 64
  if (count & 8) {
    memcpy(to, from, 8 * sizeof(float));
    to += 8;
    from += 8;
  }
#endif
  if (count & 4) {
    memcpy(to, from, 4 * sizeof(float));
    to += 4;
    from += 4;
  }
  for (size_t i = 0; i < (count & 3); ++i) to[i] = from[i];
}

#if VECTOR_BYTES == 64
typedef float gemm_small_half __attribute__((vector_size(VECTOR_BYTES / 2)));

static inline __attribute__((always_inline)) etx_f32_vec gemm_small_load_half(
    const float* from) {
  gemm_small_half x;
  memcpy(&x, from, sizeof(x));
  return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7, -1, -1, -1, -1,
                                 -1, -1, -1, -1);
}
#endif

// The operands of the loops below: a vector of columns of `p`.
typedef struct gemm_small_columns {
  const etx_gemm* p;
  const float* right;   // `right` at the first tap
  ptrdiff_t right_row;  // from tap to tap
  size_t column, columns;
  gemm_small_lanes lanes;
} gemm_small_columns;

// `are_half`: there are as many columns as half a vector has lanes.
static inline __attribute__((always_inline)) etx_f32_vec
gemm_small_columns_load(const gemm_small_columns* c, const float* from,
                        bool are_half) {
#if VECTOR_BYTES == 64
  if (are_half) return gemm_small_load_half(from);
#endif
  (void)are_half;
  return GEMM_SMALL_LOAD(from, c->lanes);
}

static inline __attribute__((always_inline)) void gemm_small_columns_store(
    const gemm_small_columns* c, float* to, etx_f32_vec x, bool are_half) {
  if (are_half) {
    memcpy(to, &x, VECTOR_BYTES / 2);
  } else if (c->columns >= ETX_F32_LANES) {
    memcpy(to, &x, sizeof(x));
  } else {
    gemm_small_store_some(to, x, c->columns);
  }
}

// `rows` rows of them. Inlined with constants, so that sums stay in registers.
static inline __attribute__((always_inline)) void gemm_small_rows(
    const gemm_small_columns* c, size_t row, size_t rows, bool are_half) {
  const etx_gemm* p = c->p;
  const float* x =
      (const float*)(const void*)p->left + (ptrdiff_t)row * p->left_row;
  const float* y = c->right;
  etx_f32_vec sums[SMALL_ROWS] = {{0}};
  for (size_t k = p->inner; k > 0; --k) {
    const etx_f32_vec right = gemm_small_columns_load(c, y, are_half);
    ETX_UNROLLED
    for (size_t i = 0; i < rows; ++i) {
      const float left = x[(ptrdiff_t)i * p->left_row];
      sums[i] = ETX_F32_FMA(ETX_F32_BROADCAST(left), right, sums[i]);
    }
    x += p->left_inner;
    y += c->right_row;
  }
  float* out = (float*)(void*)p->out + (ptrdiff_t)row * p->out_row +
               (ptrdiff_t)c->column;
  if (etx_gemm_small_adds(p)) {
    const float* added = (const float*)(const void*)p->added +
                         (ptrdiff_t)row * p->added_row + (ptrdiff_t)c->column;
    ETX_UNROLLED
    for (size_t i = 0; i < rows; ++i, added += p->added_row) {
      sums[i] = gemm_small_columns_load(c, added, are_half) + sums[i];
    }
  }
  ETX_UNROLLED
  for (size_t i = 0; i < rows; ++i, out += p->out_row) {
    gemm_small_columns_store(c, out, sums[i], are_half);
  }
}

static inline __attribute__((always_inline)) void gemm_small_all_rows(
    const gemm_small_columns* c, bool are_half) {
  size_t row = 0;
  for (; row + SMALL_ROWS <= c->p->rows; row += SMALL_ROWS) {
    gemm_small_rows(c, row, SMALL_ROWS, are_half);
  }
  for (; row < c->p->rows; ++row) gemm_small_rows(c, row, 1, are_half);
}

// Computes all rows of some columns.
static void gemm_small_group(const etx_gemm* p, size_t column, size_t columns,
                             const float* right, ptrdiff_t right_row) {
  gemm_small_columns c = {
      .p = p, .right = right, .right_row = right_row, .column = column};
#if VECTOR_BYTES == 64
  if (columns == ETX_F32_LANES / 2) {
    gemm_small_all_rows(&c, true);
    return;
  }
#endif
  for (size_t done = 0; done < columns; done += ETX_F32_LANES) {
    c.columns = columns - done;
    c.lanes = GEMM_SMALL_FIRST(columns - done);
    gemm_small_all_rows(&c, false);
    c.right += ETX_F32_LANES;
    c.column += ETX_F32_LANES;
  }
}

// Writes the taps of up to a group of columns side by side; zeros where there
// is not a column.
#if VECTOR_BYTES >= 32

// A square in registers; elements outside the matrix are zero.
static inline __attribute__((always_inline)) void gemm_small_square(
    const float* in, ptrdiff_t row, size_t rows, size_t count, float* out) {
  const gemm_small_lanes lanes = GEMM_SMALL_FIRST(count);
  etx_f32_vec a[TRANSPOSE_SIDE] = {{0}}, b[TRANSPOSE_SIDE];
  ETX_UNROLLED_16
  for (size_t i = 0; i < TRANSPOSE_SIDE; ++i) {
    if (i < rows) a[i] = GEMM_SMALL_LOAD(in + (ptrdiff_t)i * row, lanes);
  }
  transpose_registers(a, b);
  ETX_UNROLLED_16
  for (size_t k = 0; k < TRANSPOSE_SIDE; ++k) {
    memcpy(out + k * GEMM_SMALL_GROUP, &b[k], sizeof(b[k]));
  }
}

#if VECTOR_BYTES == 64

// Computes up to eight rows of up to eight taps, two rows in each vector.
static void gemm_small_transpose_eight(const float* in, ptrdiff_t row,
                                       size_t rows, size_t count, float* out) {
  enum { SIDE = 8 };
  const gemm_small_lanes lanes = GEMM_SMALL_FIRST(count);
  etx_f32_vec a[SIDE] = {{0}};
  ETX_UNROLLED
  for (size_t i = 0; i < SIDE; ++i, in += row) {
    if (i < rows) a[i] = GEMM_SMALL_LOAD(in, lanes);
  }
  ETX_UNROLLED
  for (size_t i = 0; i < SIDE / 2; ++i) {
    a[i] = __builtin_shufflevector(a[i], a[4 + i], 0, 1, 2, 3, 4, 5, 6, 7, 16,
                                   17, 18, 19, 20, 21, 22, 23);
  }
  const etx_f32_vec pairs[4] = {
      TRANSPOSE_PAIRS(a[0], a[1], 0), TRANSPOSE_PAIRS(a[0], a[1], 2),
      TRANSPOSE_PAIRS(a[2], a[3], 0), TRANSPOSE_PAIRS(a[2], a[3], 2)};
  ETX_UNROLLED
  for (size_t k = 0; k < SIDE / 2; ++k, out += GEMM_SMALL_GROUP) {
    // Taps k and 4 + k of the first four rows, then those of the others.
    const etx_f32_vec x =
        k % 2 == 0 ? TRANSPOSE_FOURS(pairs[k / 2], pairs[k / 2 + 2], 0)
                   : TRANSPOSE_FOURS(pairs[k / 2], pairs[k / 2 + 2], 2);
    const etx_f32_vec y = __builtin_shufflevector(
        x, x, 0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15);
    memcpy(out, &y, VECTOR_BYTES / 2);
    memcpy(out + 4 * GEMM_SMALL_GROUP, (const float*)&y + SIDE,
           VECTOR_BYTES / 2);
  }
}

#endif

static void gemm_small_transpose(const float* in, ptrdiff_t row, size_t rows,
                                 size_t count, float* out) {
#if VECTOR_BYTES == 64
  if (rows <= TRANSPOSE_SIDE / 2 && count <= TRANSPOSE_SIDE / 2) {
    gemm_small_transpose_eight(in, row, rows, count, out);
    return;
  }
#endif
  for (size_t i = 0; i < rows; i += TRANSPOSE_SIDE) {
    for (size_t k = 0; k < count; k += TRANSPOSE_SIDE) {
      gemm_small_square(in + (ptrdiff_t)i * row + k, row, rows - i, count - k,
                        out + k * GEMM_SMALL_GROUP + i);
    }
  }
}

#else
#define gemm_small_transpose transpose_pack
#endif

static void gemm_small_transposed(const etx_gemm* p) {
  float turned[ETX_GEMM_SMALL_INNER][GEMM_SMALL_GROUP]
      __attribute__((aligned(VECTOR_BYTES)));
  const float* right = (const float*)(const void*)p->right;
  for (size_t column = 0; column < p->columns; column += GEMM_SMALL_GROUP) {
    const size_t left = p->columns - column;
    const size_t columns = left < GEMM_SMALL_GROUP ? left : GEMM_SMALL_GROUP;
    gemm_small_transpose(right, p->right_column, columns, p->inner, turned[0]);
    gemm_small_group(p, column, columns, turned[0], GEMM_SMALL_GROUP);
    right += GEMM_SMALL_GROUP * p->right_column;
  }
}

//   @gemm_small  float32 | small GEMM without packing | {SMALL_ROWS} x
//     {ETX_F32_LANES}
static void gemm_small(const etx_gemm* p) {
  if (p->right_column == 1) {
    gemm_small_group(p, 0, p->columns, (const float*)(const void*)p->right,
                     p->right_inner);
  } else {
    gemm_small_transposed(p);
  }
}
