// The weights that were packed and those that were not, with the reason: for
// the report of `etx plan`.

#ifndef ETX_EXPORTER_REPORT_PACKED_REPORT_H
#define ETX_EXPORTER_REPORT_PACKED_REPORT_H

#include "format/base/span.h"

typedef struct etx_packed {
  etx_text name;       // the buffer's; of several the first
  size_t name_count;   // of buffers that have the same content
  const char* type;    // "float32"
  const char* reason;  // why it was not packed; NULL: it was packed
  // The operator that the reason names, or one that reads the unpacked form of
  // a packed weight, so that both are stored; or empty.
  etx_text reader;
  uint64_t bytes;
  uint64_t copy_bytes;  // of the panels, if both forms are stored by the budget
} etx_packed;

// In the module's pool.
typedef struct etx_packed_report {
  etx_packed* items;
  size_t count, capacity;
  uint64_t copy_bytes;  // of all panels that are stored by the budget
} etx_packed_report;

#endif
