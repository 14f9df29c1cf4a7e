// Two ways through a product, chosen by where its operands lie:
//
//   float32 and right as [columns, inner], the layout of linear's weights: dot
//   products with the partial sums of lanes.h
//   anything else: panels of right's columns (panel.h), read where they lie if
//   there are only a few rows
//
// Neither operand is copied or transposed as a whole.

#include "runtime/kernels/product.h"

#include "runtime/kernels/panel.h"
#include "runtime/kernels/panel_loops.h"
#include "runtime/kernels/shares.h"
#include "runtime/kernels/short_copy.h"
#include "runtime/kernels/whole_math.h"

// Rows of left for which copying a panel is not worth it.
enum { FEW_ROWS = 2 };

// ------------------------------------------------ dot products

static float* out_at(const etx_product* p, size_t row) {
  return (float*)(void*)p->out + (ptrdiff_t)row * p->out_row;
}

// Adds to columns `first` up to `last` of float32 products.
static void add_to_columns(const etx_product* p, size_t first, size_t last) {
  const float alpha = p->is_scaled ? p->alpha.f32 : 1.0f;
  const float beta = p->is_scaled ? p->beta.f32 : 1.0f;
  const float* added = (const float*)(const void*)p->added;
  for (size_t row = 0; row < p->rows; ++row, added += p->added_row) {
    float* out = out_at(p, row);
    if (!p->is_scaled && p->added_column == 1) {
      for (size_t i = first; i < last; ++i) out[i] = added[i] + out[i];
      continue;
    }
    for (size_t i = first; i < last; ++i) {
      const float x =
          p->ignores_added ? 0.0f : added[(ptrdiff_t)i * p->added_column];
      out[i] = beta * x + alpha * out[i];
    }
  }
}

static void dot_columns(const etx_product* p, size_t first, size_t last) {
  const float* right = (const float*)(const void*)p->right;
  const etx_dot_block b = {.out = out_at(p, 0) + first,
                           .out_row = p->out_row,
                           .left = (const float*)(const void*)p->left,
                           .left_row = p->left_row,
                           .right = right + (ptrdiff_t)first * p->right_column,
                           .right_row = p->right_column,
                           .rows = p->rows,
                           .columns = last - first,
                           .count = p->inner};
  etx_panel_loops_best()->dots(&b);
  if (p->added != NULL) add_to_columns(p, first, last);
}

// ------------------------------------------------ panels

// A block of the result.
typedef struct piece {
  const etx_product* p;
  etx_wide wide;
  ptrdiff_t bytes;  // of an element in memory
  size_t row, column;
  size_t rows, columns;
} piece;

// Rows of right, or one element of each.
static void fill_panel(const void* context, int64_t first, size_t count,
                       char* panel) {
  const piece* b = context;
  const etx_product* p = b->p;
  const size_t row = b->columns * (size_t)b->bytes;
  const bool is_dense =
      p->right_column == 1 && p->dtype == etx_wide_dtype(b->wide);
  for (size_t k = 0; k < count; ++k, panel += ETX_PANEL_LANE_BYTES) {
    const ptrdiff_t at = (ptrdiff_t)(first + (int64_t)k) * p->right_inner +
                         (ptrdiff_t)b->column * p->right_column;
    if (is_dense) {
      etx_copy_short(panel, p->right + at * b->bytes, row);
      continue;
    }
    etx_panel_load(b->wide, p->dtype, p->right + at * b->bytes, p->right_column,
                   b->columns, panel);
  }
}

static void load_left(const void* context, size_t row, int64_t first,
                      size_t count, char* to) {
  const piece* b = context;
  const etx_product* p = b->p;
  const ptrdiff_t at = (ptrdiff_t)(b->row + row) * p->left_row +
                       (ptrdiff_t)first * p->left_inner;
  etx_panel_load(b->wide, p->dtype, p->left + at * b->bytes, p->left_inner,
                 count, to);
}

static void sum_piece(const piece* b, char* sums, ptrdiff_t sum_row) {
  const etx_product* p = b->p;
  const bool is_native = p->dtype == etx_wide_dtype(b->wide);
  const bool is_full = b->columns == etx_panel_lanes(b->wide);
  etx_panel panel = {.wide = b->wide,
                     .rows = b->rows,
                     .lanes = b->columns,
                     .taps = (int64_t)p->inner,
                     .fill = fill_panel,
                     .load = load_left,
                     .sums = sums,
                     .sum_row = sum_row,
                     .context = b};
  if (is_native && is_full && p->right_column == 1 && p->rows <= FEW_ROWS) {
    panel.direct = p->right + (ptrdiff_t)b->column * b->bytes;
    panel.direct_row = p->right_inner;
  }
  if (is_native && (p->left_inner == 1 || p->inner <= 1)) {
    panel.weights = p->left + (ptrdiff_t)b->row * p->left_row * b->bytes;
    panel.weight_row = p->left_row;
  }
  etx_panel_run(&panel);
}

// sums = beta * x + alpha * sums in the wide type.
static void add_scaled(const etx_product* p, etx_wide wide, void* sums,
                       const etx_block* x, size_t count) {
  double* real = sums;
  float* single = sums;
  int64_t* whole = sums;
  const bool skips = p->ignores_added;
  for (size_t i = 0; i < count; ++i) {
    if (wide == ETX_WIDE_I64) {
      const int64_t added =
          skips ? 0 : etx_wrap_multiply(p->beta.i64, x->i64[i]);
      whole[i] = etx_wrap_add(added, etx_wrap_multiply(p->alpha.i64, whole[i]));
    } else if (wide == ETX_WIDE_F32) {
      const float added = skips ? 0 : p->beta.f32 * x->f32[i];
      single[i] = added + p->alpha.f32 * single[i];
    } else {
      const double added = skips ? 0 : p->beta.f64 * x->f64[i];
      real[i] = added + p->alpha.f64 * real[i];
    }
  }
}

// Adds to one row of a piece, in the wide type.
static void add_to_row(const piece* b, size_t row, char* sums) {
  const etx_product* p = b->p;
  const ptrdiff_t at =
      (ptrdiff_t)row * p->added_row + (ptrdiff_t)b->column * p->added_column;
  etx_block x;
  etx_block_load(&x, b->wide, p->dtype, p->added + at * b->bytes,
                 p->added_column, b->columns);
  add_scaled(p, b->wide, sums, &x, b->columns);
}

// Sums stay where they are computed: all lanes are columns.
static void sum_in_place(piece* b) {
  const etx_product* p = b->p;
  for (; b->row < p->rows; b->row += b->rows) {
    const size_t left = p->rows - b->row;
    b->rows = left < ETX_PANEL_ROWS ? left : ETX_PANEL_ROWS;
    sum_piece(b, (char*)(out_at(p, b->row) + b->column), p->out_row);
  }
}

// Sums are rounded once, behind the addition.
static void sum_aside(piece* b) {
  etx_panel_sums sums;
  const etx_product* p = b->p;
  const bool adds = p->added != NULL && p->dtype != ETX_DTYPE_FLOAT32;
  const bool is_native = p->dtype == etx_wide_dtype(b->wide);
  for (; b->row < p->rows; b->row += b->rows) {
    const size_t left = p->rows - b->row;
    b->rows = left < ETX_PANEL_OWN_ROWS ? left : ETX_PANEL_OWN_ROWS;
    sum_piece(b, (char*)&sums, (ptrdiff_t)etx_panel_lanes(b->wide));
    for (size_t r = 0; r < b->rows; ++r) {
      char* row = (char*)&sums + r * ETX_PANEL_LANE_BYTES;
      if (adds) add_to_row(b, b->row + r, row);
      const ptrdiff_t at =
          (ptrdiff_t)(b->row + r) * p->out_row + (ptrdiff_t)b->column;
      if (is_native) {
        etx_copy_short(p->out + at * b->bytes, row,
                       b->columns * (size_t)b->bytes);
        continue;
      }
      etx_block block;
      memcpy(&block, row, b->columns * etx_wide_bytes(b->wide));
      etx_block_store(&block, b->wide, p->dtype, p->out + at * b->bytes, 1,
                      b->columns);
    }
  }
}

static void panel_columns(const etx_product* p, size_t first, size_t last) {
  piece b = {.p = p,
             .wide = etx_wide_of(p->dtype),
             .bytes = (ptrdiff_t)etx_dtype_bytes(p->dtype)};
  const size_t lanes = etx_panel_lanes(b.wide);
  for (b.column = first; b.column < last; b.column += b.columns) {
    const size_t left = last - b.column;
    b.columns = left < lanes ? left : lanes;
    b.row = 0;
    const bool is_single = p->dtype == ETX_DTYPE_FLOAT32;
    if (is_single && b.columns == lanes) {
      sum_in_place(&b);
    } else {
      sum_aside(&b);
    }
    if (is_single && p->added != NULL) {
      add_to_columns(p, b.column, b.column + b.columns);
    }
  }
}

// ------------------------------------------------ both

// Items are full rows of lanes: columns `first` up to `end` times that.
static void run_columns(const void* context, size_t first, size_t end) {
  const etx_product* p = context;
  const size_t columns = p->columns;
  first *= ETX_PANEL_LANES;
  end = end * ETX_PANEL_LANES < columns ? end * ETX_PANEL_LANES : columns;
  const bool are_dots = p->dtype == ETX_DTYPE_FLOAT32 && p->right_inner == 1 &&
                        p->left_inner == 1 && p->inner > 0;
  if (are_dots) {
    dot_columns(p, first, end);
  } else {
    panel_columns(p, first, end);
  }
}

void etx_product_run(const etx_product* product, const etx_parallel* parallel) {
  etx_product own = *product;
  if (own.ignores_product) own.inner = 0;
  const double work =
      (double)own.rows * (double)own.columns * (double)own.inner;
  const size_t items = (own.columns + ETX_PANEL_LANES - 1) / ETX_PANEL_LANES;
  if (own.rows > 0) etx_shares_run(parallel, items, work, run_columns, &own);
}
