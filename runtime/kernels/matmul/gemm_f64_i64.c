// Products of integers and doubles over panels (implicit_gemm.h) of right's
// columns. With only a few rows, right is read in place.

#include "runtime/kernels/matmul/gemm_epilogue.h"
#include "runtime/kernels/matmul/gemm_variants.h"
#include "runtime/kernels/core/short_copy.h"

// With no more rows of `left` than this, copying a panel does not pay.
enum { FEW_ROWS = 2 };

// A block of the result.
typedef struct piece {
  const etx_gemm* p;
  const etx_f32_microkernels* loops;
  etx_compute_type wide;
  ptrdiff_t bytes;  // bytes of an element in memory
  size_t row, column;
  size_t rows, columns;
  char* sums;    // in the tile
  void* memory;  // of the implicit product, behind the sums
} piece;

// Loads rows of `right`, or one element of each.
static void fill_panel(const void* context, int64_t first, size_t count,
                       char* panel) {
  const piece* b = context;
  const etx_gemm* p = b->p;
  const size_t row = b->columns * (size_t)b->bytes;
  const bool is_dense =
      p->right_column == 1 && p->dtype == etx_compute_type_dtype(b->wide);
  for (size_t k = 0; k < count; ++k, panel += ETX_IMPLICIT_GEMM_LANE_BYTES) {
    const ptrdiff_t at = (ptrdiff_t)(first + (int64_t)k) * p->right_inner +
                         (ptrdiff_t)b->column * p->right_column;
    if (is_dense) {
      etx_copy_short(panel, p->right + at * b->bytes, row);
      continue;
    }
    etx_implicit_gemm_load(b->wide, p->dtype, p->right + at * b->bytes,
                           p->right_column, b->columns, panel);
  }
}

static void load_left(const void* context, size_t row, int64_t first,
                      size_t count, char* to) {
  const piece* b = context;
  const etx_gemm* p = b->p;
  const ptrdiff_t at = (ptrdiff_t)(b->row + row) * p->left_row +
                       (ptrdiff_t)first * p->left_inner;
  etx_implicit_gemm_load(b->wide, p->dtype, p->left + at * b->bytes,
                         p->left_inner, count, to);
}

static void sum_piece(const piece* b) {
  const etx_gemm* p = b->p;
  const bool is_native = p->dtype == etx_compute_type_dtype(b->wide);
  const bool is_full = b->columns == etx_implicit_gemm_lanes(b->wide);
  etx_implicit_gemm panel = {
      .loops = b->loops,
      .wide = b->wide,
      .rows = b->rows,
      .lanes = b->columns,
      .taps = (int64_t)p->inner,
      .fill = fill_panel,
      .load = load_left,
      .sums = b->sums,
      .sum_row = (ptrdiff_t)etx_implicit_gemm_lanes(b->wide),
      .context = b,
      .memory = b->memory};
  if (is_native && is_full && p->right_column == 1 && p->rows <= FEW_ROWS) {
    panel.direct = p->right + (ptrdiff_t)b->column * b->bytes;
    panel.direct_row = p->right_inner;
  }
  if (is_native && (p->left_inner == 1 || p->inner <= 1)) {
    panel.weights = p->left + (ptrdiff_t)b->row * p->left_row * b->bytes;
    panel.weight_row = p->left_row;
  }
  etx_implicit_gemm_run(&panel);
}

// Sums are rounded once, after the addition.
static void run_piece(const piece* b) {
  const etx_gemm* p = b->p;
  sum_piece(b);
  for (size_t r = 0; r < b->rows; ++r) {
    char* row = b->sums + r * ETX_IMPLICIT_GEMM_LANE_BYTES;
    etx_gemm_epilogue_add(p, b->wide, b->row + r, b->column, b->columns, row);
    const ptrdiff_t at =
        (ptrdiff_t)(b->row + r) * p->out_row + (ptrdiff_t)b->column;
    if (p->dtype == etx_compute_type_dtype(b->wide)) {
      etx_copy_short(p->out + at * b->bytes, row,
                     b->columns * (size_t)b->bytes);
      continue;
    }
    etx_block block;
    memcpy(&block, row, b->columns * etx_compute_type_bytes(b->wide));
    etx_block_store(&block, b->wide, p->dtype, p->out + at * b->bytes, 1,
                    b->columns);
  }
}

size_t etx_gemm_f64_i64_tile(const etx_gemm* p) {
  return etx_implicit_gemm_sums_bytes(p->rows) +
         etx_implicit_gemm_bytes(p->inner);
}

void etx_gemm_f64_i64(const etx_gemm* p, const etx_f32_microkernels* loops,
                      const etx_gemm_area* area, void* tile) {
  piece b = {.p = p,
             .loops = loops,
             .wide = etx_compute_type_of(p->dtype),
             .bytes = (ptrdiff_t)etx_dtype_bytes(p->dtype),
             .sums = tile};
  b.memory = b.sums + etx_implicit_gemm_sums_bytes(p->rows);
  const size_t lanes = etx_implicit_gemm_lanes(b.wide);
  const size_t column_end = area->column + area->columns;
  const size_t row_end = area->row + area->rows;
  for (b.column = area->column; b.column < column_end; b.column += b.columns) {
    const size_t left = column_end - b.column;
    b.columns = left < lanes ? left : lanes;
    for (b.row = area->row; b.row < row_end; b.row += b.rows) {
      const size_t below = row_end - b.row;
      b.rows = below < ETX_IMPLICIT_GEMM_STACK_ROWS
                   ? below
                   : ETX_IMPLICIT_GEMM_STACK_ROWS;
      run_piece(&b);
    }
  }
}
