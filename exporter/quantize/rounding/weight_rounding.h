// Rounds rows of floats to the numbers that the matrix products of the runtime
// read:
//
//   int8   q in -127..127, one scale per row or group: w = q * scale
//   half   the nearest float16 or bfloat16
//   int4   q in -8..7, stored as q + 8, two per byte with the even element in
//          the high half; one scale for every `group` elements of a row
//
// The int8 scale is the largest magnitude of the row divided by 127. The int4
// scale is chosen from a few candidates by the smallest sum of squared errors.
// It may be negative: -8 then stands for the largest positive number. A group
// that is integers in -8..7 times one scale keeps them exactly.
//
// The code uses only operations whose results IEEE 754 defines exactly, in a
// fixed order, so every compiler produces the same bytes.

#ifndef ETX_EXPORTER_QUANTIZE_ROUNDING_WEIGHT_ROUNDING_H
#define ETX_EXPORTER_QUANTIZE_ROUNDING_WEIGHT_ROUNDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ETX_WEIGHT_ROUNDING_LARGEST_GROUP = 128 };

// The largest magnitude that can be rounded: sums of squares of larger numbers
// overflow float.
#define ETX_WEIGHT_ROUNDING_LARGEST 1e15f

// The same for float16 and for bfloat16: larger numbers become infinite.
#define ETX_WEIGHT_ROUNDING_LARGEST_F16 0x1.ffdffep15f
#define ETX_WEIGHT_ROUNDING_LARGEST_BF16 0x1.fefffep127f

// Sums of squares; their ratio in dB is the SQNR.
typedef struct etx_weight_rounding_error {
  double signal;  // of the floats
  double noise;   // of the rounding errors
} etx_weight_rounding_error;

// Rounds one row of `inner` floats to `out` [inner] and adds its error.
// Returns the scale, which is never 0.
float etx_weight_round_int8(const float* row, size_t inner, int8_t* out,
                            etx_weight_rounding_error* error);

// The same for a group of a row. A group that is integers in -128..127 times
// one scale, a float16, keeps them exactly; the scale may be negative.
float etx_weight_round_int8_group(const float* group, size_t count, int8_t* out,
                                  etx_weight_rounding_error* error);

// Rounds one group of `count` floats, even and at most
// ETX_WEIGHT_ROUNDING_LARGEST_GROUP, to `out` [count / 2] and adds its error.
// Returns the scale, which is never 0.
float etx_weight_round_int4(const float* group, size_t count, uint8_t* out,
                            etx_weight_rounding_error* error);

// Rounds one row of `inner` floats to bfloat16 or float16, ties to even, stores
// them little-endian in `out` [2 * inner] and adds its error.
void etx_weight_round_half(const float* row, size_t inner, bool is_bfloat,
                           uint8_t* out, etx_weight_rounding_error* error);

#endif
