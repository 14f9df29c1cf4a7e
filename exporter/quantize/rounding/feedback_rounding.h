// Rounds rows of a weight so that the results of the layer change little,
// rather than the weight: the error of an element is made up for by the
// elements behind it, as far as the layer's inputs vary together.
//
// Element c of a row is rounded after the sum over i < c of
//
//   (w[i] - q[i]) * R[i][c] / R[c][c]          (input_products.h)
//
// was added to it, where w is an element and q what it was rounded to: the
// error of the results is |(w - q) R|, and each column of R is made small in
// turn. This is GPTQ (Frantar et al., 2022) in the form of LDLQ (Chee et al.,
// QuIP, 2023). The scale of a group is chosen when its first element is about
// to be rounded, and that of a row for the elements as they are.

#ifndef ETX_EXPORTER_QUANTIZE_ROUNDING_FEEDBACK_ROUNDING_H
#define ETX_EXPORTER_QUANTIZE_ROUNDING_FEEDBACK_ROUNDING_H

#include <stddef.h>

#include "exporter/quantize/rounding/input_products.h"

enum {
  ETX_FEEDBACK_ROWS = 8,     // the most rows at a time
  ETX_FEEDBACK_GROUP = 128,  // the most elements of a group
};

// How groups are rounded; `context` is the caller's.
typedef struct etx_feedback_groups {
  // Elements per group; at most ETX_FEEDBACK_GROUP, of which ETX_INPUT_BLOCK is
  // a multiple. Only the last group of a row may have fewer.
  size_t size;
  // Chooses how the group at element `first` of row `row` is rounded.
  void (*begin)(void* context, size_t row, size_t first, const float* group,
                size_t count);
  // Rounds an element of the group of this row that was begun last, stores it,
  // and returns what it stands for.
  float (*round)(void* context, size_t row, size_t element, float x);
  void* context;
} etx_feedback_groups;

// Rounds `count` rows, [count, inner]; `out`, of the same size, becomes what
// the rounded elements stand for. Rows have the numbers 0 to count - 1.
void etx_feedback_round(const etx_input_factors* inputs,
                        const etx_feedback_groups* groups, const float* rows,
                        size_t count, float* out);

#endif
