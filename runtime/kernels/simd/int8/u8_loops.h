// The inner loops of operators over bytes that stand for floats
// (op_schema.def): products of uint8 and int8, summed exactly, and what becomes
// of the sums. Once for each instruction set that is worth it; all give the
// same bits.

#ifndef ETX_RUNTIME_KERNELS_SIMD_INT8_U8_LOOPS_H
#define ETX_RUNTIME_KERNELS_SIMD_INT8_U8_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/instruction_set.h"

enum {
  ETX_U8_COLUMNS = 16,    // of a panel
  ETX_U8_PANELS = 2,      // of a block, at most
  ETX_U8_ROWS = 12,       // of one whose sums are kept, the same
  ETX_U8_INTERLEAVE = 4,  // numbers of a column that lie side by side
};

// What becomes of the sums of a call's channels: f = (sum + offset) * scale +
// bias in float32, each step rounded; of bytes low <= f <= high, rounded,
// halves to even, and zero. NaN is low.
typedef struct etx_u8_requantize {
  const int32_t* offsets;
  const float* scales;
  const float* bias;  // NULL: -0
  float low, high;    // whole numbers
  int32_t zero;
  bool is_float;    // f itself is the result
  bool fits_int32;  // f, rounded, fits in 32 bits whatever the sums are
} etx_u8_requantize;

// Sums of rows of bytes times columns of panels. A row lies in as many pieces
// as there are taps, each anywhere.
typedef struct etx_u8_block {
  // [taps][pitch]: where a row's piece begins. Behind the last row there are
  // rows up to a multiple of ETX_U8_ROWS, which may be summed, too.
  const uint8_t* const* seen;
  size_t pitch;
  size_t taps;
  size_t fours;          // numbers of a piece, / ETX_U8_INTERLEAVE
  const int8_t* panels;  // [taps][fours][ETX_U8_COLUMNS][ETX_U8_INTERLEAVE]
  size_t panel_bytes;    // from panel to panel
  size_t rows, columns;  // columns of at most ETX_U8_PANELS panels
  // Sums that are there already unless they start, and where they go unless
  // they end: [ETX_U8_ROWS][ETX_U8_PANELS * ETX_U8_COLUMNS], of no more rows.
  int32_t* sums;
  bool starts, ends;
  const etx_u8_requantize* results;
  size_t channel;  // of the results: the first column's
  void* out;       // its first row's result
  size_t out_row;  // elements from row to row
} etx_u8_block;

// Sums over windows of one channel each, channels side by side: some rows of
// results.
typedef struct etx_u8_depthwise {
  // The image's rows from the first result's first tap on; NULL: outside of it.
  const uint8_t* const* rows;
  size_t columns;          // of the image
  const uint8_t* outside;  // what lies there: bytes for each channel
  size_t channels;         // bytes from column to column
  size_t first, count;     // channels that are summed
  const int8_t* weights;   // [kernel_y][kernel_x][channels]
  size_t kernel_y, kernel_x, stride_y, stride_x, dilation_y, dilation_x;
  int64_t padding;  // in front of a row
  size_t results_y, results_x;
  const etx_u8_requantize* results;
  void* out;  // [results_y][results_x][channels]
} etx_u8_depthwise;

// Zero points and scales of one or two tensors of bytes, and what the result
// needs.
typedef struct etx_u8_binary_qparams {
  int32_t zeros[2];
  float scales[2];
  int32_t zero;
  float inverse, low, high;
} etx_u8_binary_qparams;

typedef struct etx_u8_loops {
  void (*block)(const etx_u8_block* block);
  void (*windows)(const etx_u8_depthwise* windows);
  // x = (byte - zero) * scale, and back: clamp(round(x * inverse) + zero, low,
  // high) with low and high without zero; NaN is low.
  void (*to_floats)(const uint8_t* in, size_t count, int32_t zero, float scale,
                    float* out);
  bool (*has_nan)(const float* x, size_t count);
  void (*to_bytes)(const float* in, size_t count, int32_t zero, float inverse,
                   float low, float high, uint8_t* out);
  // out = to_bytes(to_floats(a) + to_floats(b)), each step rounded as there.
  void (*add)(const etx_u8_binary_qparams* numbers, const uint8_t* a,
              const uint8_t* b, size_t count, uint8_t* out);
  // out = to_bytes(to_floats(a) * b)
  void (*multiply)(const etx_u8_binary_qparams* numbers, const uint8_t* a,
                   const float* b, size_t count, uint8_t* out);
  // out = table[in]; `out` may be `in`.
  void (*look_up)(const uint8_t table[256], const uint8_t* in, size_t count,
                  uint8_t* out);
  // Adds rows of bytes, `pitch` apart, to sums. At most 2^23 rows.
  void (*add_rows)(const uint8_t* in, size_t rows, size_t pitch, size_t count,
                   int32_t* sums);
  // out = the largest of it and `columns` bytes, `pitch` apart, of each row; so
  // of `count` bytes that follow each other.
  void (*max_of_rows)(const uint8_t* const* rows, size_t row_count,
                      size_t columns, size_t pitch, size_t count, uint8_t* out);
} etx_u8_loops;

const etx_u8_loops* etx_u8_loops_of(etx_instruction_set set);

extern const etx_u8_loops etx_u8_loops_base;

#endif
