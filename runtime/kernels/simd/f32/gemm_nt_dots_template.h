// GEMM NT of one element type. Elements become float32 in registers; then the
// code and the order of the sums are those of float32. Include after
// gemm_nt_template.h and gemm_small_template.h.
//
//   T                       required  type of an element in memory
//   NAME(x)                 required  name of a function for the type
//   LOAD(x, from)           required  loads a vector of elements as float32
//   LEFT_T, LOAD_LEFT       optional  the same of left, if its type is another
//   LOAD_FIRST(x, from, n)  optional  loads the first n elements of a vector;
//                                     the others are zeros and are not read
//   VECTOR_BYTES            required  bytes of a vector register: 16, 32 or 64
//   BLOCK_ROWS              required  rows of the register block
//   DOT_COLUMNS             required  columns of the register block
//   GEMM_NT_COLUMNS_OF_TWO  optional  columns of a block of two rows; needed if
//                                     BLOCK_ROWS is 2 or 3
//   GEMM_NT_COLUMNS_OF_ONE  optional  the same for one row
//   TYPE_HAS_SHORT_DOTS     optional  defined: the type has code for one row
//                                     with few columns, and for dots of fewer
//                                     elements than partial sums

#if !defined(T) || !defined(NAME) || !defined(LOAD) || \
    !defined(VECTOR_BYTES) || !defined(BLOCK_ROWS) || !defined(DOT_COLUMNS)
#error "this header needs the macros of its table"
#endif

#ifdef LEFT_T
#define LEFT_REST NAME(gemm_nt_left_rest)
#else
#define LEFT_T T
#define LOAD_LEFT(x, from) LOAD(x, from)
#define LEFT_REST NAME(gemm_nt_rest)
#define LEFT_IS_T
#endif

// Elements in the memory of a float, and in a line of the cache.
#define PER_FLOAT ((int)(sizeof(float) / sizeof(T)))
#define LINE ((size_t)(64 / sizeof(T)))

// A tile of columns (rows of right) that are `apart` from each other, so that
// the rows that are read together lie in different pages. The hardware
// prefetcher works within each page and stops at its end: reading one page
// after the other reaches half the memory bandwidth only.
typedef struct NAME(gemm_nt_tile) {
  const etx_gemm_nt* b;
  const T* right;       // the first column's
  ptrdiff_t right_row;  // from column to column
  float* out;
  size_t apart, columns;
} NAME(gemm_nt_tile);

static inline const LEFT_T* NAME(left_at)(const etx_gemm_nt* b, size_t row) {
  return (const LEFT_T*)b->left + (ptrdiff_t)row * b->left_row;
}

static inline const T* NAME(right_at)(const etx_gemm_nt* b, size_t column) {
  return (const T*)b->right + (ptrdiff_t)column * b->right_row;
}

static inline NAME(gemm_nt_tile)
    NAME(gemm_nt_tile_at)(const etx_gemm_nt* b, size_t column, size_t apart,
                          size_t columns) {
  return (NAME(gemm_nt_tile)){.b = b,
                              .right = NAME(right_at)(b, column),
                              .right_row = (ptrdiff_t)apart * b->right_row,
                              .out = b->out + column,
                              .apart = apart,
                              .columns = columns};
}

// Adds the next step to each of `rows` times `columns` dot products.
static inline __attribute__((always_inline)) void NAME(gemm_nt_step)(
    const LEFT_T* left, ptrdiff_t left_row, const T* right, ptrdiff_t right_row,
    size_t rows, size_t columns,
    etx_f32_vec sums[][GEMM_NT_MAX_COLUMNS][DOT_PARTS]) {
  ETX_UNROLLED
  for (size_t part = 0; part < DOT_PARTS; ++part) {
    const size_t at = part * ETX_F32_LANES;
    etx_f32_vec y[GEMM_NT_MAX_COLUMNS];
    ETX_UNROLLED
    for (size_t j = 0; j < columns; ++j) {
      LOAD(y[j], right + (ptrdiff_t)j * right_row + at);
      if (rows > 1) ETX_F32_KEEP(y[j]);
    }
    ETX_UNROLLED
    for (size_t i = 0; i < rows; ++i) {
      etx_f32_vec x;
      LOAD_LEFT(x, left + (ptrdiff_t)i * left_row + at);
      if (columns > 1) ETX_F32_KEEP(x);
      ETX_UNROLLED
      for (size_t j = 0; j < columns; ++j) {
        sums[i][j][part] = ETX_F32_FMA(x, y[j], sums[i][j][part]);
      }
    }
  }
}

#ifdef LOAD_FIRST

// Adds the last step, of `count` elements. The others are zeros.
static inline __attribute__((always_inline)) void NAME(gemm_nt_last_step)(
    const LEFT_T* left, ptrdiff_t left_row, const T* right, ptrdiff_t right_row,
    size_t rows, size_t columns, size_t count,
    etx_f32_vec sums[][GEMM_NT_MAX_COLUMNS][DOT_PARTS]) {
  etx_f32_vec y[GEMM_NT_MAX_COLUMNS];
  ETX_UNROLLED
  for (size_t j = 0; j < columns; ++j) {
    LOAD_FIRST(y[j], right + (ptrdiff_t)j * right_row, count);
  }
  ETX_UNROLLED
  for (size_t i = 0; i < rows; ++i) {
    etx_f32_vec x;
    LOAD_FIRST(x, left + (ptrdiff_t)i * left_row, count);
    ETX_UNROLLED
    for (size_t j = 0; j < columns; ++j) {
      sums[i][j][0] = ETX_F32_FMA(x, y[j], sums[i][j][0]);
    }
  }
}

#else

// Copies the last elements of some rows, padded with zeros.
static inline void NAME(gemm_nt_rest)(const T* from, ptrdiff_t row, size_t rows,
                                      size_t count, T out[][GEMM_NT_LANES]) {
  memset(out, 0, rows * GEMM_NT_LANES * sizeof(T));
  for (size_t i = 0; i < rows; ++i) {
    for (size_t k = 0; k < count; ++k) {
      out[i][k] = from[(ptrdiff_t)i * row + (ptrdiff_t)k];
    }
  }
}

#ifndef LEFT_IS_T
static inline void NAME(gemm_nt_left_rest)(const LEFT_T* from, ptrdiff_t row,
                                           size_t rows, size_t count,
                                           LEFT_T out[][GEMM_NT_LANES]) {
  memset(out, 0, rows * GEMM_NT_LANES * sizeof(LEFT_T));
  for (size_t i = 0; i < rows; ++i) {
    for (size_t k = 0; k < count; ++k) {
      out[i][k] = from[(ptrdiff_t)i * row + (ptrdiff_t)k];
    }
  }
}
#endif

// Adds the last step, of `count` elements. The others are zeros.
static inline __attribute__((always_inline)) void NAME(gemm_nt_last_step)(
    const LEFT_T* left, ptrdiff_t left_row, const T* right, ptrdiff_t right_row,
    size_t rows, size_t columns, size_t count,
    etx_f32_vec sums[][GEMM_NT_MAX_COLUMNS][DOT_PARTS]) {
  LEFT_T x[GEMM_NT_MAX_ROWS][GEMM_NT_LANES];
  T y[GEMM_NT_MAX_COLUMNS][GEMM_NT_LANES];
  LEFT_REST(left, left_row, rows, count, x);
  NAME(gemm_nt_rest)(right, right_row, columns, count, y);
  NAME(gemm_nt_step)
  (x[0], GEMM_NT_LANES, y[0], GEMM_NT_LANES, rows, columns, sums);
}

#endif

#if VECTOR_BYTES == 64

static inline __attribute__((always_inline)) void NAME(gemm_nt_store)(
    const NAME(gemm_nt_tile) * t, size_t row, size_t column, size_t rows,
    size_t columns, etx_f32_vec sums[][GEMM_NT_MAX_COLUMNS][DOT_PARTS]) {
  enum { MOST = (GEMM_NT_MAX_ROWS * GEMM_NT_MAX_COLUMNS + 15) / 16 * 16 };
  etx_f32_vec all[MOST];
  float totals[MOST];
  ETX_UNROLLED
  for (size_t i = 0; i < rows; ++i) {
    ETX_UNROLLED
    for (size_t j = 0; j < columns; ++j) all[i * columns + j] = sums[i][j][0];
  }
  // The sums of the padding are discarded.
  for (size_t i = rows * columns; i % 16 != 0; ++i) all[i] = (etx_f32_vec){0};
  for (size_t i = 0; i < rows * columns; i += 16) {
    gemm_nt_totals(all + i, totals + i);
  }
  float* out =
      t->out + (ptrdiff_t)row * t->b->out_row + (ptrdiff_t)(column * t->apart);
  for (size_t i = 0, at = 0; i < rows; ++i, out += t->b->out_row) {
    for (size_t j = 0; j < columns; ++j, ++at) {
      out[j * t->apart] = totals[at / 16 * 16 + at % 4 * 4 + at % 16 / 4];
    }
  }
}

#else

static inline __attribute__((always_inline)) void NAME(gemm_nt_store)(
    const NAME(gemm_nt_tile) * t, size_t row, size_t column, size_t rows,
    size_t columns, etx_f32_vec sums[][GEMM_NT_MAX_COLUMNS][DOT_PARTS]) {
  // Rows innermost: around a loop over rows with one iteration, clang 14 keeps
  // the sums in memory.
  ETX_UNROLLED
  for (size_t j = 0; j < columns; ++j) {
    ETX_UNROLLED
    for (size_t i = 0; i < rows; ++i) {
      t->out[(ptrdiff_t)(row + i) * t->b->out_row +
             (ptrdiff_t)((column + j) * t->apart)] =
          etx_f32_vec_sum(sums[i][j]);
    }
  }
}

#endif

// `rows` times `columns` dots. Inlined with constants, so that the partial sums
// stay in registers.
static inline __attribute__((always_inline)) void NAME(gemm_nt_block)(
    const NAME(gemm_nt_tile) * t, size_t row, size_t column, size_t rows,
    size_t columns, bool asks) {
  const etx_gemm_nt* b = t->b;
  const LEFT_T* left = NAME(left_at)(b, row);
  const T* right = t->right + (ptrdiff_t)column * t->right_row;
  etx_f32_vec sums[GEMM_NT_MAX_ROWS][GEMM_NT_MAX_COLUMNS][DOT_PARTS] = {
      {{{0}}}};
  size_t k = 0;
  for (; k + GEMM_NT_LANES <= b->count; k += GEMM_NT_LANES) {
    if (asks || (GEMM_NT_PREFETCH > 0 && rows > 1)) {
      const ptrdiff_t next = asks ? (ptrdiff_t)columns * t->right_row
                                  : (ptrdiff_t)GEMM_NT_PREFETCH * PER_FLOAT;
      ETX_UNROLLED
      for (size_t j = 0; j < columns; ++j) {
        __builtin_prefetch(right + (ptrdiff_t)j * t->right_row + next + k);
      }
    }
    NAME(gemm_nt_step)
    (left + k, b->left_row, right + k, t->right_row, rows, columns, sums);
  }
  if (k < b->count) {
    NAME(gemm_nt_last_step)
    (left + k, b->left_row, right + k, t->right_row, rows, columns,
     b->count - k, sums);
  }
  NAME(gemm_nt_store)(t, row, column, rows, columns, sums);
}

static inline __attribute__((always_inline)) void NAME(dot_rows)(
    const NAME(gemm_nt_tile) * t, size_t row, size_t rows, size_t columns) {
  size_t column = 0;
  // The first rows read the columns from memory; they prefetch the next columns
  // if these will still be in L1 when they are read.
  const bool asks =
      GEMM_NT_PREFETCH == 0 && row == 0 && t->b->count <= GEMM_NT_AHEAD;
  for (; asks && column + 2 * columns <= t->columns; column += columns) {
    NAME(gemm_nt_block)(t, row, column, rows, columns, true);
  }
  for (; column + columns <= t->columns; column += columns) {
    NAME(gemm_nt_block)(t, row, column, rows, columns, false);
  }
  for (; column < t->columns; ++column) {
    NAME(gemm_nt_block)(t, row, column, rows, 1, false);
  }
}

// Computes all rows with the columns of a tile.
static void NAME(gemm_nt_tile_run)(const NAME(gemm_nt_tile) * t) {
  const size_t all = t->b->rows;
  size_t row = 0;
#if defined(ETX_LOOPS_ARE_SHORT) || BLOCK_ROWS == 1
  for (; row < all; ++row) NAME(dot_rows)(t, row, 1, DOT_COLUMNS);
#elif BLOCK_ROWS > 3
  // Blocks have similar sizes.
  while (row < all) {
    const size_t turns = (all - row + BLOCK_ROWS - 1) / BLOCK_ROWS;
    const size_t rows = (all - row + turns - 1) / turns;
    switch (rows) {
#if BLOCK_ROWS > 4
      case 7:
        NAME(dot_rows)(t, row, 7, DOT_COLUMNS);
        break;
      case 6:
        NAME(dot_rows)(t, row, 6, DOT_COLUMNS);
        break;
      case 5:
        NAME(dot_rows)(t, row, 5, DOT_COLUMNS);
        break;
#endif
      case 4:
        NAME(dot_rows)(t, row, 4, DOT_COLUMNS);
        break;
      case 3:
        NAME(dot_rows)(t, row, 3, DOT_COLUMNS);
        break;
      case 2:
        NAME(dot_rows)(t, row, 2, DOT_COLUMNS);
        break;
      default:
        NAME(dot_rows)(t, row, 1, DOT_COLUMNS);
        break;
    }
    row += rows;
  }
#else
  // Avoid a single row at the end: it would read the tile for itself.
  while (row + BLOCK_ROWS <= all && row + BLOCK_ROWS + 1 != all) {
    NAME(dot_rows)(t, row, BLOCK_ROWS, DOT_COLUMNS);
    row += BLOCK_ROWS;
  }
  for (; row + 2 <= all; row += 2)
    NAME(dot_rows)(t, row, 2, GEMM_NT_COLUMNS_OF_TWO);
  if (row < all) NAME(dot_rows)(t, row, 1, GEMM_NT_COLUMNS_OF_ONE);
#endif
}

// Builds for size have no code of its own for one row of mixed types.
#if VECTOR_BYTES == 64 && (defined(LEFT_IS_T) || !defined(__OPTIMIZE_SIZE__))
#define HAS_ONE_ROW
#endif

#ifdef HAS_ONE_ROW

// One row (GEMV) times sixteen columns: `side` columns that are `apart` from
// each other, and the columns that follow each of them. Sixteen sums are
// reduced together, and the results of neighbouring columns are neighbours.
static inline __attribute__((always_inline)) void NAME(gemm_nt_sixteen)(
    const etx_gemm_nt* b, size_t column, size_t apart, size_t side, bool asks) {
  const size_t follow = 16 / side;
  const ptrdiff_t pitch = (ptrdiff_t)apart * b->right_row;
  const LEFT_T* left = NAME(left_at)(b, 0);
  const T* right = NAME(right_at)(b, column);
  const size_t whole = b->count - b->count % GEMM_NT_LANES;
  etx_f32_vec all[16];
  for (size_t i = 0; i < follow; ++i, right += b->right_row) {
    etx_f32_vec sums[1][GEMM_NT_MAX_COLUMNS][DOT_PARTS] = {{{{0}}}};
    size_t k = 0;
    for (; k + LINE <= whole; k += LINE) {
      if (asks) {
        ETX_UNROLLED
        for (size_t j = 0; j < side; ++j) {
          __builtin_prefetch(right + (ptrdiff_t)j * pitch + k +
                             GEMM_NT_ONE_ROW_PREFETCH * PER_FLOAT);
        }
      }
      ETX_UNROLLED
      for (size_t at = k; at < k + LINE; at += GEMM_NT_LANES) {
        NAME(gemm_nt_step)(left + at, 0, right + at, pitch, 1, side, sums);
      }
    }
    for (; PER_FLOAT > 1 && k < whole; k += GEMM_NT_LANES) {
      NAME(gemm_nt_step)(left + k, 0, right + k, pitch, 1, side, sums);
    }
    if (whole < b->count) {
      NAME(gemm_nt_last_step)
      (left + whole, 0, right + whole, pitch, 1, side, b->count - whole, sums);
    }
    ETX_UNROLLED
    for (size_t j = 0; j < side; ++j) {
      const size_t lane = follow * j + i;  // index in `totals`
      all[4 * (lane % 4) + lane / 4] = sums[0][j][0];
    }
  }
  float totals[16];
  gemm_nt_totals(all, totals);
  for (size_t j = 0; j < side; ++j) {
    memcpy(b->out + column + j * apart, totals + follow * j,
           follow * sizeof(float));
  }
}

// All columns of one row but the last up to fifteen; returns their number. If
// the weights are in the cache, the latency of the sums is the limit: four
// columns at a time. If they come from memory, two streams are faster than four
// (208 MB of weights take 0.96 of the time on Zen 4), and on Intel four streams
// with software prefetch (0.93 on Emerald Rapids).
static size_t NAME(gemm_nt_one_row)(const etx_gemm_nt* b) {
  const size_t sixteens = b->columns / 16;
  const bool is_far =
      b->columns * b->count >= (size_t)GEMM_NT_ONE_ROW_MIN * PER_FLOAT;
  size_t column = 0;
  // Three loops: a branch inside one loop would cost half of the gain.
  if (is_far && gemm_nt_is_intel()) {
    for (; column < 4 * sixteens; column += 4) {
      NAME(gemm_nt_sixteen)(b, column, 4 * sixteens, 4, true);
    }
  } else if (is_far) {
    for (; column < 8 * sixteens; column += 8) {
      NAME(gemm_nt_sixteen)(b, column, 8 * sixteens, 2, false);
    }
  } else {
    for (; column < 4 * sixteens; column += 4) {
      NAME(gemm_nt_sixteen)(b, column, 4 * sixteens, 4, false);
    }
  }
  return 16 * sixteens;
}

#ifdef TYPE_HAS_SHORT_DOTS

// The partial sums of one dot product of a multiple of sixteen elements.
static inline __attribute__((always_inline)) etx_f32_vec NAME(dot_row)(
    const T* left, const T* right, size_t count) {
  enum { PIECE = 4 * GEMM_NT_LANES };
  etx_f32_vec sum = {0}, x, y;
  size_t k = 0;
  for (; k + PIECE <= count; k += PIECE) {
    ETX_UNROLLED
    for (size_t i = 0; i < PIECE; i += GEMM_NT_LANES) {
      LOAD(x, left + k + i);
      LOAD(y, right + k + i);
      sum = ETX_F32_FMA(x, y, sum);
    }
  }
  for (; k < count; k += GEMM_NT_LANES) {
    LOAD(x, left + k);
    LOAD(y, right + k);
    sum = ETX_F32_FMA(x, y, sum);
  }
  return sum;
}

// One row with few columns, in the order of memory: they are in a few pages.
static inline __attribute__((always_inline)) void NAME(gemm_nt_cached_row)(
    const etx_gemm_nt* b, size_t count) {
  const T *left = b->left, *right = b->right;
  size_t column = 0;
  for (; column + 16 <= b->columns; column += 16) {
    etx_f32_vec all[16];
    ETX_UNROLLED_16
    for (size_t i = 0; i < 16; ++i) {
      all[4 * (i % 4) + i / 4] = NAME(dot_row)(left, right, count);
      right += b->right_row;
    }
    gemm_nt_totals_inline(all, b->out + column);
  }
  const size_t rest = b->columns - column;
  if (rest == 0) return;
  etx_f32_vec all[16] = {{0}};
  for (size_t i = 0; i < rest; ++i, right += b->right_row) {
    all[4 * (i % 4) + i / 4] = NAME(dot_row)(left, right, count);
  }
  float totals[16];
  gemm_nt_totals(all, totals);
  memcpy(b->out + column, totals, rest * sizeof(float));
}

// The same for other counts, by itself: inlined, it made the loops for other
// products slower.
static __attribute__((noinline)) void NAME(gemm_nt_cached_row_of)(
    const etx_gemm_nt* b) {
  NAME(gemm_nt_cached_row)(b, b->count);
}

#endif
#endif

// All dot products of a block.
static void NAME(dots)(const etx_gemm_nt* b) {
#ifdef TYPE_HAS_SHORT_DOTS
  if (b->count < GEMM_NT_LANES) {
    // Fewer elements than partial sums: one sum in order.
    gemm_small(&(etx_gemm){.rows = b->rows,
                           .columns = b->columns,
                           .inner = b->count,
                           .dtype = ETX_DTYPE_FLOAT32,
                           .right_dtype = ETX_DTYPE_FLOAT32,
                           .left = (const char*)b->left,
                           .left_row = b->left_row,
                           .left_inner = 1,
                           .right = (const char*)b->right,
                           .right_inner = 1,
                           .right_column = b->right_row,
                           .out = (char*)b->out,
                           .out_row = b->out_row});
    return;
  }
#endif
#ifdef HAS_ONE_ROW
  etx_gemm_nt rest = *b;
#ifdef TYPE_HAS_SHORT_DOTS
  if (gemm_nt_is_near(b) && b->count % GEMM_NT_LANES == 0) {
    if (b->count == 64) {
      NAME(gemm_nt_cached_row)(b, 64);
    } else if (b->count == 128) {
      NAME(gemm_nt_cached_row)(b, 128);
    } else {
      NAME(gemm_nt_cached_row_of)(b);
    }
    return;
  }
#endif
  if (b->rows == 1) {
    const size_t done = NAME(gemm_nt_one_row)(b);
    rest.right = NAME(right_at)(b, done);
    rest.out += done;
    rest.columns -= done;
    b = &rest;
  }
#endif
#ifndef GEMM_NT_COLUMNS_OF_ONE
  const size_t most = GEMM_NT_TILE;
#else
  const size_t few = b->rows == 1 ? GEMM_NT_COLUMNS_OF_ONE : GEMM_NT_TILE;
  const size_t most = gemm_nt_is_near(b) ? b->columns : few;
#endif
  size_t apart = b->columns / most;
  // Odd: rows at an even distance more often share a cache set.
  if (b->rows > 1 && apart > 1) apart -= (apart & 1) ^ 1;
  // Tiles of columns that are apart from each other, then the remaining
  // columns, which are neighbours. One call for both, because the tile's code
  // is large.
  for (size_t column = 0; column < b->columns;) {
    const bool is_apart = column < apart;
    const size_t left = b->columns - column;
    const NAME(gemm_nt_tile) t = NAME(gemm_nt_tile_at)(
        b, column, is_apart ? apart : 1, is_apart || left > most ? most : left);
    NAME(gemm_nt_tile_run)(&t);
    column += is_apart ? 1 : most;
    if (is_apart && column == apart) column = apart * most;
  }
}

#ifdef LEFT_IS_T
#undef LEFT_IS_T
#undef LOAD_LEFT
#undef LEFT_T
#endif
#undef LEFT_REST
#undef HAS_ONE_ROW
#undef PER_FLOAT
#undef LINE
