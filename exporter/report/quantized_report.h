// The weights that were quantised and those that were not, with the reason: for
// the report of `etx plan`.

#ifndef ETX_EXPORTER_REPORT_QUANTIZED_REPORT_H
#define ETX_EXPORTER_REPORT_QUANTIZED_REPORT_H

#include "format/base/span.h"

typedef struct etx_quantized {
  etx_text name;         // the buffer's; of several the first
  size_t name_count;     // of buffers that have the same content
  const char* type;      // as it was: "float32"
  const char* kind;      // "int8", "int4/32"; NULL: not quantised
  const char* reason;    // why it was not quantised, or not to the wanted kind;
                         // or NULL
  bool is_beyond;        // its numbers are too large for the wanted kind
  etx_text reader;       // the operator that the reason names, or empty
  uint64_t bytes;        // as floats
  uint64_t bytes_after;  // with scales; `bytes` if it was not quantised
  uint64_t input_rows;   // of recorded calls, by which it was rounded; 0: by
                         // itself
  double signal;         // sum of squares of the weights
  double noise;          // sum of squares of the rounding errors (SQNR is the
                         // ratio of the two)
} etx_quantized;

// In the module's pool.
typedef struct etx_quantized_report {
  etx_quantized* items;
  size_t count, capacity;
} etx_quantized_report;

#endif
