#include "exporter/quantize/rounding/feedback_rounding.h"

#include <string.h>

// A group of several rows.
typedef struct feedback_group {
  const etx_feedback_groups* groups;
  const float* factors;  // row i: from element i of the group, at place i
  size_t width;          // from one row of the factors to the next
  size_t first;          // its first element in a row
  size_t size;           // elements
  size_t rest;           // elements of the block behind them
} feedback_group;

// Rounds the group of one row. `elements` are those of `original` and what was
// added to them; each error goes to the elements of the group behind it.
static void round_group(const feedback_group* g, size_t row,
                        const float* original, float* elements, float* errors) {
  const etx_feedback_groups* const groups = g->groups;
  groups->begin(groups->context, row, g->first, elements, g->size);
  for (size_t c = 0; c < g->size; ++c) {
    const float* const factors = g->factors + c * g->width;
    elements[c] =
        groups->round(groups->context, row, g->first + c, elements[c]);
    errors[c] = original[c] - elements[c];
    for (size_t j = c + 1; j < g->size; ++j) {
      elements[j] += errors[c] * factors[j];
    }
  }
}

// The errors of the group go to the elements of the block behind it.
static void pass_on(const feedback_group* g, const float* errors,
                    float* elements) {
  enum { TOGETHER = 4 };
  size_t c = 0;
  for (; c + TOGETHER <= g->size; c += TOGETHER) {
    const float* const a = g->factors + c * g->width + g->size;
    const float *const b = a + g->width, *const d = b + g->width;
    const float* const e = d + g->width;
    for (size_t j = 0; j < g->rest; ++j) {
      float x = elements[j] + errors[c] * a[j];
      x += errors[c + 1] * b[j];
      x += errors[c + 2] * d[j];
      elements[j] = x + errors[c + 3] * e[j];
    }
  }
  for (; c < g->size; ++c) {
    const float* const factors = g->factors + c * g->width + g->size;
    for (size_t j = 0; j < g->rest; ++j) elements[j] += errors[c] * factors[j];
  }
}

static void round_block(const etx_input_factors* inputs, size_t block,
                        const etx_feedback_groups* groups, const float* rows,
                        size_t count, float* out) {
  float errors[ETX_FEEDBACK_ROWS][ETX_FEEDBACK_GROUP];
  const size_t first = etx_input_block_first(block);
  const size_t size = etx_input_block_size(inputs->inner, block);
  const size_t width = etx_input_block_width(inputs->inner, block);
  const float* const factors =
      inputs->factors + block * ETX_INPUT_BLOCK * ETX_INPUT_BLOCK;
  for (size_t at = 0; at < size; at += groups->size) {
    const size_t taken = size - at < groups->size ? size - at : groups->size;
    const feedback_group g = {.groups = groups,
                              .factors = factors + at * width + at,
                              .width = width,
                              .first = first + at,
                              .size = taken,
                              .rest = size - at - taken};
    for (size_t i = 0; i < count; ++i) {
      const size_t place = i * inputs->inner + g.first;
      round_group(&g, i, rows + place, out + place, errors[i]);
    }
    for (size_t i = 0; i < count; ++i) {
      pass_on(&g, errors[i], out + i * inputs->inner + g.first + taken);
    }
  }
}

void etx_feedback_round(const etx_input_factors* inputs,
                        const etx_feedback_groups* groups, const float* rows,
                        size_t count, float* out) {
  memcpy(out, rows, count * inputs->inner * sizeof *out);
  for (size_t block = 0; etx_input_block_first(block) < inputs->inner;
       ++block) {
    round_block(inputs, block, groups, rows, count, out);
  }
}
