// The rows of a weight: all elements with one index of its first dimension.

#ifndef ETX_EXPORTER_QUANTIZE_ROUNDING_WEIGHT_ROWS_H
#define ETX_EXPORTER_QUANTIZE_ROUNDING_WEIGHT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/host/workers.h"
#include "format/tensor/dtype.h"

typedef struct etx_weight_rows {
  const uint8_t* data;  // [rows, inner], which may be unaligned
  etx_dtype dtype;      // float32, float16 or bfloat16
  size_t rows, inner;
} etx_weight_rows;

// Rows are divided among threads. How many parts there are does not depend on
// the threads, nor does any result on the parts.
enum { ETX_WEIGHT_PARTS = 16 };

// The first of `count` rows or elements that belongs to a part.
static inline size_t etx_weight_part_first(size_t count, size_t part) {
  return count / ETX_WEIGHT_PARTS * part +
         count % ETX_WEIGHT_PARTS * part / ETX_WEIGHT_PARTS;
}

// Reads `count` elements from element `at` of the weight. Exact.
void etx_weight_rows_read(const etx_weight_rows* from, size_t at, size_t count,
                          float* out);

// True if all elements are from -largest to largest, and so none is NaN.
// `workers` may be NULL.
bool etx_weight_rows_in_range(const etx_weight_rows* from, float largest,
                              const etx_workers* workers);

#endif
