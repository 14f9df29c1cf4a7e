// Values that depend on sizes and constants alone, and their storages. A
// runtime that keeps these (runtime/size_values.h) computes them before all
// others, and has no scratch for them while the others are computed.

#ifndef ETX_EXPORTER_PLACEMENT_SIZE_ONLY_H
#define ETX_EXPORTER_PLACEMENT_SIZE_ONLY_H

#include "exporter/placement/placement.h"

// Sets for each value of the method whether it is such a value; in a method of
// fixed sizes, and in one with control flow or with sizes that data decide,
// none is. The array is in `pool`. ETX_OUT_OF_MEMORY.
ETX_MUST_USE etx_status etx_size_only_values(const etx_ir_method* method,
                                             const etx_placement* placement,
                                             etx_pool* pool,
                                             const bool** out_values);

typedef enum etx_size_only {
  ETX_SIZE_ONLY_NONE,    // some value depends on more than sizes
  ETX_SIZE_ONLY_KEPT,    // read by instructions that depend on more
  ETX_SIZE_ONLY_PASSING  // read while such values are computed, and never after
} etx_size_only;

// Sets the kind of each storage of `placement`. The array is in `pool`.
// ETX_OUT_OF_MEMORY.
ETX_MUST_USE etx_status etx_size_only_storages(const etx_ir_method* method,
                                               const etx_placement* placement,
                                               etx_pool* pool,
                                               const etx_size_only** out_kinds);

#endif
