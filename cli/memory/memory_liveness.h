// When the content of each storage is needed.

#ifndef ETX_CLI_MEMORY_MEMORY_LIVENESS_H
#define ETX_CLI_MEMORY_MEMORY_LIVENESS_H

#include "cli/memory/memory_storage.h"

typedef struct etx_memory_live_range {
  uint32_t piece;
  etx_memory_span span;
} etx_memory_live_range;

// When the content of each planned piece is needed, by ascending start for each
// piece. ETX_UNSUPPORTED if jumps and pieces are too many.
ETX_MUST_USE etx_status etx_memory_liveness_find(
    const etx_verify_method* m, const etx_memory_uses* uses,
    etx_memory_live_range** out_spans, size_t* out_count);


#endif
