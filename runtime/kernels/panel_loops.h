// The inner loops of products: blocks of panels (panel.h) and dot products.
// Compiled once for each instruction set that is worth it, as float_loops.h
// is; all sets give the same bits.

#ifndef ETX_RUNTIME_KERNELS_PANEL_LOOPS_H
#define ETX_RUNTIME_KERNELS_PANEL_LOOPS_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/built_types.h"
#include "runtime/instruction_set.h"
#include "runtime/kernels/row_loops.h"
#include "runtime/kernels/score_loops.h"
#include "runtime/kernels/winograd_loops.h"

// Lanes come in groups of so many bytes.
enum { ETX_PANEL_GROUP_BYTES = 64 };

// What a block may add to its sums: a bias, and what its result is added to.
enum { ETX_PANEL_ADDED = 2 };

// sums [rows, lanes] += weights [rows, taps] * panel [taps, lanes], tap by tap;
// in float32 each step is rounded once (fused_template.h). Strides are in
// elements. The panel and the sums have whole groups of lanes.
typedef struct etx_panel_block {
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
  const void* added[ETX_PANEL_ADDED];
  ptrdiff_t added_row[ETX_PANEL_ADDED];
  // What is asked of memory meanwhile, for whoever comes next: so many pieces,
  // `ahead_row` bytes apart, with `ahead_step` bytes for ETX_PANEL_AHEAD taps;
  // nothing with offsets. It goes to the second cache (ask_later.h), or to the
  // first: where it is needed soon, or asked for so rarely that no tap has to
  // ask for two lines.
  const char* ahead;
  ptrdiff_t ahead_row;
  size_t ahead_pieces, ahead_step;
  bool ahead_to_first_cache;
  // Weights are many, and not in a near cache: they are asked for in advance.
  bool fetches;
  // Without offsets: each row's weights are new, and those of the next rows are
  // asked for while some are computed.
  bool asks_rows;
} etx_panel_block;

// Taps between questions: floats of a line of the cache.
enum { ETX_PANEL_AHEAD = 16 };

typedef void (*etx_panel_loop)(const etx_panel_block* block);

// out[i, j] = dot product of row i of left and row j of right. Element k goes
// to partial sum k mod 16, in steps that are rounded once (fused_template.h),
// as if rows were followed by zeros; then halves of the sums are added to each
// other until one is left: i and i + 8, i and i + 4, and so on. Dots of less
// than 16 elements are one sum from the first to the last.
typedef struct etx_dot_block {
  float* out;
  ptrdiff_t out_row;
  const float* left;
  ptrdiff_t left_row;
  const float* right;
  ptrdiff_t right_row;
  size_t rows, columns, count;
} etx_dot_block;

typedef void (*etx_dot_loop)(const etx_dot_block* block);

// A float32 product that is not worth preparing anything for (product.h): each
// sum from the first inner element to the last. Either right_column is 1, or
// right_inner is and there are at most ETX_SMALL_INNER inner elements. What is
// added comes too if etx_small_adds.
enum { ETX_SMALL_INNER = 16 };

struct etx_product;
typedef void (*etx_small_loop)(const struct etx_product* product);

enum { ETX_TURNED_ROWS = ETX_PANEL_GROUP_BYTES / 4 };

// Writes `count` elements of `rows` rows, at most ETX_TURNED_ROWS that are
// `row` apart, as `count` times ETX_TURNED_ROWS; zeros where there is no row.
typedef void (*etx_turn_loop)(const float* in, ptrdiff_t row, size_t rows,
                              size_t count, float* out);

typedef struct etx_panel_loops {
  const char* name;           // of the instruction set
  etx_panel_loop by_wide[3];  // by etx_wide
  etx_dot_loop dots;
  etx_small_loop multiply_small;
  etx_turn_loop turn;
  etx_row_copy_loop copy_rows;
  etx_row_store_loop store_rows;
  etx_plane_loop sum_plane;
  etx_row_most_loop row_most;
  etx_score_loop weigh_scores;
  etx_dense_spot_loop sum_dense_spots;
  etx_spot_loop sum_spots;
  etx_spot_store_loop store_spots;
  etx_winograd_loops winograd;
  // Those that only some sets have, or NULL.
  etx_window_loop sum_windows;
  size_t most_window;  // the largest of them
  etx_point_loop sum_points;
  size_t groups;  // of lanes that by_wide likes to have at once
} etx_panel_loops;

// For every machine that the compiler was told of.
extern const etx_panel_loops etx_panel_loops_base;

// The loops for an instruction set.
const etx_panel_loops* etx_panel_loops_of(etx_instruction_set set);

#endif
