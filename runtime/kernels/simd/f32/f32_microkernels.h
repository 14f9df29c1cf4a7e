// The float32 microkernels: GEMM of packed panels (implicit_gemm.h), GEMM NT,
// convolution, pooling and attention. Compiled once for each instruction set;
// all sets give the same bits.

#ifndef ETX_RUNTIME_KERNELS_SIMD_F32_F32_MICROKERNELS_H
#define ETX_RUNTIME_KERNELS_SIMD_F32_F32_MICROKERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/built_loops.h"
#include "runtime/instruction_set.h"
#include "runtime/kernels/simd/f32/conv_microkernels.h"
#include "runtime/kernels/simd/f32/attention_scores.h"
#include "runtime/kernels/simd/f32/winograd_microkernels.h"

// Bytes of a lane group: panels and sums have whole groups.
enum { ETX_LANE_GROUP_BYTES = 64 };

// The addends of a block's sums: a bias and another tensor.
enum { ETX_GEMM_ADDENDS = 2 };

// GEMM of a packed panel: sums[rows, lanes] += weights[rows, taps] *
// panel[taps, lanes], tap by tap; float32 uses FMA (f32_vec_template.h).
// Strides are in elements. The panel and the sums have whole lane groups.
typedef struct etx_gemm_block {
  void* sums;
  ptrdiff_t sum_row;
  const void* weights;
  ptrdiff_t weight_row;
  const void* panel;
  ptrdiff_t panel_row;  // from tap to tap
  // For float32: the offset of each tap's row, instead of panel_row; or NULL.
  const ptrdiff_t* offsets;
  // The distance of neighbouring lane groups; with offsets they are contiguous.
  ptrdiff_t panel_group;
  size_t rows, taps, lanes;
  bool starts;  // the sums begin at zero and are not read
  // Without offsets: rows of whole lane groups that are added to the sums, one
  // after the other, before these are stored. NULL: none.
  const void* added[ETX_GEMM_ADDENDS];
  ptrdiff_t added_row[ETX_GEMM_ADDENDS];
  // Memory to prefetch for the next block: pieces, `ahead_row` bytes apart, of
  // `ahead_step` bytes for each ETX_GEMM_PREFETCH_TAPS taps; nothing with
  // offsets. It goes to L2 (prefetch.h), or to L1 where it is needed soon or is
  // so little that no tap prefetches two lines.
  const char* ahead;
  ptrdiff_t ahead_row;
  size_t ahead_pieces, ahead_step;
  bool prefetches_to_l1;
  // The weights are many and not in a near cache: prefetch them.
  bool fetches;
  // Without offsets: no row's weights were read before; prefetch those of the
  // next rows, unless a set has its own code for the block (etx_gemm_tile).
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
  const ptrdiff_t* offsets;  // offset of each tap's row, instead; or NULL
  size_t eights;
} etx_gemm_taps;

// Taps of an etx_gemm_tile that are added at a time, and the prefetches
// meanwhile.
enum { ETX_GEMM_TILE_TAPS = 8, ETX_GEMM_TILE_PREFETCHES = 4 };

// A register block of float32 with its sums, for a set that has its own code
// for all of it (f32_microkernels_template.h). Strides are in bytes.
typedef struct etx_gemm_tile {
  float* sums;
  ptrdiff_t sum_row;
  bool starts;  // the sums begin at zero and are not read
  const float* weights;
  ptrdiff_t weight_row;
  const float* panel;
  ptrdiff_t panel_row, panel_group;
  const char* ahead;  // the line to prefetch first
  ptrdiff_t ahead_step;
  size_t turns, rest;  // ETX_GEMM_TILE_TAPS taps each, and taps after these
} etx_gemm_tile;

// Taps between prefetches: floats of a cache line.
enum { ETX_GEMM_PREFETCH_TAPS = 16 };

typedef void (*etx_gemm_microkernel)(const etx_gemm_block* block);

// GEMM NT: out[i, j] is the dot product of row i of left and row j of right.
// Element k is added to partial sum k mod 16 by FMA, as if rows were followed
// by zeros; then halves of the partial sums are added, i and i + 8, i and i +
// 4, and so on. Dot products of fewer than 16 elements are one sum in order.
//
// Left and right are float32, or both of the half type of the loop (left is
// float32 in half_dots and mixed_dots). Halves are expanded to float32, which
// is exact, and the sums stay in float32: their bits are those of the expanded
// operands. Loops of halves need at least 16 elements.
typedef struct etx_gemm_nt {
  float* out;
  ptrdiff_t out_row;  // strides in elements
  const void* left;
  ptrdiff_t left_row;
  const void* right;
  ptrdiff_t right_row;
  size_t rows, columns, count;
} etx_gemm_nt;

typedef void (*etx_gemm_nt_loop)(const etx_gemm_nt* block);

// A float32 product that is too small to pack anything for (gemm.h). Each sum
// is in the order of the inner elements. Either right_column is 1, or
// right_inner is 1 and there are at most ETX_GEMM_SMALL_INNER inner elements.
// Adds `added` if etx_gemm_small_adds.
enum { ETX_GEMM_SMALL_INNER = 16 };

struct etx_gemm;
typedef void (*etx_gemm_small_loop)(const struct etx_gemm* product);

enum { ETX_TRANSPOSE_ROWS = ETX_LANE_GROUP_BYTES / 4 };

// Transposed pack: `count` elements of each of `rows` rows, at most
// ETX_TRANSPOSE_ROWS and `row` apart, as [count][ETX_TRANSPOSE_ROWS]; zeros for
// rows that do not exist.
typedef void (*etx_transpose_pack_loop)(const float* in, ptrdiff_t row,
                                        size_t rows, size_t count, float* out);

typedef struct etx_f32_microkernels {
  const char* name;                      // name of the instruction set
  etx_gemm_microkernel gemm_by_type[3];  // by etx_compute_type
  etx_gemm_nt_loop dots;
  etx_gemm_nt_loop dots_bf16;
  etx_gemm_nt_loop dots_f16;
  // float32 with weights of halves.
  etx_gemm_nt_loop mixed_dots_bf16;
  etx_gemm_nt_loop mixed_dots_f16;
  // Rows of halves beside float32, read as stored. Dots have a multiple of 16
  // elements. Sums have a panel whose lanes are contiguous;
  // they prefetch nothing.
  etx_gemm_nt_loop half_dots_bf16;
  etx_gemm_nt_loop half_dots_f16;
  etx_gemm_microkernel half_sums_bf16;
  etx_gemm_microkernel half_sums_f16;
  etx_gemm_small_loop gemm_small;
  etx_transpose_pack_loop transpose_pack;
  etx_row_copy_loop copy_rows;
  etx_row_store_loop store_rows;
  etx_depthwise_row_loop depthwise_row;
  etx_max_pool_row_loop max_pool_row;
  etx_attention_weights_loop attention_weights;
  etx_conv_oc_dense_loop conv_oc_dense;
  etx_conv_oc_loop conv_oc;
  etx_conv_oc_store_loop conv_oc_store;
  etx_winograd_loops winograd;
  // NULL in sets that do not have them.
  etx_depthwise_loop depthwise_planes;
  size_t max_depthwise_kernel;  // the largest window of depthwise_planes
  etx_conv_pixel_loop conv_pixel;
  size_t groups;  // lane groups of the GEMM register block
} etx_f32_microkernels;

// The baseline, which every processor of the target has.
extern const etx_f32_microkernels etx_f32_microkernels_base;

// The loops for an instruction set.
const etx_f32_microkernels* etx_f32_microkernels_of(etx_instruction_set set);

#endif
