// The inner loops of products: blocks of panels (implicit_gemm.h) and dot
// products. Compiled once for each instruction set that is worth it, as
// float_loops.h is; all sets give the same bits.

#ifndef ETX_RUNTIME_KERNELS_SIMD_F32_F32_MICROKERNELS_H
#define ETX_RUNTIME_KERNELS_SIMD_F32_F32_MICROKERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/built_types.h"
#include "runtime/instruction_set.h"
#include "runtime/kernels/simd/f32/conv_microkernels.h"
#include "runtime/kernels/simd/f32/attention_scores.h"
#include "runtime/kernels/simd/f32/winograd_microkernels.h"

// Lanes come in groups of so many bytes.
enum { ETX_LANE_GROUP_BYTES = 64 };

// What a block may add to its sums: a bias, and what its result is added to.
enum { ETX_GEMM_ADDENDS = 2 };

// sums [rows, lanes] += weights [rows, taps] * panel [taps, lanes], tap by tap;
// in float32 each step is rounded once (f32_vec_template.h). Strides are in
// elements. The panel and the sums have whole groups of lanes.
typedef struct etx_gemm_block {
  void* sums;
  ptrdiff_t sum_row;
  const void* weights;
  ptrdiff_t weight_row;
  const void* panel;
  ptrdiff_t panel_row;  // from tap to tap
  // Of float32: where each tap's row begins, instead; or NULL.
  const ptrdiff_t* offsets;
  // From group of lanes to group; with offsets they lie side by side.
  ptrdiff_t panel_group;
  size_t rows, taps, lanes;
  bool starts;  // the sums are zero, and not read
  // Without offsets: rows of whole groups, as the sums, that are added to them,
  // one after the other, before these are stored. NULL: none.
  const void* added[ETX_GEMM_ADDENDS];
  ptrdiff_t added_row[ETX_GEMM_ADDENDS];
  // What is asked of memory meanwhile, for whoever comes next: so many pieces,
  // `ahead_row` bytes apart, with `ahead_step` bytes for ETX_GEMM_PREFETCH_TAPS
  // taps; nothing with offsets. It goes to the second cache (prefetch.h), or to
  // the first: where it is needed soon, or asked for so rarely that no tap has
  // to ask for two lines.
  const char* ahead;
  ptrdiff_t ahead_row;
  size_t ahead_pieces, ahead_step;
  bool prefetches_to_l1;
  // Weights are many, and not in a near cache: they are asked for in advance.
  bool fetches;
  // Without offsets: each row's weights are new, and those of the next rows are
  // asked for while some are computed.
  bool prefetches_rows;
} etx_gemm_block;

// Eights of taps of a register block of float32, at least one, for a set that
// has its own code for them (f32_microkernels_template.h). Strides are in
// elements.
typedef struct etx_gemm_taps {
  const float* weights;
  ptrdiff_t weight_row;
  const float* panel;
  ptrdiff_t panel_row;
  const ptrdiff_t* offsets;  // where each tap's row begins, instead; or NULL
  size_t eights;
} etx_gemm_taps;

// Taps between prefetches: floats of a cache line.
enum { ETX_GEMM_PREFETCH_TAPS = 16 };

typedef void (*etx_gemm_microkernel)(const etx_gemm_block* block);

// out[i, j] = dot product of row i of left and row j of right. Element k goes
// to partial sum k mod 16, in steps that are rounded once (f32_vec_template.h),
// as if rows were followed by zeros; then halves of the sums are added to each
// other until one is left: i and i + 8, i and i + 4, and so on. Dots of less
// than 16 elements are one sum from the first to the last.
typedef struct etx_gemm_nt {
  float* out;
  ptrdiff_t out_row;
  const float* left;
  ptrdiff_t left_row;
  const float* right;
  ptrdiff_t right_row;
  size_t rows, columns, count;
} etx_gemm_nt;

typedef void (*etx_gemm_nt_loop)(const etx_gemm_nt* block);

// A float32 product that is not worth preparing anything for (gemm.h): each
// sum from the first inner element to the last. Either right_column is 1, or
// right_inner is and there are at most ETX_GEMM_SMALL_INNER inner elements.
// What is added comes too if etx_gemm_small_adds.
enum { ETX_GEMM_SMALL_INNER = 16 };

struct etx_gemm;
typedef void (*etx_gemm_small_loop)(const struct etx_gemm* product);

enum { ETX_TRANSPOSE_ROWS = ETX_LANE_GROUP_BYTES / 4 };

// Writes `count` elements of `rows` rows, at most ETX_TRANSPOSE_ROWS that are
// `row` apart, as `count` times ETX_TRANSPOSE_ROWS; zeros where there is no
// row.
typedef void (*etx_transpose_pack_loop)(const float* in, ptrdiff_t row,
                                        size_t rows, size_t count, float* out);

typedef struct etx_f32_microkernels {
  const char* name;                      // of the instruction set
  etx_gemm_microkernel gemm_by_type[3];  // by etx_compute_type
  etx_gemm_nt_loop dots;
  etx_gemm_small_loop gemm_small;
  etx_transpose_pack_loop turn;
  etx_row_copy_loop copy_rows;
  etx_row_store_loop store_rows;
  etx_depthwise_row_loop depthwise_row;
  etx_max_pool_row_loop max_pool_row;
  etx_attention_weights_loop attention_weights;
  etx_conv_oc_dense_loop conv_oc_dense;
  etx_conv_oc_loop conv_oc;
  etx_conv_oc_store_loop conv_oc_store;
  etx_winograd_loops winograd;
  // Those that only some sets have, or NULL.
  etx_depthwise_loop depthwise_planes;
  size_t max_depthwise_kernel;  // the largest of them
  etx_conv_pixel_loop conv_pixel;
  size_t groups;  // of lanes that gemm_by_type likes to have at once
} etx_f32_microkernels;

// For every machine that the compiler was told of.
extern const etx_f32_microkernels etx_f32_microkernels_base;

// The loops for an instruction set.
const etx_f32_microkernels* etx_f32_microkernels_of(etx_instruction_set set);

#endif
