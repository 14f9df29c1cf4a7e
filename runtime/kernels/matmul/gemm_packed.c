// Products of floats in blocks. A block of right, sixteen columns (one group of
// lanes, or several if the instruction set is wide) by some hundred taps, is
// packed in a tile (thread_tiles.h). Then all rows of left are multiplied with
// it; left is read in place. Nothing is packed if right is given as panels.
//
//              columns                      a block in the tile, by group:
//            .---------.                      [taps][16], then the next
//            | right   | taps: a block of
//            '---------' them at a time     sums stay in the result between
//   .-----.  .---------.                    blocks of taps if their group is
//   |left |  | out     | rows: as many as   whole, else in a few rows on the
//   '-----'  '---------' stay in the cache  stack

#include <string.h>

#include "runtime/kernels/simd/vector/prefetch.h"
#include "runtime/kernels/core/chain.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/matmul/gemm_epilogue.h"
#include "runtime/kernels/matmul/gemm_variants.h"
#include "runtime/kernels/core/short_copy.h"
#include "runtime/kernels/core/tile_bytes.h"

enum {
  GROUP = ETX_LANE_GROUP_BYTES / 4,
  MANY_TAPS = 512,  // taps of a block of one group
  // taps of a block of several groups, or of converted elements
  FEW_TAPS = 128,
  PANEL_TAPS = 768,  // taps of a block of panels, which are read in place
  // With no more rows, the sums of a block stay in L1. Its panels then do, too,
  // if it has FEW_TAPS taps, and all rows but the first ones read them there.
  FEW_PANEL_ROWS = 32,
  MOST_GROUPS = 4,   // most groups of a block
  ROWS = 192,        // rows that share a block of MANY_TAPS taps
  MORE_ROWS = 384,   // one of few
  // the same if sums are on the stack
  ROWS_ASIDE = ETX_TILE_BYTES < 48 * ETX_LANE_GROUP_BYTES
                   ? ETX_TILE_BYTES / ETX_LANE_GROUP_BYTES
                   : 48,
  ROWS_LOADED = 6,    // rows of `left` that are converted at a time
  FEW_ROWS = 3,       // with no more rows, copying `right` does not pay
  RARE_BY_TAPS = 40,  // ETX_PREFETCH_L1_ROWS where taps have much to do
};

typedef struct packed_gemm_job {
  const etx_gemm* p;
  const etx_f32_microkernels* loops;
  // In the tile: a block of `right`; rows of `left` whose elements are copied.
  float *block, *loaded;
  size_t most_columns, taps;  // most columns and taps of a block
  size_t rows;                // rows that share a block
  bool is_dense;              // left's inner elements lie side by side
  size_t first_column;  // first column of the area, where rows of `left` are
                        // read first
  // the operands that the product's chain adds; or NULL
  const etx_chain_other* chained;
} packed_gemm_job;

// With panels: the panel that begins with this column.
static const char* right_at(const packed_gemm_job* j, size_t tap,
                            size_t column) {
  const etx_gemm* p = j->p;
  if (p->has_panels) {
    return p->right + (column * p->inner + tap * GROUP) * sizeof(float);
  }
  return p->right + ((ptrdiff_t)tap * p->right_inner +
                     (ptrdiff_t)column * p->right_column) *
                        (ptrdiff_t)sizeof(float);
}

static const char* left_at(const packed_gemm_job* j, size_t row, size_t tap) {
  const etx_gemm* p = j->p;
  return p->left +
         ((ptrdiff_t)row * p->left_row + (ptrdiff_t)tap * p->left_inner) *
             (ptrdiff_t)sizeof(float);
}

// ------------------------------------------------ copying

static void copy_group(const packed_gemm_job* j, size_t tap, size_t taps,
                       size_t column, size_t columns, float* to) {
  const etx_gemm* p = j->p;
  if (p->right_inner == 1) {
    const float* from = (const float*)(const void*)right_at(j, tap, column);
    j->loops->transpose_pack(from, p->right_column, columns, taps, to);
    return;
  }
  if (columns < GROUP) memset(to, 0, taps * GROUP * sizeof(float));
  for (size_t k = 0; k < taps; ++k, to += GROUP) {
    const char* from = right_at(j, tap + k, column);
    if (p->right_column == 1) {
      etx_copy_short((char*)to, from, columns * sizeof(float));
    } else {
      etx_convert(ETX_DTYPE_FLOAT32, to, 1, p->dtype, from, p->right_column,
                  columns);
    }
  }
}

static void copy_block(const packed_gemm_job* j, size_t tap, size_t taps,
                       size_t column, size_t columns) {
  for (size_t done = 0; done < columns; done += GROUP) {
    const size_t left = columns - done;
    copy_group(j, tap, taps, column + done, left < GROUP ? left : GROUP,
               j->block + done * j->taps);
  }
}

// ------------------------------------------------ sums

// Prefetches what the next block packs: many short pieces far from each other,
// which hardware prefetchers cannot predict. Spread over the loop, because all
// at once would fill the processor's queue.
static void prefetch_next_block(const packed_gemm_job* j, size_t tap,
                                size_t column, etx_gemm_block* b) {
  const etx_gemm* p = j->p;
  if (column >= p->columns) return;
  const size_t left = p->columns - column;
  b->ahead = right_at(j, tap, column);
  const bool has_large_taps = j->loops->groups > 1 && b->lanes > 2 * GROUP;
  b->prefetches_to_l1 =
      b->rows >= (has_large_taps ? RARE_BY_TAPS : ETX_PREFETCH_L1_ROWS);
  if (p->has_panels) {
    const size_t columns = left < j->most_columns ? left : j->most_columns;
    b->ahead_row = (ptrdiff_t)(GROUP * p->inner * sizeof(float));
    b->ahead_pieces = columns / GROUP;
    b->ahead_step = ETX_GEMM_PREFETCH_TAPS * GROUP * sizeof(float);
    return;
  }
  if (p->right_inner != 1) return;
  b->ahead_row = p->right_column * (ptrdiff_t)sizeof(float);
  b->ahead_pieces = left < j->most_columns ? left : j->most_columns;
  b->ahead_step = ETX_GEMM_PREFETCH_TAPS * sizeof(float);
}

// True if blocks add the matrix `added`: contiguous float32 rows, unscaled.
static bool adds_in_blocks(const packed_gemm_job* j) {
  return j->is_dense && (j->p->added == NULL || etx_gemm_small_adds(j->p));
}

// The loop over the last taps adds it.
static void add_in_block(const packed_gemm_job* j, const etx_gemm_area* a,
                         etx_gemm_block* b) {
  const etx_gemm* p = j->p;
  int count = 0;
  if (p->added != NULL) {
    b->added[0] = (const float*)(const void*)p->added +
                  (ptrdiff_t)a->row * p->added_row + (ptrdiff_t)a->column;
    b->added_row[0] = p->added_row;
    ++count;
  }
  if (j->chained != NULL) {
    b->added[count] = j->chained->data + a->row * j->chained->row + a->column;
    b->added_row[count] = (ptrdiff_t)j->chained->row;
  }
}

// Left is read in place.
static void multiply_dense(const packed_gemm_job* j, const etx_gemm_area* a,
                           size_t tap, etx_gemm_block* b) {
  const bool is_last = tap + j->taps >= j->p->inner;
  prefetch_next_block(j, is_last ? 0 : tap + j->taps,
                      is_last ? a->column + a->columns : a->column, b);
  b->weights = left_at(j, a->row, tap);
  b->weight_row = j->p->left_row;
  b->prefetches_rows = a->column == j->first_column;
  j->loops->gemm_by_type[ETX_COMPUTE_F32](b);
}

static void multiply_loaded(const packed_gemm_job* j, size_t row, size_t tap,
                            etx_gemm_block* b, size_t rows) {
  float* sums = b->sums;
  b->weights = j->loaded;
  b->weight_row = (ptrdiff_t)j->taps;
  for (size_t done = 0; done < rows; done += b->rows) {
    b->rows = rows - done < ROWS_LOADED ? rows - done : ROWS_LOADED;
    for (size_t r = 0; r < b->rows; ++r) {
      etx_convert(ETX_DTYPE_FLOAT32, j->loaded + r * j->taps, 1, j->p->dtype,
                  left_at(j, row + done + r, tap), j->p->left_inner, b->taps);
    }
    b->sums = sums + (ptrdiff_t)done * b->sum_row;
    j->loops->gemm_by_type[ETX_COMPUTE_F32](b);
  }
}

// The sums of an area of float32 that is at most as wide as a block. Without
// taps they are zero.
static void sum_area(const packed_gemm_job* j, const etx_gemm_area* a,
                     float* sums, ptrdiff_t sum_row, bool adds) {
  const etx_gemm* p = j->p;
  const bool is_direct =
      a->rows <= FEW_ROWS && p->right_column == 1 && a->columns % GROUP == 0;
  size_t tap = 0;
  do {
    const size_t left = p->inner - tap;
    etx_gemm_block b = {.sums = sums,
                        .sum_row = sum_row,
                        .panel = j->block,
                        .panel_row = GROUP,
                        .panel_group = (ptrdiff_t)(GROUP * j->taps),
                        .rows = a->rows,
                        .taps = left < j->taps ? left : j->taps,
                        .lanes = a->columns,
                        .starts = tap == 0};
    if (p->has_panels) {
      b.panel = right_at(j, tap, a->column);
      b.panel_group = (ptrdiff_t)(GROUP * p->inner);
    } else if (is_direct) {
      b.panel = right_at(j, tap, a->column);
      b.panel_row = p->right_inner;
      b.panel_group = GROUP;
    } else {
      copy_block(j, tap, b.taps, a->column, a->columns);
    }
    if (adds && left <= j->taps) add_in_block(j, a, &b);
    if (j->is_dense) {
      multiply_dense(j, a, tap, &b);
    } else {
      multiply_loaded(j, a->row, tap, &b, a->rows);
    }
    tap += j->taps;
  } while (tap < p->inner);
}

static float* result_at(const etx_gemm* p, size_t row, size_t column) {
  float* out = (float*)(void*)p->out + (ptrdiff_t)row * p->out_row;
  if (p->part_columns == 0) return out + column;
  return out + (ptrdiff_t)(column / p->part_columns) * p->part_step +
         column % p->part_columns;
}

// Whole groups of a float32 result; sums stay in the result.
static void run_in_place(const packed_gemm_job* j, const etx_gemm_area* all) {
  const etx_gemm* p = j->p;
  etx_gemm_area a = *all;
  const size_t row_end = all->row + all->rows;
  for (; a.row < row_end; a.row += a.rows) {
    a.rows = row_end - a.row < j->rows ? row_end - a.row : j->rows;
    float* sums = result_at(p, a.row, a.column);
    const bool adds = adds_in_blocks(j);
    sum_area(j, &a, sums, p->out_row, adds);
    for (size_t r = 0; !adds && r < a.rows; ++r, sums += p->out_row) {
      etx_gemm_epilogue_run(p, a.row + r, a.column, a.columns, sums);
    }
  }
}

// Computes a part of a group.
static void run_aside(const packed_gemm_job* j, const etx_gemm_area* all) {
  const etx_gemm* p = j->p;
  float sums[ROWS_ASIDE][GROUP];
  etx_gemm_area a = *all;
  const size_t row_end = all->row + all->rows;
  for (; a.row < row_end; a.row += a.rows) {
    const size_t left = row_end - a.row;
    a.rows = left < ROWS_ASIDE ? left : ROWS_ASIDE;
    sum_area(j, &a, sums[0], GROUP, false);
    for (size_t r = 0; r < a.rows; ++r) {
      etx_gemm_epilogue_run(p, a.row + r, a.column, a.columns, sums[r]);
      const ptrdiff_t at =
          (ptrdiff_t)(a.row + r) * p->out_row + (ptrdiff_t)a.column;
      etx_copy_short(p->out + at * (ptrdiff_t)sizeof(float),
                     (const char*)sums[r], a.columns * sizeof(float));
    }
  }
}

// The largest number of columns of a block that begins at `column`.
static size_t most_columns(const packed_gemm_job* j, size_t column) {
  const size_t part = j->p->part_columns;
  if (part == 0) return j->most_columns;
  const size_t left = part - column % part;
  return left < j->most_columns ? left : j->most_columns;
}

static void run_job(const packed_gemm_job* j, const etx_gemm_area* area) {
  etx_gemm_area a = *area;
  const size_t end = area->column + area->columns;
  for (; a.column < end; a.column += a.columns) {
    const size_t whole = (end - a.column) / GROUP * GROUP;
    if (whole > 0) {
      const size_t most = most_columns(j, a.column);
      a.columns = whole < most ? whole : most;
      run_in_place(j, &a);
    } else {
      a.columns = end - a.column < GROUP ? end - a.column : GROUP;
      run_aside(j, &a);
    }
  }
}

// ------------------------------------------------ blocks

// The sizes of a block with no more columns and taps than the product has.
static size_t taps_within(const etx_gemm* p, size_t most) {
  if (p->inner == 0) return 1;
  return p->inner < most ? p->inner : most;
}
static size_t columns_within(const etx_gemm* p, size_t most) {
  const size_t columns = (p->columns + GROUP - 1) / GROUP * GROUP;
  return columns < most ? columns : most;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

// Wide and narrow blocks take the same memory, because the strides decide which
// is used.
static size_t block_floats(const etx_gemm* p) {
  const size_t wide =
      columns_within(p, (size_t)MOST_GROUPS * GROUP) * taps_within(p, FEW_TAPS);
  return larger(wide, GROUP * taps_within(p, MANY_TAPS));
}
static size_t loaded_floats(const etx_gemm* p) {
  return ROWS_LOADED * taps_within(p, MANY_TAPS);
}

// Panels are read in place, and so is the left operand then.
size_t etx_gemm_packed_tile(const etx_gemm* p) {
  if (p->has_panels) return 0;
  const size_t floats = block_floats(p) + loaded_floats(p);
  return larger(floats * sizeof(float), etx_gemm_transposed_tile(p));
}

static void choose_block(packed_gemm_job* j) {
  const etx_gemm* p = j->p;
  j->rows = MORE_ROWS;
  if (p->has_panels) {
    // Nothing is packed, so more taps are summed at a time.
    j->most_columns = j->loops->groups * GROUP;
    j->taps = p->rows <= FEW_PANEL_ROWS ? FEW_TAPS : PANEL_TAPS;
  } else if (j->loops->groups > 1 || p->right_column == 1) {
    // Where the columns of a row are contiguous, as many as possible are read
    // at once.
    j->most_columns = (size_t)MOST_GROUPS * GROUP;
    j->taps = taps_within(p, FEW_TAPS);
  } else {
    j->most_columns = GROUP;
    j->taps = taps_within(p, MANY_TAPS);
    j->rows = ROWS;
  }
}

void etx_gemm_packed(const etx_gemm* product, const etx_f32_microkernels* loops,
                     const etx_gemm_area* area, void* tile) {
  if (!product->has_panels && etx_gemm_suits_transposed(product, area)) {
    etx_gemm_transposed(product, loops, area, tile);
    return;
  }
  packed_gemm_job j = {.p = product,
                       .loops = loops,
                       .first_column = area->column,
                       .chained = etx_chain_added(product->chain)};
  j.is_dense = product->left_inner == 1 || product->inner <= 1;
  choose_block(&j);
  if (!product->has_panels) {
    j.block = tile;
    j.loaded = j.block + block_floats(product);
  }
  run_job(&j, area);
}
