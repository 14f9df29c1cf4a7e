// Rounds all rows of a weight to int8, int4 or halves, into the layouts that
// the runtime reads (weight_rounding.h, offset_rounding.h).

#ifndef ETX_EXPORTER_QUANTIZE_ROUNDING_ROUNDED_ROWS_H
#define ETX_EXPORTER_QUANTIZE_ROUNDING_ROUNDED_ROWS_H

#include "exporter/host/host_memory.h"
#include "exporter/quantize/rounding/input_products.h"
#include "exporter/quantize/rounding/weight_rounding.h"
#include "exporter/quantize/rounding/weight_rows.h"
#include "format/base/status.h"

typedef struct etx_row_kind {
  uint32_t bits;     // 4, 8, or 16 for halves
  uint32_t group;    // elements per scale; 0: a row
  bool has_offsets;  // each group (offset_rounding.h)
  bool is_bfloat;    // the halves
} etx_row_kind;

typedef struct etx_rounded_rows {
  uint8_t* integers;  // [rows, row_bytes]: int8, nibbles or halves
  size_t row_bytes;
  float* scales;    // [rows, groups], or [rows] with parameters; none of halves
  int16_t* params;  // [rows, groups] with offsets; else NULL
  size_t groups;    // of a row
} etx_rounded_rows;

// Rounds `from` into the memory that `out` names. With the inputs of the layer,
// `inputs` is not NULL, integers are chosen so that the layer's results on such
// inputs change little (feedback_rounding.h). `out_error` is that of the
// elements. ETX_OUT_OF_MEMORY is the only failure.
ETX_MUST_USE etx_status etx_rounded_rows_make(
    const etx_weight_rows* from, const etx_row_kind* kind,
    const etx_input_factors* inputs, const etx_workers* workers,
    etx_rounded_rows* out, etx_weight_rounding_error* out_error);

#endif
