#include "runtime/kernels/matmul/implicit_gemm.h"

#include <string.h>

#include "runtime/kernels/simd/f32/f32_microkernels.h"
#include "runtime/kernels/core/short_copy.h"

void etx_implicit_gemm_load(etx_compute_type wide, etx_dtype dtype,
                            const char* from, ptrdiff_t stride, size_t count,
                            char* to) {
  const size_t bytes = etx_compute_type_bytes(wide);
  if (dtype != etx_compute_type_dtype(wide)) {
    etx_convert(etx_compute_type_dtype(wide), to, 1, dtype, from, stride,
                count);
  } else if (stride == 1) {
    etx_copy_short(to, from, count * bytes);
  } else if (bytes == 4) {
    for (size_t i = 0; i < count; ++i, from += stride * 4) {
      memcpy(to + i * 4, from, 4);
    }
  } else {
    for (size_t i = 0; i < count; ++i, from += stride * 8) {
      memcpy(to + i * 8, from, 8);
    }
  }
}

// Rows of the weights that are converted at a time.
enum { LOADED_ROWS = 6 };

static size_t block_taps(size_t taps) {
  return taps < ETX_IMPLICIT_GEMM_TAPS ? taps : ETX_IMPLICIT_GEMM_TAPS;
}

// The panel [taps][lanes], and behind it the converted weights
// [LOADED_ROWS][taps], of the largest type.
size_t etx_implicit_gemm_bytes(size_t taps) {
  return block_taps(taps) *
         (ETX_IMPLICIT_GEMM_LANE_BYTES + LOADED_ROWS * sizeof(double));
}

// Multiplies taps from `first` on, with weights that are converted row by row.
static void multiply_loaded(const etx_implicit_gemm* p, int64_t first,
                            char* weights, etx_gemm_block* b) {
  const size_t bytes = etx_compute_type_bytes(p->wide);
  b->weights = weights;
  b->weight_row = ETX_IMPLICIT_GEMM_TAPS;
  if (p->taps < b->weight_row) b->weight_row = (ptrdiff_t)p->taps;
  for (size_t row = 0; row < p->rows; row += LOADED_ROWS) {
    const size_t left = p->rows - row;
    b->rows = left < LOADED_ROWS ? left : LOADED_ROWS;
    for (size_t r = 0; r < b->rows; ++r) {
      p->load(p->context, row + r, first, b->taps,
              weights + r * (size_t)b->weight_row * bytes);
    }
    b->sums = p->sums + (ptrdiff_t)row * p->sum_row * (ptrdiff_t)bytes;
    p->loops->gemm_by_type[p->wide](b);
  }
}

// Lanes are computed a few vectors at a time. Unused lanes, after `used` bytes
// of each row, are computed from zeros.
static void clear_rest(char* panel, size_t taps, size_t used) {
  const size_t rest = -used % ETX_LANE_GROUP_BYTES;
  if (rest > 0) memset(panel, 0, taps * ETX_IMPLICIT_GEMM_LANE_BYTES);
}

void etx_implicit_gemm_run(const etx_implicit_gemm* p) {
  char* const panel = p->memory;
  const size_t bytes = etx_compute_type_bytes(p->wide);
  const size_t panel_bytes =
      block_taps((size_t)p->taps) * ETX_IMPLICIT_GEMM_LANE_BYTES;
  int64_t first = 0;
  do {
    const int64_t left = p->taps - first;
    etx_gemm_block b = {
        .sums = p->sums,
        .sum_row = p->sum_row,
        .panel = panel,
        .panel_row = ETX_IMPLICIT_GEMM_LANE_BYTES / (ptrdiff_t)bytes,
        .panel_group = ETX_LANE_GROUP_BYTES / (ptrdiff_t)bytes,
        .rows = p->rows,
        .taps = left < ETX_IMPLICIT_GEMM_TAPS ? (size_t)left
                                              : ETX_IMPLICIT_GEMM_TAPS,
        .lanes = p->lanes,
        .starts = first == 0};
    if (p->direct != NULL) {
      b.panel = p->direct + (ptrdiff_t)first * p->direct_row * (ptrdiff_t)bytes;
      b.panel_row = p->direct_row;
    } else {
      clear_rest(panel, b.taps, p->lanes * bytes);
      p->fill(p->context, first, b.taps, panel);
    }
    if (p->weights != NULL) {
      b.weights = p->weights + (ptrdiff_t)first * (ptrdiff_t)bytes;
      b.weight_row = p->weight_row;
      p->loops->gemm_by_type[p->wide](&b);
    } else {
      multiply_loaded(p, first, panel + panel_bytes, &b);
    }
    first += ETX_IMPLICIT_GEMM_TAPS;
  } while (first < p->taps);
}
