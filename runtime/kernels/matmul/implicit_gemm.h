// Products of matrices that need not exist as a whole: sums [rows, lanes] of
// weights [rows, taps] times a panel [taps, lanes]. Convolutions and matrix
// products consist of blocks of these. They differ in the source of panel and
// weights and in the destination of the sums.
//
//            lanes: result positions, or columns
//            .---------.
//            | panel   |  taps: what is summed over. A few exist at a time
//            '---------'
//   .-----.  .---------.
//   |     |  | sums    |  rows: result channels, or rows
//   '-----'  '---------'
//   weights
//
// Elements have one of the three compute types (convert.h). Each sum adds tap
// by tap, from zero, on every machine and for every block size; in float32
// multiplication and addition are rounded once (f32_vec_template.h).

#ifndef ETX_RUNTIME_KERNELS_MATMUL_IMPLICIT_GEMM_H
#define ETX_RUNTIME_KERNELS_MATMUL_IMPLICIT_GEMM_H

#include "runtime/kernels/core/convert.h"

enum {
  ETX_IMPLICIT_GEMM_TAPS = 64,         // taps of a panel
  ETX_IMPLICIT_GEMM_LANE_BYTES = 256,  // bytes of a full row of lanes
  ETX_IMPLICIT_GEMM_LANES = ETX_IMPLICIT_GEMM_LANE_BYTES / 4,
  // The rows of a block whose sums are kept aside, and the rows that share a
  // panel if sums are stored in the result.
  ETX_IMPLICIT_GEMM_STACK_ROWS = 32,
  ETX_IMPLICIT_GEMM_ROWS = 128,
};

// The number of lanes in a full row.
static inline size_t etx_implicit_gemm_lanes(etx_compute_type wide) {
  return wide == ETX_COMPUTE_F32 ? ETX_IMPLICIT_GEMM_LANES
                                 : ETX_IMPLICIT_GEMM_LANES / 2;
}

// The bytes of sums that a block keeps aside, ETX_IMPLICIT_GEMM_LANE_BYTES a
// row, in a product of `rows` rows.
static inline size_t etx_implicit_gemm_sums_bytes(size_t rows) {
  const size_t most = ETX_IMPLICIT_GEMM_STACK_ROWS;
  return (rows < most ? rows : most) * ETX_IMPLICIT_GEMM_LANE_BYTES;
}

typedef struct etx_implicit_gemm {
  const struct etx_f32_microkernels* loops;
  etx_compute_type wide;
  size_t rows, lanes;  // at most ETX_IMPLICIT_GEMM_ROWS and
                       // etx_implicit_gemm_lanes(wide)
  int64_t taps;

  // The panel's rows in memory, of the wide type and with contiguous lanes; or
  // NULL, and `fill` writes `count` rows from tap `first` on,
  // ETX_IMPLICIT_GEMM_LANE_BYTES apart. A direct panel has full rows of lanes.
  const char* direct;
  ptrdiff_t direct_row;  // in elements, as all strides here
  void (*fill)(const void* context, int64_t first, size_t count, char* panel);

  // The weights in memory, of the wide type and with contiguous taps; or NULL,
  // and `load` writes those of a row.
  const char* weights;
  ptrdiff_t weight_row;
  void (*load)(const void* context, size_t row, int64_t first, size_t count,
               char* weights);

  // The destination of the sums: rows with whole groups of lanes
  // (f32_microkernels.h).
  char* sums;
  ptrdiff_t sum_row;

  const void* context;
  void* memory;  // etx_implicit_gemm_bytes, aligned as lanes are
} etx_implicit_gemm;

// The bytes of memory that a product of `taps` taps needs.
size_t etx_implicit_gemm_bytes(size_t taps);

// Computes all sums.
void etx_implicit_gemm_run(const etx_implicit_gemm* panel);

// Converts elements of any type, `stride` apart, to the wide type.
void etx_implicit_gemm_load(etx_compute_type wide, etx_dtype dtype,
                            const char* from, ptrdiff_t stride, size_t count,
                            char* to);

#endif
