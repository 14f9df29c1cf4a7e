// Float rows as the integers that the runtime's products read:
//
//   int8   q in -127..127, one scale a row: w = q * scale
//   int4   q in -8..7 plus 8, two a byte, the even element in the high half;
//          a scale for every `group` elements of a row
//
// The scale of a row of int8 is its largest magnitude over 127. A scale of int4
// is the one of a few candidates that leaves the smallest sum of squared
// errors, and may be negative: -8 then stands for the largest positive number.
//
// Only operations that IEEE 754 defines to the bit, in a fixed order: every
// compiler makes the same bytes.

#ifndef ETX_EXPORTER_QUANTIZE_WEIGHT_ROUNDING_H
#define ETX_EXPORTER_QUANTIZE_WEIGHT_ROUNDING_H

#include <stddef.h>
#include <stdint.h>

enum { ETX_WEIGHT_ROUNDING_LARGEST_GROUP = 128 };

// Of a magnitude that is quantised: sums of squares of larger ones are no
// floats any more.
#define ETX_WEIGHT_ROUNDING_LARGEST 1e15f

// Sums of squares over what was rounded; their ratio in dB is the SQNR.
typedef struct etx_weight_rounding_error {
  double signal;  // of the floats
  double noise;   // of the differences that rounding made
} etx_weight_rounding_error;

// Rounds one row of `inner` floats to `out` [inner] and adds its error.
// Returns the scale, which is never 0.
float etx_weight_round_int8(const float* row, size_t inner, int8_t* out,
                            etx_weight_rounding_error* error);

// Rounds one group of `count` floats, even and at most
// ETX_WEIGHT_ROUNDING_LARGEST_GROUP, to `out` [count / 2] and adds its error.
// Returns the scale, which is never 0.
float etx_weight_round_int4(const float* group, size_t count, uint8_t* out,
                            etx_weight_rounding_error* error);

#endif
