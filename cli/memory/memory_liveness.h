// When each storage is live.

#ifndef ETX_CLI_MEMORY_MEMORY_LIVENESS_H
#define ETX_CLI_MEMORY_MEMORY_LIVENESS_H

#include "cli/memory/memory_storage.h"

typedef struct etx_memory_live_range {
  uint32_t storage;
  etx_memory_span span;
} etx_memory_live_range;

// Finds the spans in which each planned storage is live; those of one storage
// have ascending starts. ETX_UNSUPPORTED if the method has too many basic
// blocks and storages.
ETX_MUST_USE etx_status etx_memory_liveness_find(
    const etx_verify_method* m, const etx_memory_uses* uses,
    etx_memory_live_range** out_spans, size_t* out_count);

#endif
