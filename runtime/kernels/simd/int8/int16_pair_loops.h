// The inner loops of quantized_linear_int16.h: int16 products that are added in
// pairs (PMADDWD).

#ifndef ETX_RUNTIME_KERNELS_SIMD_INT8_INT16_PAIR_LOOPS_H
#define ETX_RUNTIME_KERNELS_SIMD_INT8_INT16_PAIR_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  ETX_INT16_PAIR_COLUMNS = 16,  // columns of a panel
  ETX_INT16_PAIR_FEW_ROWS = 3,  // rows that pass bytes as they are stored
};

// A product of rows of a prepared input with a panel.
typedef struct etx_int16_pair_block {
  const int16_t* left;
  ptrdiff_t left_row;    // in elements
  const int16_t* panel;  // pairs of ETX_INT16_PAIR_COLUMNS times two elements
  // for `few`, instead of pairs: a panel of packed_weights.h
  const int8_t* bytes;
  size_t rows;
  size_t count;  // elements; behind an odd one any may follow
  // int32 sums: rows of ETX_INT16_PAIR_COLUMNS; not read if `starts`.
  int32_t* whole;
  bool starts;
} etx_int16_pair_block;

// The epilogue of rows of ETX_INT16_PAIR_COLUMNS sums.
typedef struct etx_int16_pair_epilogue {
  const int32_t* whole;
  const float* scales;  // scale of each column
  const float* bias;
  const float* row_scales;
  size_t rows;
  float* out;
  ptrdiff_t out_row;
} etx_int16_pair_epilogue;

// Reads `count` bytes of each of `columns` rows, at most
// ETX_INT16_PAIR_COLUMNS.
typedef void (*etx_int16_pair_pack_loop)(const uint8_t* in, ptrdiff_t row,
                                         size_t columns, size_t count,
                                         int16_t* out);
typedef void (*etx_int16_pair_loop)(const etx_int16_pair_block* block);

typedef struct etx_int16_pair_loops {
  // Elements of 8 bits as a panel; zeros where there is no column or element.
  etx_int16_pair_pack_loop pack8;
  // `count` elements of a panel of bytes (packed_weights.h), a multiple of
  // ETX_PACKED_INTERLEAVE, as one of pairs.
  void (*widen)(const int8_t* in, size_t count, int16_t* out);
  etx_int16_pair_loop whole;
  // Whole sums of at most ETX_INT16_PAIR_FEW_ROWS rows with a panel of bytes,
  // from zero on; `count` is such a multiple, too.
  etx_int16_pair_loop few;
  void (*last)(const etx_int16_pair_epilogue* line);
} etx_int16_pair_loops;

#endif
