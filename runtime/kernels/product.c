// Three ways through a product, chosen by where its operands lie:
//
//   right as [columns, inner], the layout of linear's weights: dot products
//   right as [inner, columns]: rows of right, scaled and added, 32 columns in
//   registers at a time
//   anything else, and types other than float32: blocks in a wide type
//
// No operand is copied or transposed.

#include "runtime/kernels/product.h"

#include "runtime/kernels/lanes.h"
#include "runtime/kernels/whole_math.h"

enum {
  // Rows of right that stay in the first cache while rows of left pass.
  DOT_TILE = 8,
  // Multiply-adds below which other threads are not worth waking.
  PARALLEL_LEAST = 200000,
};

static const float* left_at(const etx_product* p, size_t row) {
  return (const float*)(const void*)p->left + (ptrdiff_t)row * p->left_row;
}

static float* out_at(const etx_product* p, size_t row) {
  return (float*)(void*)p->out + (ptrdiff_t)row * p->out_row;
}

static void dot_tile(const etx_product* p, size_t first, size_t last) {
  const float* right = (const float*)(const void*)p->right;
  size_t row = 0;
  for (; row + 2 <= p->rows; row += 2) {
    for (size_t column = first; column < last; ++column) {
      etx_dot_two_f32(left_at(p, row), left_at(p, row + 1),
                      right + (ptrdiff_t)column * p->right_column, p->inner,
                      out_at(p, row) + column, out_at(p, row + 1) + column);
    }
  }
  for (; row < p->rows; ++row) {
    for (size_t column = first; column < last; ++column) {
      out_at(p, row)[column] =
          etx_dot_f32(left_at(p, row),
                      right + (ptrdiff_t)column * p->right_column, p->inner);
    }
  }
}

static void dot_columns(const etx_product* p, size_t first, size_t last) {
  for (size_t column = first; column < last; column += DOT_TILE) {
    const size_t left = last - column;
    dot_tile(p, column, column + (left < DOT_TILE ? left : DOT_TILE));
  }
}

// `vectors` groups of four columns of one row, from `column` on. Inlined with
// a constant, so that the sums stay in registers.
static inline __attribute__((always_inline)) void add_rows(const etx_product* p,
                                                           size_t row,
                                                           size_t column,
                                                           size_t vectors) {
  const float* left = left_at(p, row);
  const float* right = (const float*)(const void*)p->right + column;
  etx_f32x4 sums[8] = {{0}};
  for (size_t k = 0; k < p->inner; ++k) {
    const etx_f32x4 factor = etx_f32x4_all(left[k]);
    const float* from = right + (ptrdiff_t)k * p->right_inner;
    for (size_t v = 0; v < vectors; ++v) {
      sums[v] += factor * etx_f32x4_load(from + 4 * v);
    }
  }
  float* out = out_at(p, row) + column;
  for (size_t v = 0; v < vectors; ++v) {
    etx_f32x4_store(out + 4 * v, sums[v]);
  }
}

static void add_rows_one(const etx_product* p, size_t row, size_t column) {
  const float* left = left_at(p, row);
  const float* right = (const float*)(const void*)p->right + column;
  float sum = 0;
  for (size_t k = 0; k < p->inner; ++k) {
    sum += left[k] * right[(ptrdiff_t)k * p->right_inner];
  }
  out_at(p, row)[column] = sum;
}

static void add_columns(const etx_product* p, size_t first, size_t last) {
  size_t column = first;
  for (; column + 32 <= last; column += 32) {
    for (size_t row = 0; row < p->rows; ++row) add_rows(p, row, column, 8);
  }
  for (; column + 8 <= last; column += 8) {
    for (size_t row = 0; row < p->rows; ++row) add_rows(p, row, column, 2);
  }
  for (; column < last; ++column) {
    for (size_t row = 0; row < p->rows; ++row) add_rows_one(p, row, column);
  }
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

// Adds the products of two blocks to a sum of the wide type.
static void add_block(etx_wide wide, etx_block* sum, const etx_block* a,
                      const etx_block* b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (wide == ETX_WIDE_I64) {
      sum->i64[0] =
          etx_wrap_add(sum->i64[0], etx_wrap_multiply(a->i64[i], b->i64[i]));
    } else if (wide == ETX_WIDE_F32) {
      sum->f32[0] += a->f32[i] * b->f32[i];
    } else {
      sum->f64[0] += a->f64[i] * b->f64[i];
    }
  }
}

// sum = beta * x + alpha * sum for the one element of a block.
static void add_scaled(const etx_product* p, etx_wide wide, etx_block* sum,
                       const etx_block* x) {
  const bool skips = p->ignores_added;
  if (wide == ETX_WIDE_I64) {
    const int64_t added = skips ? 0 : etx_wrap_multiply(p->beta.i64, x->i64[0]);
    sum->i64[0] =
        etx_wrap_add(added, etx_wrap_multiply(p->alpha.i64, sum->i64[0]));
  } else if (wide == ETX_WIDE_F32) {
    const float added = skips ? 0 : p->beta.f32 * x->f32[0];
    sum->f32[0] = added + p->alpha.f32 * sum->f32[0];
  } else {
    const double added = skips ? 0 : p->beta.f64 * x->f64[0];
    sum->f64[0] = added + p->alpha.f64 * sum->f64[0];
  }
}

// One element of the result: rounded once, behind the addition.
static void wide_element(const etx_product* p, size_t row, size_t column) {
  const etx_wide wide = etx_wide_of(p->dtype);
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(p->dtype);
  const ptrdiff_t i = (ptrdiff_t)row, j = (ptrdiff_t)column;
  const char* left = p->left + i * p->left_row * bytes;
  const char* right = p->right + j * p->right_column * bytes;
  etx_block sum = {{0}}, a, b;
  for (size_t k = 0; k < p->inner; k += ETX_BLOCK) {
    const size_t rest = p->inner - k;
    const size_t count = rest < ETX_BLOCK ? rest : ETX_BLOCK;
    const ptrdiff_t at = (ptrdiff_t)k * bytes;
    etx_block_load(&a, wide, p->dtype, left + at * p->left_inner, p->left_inner,
                   count);
    etx_block_load(&b, wide, p->dtype, right + at * p->right_inner,
                   p->right_inner, count);
    add_block(wide, &sum, &a, &b, count);
  }
  if (p->added != NULL) {
    const ptrdiff_t at = i * p->added_row + j * p->added_column;
    etx_block_load(&a, wide, p->dtype, p->added + at * bytes, 0, 1);
    add_scaled(p, wide, &sum, &a);
  }
  etx_block_store(&sum, wide, p->dtype, p->out + (i * p->out_row + j) * bytes,
                  1, 1);
}

static void wide_columns(const etx_product* p, size_t first, size_t last) {
  for (size_t row = 0; row < p->rows; ++row) {
    for (size_t column = first; column < last; ++column) {
      wide_element(p, row, column);
    }
  }
}

// Columns `first` up to `last` of every row.
static void product_columns(const etx_product* p, size_t first, size_t last) {
  const bool is_float = p->dtype == ETX_DTYPE_FLOAT32;
  const bool left_dense = p->left_inner == 1 || p->inner <= 1;
  const bool as_dots = p->right_inner == 1 || p->inner <= 1;
  if (!is_float || !left_dense || (!as_dots && p->right_column != 1)) {
    wide_columns(p, first, last);
    return;
  }
  if (as_dots) {
    dot_columns(p, first, last);
  } else {
    add_columns(p, first, last);
  }
  if (p->added != NULL) add_to_columns(p, first, last);
}

typedef struct share {
  const etx_product* product;
  size_t count;  // shares
} share;

// Shares begin at multiples of 32 columns, so that they do not cut a block.
static void run_share(void* argument, size_t index) {
  const share* s = argument;
  const size_t columns = s->product->columns;
  const size_t blocks = (columns + 31) / 32;
  const size_t first = blocks * index / s->count * 32;
  const size_t last = blocks * (index + 1) / s->count * 32;
  product_columns(s->product, first, last < columns ? last : columns);
}

void etx_product_run(const etx_product* product, const etx_parallel* parallel) {
  etx_product own = *product;
  if (own.ignores_product) own.inner = 0;
  const etx_product* p = &own;
  const double work = (double)p->rows * (double)p->columns * (double)p->inner;
  const size_t blocks = (p->columns + 31) / 32;
  if (parallel->thread_count < 2 || work < PARALLEL_LEAST || blocks < 2) {
    product_columns(p, 0, p->columns);
    return;
  }
  const size_t wanted = parallel->thread_count * 4;
  share s = {p, wanted < blocks ? wanted : blocks};
  parallel->parallel_for(parallel->context, run_share, &s, s.count);
}
