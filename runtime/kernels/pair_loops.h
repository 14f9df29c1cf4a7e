// The inner loops of quantized_panels.h: integers of 16 bits, two of which are
// multiplied and added at a time.

#ifndef ETX_RUNTIME_KERNELS_PAIR_LOOPS_H
#define ETX_RUNTIME_KERNELS_PAIR_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  ETX_PAIR_COLUMNS = 16,  // of a panel
  ETX_PAIR_SUMS = 8,      // partial sums of groups (quantized_loops.h)
  ETX_PAIR_FEW = 3,       // rows that pass bytes as they are stored
};

// Rows of a prepared input times a panel.
typedef struct etx_pair_block {
  const int16_t* left;
  ptrdiff_t left_row;    // in elements
  const int16_t* panel;  // pairs of ETX_PAIR_COLUMNS times two elements
  const int8_t* bytes;   // of `few`, instead: a panel of packed_rows.h
  size_t rows;
  size_t count;  // elements; behind an odd one any may follow
  // Of whole sums: rows of ETX_PAIR_COLUMNS; not read if the sums start.
  int32_t* whole;
  bool starts;
  // Of groups: rows of ETX_PAIR_SUMS times ETX_PAIR_COLUMNS; each group has a
  // row of ETX_PAIR_COLUMNS scales.
  float* sums;
  const float* scales;
  size_t group;  // elements of a group, 32 or a multiple
  size_t first;  // the partial sum of the first
} etx_pair_block;

// The last steps for rows of ETX_PAIR_COLUMNS sums, of one of two kinds.
typedef struct etx_pair_line {
  const int32_t* whole;  // NULL: partial sums of groups
  const float* sums;
  const float* scales;  // of columns
  const float* bias;
  const float* row_scales;
  size_t rows;
  float* out;
  ptrdiff_t out_row;
} etx_pair_line;

// Reads `count` bytes of each of `columns` rows, at most ETX_PAIR_COLUMNS.
typedef void (*etx_pair_turn)(const uint8_t* in, ptrdiff_t row, size_t columns,
                              size_t count, int16_t* out);
typedef void (*etx_pair_loop)(const etx_pair_block* block);

typedef struct etx_pair_loops {
  // Elements of 8 bits as a panel; zeros where there is no column or element.
  etx_pair_turn turn8;
  // The same of 4 bits, each sixteen bytes as sixteen high halves, then sixteen
  // low ones, minus 8. `count` is a multiple of sixteen.
  etx_pair_turn turn4;
  // `count` elements of a panel of bytes (packed_rows.h), a multiple of
  // ETX_PACKED_SIDE, as one of pairs.
  void (*widen)(const int8_t* in, size_t count, int16_t* out);
  etx_pair_loop whole;
  // Whole sums of at most ETX_PAIR_FEW rows with a panel of bytes, from zero
  // on; `count` is such a multiple, too.
  etx_pair_loop few;
  // The panel has each group's even elements, then its odd ones, as left has
  // those of each chunk of 256; the block is a chunk.
  etx_pair_loop groups;
  void (*last)(const etx_pair_line* line);
} etx_pair_loops;

#endif
