// Products of floats whose lanes are rows: rows of left are transposed, and
// right is read in place, as a convolution reads its weights. That copies much
// less than packing right if there are few rows. The sums are transposed back.
//
//                rows, 32 at a time
//              .------.
//              | left |  taps: a block of
//              '------'  them at a time
//   .-------.  .------.
//   | right |  | sums |  columns: as many as
//   '-------'  '------'  fit in the tile
//
// Each sum adds tap by tap, as in gemm_packed.c, with the same bits.

#include "runtime/kernels/matmul/gemm_epilogue.h"
#include "runtime/kernels/matmul/gemm_variants.h"
#include "runtime/kernels/core/short_copy.h"

enum {
  GROUP = ETX_LANE_GROUP_BYTES / 4,
  GROUPS = 2,
  LANES = GROUPS * GROUP,
  TAPS = 512,
  COLUMNS = 192,
  MOST_EMPTY = 4,  // lanes that are computed for nothing
  MOST_ROWS = 64,  // with more rows, the cost of transposing `right` is small
  AHEAD = 12,      // rows of right that are prefetched
};

bool etx_gemm_suits_transposed(const etx_gemm* p, const etx_gemm_area* area) {
  const size_t rest = area->rows % LANES;
  return p->dtype == ETX_DTYPE_FLOAT32 && p->left_inner == 1 &&
         p->right_inner == 1 && p->inner > 0 && area->columns >= GROUP &&
         area->rows <= MOST_ROWS && (rest == 0 || rest >= LANES - MOST_EMPTY);
}

// Taps of a block and columns whose sums are kept: the limits, or fewer if the
// product has no more.
static size_t block_taps(const etx_gemm* p) {
  return p->inner < TAPS ? p->inner : TAPS;
}
static size_t block_columns(const etx_gemm* p) {
  return p->columns < COLUMNS ? p->columns : COLUMNS;
}

size_t etx_gemm_transposed_tile(const etx_gemm* p) {
  if (p->dtype != ETX_DTYPE_FLOAT32 || p->rows < LANES - MOST_EMPTY ||
      p->columns < GROUP) {
    return 0;
  }
  return LANES * (block_taps(p) + block_columns(p)) * sizeof(float);
}

typedef struct transposed_gemm_workspace {
  const etx_gemm* p;
  const etx_f32_microkernels* loops;
  float* panel;     // [GROUPS][taps][GROUP]
  float* sums;      // [columns][LANES]
  size_t taps;      // block_taps
  size_t row, tap;  // the position that the panel holds; SIZE_MAX: none
} transposed_gemm_workspace;

static void transpose_left(transposed_gemm_workspace* d, size_t row,
                           size_t rows, size_t tap, size_t taps) {
  const etx_gemm* p = d->p;
  if (d->row == row && d->tap == tap) return;
  d->row = row;
  d->tap = tap;
  const float* left = (const float*)(const void*)p->left +
                      (ptrdiff_t)row * p->left_row + (ptrdiff_t)tap;
  for (size_t r = 0; r < rows; r += GROUP, left += GROUP * p->left_row) {
    d->loops->transpose_pack(left, p->left_row,
                             rows - r < GROUP ? rows - r : GROUP, taps,
                             d->panel + r * d->taps);
  }
}

static void sum(transposed_gemm_workspace* d, const etx_gemm_area* a) {
  const etx_gemm* p = d->p;
  for (size_t tap = 0; tap < p->inner; tap += d->taps) {
    const size_t left = p->inner - tap;
    const size_t taps = left < d->taps ? left : d->taps;
    transpose_left(d, a->row, a->rows, tap, taps);
    const float* right = (const float*)(const void*)p->right +
                         (ptrdiff_t)a->column * p->right_column +
                         (ptrdiff_t)tap;
    const etx_gemm_block b = {
        .sums = d->sums,
        .sum_row = LANES,
        .weights = right,
        .weight_row = p->right_column,
        .panel = d->panel,
        .panel_row = GROUP,
        .panel_group = (ptrdiff_t)(d->taps * GROUP),
        .rows = a->columns,
        .taps = taps,
        .lanes = LANES,
        .starts = tap == 0,
        .ahead = (const char*)(right + AHEAD * p->right_column),
        .ahead_row = p->right_column * (ptrdiff_t)sizeof(float),
        .ahead_pieces = a->columns,
        .ahead_step = ETX_GEMM_PREFETCH_TAPS * sizeof(float),
        .prefetches_to_l1 = d->loops->groups > 1};
    d->loops->gemm_by_type[ETX_COMPUTE_F32](&b);
  }
}

static void store(const transposed_gemm_workspace* d, const etx_gemm_area* a) {
  const etx_gemm* p = d->p;
  float* out = (float*)(void*)p->out + (ptrdiff_t)a->row * p->out_row +
               (ptrdiff_t)a->column;
  for (size_t c = 0; c < a->columns; c += GROUP) {
    const size_t left = a->columns - c;
    const size_t columns = left < GROUP ? left : GROUP;
    float transposed[LANES][GROUP];
    d->loops->transpose_pack(d->sums + c * LANES, LANES, columns, a->rows,
                             transposed[0]);
    for (size_t r = 0; r < a->rows; ++r) {
      etx_copy_short((char*)(out + (ptrdiff_t)r * p->out_row + c),
                     (const char*)transposed[r], columns * sizeof(float));
    }
  }
  for (size_t r = 0; r < a->rows; ++r, out += p->out_row) {
    etx_gemm_epilogue_run(p, a->row + r, a->column, a->columns, out);
  }
}

void etx_gemm_transposed(const etx_gemm* product,
                         const etx_f32_microkernels* loops,
                         const etx_gemm_area* area, void* tile) {
  transposed_gemm_workspace d = {.p = product,
                                 .loops = loops,
                                 .panel = tile,
                                 .taps = block_taps(product),
                                 .row = SIZE_MAX,
                                 .tap = SIZE_MAX};
  d.sums = d.panel + LANES * d.taps;
  const size_t column_end = area->column + area->columns;
  const size_t row_end = area->row + area->rows;
  etx_gemm_area a = *area;
  // Columns stay in a near cache while rows pass.
  for (; a.column < column_end; a.column += a.columns) {
    const size_t columns = column_end - a.column;
    a.columns = columns < COLUMNS ? columns : COLUMNS;
    for (a.row = area->row; a.row < row_end; a.row += a.rows) {
      const size_t rows = row_end - a.row;
      a.rows = rows < LANES ? rows : LANES;
      sum(&d, &a);
      store(&d, &a);
    }
  }
}
