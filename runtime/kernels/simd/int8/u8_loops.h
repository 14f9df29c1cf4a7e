// Operators over uint8 activations (the QDQ operators of op_schema.def):
// products of uint8 and int8 with exact int32 sums, requantisation, and
// elementwise steps. Compiled once for each instruction set; all give the same
// bits.

#ifndef ETX_RUNTIME_KERNELS_SIMD_INT8_U8_LOOPS_H
#define ETX_RUNTIME_KERNELS_SIMD_INT8_U8_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/instruction_set.h"

enum {
  ETX_U8_COLUMNS = 16,    // columns of a panel
  ETX_U8_PANELS = 2,      // most panels of a block
  ETX_U8_ROWS = 12,       // most rows of a block whose sums are kept
  ETX_U8_INTERLEAVE = 4,  // elements of a column that are neighbours
};

// Requantisation of the sums of a call's channels: f = (sum + offset) * scale +
// bias in float32, each step rounded. A byte is f clamped to low .. high (NaN
// gives low), rounded to nearest even, plus `zero`.
typedef struct etx_u8_requantize {
  const int32_t* offsets;
  const float* scales;
  const float* bias;  // NULL: -0
  float low, high;    // whole numbers
  int32_t zero;
  bool is_float;    // f itself is the result
  bool fits_int32;  // f, rounded, fits in 32 bits whatever the sums are
} etx_u8_requantize;

// GEMM of rows of bytes and packed panels. A row is split into one piece for
// each tap (implicit GEMM), and each piece may be anywhere.
typedef struct etx_u8_block {
  // [taps][pitch]: where a row's piece begins. Rows are padded to a multiple of
  // ETX_U8_ROWS with readable pieces, whose sums are discarded.
  const uint8_t* const* input;
  size_t pitch;
  size_t taps;
  size_t fours;          // numbers of a piece, / ETX_U8_INTERLEAVE
  const int8_t* panels;  // [taps][fours][ETX_U8_COLUMNS][ETX_U8_INTERLEAVE]
  size_t panel_bytes;    // from panel to panel
  size_t rows, columns;  // columns of at most ETX_U8_PANELS panels
  // Partial sums, read unless `starts` and written unless `ends`; then there
  // are at most ETX_U8_ROWS rows: [ETX_U8_ROWS][ETX_U8_PANELS *
  // ETX_U8_COLUMNS].
  int32_t* sums;
  bool starts, ends;
  const etx_u8_requantize* results;
  size_t channel;  // the channel of the results' first column
  void* out;       // its first row's result
  size_t out_row;  // elements from row to row
} etx_u8_block;

// The tile of a depthwise convolution: weights and columns in the order of
// registers.
enum { ETX_U8_DEPTHWISE_TILE = 19456 };

// Depthwise convolution of channels-last images: some rows of results.
typedef struct etx_u8_depthwise {
  // The image's rows from the first result's first tap on; NULL: outside of it.
  const uint8_t* const* rows;
  size_t columns;          // columns of the image
  const uint8_t* outside;  // the padding value of each channel
  size_t channels;         // bytes from column to column
  size_t first, count;     // channels that are summed
  const int8_t* weights;   // [kernel_y][kernel_x][channels]
  size_t kernel_y, kernel_x, stride_y, stride_x, dilation_y, dilation_x;
  int64_t padding;  // in front of a row
  size_t results_y, results_x;
  const etx_u8_requantize* results;
  void* out;   // [results_y][results_x][channels]
  void* tile;  // ETX_U8_DEPTHWISE_TILE bytes, or NULL: computed without
} etx_u8_depthwise;

// Zero points and scales of one or two operands, and the parameters of the
// result: its zero point, 1/scale and clamp bounds without the zero point.
typedef struct etx_u8_binary_qparams {
  int32_t zeros[2];
  float scales[2];
  int32_t zero;
  float inverse, low, high;
} etx_u8_binary_qparams;

// The parameters of uint8 results: zero point, 1/scale, and clamp bounds
// without the zero point.
typedef struct etx_u8_qparams {
  int32_t zero;
  float inverse, low, high;
} etx_u8_qparams;

typedef struct etx_u8_loops {
  void (*block)(const etx_u8_block* block);
  void (*windows)(const etx_u8_depthwise* windows);
  // x = (byte - zero) * scale, and back: clamp(round(x * inverse) + zero, low,
  // high) with low and high without zero; NaN is low.
  void (*to_floats)(const uint8_t* in, size_t count, int32_t zero, float scale,
                    float* out);
  bool (*has_nan)(const float* x, size_t count);
  void (*to_bytes)(const float* in, size_t count, const etx_u8_qparams* qparams,
                   uint8_t* out);
  // out = to_bytes(to_floats(a) + to_floats(b)), each step rounded as there.
  void (*add)(const etx_u8_binary_qparams* numbers, const uint8_t* a,
              const uint8_t* b, size_t count, uint8_t* out);
  // out = to_bytes(to_floats(a) * b)
  void (*multiply)(const etx_u8_binary_qparams* numbers, const uint8_t* a,
                   const float* b, size_t count, uint8_t* out);
  // out = table[in]; `out` may be `in`.
  void (*look_up)(const uint8_t table[256], const uint8_t* in, size_t count,
                  uint8_t* out);
  // sums += each of `rows` rows of `count` bytes, `pitch` apart; at most 2^23
  // rows.
  void (*add_rows)(const uint8_t* in, size_t rows, size_t pitch, size_t count,
                   int32_t* sums);
  // Max pooling, channels last: out[i] = the largest of out[i] and of the bytes
  // i of `columns` pixels, `pitch` apart, of each row; for i < count.
  void (*max_of_rows)(const uint8_t* const* rows, size_t row_count,
                      size_t columns, size_t pitch, size_t count, uint8_t* out);
} etx_u8_loops;

const etx_u8_loops* etx_u8_loops_of(etx_instruction_set set);

extern const etx_u8_loops etx_u8_loops_base;

#endif
