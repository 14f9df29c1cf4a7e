// Rounds rows of floats to int4 with an offset for each group of 32 ("int4k"):
//
//   w = (16 * q + offset) * (scale * factor)
//
// q in -8..7 is stored as q + 8, two per byte with the even element in the high
// half. The row has a scale, a float32; a group has a factor, 0 to 255, in the
// low byte of its parameters, and an offset, -128 to 127, in the high byte.
//
// The step and the offset of a group are chosen by least squares: for a few
// ranges of the group, integers are found, and for these the best line. With
// the scale of the row, which the largest step decides, neighbouring factors
// are tried.
//
// The code uses only operations whose results IEEE 754 defines exactly, in a
// fixed order, so every compiler produces the same bytes.

#ifndef ETX_EXPORTER_QUANTIZE_OFFSET_ROUNDING_H
#define ETX_EXPORTER_QUANTIZE_OFFSET_ROUNDING_H

#include "exporter/quantize/weight_rounding.h"

enum { ETX_OFFSET_GROUP = 32 };

// A line through a group: elements are about step * integer + least, for
// integers from 0 to 15.
typedef struct etx_offset_line {
  float step, least;
} etx_offset_line;

// What a row is rounded to.
typedef struct etx_offset_row {
  uint8_t* integers;  // [groups * 16]
  int16_t* params;    // [groups]
} etx_offset_row;

// Rounds one row of `groups` groups, with room for as many lines, and adds its
// error. Returns the scale, which is never 0.
float etx_offset_round_row(const float* row, size_t groups,
                           etx_offset_line* lines, const etx_offset_row* out,
                           etx_weight_rounding_error* error);

#endif
