// Small products (etx_small_loop): columns are lanes, and a call has few
// steps of its own. Read once for each instruction set, behind row_template.h.

#include <stdbool.h>
#include <string.h>

#include "runtime/kernels/loop_unrolled.h"
#include "runtime/kernels/panel_loops.h"
#include "runtime/kernels/simd/f32/gemm_args.h"
#include "runtime/kernels/turn_template.h"

enum {
  SMALL_GROUP = ETX_TURNED_ROWS,  // columns that are turned at a time
  SMALL_ROWS = 4,                 // that hide how long a step takes
};

// The first lanes of a vector in memory: of the others nothing is read.
#if VECTOR_BYTES >= 32
typedef row_lanes small_lanes;
#define SMALL_FIRST(count) row_first((ptrdiff_t)(count))
#define SMALL_LOAD(from, lanes) ROW_LOAD_SOME(from, lanes)
#else
typedef size_t small_lanes;  // how many
#define SMALL_FIRST(count) (count)
#define SMALL_LOAD(from, lanes) small_load(from, lanes)

static inline etx_fused small_load(const float* from, small_lanes lanes) {
  etx_fused x = {0};
  if (lanes >= ETX_FUSED_LANES) {
    memcpy(&x, from, sizeof(x));
    return x;
  }
  for (size_t i = 0; i < lanes; ++i) x[i] = from[i];
  return x;
}
#endif

// Stores of some lanes would do, but whoever reads the result next would wait
// for them.
static __attribute__((noinline)) void small_store_some(float* to, etx_fused x,
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
typedef float small_half_vector __attribute__((vector_size(VECTOR_BYTES / 2)));

static inline __attribute__((always_inline)) etx_fused small_load_half(
    const float* from) {
  small_half_vector x;
  memcpy(&x, from, sizeof(x));
  return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7, -1, -1, -1, -1,
                                 -1, -1, -1, -1);
}
#endif

// What the loops below share: a vector of columns of `p`.
typedef struct small_columns {
  const etx_product* p;
  const float* right;   // of the first tap
  ptrdiff_t right_row;  // from tap to tap
  size_t column, columns;
  small_lanes lanes;
} small_columns;

// `are_half`: there are as many columns as half a vector has lanes.
static inline __attribute__((always_inline)) etx_fused small_columns_load(
    const small_columns* c, const float* from, bool are_half) {
#if VECTOR_BYTES == 64
  if (are_half) return small_load_half(from);
#endif
  (void)are_half;
  return SMALL_LOAD(from, c->lanes);
}

static inline __attribute__((always_inline)) void small_columns_store(
    const small_columns* c, float* to, etx_fused x, bool are_half) {
  if (are_half) {
    memcpy(to, &x, VECTOR_BYTES / 2);
  } else if (c->columns >= ETX_FUSED_LANES) {
    memcpy(to, &x, sizeof(x));
  } else {
    small_store_some(to, x, c->columns);
  }
}

// `rows` rows of them. Inlined with constants, so that sums stay in registers.
static inline __attribute__((always_inline)) void small_rows(
    const small_columns* c, size_t row, size_t rows, bool are_half) {
  const etx_product* p = c->p;
  const float* x =
      (const float*)(const void*)p->left + (ptrdiff_t)row * p->left_row;
  const float* y = c->right;
  etx_fused sums[SMALL_ROWS] = {{0}};
  for (size_t k = p->inner; k > 0; --k) {
    const etx_fused right = small_columns_load(c, y, are_half);
    ETX_UNROLLED
    for (size_t i = 0; i < rows; ++i) {
      const float left = x[(ptrdiff_t)i * p->left_row];
      sums[i] = ETX_FUSED_ADD(ETX_FUSED_ALL(left), right, sums[i]);
    }
    x += p->left_inner;
    y += c->right_row;
  }
  float* out = (float*)(void*)p->out + (ptrdiff_t)row * p->out_row +
               (ptrdiff_t)c->column;
  if (etx_small_adds(p)) {
    const float* added = (const float*)(const void*)p->added +
                         (ptrdiff_t)row * p->added_row + (ptrdiff_t)c->column;
    ETX_UNROLLED
    for (size_t i = 0; i < rows; ++i, added += p->added_row) {
      sums[i] = small_columns_load(c, added, are_half) + sums[i];
    }
  }
  ETX_UNROLLED
  for (size_t i = 0; i < rows; ++i, out += p->out_row) {
    small_columns_store(c, out, sums[i], are_half);
  }
}

static inline __attribute__((always_inline)) void small_all_rows(
    const small_columns* c, bool are_half) {
  size_t row = 0;
  for (; row + SMALL_ROWS <= c->p->rows; row += SMALL_ROWS) {
    small_rows(c, row, SMALL_ROWS, are_half);
  }
  for (; row < c->p->rows; ++row) small_rows(c, row, 1, are_half);
}

// All rows of some columns.
static void small_group(const etx_product* p, size_t column, size_t columns,
                        const float* right, ptrdiff_t right_row) {
  small_columns c = {.p = p,
                     .right = right,
                     .right_row = right_row,
                     .column = column};
#if VECTOR_BYTES == 64
  if (columns == ETX_FUSED_LANES / 2) {
    small_all_rows(&c, true);
    return;
  }
#endif
  for (size_t done = 0; done < columns; done += ETX_FUSED_LANES) {
    c.columns = columns - done;
    c.lanes = SMALL_FIRST(columns - done);
    small_all_rows(&c, false);
    c.right += ETX_FUSED_LANES;
    c.column += ETX_FUSED_LANES;
  }
}

// Writes the taps of up to a group of columns side by side; zeros where there
// is no column.
#if VECTOR_BYTES >= 32

// A square in registers; what is not there is zero.
static inline __attribute__((always_inline)) void small_square(
    const float* in, ptrdiff_t row, size_t rows, size_t count, float* out) {
  const small_lanes lanes = SMALL_FIRST(count);
  turn_vector a[TURN] = {{0}}, b[TURN];
  ETX_UNROLLED_16
  for (size_t i = 0; i < TURN; ++i) {
    if (i < rows) a[i] = SMALL_LOAD(in + (ptrdiff_t)i * row, lanes);
  }
  turn_registers(a, b);
  ETX_UNROLLED_16
  for (size_t k = 0; k < TURN; ++k) {
    memcpy(out + k * SMALL_GROUP, &b[k], sizeof(b[k]));
  }
}

#if VECTOR_BYTES == 64

// Up to eight rows of up to eight taps, two rows to a vector.
static void small_turn_eight(const float* in, ptrdiff_t row, size_t rows,
                             size_t count, float* out) {
  enum { SIDE = 8 };
  const small_lanes lanes = SMALL_FIRST(count);
  etx_fused a[SIDE] = {{0}};
  ETX_UNROLLED
  for (size_t i = 0; i < SIDE; ++i, in += row) {
    if (i < rows) a[i] = SMALL_LOAD(in, lanes);
  }
  ETX_UNROLLED
  for (size_t i = 0; i < SIDE / 2; ++i) {
    a[i] = __builtin_shufflevector(a[i], a[4 + i], 0, 1, 2, 3, 4, 5, 6, 7, 16,
                                   17, 18, 19, 20, 21, 22, 23);
  }
  const etx_fused pairs[4] = {
      TURN_PAIRS(a[0], a[1], 0), TURN_PAIRS(a[0], a[1], 2),
      TURN_PAIRS(a[2], a[3], 0), TURN_PAIRS(a[2], a[3], 2)};
  ETX_UNROLLED
  for (size_t k = 0; k < SIDE / 2; ++k, out += SMALL_GROUP) {
    // Taps k and 4 + k of the first four rows, then those of the others.
    const etx_fused x =
        k % 2 == 0 ? TURN_FOURS(pairs[k / 2], pairs[k / 2 + 2], 0)
                   : TURN_FOURS(pairs[k / 2], pairs[k / 2 + 2], 2);
    const etx_fused y = __builtin_shufflevector(
        x, x, 0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15);
    memcpy(out, &y, VECTOR_BYTES / 2);
    memcpy(out + 4 * SMALL_GROUP, (const float*)&y + SIDE, VECTOR_BYTES / 2);
  }
}

#endif

static void small_turn(const float* in, ptrdiff_t row, size_t rows,
                       size_t count, float* out) {
#if VECTOR_BYTES == 64
  if (rows <= TURN / 2 && count <= TURN / 2) {
    small_turn_eight(in, row, rows, count, out);
    return;
  }
#endif
  for (size_t i = 0; i < rows; i += TURN) {
    for (size_t k = 0; k < count; k += TURN) {
      small_square(in + (ptrdiff_t)i * row + k, row, rows - i, count - k,
                   out + k * SMALL_GROUP + i);
    }
  }
}

#else
#define small_turn turn
#endif

static void small_turned(const etx_product* p) {
  float turned[ETX_SMALL_INNER][SMALL_GROUP]
      __attribute__((aligned(VECTOR_BYTES)));
  const float* right = (const float*)(const void*)p->right;
  for (size_t column = 0; column < p->columns; column += SMALL_GROUP) {
    const size_t left = p->columns - column;
    const size_t columns = left < SMALL_GROUP ? left : SMALL_GROUP;
    small_turn(right, p->right_column, columns, p->inner, turned[0]);
    small_group(p, column, columns, turned[0], SMALL_GROUP);
    right += SMALL_GROUP * p->right_column;
  }
}

static void multiply_small(const etx_product* p) {
  if (p->right_column == 1) {
    small_group(p, 0, p->columns, (const float*)(const void*)p->right,
                p->right_inner);
  } else {
    small_turned(p);
  }
}
