// Products of bfloat16 and float16, and blocks of float32 with a right operand
// of these. Elements are expanded to float32, and every sum is rounded once,
// after the addition.
//
// Dots read both operands as stored; registers expand them. Blocks are those of
// gemm_packed.c, with both operands expanded in the tile (thread_tiles.h),
// where the sums stay, too:
//
//   block   [columns / 16][taps][16]  of right, by groups of columns
//   loaded  [rows][taps]              of left, unless it can be read in place
//   sums    [rows][SUM_COLUMNS]

#include <string.h>

#include "runtime/kernels/simd/elementwise/half_loops.h"
#include "runtime/kernels/simd/vector/prefetch.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/core/tile_bytes.h"
#include "runtime/kernels/matmul/gemm_epilogue.h"
#include "runtime/kernels/matmul/gemm_variants.h"

enum {
  GROUP = ETX_LANE_GROUP_BYTES / 4,
  // Dots that are computed before they are rounded, and rows of them: one row
  // has many columns, so that loops read columns far apart.
  DOTS = ETX_TILE_BYTES < 4096 ? ETX_TILE_BYTES / 4 : 1024,
  DOT_ROWS = 16,
  DOT_COLUMNS = 16,  // columns of dots are multiples of it

  TAPS = 128,           // most taps of a block
  COLUMNS = 4 * GROUP,  // most columns of a block
  RARE_BY_COLUMNS = 2 * GROUP,
  RARE_BY_TAPS = 40,  // ETX_PREFETCH_L1_ROWS where taps have much to do
  // Rows and columns of sums. A block of `right` is expanded once for all of
  // these rows, and one of `left` for the columns, which are several blocks.
  SUM_ROWS = 128,
  SUM_COLUMNS = 2 * COLUMNS,
};

// Adds what the product adds to a row of sums, and stores them rounded.
static void store_row(const etx_gemm* p, size_t row, size_t column,
                      size_t columns, float* sums) {
  const ptrdiff_t at = (ptrdiff_t)row * p->out_row + (ptrdiff_t)column;
  etx_gemm_epilogue_add(p, ETX_COMPUTE_F32, row, column, columns, sums);
  etx_convert(p->dtype, p->out + at * (ptrdiff_t)etx_dtype_bytes(p->dtype), 1,
              ETX_DTYPE_FLOAT32, sums, 1, columns);
}

// ------------------------------------------------ dots

// At most DOTS of them.
static void run_some_dots(const etx_gemm* p, const etx_f32_microkernels* loops,
                          const etx_gemm_area* a) {
  float sums[DOTS];
  etx_gemm_nt b = etx_gemm_dots_at(p, a);
  b.out = sums;
  b.out_row = (ptrdiff_t)a->columns;
  if (p->dtype == ETX_DTYPE_BFLOAT16) {
    loops->dots_bf16(&b);
  } else {
    loops->dots_f16(&b);
  }
  for (size_t r = 0; r < a->rows; ++r) {
    store_row(p, a->row + r, a->column, a->columns, sums + r * a->columns);
  }
}

void etx_gemm_half_dots(const etx_gemm* product,
                        const etx_f32_microkernels* loops,
                        const etx_gemm_area* area, void* tile) {
  (void)tile;
  etx_gemm_area a;
  for (size_t row = 0; row < area->rows; row += a.rows) {
    const size_t rows = area->rows - row;
    a.row = area->row + row;
    a.rows = rows < DOT_ROWS ? rows : DOT_ROWS;
    const size_t most = DOTS / a.rows / DOT_COLUMNS * DOT_COLUMNS;
    for (size_t column = 0; column < area->columns; column += a.columns) {
      const size_t columns = area->columns - column;
      a.column = area->column + column;
      a.columns = columns < most ? columns : most;
      run_some_dots(product, loops, &a);
    }
  }
}

// ------------------------------------------------ blocks

typedef struct half_gemm_job {
  const etx_gemm* p;
  const etx_f32_microkernels* loops;
  void (*read)(float* restrict out, const uint16_t* restrict in, size_t count);
  size_t taps;  // most taps of a block
  // in the tile; `turned` has rows of `right` before they are transposed
  float *block, *loaded, *turned, *sums;
} half_gemm_job;

static const uint16_t* right_at(const half_gemm_job* j, size_t tap,
                                size_t column) {
  const etx_gemm* p = j->p;
  return (const uint16_t*)(const void*)p->right +
         (ptrdiff_t)tap * p->right_inner + (ptrdiff_t)column * p->right_column;
}

// Expands a group of columns of `right`.
static void expand_group(const half_gemm_job* j, size_t tap, size_t taps,
                         size_t column, size_t columns, float* to) {
  const etx_gemm* p = j->p;
  if (p->right_inner == 1) {
    for (size_t c = 0; c < columns; ++c) {
      j->read(j->turned + c * j->taps, right_at(j, tap, column + c), taps);
    }
    j->loops->transpose_pack(j->turned, (ptrdiff_t)j->taps, columns, taps, to);
    return;
  }
  if (columns < GROUP) memset(to, 0, taps * GROUP * sizeof(float));
  for (size_t k = 0; k < taps; ++k, to += GROUP) {
    etx_convert(ETX_DTYPE_FLOAT32, to, 1, p->right_dtype,
                right_at(j, tap + k, column), p->right_column, columns);
  }
}

static void expand_right(const half_gemm_job* j, size_t tap, size_t taps,
                         size_t column, size_t columns) {
  for (size_t done = 0; done < columns; done += GROUP) {
    const size_t left = columns - done;
    expand_group(j, tap, taps, column + done, left < GROUP ? left : GROUP,
                 j->block + done * j->taps);
  }
}

// Expands a block of `left`; `b` reads it.
static void expand_left(const half_gemm_job* j, const etx_gemm_area* a,
                        size_t tap, etx_gemm_block* b) {
  const etx_gemm* p = j->p;
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(p->dtype);
  const char* from = p->left + ((ptrdiff_t)a->row * p->left_row +
                                (ptrdiff_t)tap * p->left_inner) *
                                   bytes;
  if (etx_gemm_is_mixed(p) && p->left_inner == 1) {
    b->weights = from;
    b->weight_row = p->left_row;
    return;
  }
  b->weights = j->loaded;
  b->weight_row = (ptrdiff_t)j->taps;
  for (size_t r = 0; r < a->rows; ++r, from += p->left_row * bytes) {
    float* to = j->loaded + r * j->taps;
    if (!etx_gemm_is_mixed(p) && p->left_inner == 1) {
      j->read(to, (const uint16_t*)(const void*)from, b->taps);
    } else {
      etx_convert(ETX_DTYPE_FLOAT32, to, 1, p->dtype, from, p->left_inner,
                  b->taps);
    }
  }
}

// Prefetches what the next block expands: many short pieces far from each
// other, which hardware prefetchers cannot predict.
static void prefetch_next_block(const half_gemm_job* j, size_t tap,
                                size_t column, etx_gemm_block* b) {
  const etx_gemm* p = j->p;
  if (column >= p->columns || p->right_inner != 1) return;
  const size_t left = p->columns - column;
  const bool has_large_taps =
      j->loops->groups > 1 && b->lanes > RARE_BY_COLUMNS;
  b->prefetches_to_l1 =
      b->rows >= (has_large_taps ? RARE_BY_TAPS : ETX_PREFETCH_L1_ROWS);
  b->ahead = (const char*)right_at(j, tap, column);
  b->ahead_row = p->right_column * (ptrdiff_t)sizeof(uint16_t);
  b->ahead_pieces = left < COLUMNS ? left : COLUMNS;
  b->ahead_step = ETX_GEMM_PREFETCH_TAPS * sizeof(uint16_t);
}

// Adds a block of taps to an area of at most SUM_ROWS and SUM_COLUMNS.
static void add_taps(const half_gemm_job* j, const etx_gemm_area* a, size_t tap,
                     size_t taps) {
  const bool is_last = tap + taps >= j->p->inner;
  etx_gemm_block b = {.sum_row = SUM_COLUMNS,
                      .panel = j->block,
                      .panel_row = GROUP,
                      .panel_group = (ptrdiff_t)(GROUP * j->taps),
                      .rows = a->rows,
                      .taps = taps,
                      .starts = tap == 0};
  expand_left(j, a, tap, &b);
  for (size_t done = 0; done < a->columns; done += COLUMNS) {
    const size_t left = a->columns - done;
    const size_t columns = left < COLUMNS ? left : COLUMNS;
    expand_right(j, tap, taps, a->column + done, columns);
    b.sums = j->sums + done;
    b.lanes = (columns + GROUP - 1) / GROUP * GROUP;
    if (left > columns) {
      prefetch_next_block(j, tap, a->column + done + columns, &b);
    } else {
      prefetch_next_block(j, is_last ? 0 : tap + taps,
                          is_last ? a->column + a->columns : a->column, &b);
    }
    j->loops->gemm_by_type[ETX_COMPUTE_F32](&b);
  }
}

// Without taps, sums are zero.
static void run_block(const half_gemm_job* j, const etx_gemm_area* a) {
  size_t tap = 0;
  do {
    const size_t left = j->p->inner - tap;
    add_taps(j, a, tap, left < j->taps ? left : j->taps);
    tap += j->taps;
  } while (tap < j->p->inner);
  for (size_t r = 0; r < a->rows; ++r) {
    store_row(j->p, a->row + r, a->column, a->columns,
              j->sums + r * SUM_COLUMNS);
  }
}

// The sizes of blocks, which are no larger than the product.
static size_t taps_of(const etx_gemm* p) {
  if (p->inner == 0) return 1;
  return p->inner < TAPS ? p->inner : TAPS;
}
static size_t rows_of(const etx_gemm* p) {
  return p->rows < SUM_ROWS ? p->rows : SUM_ROWS;
}
static size_t columns_of(const etx_gemm* p) {
  const size_t columns = (p->columns + GROUP - 1) / GROUP * GROUP;
  return columns < COLUMNS ? columns : COLUMNS;
}

size_t etx_gemm_half_blocks_tile(const etx_gemm* p) {
  const size_t expanded = (columns_of(p) + rows_of(p) + GROUP) * taps_of(p);
  return (expanded + rows_of(p) * SUM_COLUMNS) * sizeof(float);
}

void etx_gemm_half_blocks(const etx_gemm* product,
                          const etx_f32_microkernels* loops,
                          const etx_gemm_area* area, void* tile) {
  const etx_half_loops* halves = etx_half_loops_best();
  half_gemm_job j = {.p = product,
                     .loops = loops,
                     .read = product->right_dtype == ETX_DTYPE_FLOAT16
                                 ? halves->read
                                 : halves->read_bfloats,
                     .taps = taps_of(product),
                     .block = tile};
  j.loaded = j.block + columns_of(product) * j.taps;
  j.turned = j.loaded + rows_of(product) * j.taps;
  j.sums = j.turned + GROUP * j.taps;
  const size_t blocks = (area->rows + SUM_ROWS - 1) / SUM_ROWS;
  etx_gemm_area a;
  // Rows are innermost: they find the columns of `right` in the cache.
  for (size_t column = 0; column < area->columns; column += a.columns) {
    const size_t columns = area->columns - column;
    a.column = area->column + column;
    a.columns = columns < SUM_COLUMNS ? columns : SUM_COLUMNS;
    a.row = area->row;
    for (size_t block = 0; block < blocks; ++block, a.row += a.rows) {
      a.rows = (area->row + area->rows - a.row) / (blocks - block);
      run_block(&j, &a);
    }
  }
}
