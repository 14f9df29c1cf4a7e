// Sums for the search for the scale of a group of int4 weights: for a factor,
// the integers nearest to the floats times the factor, from -8 to 7, and their
// products with the floats and with themselves.
//
// Sums have eight lanes, which are added from the first to the last, so that
// they have the same bits on every machine, with and without instructions for
// eight floats.

#ifndef ETX_EXPORTER_QUANTIZE_ROUNDING_GROUP_SUMS_H
#define ETX_EXPORTER_QUANTIZE_ROUNDING_GROUP_SUMS_H

#include "exporter/quantize/rounding/group_sums_internal.h"

// Uses the instructions of this processor if there are any.
etx_group_sums_function etx_group_sums_find;
etx_group_sums_function etx_group_sums_plain;  // in C

// Rounds to the nearest integer, ties to even; exact for magnitudes below 2^22.
static inline float etx_group_round_to_even(float x) {
  const float shift = 12582912.0f;  // 1.5 * 2^23
  return (x + shift) - shift;
}

// The integers nearest to the group times `factor`.
void etx_group_round(const float* group, size_t count, float factor,
                     float* out);

#endif
