// Accounts for the scratch bytes of a method: what its values would need
// without sharing (the naive plan), what was saved and how, the values that are
// live at the peak, and how far the peak would fall without each of the largest
// ones.
//
//   naive = views + in place + sharing + arena
//
// All sizes, that of the arena too, are rounded up to the alignment. The arena
// is the shared range and the stable outputs.

#ifndef ETX_EXPORTER_REPORT_MEMORY_ACCOUNT_H
#define ETX_EXPORTER_REPORT_MEMORY_ACCOUNT_H

#include "exporter/arenas/plan_memory.h"
#include "exporter/report/export_report.h"

typedef struct etx_memory_account {
  uint64_t naive_bytes;     // of all results of nodes, and planned inputs
  uint64_t view_bytes;      // of views
  uint64_t in_place_bytes;  // of values that are computed in a state, an input,
                            // a concatenation or the block of an operand
  uint64_t sharing_bytes;   // of blocks that reuse bytes of earlier blocks
  uint64_t live_bytes;      // at the peak, not rounded up
  uint64_t padding_bytes;   // between the live blocks, for alignment
  etx_export_block* values;  // live at the peak, the largest first
  size_t value_count;
  etx_export_block* blocks;  // all of arena 1
  size_t block_count;
} etx_memory_account;

// `placement` and `memory` come from etx_plan_memory. The result's arrays live
// in `pool`.
ETX_MUST_USE etx_status etx_memory_account_find(
    etx_pool* pool, const etx_ir_module* module, const etx_ir_method* method,
    const etx_placement* placement, const etx_memory_plan* memory,
    etx_memory_account* out_account);

#endif
