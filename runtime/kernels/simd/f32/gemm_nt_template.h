// GEMM NT: dot products of rows with rows (etx_gemm_nt, which states the order
// of the sums). Include after transpose_registers_template.h and
// gemm_small_template.h. All sets give the same bits.
//
//   VECTOR_BYTES            required  bytes of a vector register: 16, 32 or 64
//   ETX_F32_FMA(a, b, c)    required  a * b + c, rounded once:
//                                     f32_vec_template.h
//   DOT_ROWS                required  rows of the register block
//   DOT_COLUMNS             required  columns of the register block
//   GEMM_NT_COLUMNS_OF_TWO  optional  columns of a block of two rows; needed if
//                                     DOT_ROWS <= 3
//   GEMM_NT_COLUMNS_OF_ONE  optional  the same for one row

#if !defined(VECTOR_BYTES) || !defined(ETX_F32_FMA) || !defined(DOT_ROWS) || \
    !defined(DOT_COLUMNS)
#error "this header needs the macros of its table"
#endif

enum {
  GEMM_NT_LANES = ETX_F32_DOT_SUMS,
  DOT_PARTS = ETX_F32_DOT_VECS,
#ifdef ETX_LOOPS_ARE_SHORT  // arrays stay in memory
  GEMM_NT_MAX_ROWS = 1,
  GEMM_NT_MAX_COLUMNS = DOT_COLUMNS,
#else
  GEMM_NT_MAX_ROWS = 7,  // largest DOT_ROWS
  GEMM_NT_MAX_COLUMNS = 4,
#endif
#if VECTOR_BYTES == 64
  // A tile has as many columns as the register block, so each stream of memory
  // continues from block to block: the hardware prefetcher follows it, and
  // software prefetch helps in addition.
  GEMM_NT_TILE = DOT_COLUMNS,
  GEMM_NT_PREFETCH = 512,  // prefetch distance in elements
  // The prefetch distance for one row, and the size of the matrix in elements
  // from which on it is used: smaller ones are in L2.
  GEMM_NT_ONE_ROW_PREFETCH = 1024,
  GEMM_NT_ONE_ROW_MIN = 1 << 18,
#elif VECTOR_BYTES == 32
  // Rows of `right` that stay in L1 while the rows of `left` pass.
  GEMM_NT_TILE = 6,
  GEMM_NT_PREFETCH = 512,
#else
  GEMM_NT_TILE = 12,
  GEMM_NT_PREFETCH = 0,
#endif
  GEMM_NT_AHEAD = 1024,  // the longest rows that are prefetched
  GEMM_NT_CACHED = 64,   // columns that one row reads in the order of memory,
  GEMM_NT_SHORT = 256,   // rows with no more elements are short
};

// A tile of columns (rows of right) that are `apart` from each other, so that
// the rows that are read together lie in different pages. The hardware
// prefetcher works within each page and stops at its end: reading one page
// after the other reaches half the memory bandwidth only.
typedef struct gemm_nt_tile {
  const etx_gemm_nt* b;
  const float* right;   // the first column's
  ptrdiff_t right_row;  // from column to column
  float* out;
  size_t apart, columns;
} gemm_nt_tile;

static inline gemm_nt_tile gemm_nt_tile_at(const etx_gemm_nt* b, size_t column,
                                           size_t apart, size_t columns) {
  return (gemm_nt_tile){.b = b,
                        .right = b->right + (ptrdiff_t)column * b->right_row,
                        .right_row = (ptrdiff_t)apart * b->right_row,
                        .out = b->out + column,
                        .apart = apart,
                        .columns = columns};
}

// Adds the next step to each of `rows` times `columns` dot products.
static inline __attribute__((always_inline)) void gemm_nt_step(
    const float* left, ptrdiff_t left_row, const float* right,
    ptrdiff_t right_row, size_t rows, size_t columns,
    etx_f32_vec sums[][GEMM_NT_MAX_COLUMNS][DOT_PARTS]) {
  ETX_UNROLLED
  for (size_t part = 0; part < DOT_PARTS; ++part) {
    const size_t at = part * ETX_F32_LANES;
    etx_f32_vec y[GEMM_NT_MAX_COLUMNS];
    ETX_UNROLLED
    for (size_t j = 0; j < columns; ++j) {
      memcpy(&y[j], right + (ptrdiff_t)j * right_row + at, VECTOR_BYTES);
      if (rows > 1) ETX_F32_KEEP(y[j]);
    }
    ETX_UNROLLED
    for (size_t i = 0; i < rows; ++i) {
      etx_f32_vec x;
      memcpy(&x, left + (ptrdiff_t)i * left_row + at, VECTOR_BYTES);
      if (columns > 1) ETX_F32_KEEP(x);
      ETX_UNROLLED
      for (size_t j = 0; j < columns; ++j) {
        sums[i][j][part] = ETX_F32_FMA(x, y[j], sums[i][j][part]);
      }
    }
  }
}

// Copies the last elements of some rows, padded with zeros.
static inline void gemm_nt_rest(const float* from, ptrdiff_t row, size_t rows,
                                size_t count, float out[][GEMM_NT_LANES]) {
  memset(out, 0, rows * GEMM_NT_LANES * sizeof(float));
  for (size_t i = 0; i < rows; ++i) {
    for (size_t k = 0; k < count; ++k) {
      out[i][k] = from[(ptrdiff_t)i * row + (ptrdiff_t)k];
    }
  }
}

#if VECTOR_BYTES == 64

// The two halves of x added, and those of y.
#define GEMM_NT_HALVES(x, y)                                                   \
  (__builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20,   \
                           21, 22, 23) +                                       \
   __builtin_shufflevector(x, y, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, \
                           28, 29, 30, 31))

// The horizontal sums of sixteen dot products, in the order of etx_f32_vec_sum.
// Dot product i comes out in lane 4 * (i % 4) + i / 4. This takes a third of
// the instructions of sixteen single sums. Inlined where the sums are still in
// registers.
static inline __attribute__((always_inline)) void gemm_nt_totals_inline(
    const etx_f32_vec* sums, float* out) {
  etx_f32_vec fours[4];
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i, sums += 4) {
    const etx_f32_vec a = GEMM_NT_HALVES(sums[0], sums[1]);
    const etx_f32_vec b = GEMM_NT_HALVES(sums[2], sums[3]);
    fours[i] = TRANSPOSE_PIECES(a, b, 0) + TRANSPOSE_PIECES(a, b, 4);
  }
  etx_f32_vec pairs[2];
  ETX_UNROLLED
  for (int i = 0; i < 2; ++i) {
    pairs[i] = TRANSPOSE_PAIRS(fours[2 * i], fours[2 * i + 1], 0) +
               TRANSPOSE_PAIRS(fours[2 * i], fours[2 * i + 1], 2);
  }
  const etx_f32_vec all = TRANSPOSE_FOURS(pairs[0], pairs[1], 0) +
                          TRANSPOSE_FOURS(pairs[0], pairs[1], 2);
  memcpy(out, &all, sizeof(all));
}

static __attribute__((noinline)) void gemm_nt_totals(const etx_f32_vec* sums,
                                                     float* out) {
  gemm_nt_totals_inline(sums, out);
}

static inline __attribute__((always_inline)) void gemm_nt_store(
    const gemm_nt_tile* t, size_t row, size_t column, size_t rows,
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

static inline __attribute__((always_inline)) void gemm_nt_store(
    const gemm_nt_tile* t, size_t row, size_t column, size_t rows,
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
static inline __attribute__((always_inline)) void gemm_nt_block(
    const gemm_nt_tile* t, size_t row, size_t column, size_t rows,
    size_t columns, bool asks) {
  const etx_gemm_nt* b = t->b;
  const float* left = b->left + (ptrdiff_t)row * b->left_row;
  const float* right = t->right + (ptrdiff_t)column * t->right_row;
  etx_f32_vec sums[GEMM_NT_MAX_ROWS][GEMM_NT_MAX_COLUMNS][DOT_PARTS] = {
      {{{0}}}};
  size_t k = 0;
  for (; k + GEMM_NT_LANES <= b->count; k += GEMM_NT_LANES) {
    if (asks || (GEMM_NT_PREFETCH > 0 && rows > 1)) {
      const ptrdiff_t next = asks ? (ptrdiff_t)columns * t->right_row
                                  : (ptrdiff_t)GEMM_NT_PREFETCH;
      ETX_UNROLLED
      for (size_t j = 0; j < columns; ++j) {
        __builtin_prefetch(right + (ptrdiff_t)j * t->right_row + next + k);
      }
    }
    gemm_nt_step(left + k, b->left_row, right + k, t->right_row, rows, columns,
                 sums);
  }
  if (k < b->count) {
    float x[GEMM_NT_MAX_ROWS][GEMM_NT_LANES],
        y[GEMM_NT_MAX_COLUMNS][GEMM_NT_LANES];
    gemm_nt_rest(left + k, b->left_row, rows, b->count - k, x);
    gemm_nt_rest(right + k, t->right_row, columns, b->count - k, y);
    gemm_nt_step(x[0], GEMM_NT_LANES, y[0], GEMM_NT_LANES, rows, columns, sums);
  }
  gemm_nt_store(t, row, column, rows, columns, sums);
}

static inline __attribute__((always_inline)) void dot_rows(
    const gemm_nt_tile* t, size_t row, size_t rows, size_t columns) {
  size_t column = 0;
  // The first rows read the columns from memory; they prefetch the next columns
  // if these will still be in L1 when they are read.
  const bool asks =
      GEMM_NT_PREFETCH == 0 && row == 0 && t->b->count <= GEMM_NT_AHEAD;
  for (; asks && column + 2 * columns <= t->columns; column += columns) {
    gemm_nt_block(t, row, column, rows, columns, true);
  }
  for (; column + columns <= t->columns; column += columns) {
    gemm_nt_block(t, row, column, rows, columns, false);
  }
  for (; column < t->columns; ++column) {
    gemm_nt_block(t, row, column, rows, 1, false);
  }
}

// Computes all rows with the columns of a tile.
static void gemm_nt_tile_run(const gemm_nt_tile* t) {
  const size_t all = t->b->rows;
  size_t row = 0;
#ifdef ETX_LOOPS_ARE_SHORT
  for (; row < all; ++row) dot_rows(t, row, 1, DOT_COLUMNS);
#elif DOT_ROWS > 3
  // Blocks have similar sizes.
  while (row < all) {
    const size_t turns = (all - row + DOT_ROWS - 1) / DOT_ROWS;
    const size_t rows = (all - row + turns - 1) / turns;
    switch (rows) {
      case 7:
        dot_rows(t, row, 7, DOT_COLUMNS);
        break;
      case 6:
        dot_rows(t, row, 6, DOT_COLUMNS);
        break;
      case 5:
        dot_rows(t, row, 5, DOT_COLUMNS);
        break;
      case 4:
        dot_rows(t, row, 4, DOT_COLUMNS);
        break;
      case 3:
        dot_rows(t, row, 3, DOT_COLUMNS);
        break;
      case 2:
        dot_rows(t, row, 2, DOT_COLUMNS);
        break;
      default:
        dot_rows(t, row, 1, DOT_COLUMNS);
        break;
    }
    row += rows;
  }
#else
  // Avoid a single row at the end: it would read the tile for itself.
  while (row + DOT_ROWS <= all && row + DOT_ROWS + 1 != all) {
    dot_rows(t, row, DOT_ROWS, DOT_COLUMNS);
    row += DOT_ROWS;
  }
  for (; row + 2 <= all; row += 2) dot_rows(t, row, 2, GEMM_NT_COLUMNS_OF_TWO);
  if (row < all) dot_rows(t, row, 1, GEMM_NT_COLUMNS_OF_ONE);
#endif
}

#if VECTOR_BYTES == 64

// One row (GEMV) times sixteen columns: `side` columns that are `apart` from
// each other, and the columns that follow each of them. Sixteen sums are
// reduced together, and the results of neighbouring columns are neighbours.
static inline __attribute__((always_inline)) void gemm_nt_sixteen(
    const etx_gemm_nt* b, size_t column, size_t apart, size_t side, bool asks) {
  const size_t follow = 16 / side;
  const ptrdiff_t pitch = (ptrdiff_t)apart * b->right_row;
  const float* right = b->right + (ptrdiff_t)column * b->right_row;
  const size_t whole = b->count - b->count % GEMM_NT_LANES;
  etx_f32_vec all[16];
  for (size_t i = 0; i < follow; ++i, right += b->right_row) {
    etx_f32_vec sums[1][GEMM_NT_MAX_COLUMNS][DOT_PARTS] = {{{{0}}}};
    for (size_t k = 0; k < whole; k += GEMM_NT_LANES) {
      if (asks) {
        ETX_UNROLLED
        for (size_t j = 0; j < side; ++j) {
          __builtin_prefetch(right + (ptrdiff_t)j * pitch + k +
                             GEMM_NT_ONE_ROW_PREFETCH);
        }
      }
      gemm_nt_step(b->left + k, 0, right + k, pitch, 1, side, sums);
    }
    if (whole < b->count) {
      float x[1][GEMM_NT_LANES], y[4][GEMM_NT_LANES];
      gemm_nt_rest(b->left + whole, 0, 1, b->count - whole, x);
      gemm_nt_rest(right + whole, pitch, side, b->count - whole, y);
      gemm_nt_step(x[0], 0, y[0], GEMM_NT_LANES, 1, side, sums);
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

// Intel's hardware prefetcher follows four pages, but does not cross their
// ends.
static bool gemm_nt_is_intel(void) {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_cpu_is("intel");
#else
  return false;  // a test, with vectors that the compiler takes apart
#endif
}

// All columns of one row but the last up to fifteen; returns their number. If
// the weights are in the cache, the latency of the sums is the limit: four
// columns at a time. If they come from memory, two streams are faster than four
// (208 MB of weights take 0.96 of the time on Zen 4), and on Intel four streams
// with software prefetch (0.93 on Emerald Rapids).
static size_t gemm_nt_one_row(const etx_gemm_nt* b) {
  const size_t sixteens = b->columns / 16;
  const bool is_far = b->columns * b->count >= GEMM_NT_ONE_ROW_MIN;
  size_t column = 0;
  // Three loops: a branch inside one loop would cost half of the gain.
  if (is_far && gemm_nt_is_intel()) {
    for (; column < 4 * sixteens; column += 4) {
      gemm_nt_sixteen(b, column, 4 * sixteens, 4, true);
    }
  } else if (is_far) {
    for (; column < 8 * sixteens; column += 8) {
      gemm_nt_sixteen(b, column, 8 * sixteens, 2, false);
    }
  } else {
    for (; column < 4 * sixteens; column += 4) {
      gemm_nt_sixteen(b, column, 4 * sixteens, 4, false);
    }
  }
  return 16 * sixteens;
}

// The partial sums of one dot product of a multiple of sixteen elements.
static inline __attribute__((always_inline)) etx_f32_vec dot_row(
    const float* left, const float* right, size_t count) {
  enum { PIECE = 4 * GEMM_NT_LANES };
  etx_f32_vec sum = {0}, x, y;
  size_t k = 0;
  for (; k + PIECE <= count; k += PIECE) {
    ETX_UNROLLED
    for (size_t i = 0; i < PIECE; i += GEMM_NT_LANES) {
      memcpy(&x, left + k + i, sizeof x);
      memcpy(&y, right + k + i, sizeof y);
      sum = ETX_F32_FMA(x, y, sum);
    }
  }
  for (; k < count; k += GEMM_NT_LANES) {
    memcpy(&x, left + k, sizeof x);
    memcpy(&y, right + k, sizeof y);
    sum = ETX_F32_FMA(x, y, sum);
  }
  return sum;
}

// One row with few columns, in the order of memory: they are in a few pages.
static inline __attribute__((always_inline)) void gemm_nt_cached_row(
    const etx_gemm_nt* b, size_t count) {
  const float* right = b->right;
  size_t column = 0;
  for (; column + 16 <= b->columns; column += 16) {
    etx_f32_vec all[16];
    ETX_UNROLLED_16
    for (size_t i = 0; i < 16; ++i) {
      all[4 * (i % 4) + i / 4] = dot_row(b->left, right, count);
      right += b->right_row;
    }
    gemm_nt_totals_inline(all, b->out + column);
  }
  const size_t rest = b->columns - column;
  if (rest == 0) return;
  etx_f32_vec all[16] = {{0}};
  for (size_t i = 0; i < rest; ++i, right += b->right_row) {
    all[4 * (i % 4) + i / 4] = dot_row(b->left, right, count);
  }
  float totals[16];
  gemm_nt_totals(all, totals);
  memcpy(b->out + column, totals, rest * sizeof(float));
}

// The same for other counts, by itself: inlined, it made the loops for other
// products slower.
static __attribute__((noinline)) void gemm_nt_cached_row_of(
    const etx_gemm_nt* b) {
  gemm_nt_cached_row(b, b->count);
}

#endif

//   @dots  float32 | GEMM NT: dot products of rows with rows | {DOT_ROWS} x
//     {DOT_COLUMNS} dot products
static void dots(const etx_gemm_nt* b) {
  if (b->count < GEMM_NT_LANES) {
    // Fewer elements than partial sums: one sum in order.
    gemm_small(&(etx_gemm){.rows = b->rows,
                           .columns = b->columns,
                           .inner = b->count,
                           .dtype = ETX_DTYPE_FLOAT32,
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
  const bool is_near = b->rows == 1 && b->columns > 0 &&
                       b->columns <= GEMM_NT_CACHED &&
                       b->count <= GEMM_NT_SHORT;
#if VECTOR_BYTES == 64
  etx_gemm_nt rest = *b;
  if (is_near && b->count % GEMM_NT_LANES == 0) {
    if (b->count == 64) {
      gemm_nt_cached_row(b, 64);
    } else if (b->count == 128) {
      gemm_nt_cached_row(b, 128);
    } else {
      gemm_nt_cached_row_of(b);
    }
    return;
  }
  if (b->rows == 1) {
    const size_t done = gemm_nt_one_row(b);
    rest.right += (ptrdiff_t)done * b->right_row;
    rest.out += done;
    rest.columns -= done;
    b = &rest;
  }
#endif
#if DOT_ROWS > 3
  const size_t most = GEMM_NT_TILE;
#else
  const size_t few = b->rows == 1 ? GEMM_NT_COLUMNS_OF_ONE : GEMM_NT_TILE;
  const size_t most = is_near ? b->columns : few;
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
    const gemm_nt_tile t = gemm_nt_tile_at(
        b, column, is_apart ? apart : 1, is_apart || left > most ? most : left);
    gemm_nt_tile_run(&t);
    column += is_apart ? 1 : most;
    if (is_apart && column == apart) column = apart * most;
  }
}
