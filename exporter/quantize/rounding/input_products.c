#include "exporter/quantize/rounding/input_products.h"

#include <math.h>
#include <string.h>

#include "format/base/checked_math.h"

enum {
  LANES = ETX_INPUT_VECTOR,
  ROWS = ETX_INPUT_VECTOR,  // added at a time
  STRIP = 32,               // rows of a block that are one task
  PANEL = 32,               // columns that are factorised together
};

static size_t block_count(size_t inner) {
  return (inner + ETX_INPUT_BLOCK - 1) / ETX_INPUT_BLOCK;
}

// Floats of the layout in front of a block: all before it are full.
static size_t block_offset(size_t block) {
  return block * ETX_INPUT_BLOCK * ETX_INPUT_BLOCK;
}

// A row with whole vectors.
static size_t row_width(size_t inner) {
  return (inner + LANES - 1) / LANES * LANES;
}

// ------------------------------------------------ sums

bool etx_input_products_bytes(size_t inner, size_t* out_bytes) {
  enum { MOST = 1 << 24 };  // elements: more than any layer has
  if (inner == 0 || inner > MOST) return false;
  const size_t last = block_count(inner) - 1;
  const size_t width = etx_input_block_width(inner, last);
  uint64_t floats = (uint64_t)last * block_offset(1);
  floats += width * width + ROWS * row_width(inner);
  if (floats > SIZE_MAX / sizeof(float)) return false;
  *out_bytes = (size_t)floats * sizeof(float);
  return true;
}

void etx_input_products_init(etx_input_products* products, size_t inner,
                             float* memory) {
  const size_t last = block_count(inner) - 1;
  const size_t width = etx_input_block_width(inner, last);
  *products = (etx_input_products){
      .inner = inner,
      .sums = memory,
      .pending = memory + block_offset(last) + width * width};
}

// The block to which ROWS rows are added.
typedef struct block_sums {
  float* sums;
  size_t width;
  const float* rows;  // its elements of the first row
  size_t stride;      // to those of the next one
} block_sums;

static void add_strip(void* argument, size_t strip) {
  const block_sums* const b = argument;
  const size_t end =
      (strip + 1) * STRIP < b->width ? (strip + 1) * STRIP : b->width;
  for (size_t i = strip * STRIP; i < end; ++i) {
    float* const to = b->sums + i * b->width;
    for (size_t j = i / LANES * LANES; j < b->width; j += LANES) {
      float sum[LANES];
      memcpy(sum, to + j, sizeof sum);
      for (size_t r = 0; r < ROWS; ++r) {
        const float* const row = b->rows + r * b->stride;
        for (size_t k = 0; k < LANES; ++k) sum[k] += row[i] * row[j + k];
      }
      memcpy(to + j, sum, sizeof sum);
    }
  }
}

static size_t strip_count(size_t width) { return (width + STRIP - 1) / STRIP; }

// Adds the pending rows; places behind the last one are zero.
static void add_pending(etx_input_products* p, const etx_workers* workers) {
  const size_t stride = row_width(p->inner);
  for (size_t block = 0; block < block_count(p->inner); ++block) {
    block_sums sums = {.sums = p->sums + block_offset(block),
                       .width = etx_input_block_width(p->inner, block),
                       .rows = p->pending + etx_input_block_first(block),
                       .stride = stride};
    etx_workers_run(workers, add_strip, &sums, strip_count(sums.width));
  }
  memset(p->pending, 0, ROWS * stride * sizeof *p->pending);
  p->pending_count = 0;
}

void etx_input_products_add(etx_input_products* products, const float* rows,
                            size_t count, const etx_workers* workers) {
  const size_t inner = products->inner, stride = row_width(inner);
  for (size_t i = 0; i < count; ++i) {
    memcpy(products->pending + products->pending_count * stride,
           rows + i * inner, inner * sizeof *rows);
    ++products->rows;
    if (++products->pending_count == ROWS) add_pending(products, workers);
  }
}

// ------------------------------------------------ factors

// H = R RT in the place of H, in doubles. Row i of R has its columns from i on.
// From the last panel of columns to the first.
typedef struct factorisation {
  double* h;       // [width, width]
  double* turned;  // [PANEL, width]: the columns of the panel as rows
  size_t width;
  size_t first, end;  // columns of the panel
} factorisation;

// The panel's rows of R. False if a number under a root is not positive.
static bool factorise_corner(const factorisation* f) {
  double* const h = f->h;
  const size_t width = f->width;
  for (size_t k = f->end; k-- > f->first;) {
    const double square = h[k * width + k];
    if (!(square > 0) || !(square < (double)INFINITY)) return false;
    const double root = sqrt(square);
    h[k * width + k] = root;
    for (size_t i = f->first; i < k; ++i) h[i * width + k] /= root;
    for (size_t i = f->first; i < k; ++i) {
      for (size_t j = i; j < k; ++j) {
        h[i * width + j] -= h[i * width + k] * h[j * width + k];
      }
    }
  }
  return true;
}

// The panel's columns of R in the rows above it.
static void solve_strip(void* argument, size_t strip) {
  const factorisation* const f = argument;
  const size_t width = f->width;
  const size_t end =
      (strip + 1) * STRIP < f->first ? (strip + 1) * STRIP : f->first;
  for (size_t i = strip * STRIP; i < end; ++i) {
    double* const row = f->h + i * width;
    for (size_t k = f->end; k-- > f->first;) {
      double x = row[k];
      for (size_t m = k + 1; m < f->end; ++m) x -= row[m] * f->h[k * width + m];
      row[k] = x / f->h[k * width + k];
      f->turned[(k - f->first) * width + i] = row[k];
    }
  }
}

// Takes the panel's products from what stands above it.
static void subtract_strip(void* argument, size_t strip) {
  const factorisation* const f = argument;
  const size_t width = f->width;
  const size_t end =
      (strip + 1) * STRIP < f->first ? (strip + 1) * STRIP : f->first;
  for (size_t i = strip * STRIP; i < end; ++i) {
    double* const row = f->h + i * width;
    for (size_t k = f->first; k < f->end; ++k) {
      const double x = row[k];
      const double* const column = f->turned + (k - f->first) * width;
      for (size_t j = i; j < f->first; ++j) row[j] -= x * column[j];
    }
  }
}

static bool factorise(factorisation* f, const etx_workers* workers) {
  for (f->end = f->width; f->end > 0; f->end = f->first) {
    f->first = f->end > PANEL ? f->end - PANEL : 0;
    if (!factorise_corner(f)) return false;
    etx_workers_run(workers, solve_strip, f, strip_count(f->first));
    etx_workers_run(workers, subtract_strip, f, strip_count(f->first));
  }
  return true;
}

size_t etx_input_factors_scratch(size_t inner) {
  const size_t width = etx_input_block_width(inner, 0);
  return (width + PANEL) * width * sizeof(double);
}

// Reads the sums of a block of `size` elements. Elements behind them are
// independent of all others.
static void read_block(const float* sums, size_t size, size_t width,
                       double* out) {
  double mean = 0;
  for (size_t i = 0; i < size; ++i) mean += (double)sums[i * width + i];
  mean /= (double)size;
  for (size_t i = 0; i < width; ++i) {
    for (size_t j = i; j < width; ++j) {
      out[i * width + j] = (double)sums[i * width + j];
    }
    out[i * width + i] += i < size ? 0.2 * mean : 1;
  }
}

static void write_factors(const factorisation* f, float* out) {
  const size_t width = f->width;
  for (size_t i = 0; i < width; ++i) {
    for (size_t c = i + 1; c < width; ++c) {
      out[i * width + c] = (float)(f->h[i * width + c] / f->h[c * width + c]);
    }
  }
}

bool etx_input_factors_make(etx_input_products* products, double* scratch,
                            const etx_workers* workers,
                            etx_input_factors* out) {
  const size_t inner = products->inner;
  add_pending(products, workers);
  for (size_t block = 0; block < block_count(inner); ++block) {
    const size_t size = etx_input_block_size(inner, block);
    const size_t width = etx_input_block_width(inner, block);
    float* const sums = products->sums + block_offset(block);
    factorisation f = {
        .h = scratch, .turned = scratch + width * width, .width = width};
    read_block(sums, size, width, scratch);
    if (!factorise(&f, workers)) return false;
    write_factors(&f, sums);
  }
  *out = (etx_input_factors){inner, products->sums};
  return true;
}
