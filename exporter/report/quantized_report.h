// What became of the weights of a module that is quantised: for the report of
// `etx plan`.

#ifndef ETX_EXPORTER_REPORT_QUANTIZED_REPORT_H
#define ETX_EXPORTER_REPORT_QUANTIZED_REPORT_H

#include "format/base/span.h"

typedef struct etx_quantized {
  etx_text name;         // the buffer's; of several the first
  size_t name_count;     // of buffers that have the same content
  const char* type;      // as it was: "float32"
  const char* kind;      // "int8", "int4/32"; NULL: left as it is
  const char* reason;    // why it was left, or is not of the kind that was
                         // asked for; NULL: there is none
  etx_text reader;       // operator that the reason is about, or empty
  uint64_t bytes;        // as floats
  uint64_t bytes_after;  // scales included; `bytes` if it was left
  double signal;         // sum of its squares
  double noise;          // sum of squares of what rounding changed
} etx_quantized;

// In the module's pool.
typedef struct etx_quantized_report {
  etx_quantized* items;
  size_t count, capacity;
} etx_quantized_report;

#endif
