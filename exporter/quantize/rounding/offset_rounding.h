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

#ifndef ETX_EXPORTER_QUANTIZE_ROUNDING_OFFSET_ROUNDING_H
#define ETX_EXPORTER_QUANTIZE_ROUNDING_OFFSET_ROUNDING_H

#include "exporter/quantize/rounding/weight_rounding.h"

enum { ETX_OFFSET_GROUP = 32 };

// What a group is rounded with: element q, 0 to 15, stands for
// (16 * (q - 8) + offset) * (scale * factor), with the scale of the row.
typedef struct etx_offset_params {
  float offset;  // an integer, -128 to 127
  int factor;    // 1 to 255
} etx_offset_params;

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

// The scale of a row of `groups` groups, which is never 0, and the lines of its
// groups.
float etx_offset_row_scale(const float* row, size_t groups,
                           etx_offset_line* lines);

// Chooses the parameters of a group in a row with this scale. `line` may be
// NULL: it is found.
etx_offset_params etx_offset_choose(const float* group,
                                    const etx_offset_line* line, float scale);

// As they are stored.
static inline int16_t etx_offset_params_store(const etx_offset_params* params) {
  return (int16_t)((int)params->offset * 256 + params->factor);
}

// The integer of an element, 0 to 15, and what it stands for.
int etx_offset_round(const etx_offset_params* params, float scale, float x);
float etx_offset_value(const etx_offset_params* params, float scale, int q);

// Rounds one row of `groups` groups, with room for as many lines, and adds its
// error. Returns the scale, which is never 0.
float etx_offset_round_row(const float* row, size_t groups,
                           etx_offset_line* lines, const etx_offset_row* out,
                           etx_weight_rounding_error* error);

#endif
