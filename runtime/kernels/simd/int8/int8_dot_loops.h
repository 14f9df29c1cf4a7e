// The inner loops of quantized_linear_int8.h, for processors with dot product
// instructions (VNNI, SDOT), and with AVX2 for weights of 4 bits. The bytes of
// quantised rows are private to the loops of one set: unsigned as described
// here, or signed and 128 less, with zero points that are 128 less as well.

#ifndef ETX_RUNTIME_KERNELS_SIMD_INT8_INT8_DOT_LOOPS_H
#define ETX_RUNTIME_KERNELS_SIMD_INT8_INT8_DOT_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/instruction_set.h"
#include "runtime/kernels/simd/int8/row_argmax.h"

enum {
  ETX_INT8_COLUMNS = 32,  // columns of a panel
  // the number of rows of a product with panels is a multiple of it
  ETX_INT8_ROWS = 4,
  // Rows are padded to a multiple of 128 bytes; the padding may have any value.
  ETX_INT8_PIECE = 128,
  // The largest number of byte products that fit in an int32 sum.
  ETX_INT8_MAX_DEPTH = 32768,
  // Numbers of 32 bits for the sums of groups, which have 32 elements at least,
  // of two rows and some behind each, or of one row with two copies of its
  // bytes.
  ETX_INT4_DOT_SUMS = 8704,
};

// A quantised element is scale * (byte - base).
typedef struct etx_int8_row_qparams {
  float scale;
  int32_t base;  // 0 to 255
} etx_int8_row_qparams;

// A product of rows of bytes with rows of int8 weights. The last row is all
// ones: its products are the sums of the weights.
typedef struct etx_int8_dot_block {
  const uint8_t* left;
  ptrdiff_t left_row;
  const uint8_t* right;  // signed
  ptrdiff_t right_row;
  size_t rows, columns;
  size_t count;   // elements
  int32_t* sums;  // [rows, columns]
  bool is_far;    // the weights are not in L2: prefetch them
} etx_int8_dot_block;

// Rows of bytes times rows of weights of 4 bits, as packed_weights.h has them.
// The bytes of a row are reordered (order4): of each 128, 64 or 32, first those
// of even elements, then, from the middle on, those of odd elements.
typedef struct etx_int4_dot_block {
  const uint8_t* left;
  ptrdiff_t left_row;
  const etx_int8_row_qparams* row_qparams;
  const uint8_t* right;
  ptrdiff_t right_row;
  const float* scales;  // scales of each column's groups
  const int8_t* zeros;  // NULL: zeros
  // Parameters of groups of 32 (group_params.h), with a scale for each column;
  // NULL: none.
  const int16_t* params;
  size_t rows, columns;
  size_t group, groups;  // elements: 32, 64 or 128; groups of a row
  float* sums;           // [rows, columns], as etx_quantized_loops.groups4
  bool is_far;           // as above
  int32_t* group_sums;   // room for ETX_INT4_DOT_SUMS
} etx_int4_dot_block;

// The epilogue, each step rounded: the exact sum minus base times the column's
// sum, times the column's scale, times the row's scale, plus the bias.
typedef struct etx_int8_epilogue {
  const void* sums;  // rows of `sum_row` integers, or floats of groups
  ptrdiff_t sum_row;
  const int32_t* column_sums;  // NULL: sums are floats, without these scales
  const float* scales;
  const float* bias;  // NULL: none
  const etx_int8_row_qparams* row_qparams;
  size_t rows, columns;
  float* out;  // not of `whole` where results are compared
  ptrdiff_t out_row;
  bool is_far;  // the result may not be in L2: prefetch it
  // For `whole`: the largest results of each row so far, from a column on. They
  // are updated instead of storing the results. NULL: results are stored.
  etx_row_argmax* best;
  size_t column;
} etx_int8_epilogue;

// A product of rows of bytes, whose number is a multiple of ETX_INT8_ROWS, with
// a panel.
typedef struct etx_int8_panel {
  const uint8_t* left;
  ptrdiff_t left_row;
  const int8_t* panel;  // [count / 4][ETX_INT8_COLUMNS][4]
  // The distance between groups of four elements, and between the two halves of
  // the columns: the panels of a file have half as many columns.
  ptrdiff_t panel_row, panel_part;
  size_t rows;
  size_t count;  // elements, a multiple of 4
  // If all elements are here, what becomes of the sums at once: of
  // ETX_INT8_COLUMNS columns, and no more rows. NULL: sums are stored.
  const etx_int8_epilogue* epilogue;
  int32_t* sums;  // [rows, ETX_INT8_COLUMNS]; not read if they start
  bool starts;
  // Memory to prefetch meanwhile: `next_bytes` of each of `next_rows` rows.
  const uint8_t* next;
  ptrdiff_t next_row;
  size_t next_rows, next_bytes;
} etx_int8_panel;

// The same of groups of 4-bit weights. The panel has four of the high halves,
// then four of the low ones, minus 8; which columns follow each other is
// private to the loops of one set.
typedef struct etx_int4_panel {
  const uint8_t* left;
  ptrdiff_t left_row;
  const etx_int8_row_qparams* row_qparams;
  const int8_t* panel;  // [count / 8][2][ETX_INT8_COLUMNS][4]
  // Up to ETX_INT8_ROWS - 1 more may be read and get sums.
  size_t rows;
  size_t count, group;  // elements; the former groups of the latter
  int shift;  // products count 2^shift, zero points and bases in pairs do not
  // [count / group, ETX_INT8_COLUMNS]: sums of the weights; where weights have
  // zero points, in the low halves, and the zero points in the high halves.
  const int32_t* group_sums;
  const float* scales;  // the same
  // What they are multiplied with, for each row and group: the row's base;
  // where weights have zero points, in the low half, and the sum of the row's
  // group in the high half. Distances from row to row and from group to group.
  const int32_t* row_pairs;
  ptrdiff_t pair_row, pair_group;
  // Groups of a row before the first: it belongs to partial sum (first mod 8),
  // and the first eight groups begin partial sums, whatever they hold.
  size_t first;
  float* sums;          // [rows, 8, ETX_INT8_COLUMNS]
  const uint8_t* next;  // as above
  ptrdiff_t next_row;
  size_t next_rows, next_bytes;
} etx_int4_panel;

// Packs `count` bytes of each of `columns` rows of 4-bit weights as a panel and
// sums their groups. Writes sums for each 32 elements of whole 128.
typedef struct etx_int4_pack {
  const uint8_t* in;
  ptrdiff_t row;  // from row to row, in bytes
  size_t columns, count;
  size_t group;  // elements of a group
  int8_t* out;
  int32_t* group_sums;
} etx_int4_pack;

// A row to quantise: the arguments of etx_int8_dot_loops.quantize.
typedef struct etx_int8_quantize {
  const float* x;
  size_t count;
  double inverse, zero;
  uint8_t* out;
} etx_int8_quantize;

typedef struct etx_int8_dot_loops {
  // The smallest element, at most 0, and the largest, at least 0; both NaN if
  // an element is NaN.
  void (*range)(const float* x, size_t count, float* low, float* high);
  // byte = clamp(round(x * inverse + zero)) + 128 in int8's range, in double;
  // NaN becomes zero + 128. `inverse` is what the row's own range gives, or no
  // number above 0.
  void (*quantize)(const float* x, size_t count, double inverse, double zero,
                   uint8_t* out);
  // The same, and the range of as many floats of `other`, which fills the
  // latency of the first.
  void (*quantize_and_range)(const etx_int8_quantize* quantize,
                             const float* other, float* low, float* high);
  // Orders a row of bytes for weights of 4 bits.
  void (*order4)(uint8_t* row, size_t count);
  void (*dots)(const etx_int8_dot_block* block);  // NULL: only 4-bit weights
  void (*groups)(const etx_int4_dot_block* block);
  // `count` elements of each of `columns` rows as a panel; zeros where there is
  // no column or element. Adds the sums of columns to those that are there.
  void (*pack8)(const uint8_t* in, ptrdiff_t row, size_t columns, size_t count,
                int8_t* out, int32_t* column_sums);
  void (*pack4)(const etx_int4_pack* pack);
  void (*whole)(const etx_int8_panel* panel);
  void (*panel_groups)(const etx_int4_panel* panel);
  // Adds up the partial sums of each row, in place: [rows, ETX_INT8_COLUMNS].
  // Partial sums of groups that do not exist count as 0.
  void (*totals)(size_t rows, size_t groups, float* sums);
  void (*last)(const etx_int8_epilogue* epilogue);
  // `groups` multiplies rows of at most so many elements, a multiple of so
  // many.
  size_t groups_most;
  size_t groups_multiple;
  size_t panel_rows;  // with fewer, panels of 4-bit weights do not pay
  // The most elements of a group whose panels may have zero points or
  // parameters; 0: none. If there are such, bytes are unsigned.
  size_t zero_group;
} etx_int8_dot_loops;

// The loops for an instruction set; NULL: it has no such products.
const etx_int8_dot_loops* etx_int8_dot_loops_of(etx_instruction_set set);

#endif
