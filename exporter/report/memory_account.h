// Where the bytes of a method went: what its values would need if each had
// memory of its own, what was saved of that and how, and what lives at the
// fullest moment; and what would live there without one of the largest blocks.
//
//   naive = views + in place + sharing + arena
//
// Sizes count as multiples of the alignment, as the planner counts them; the
// arena too, which is that of the shared range and that of stable outputs.

#ifndef ETX_EXPORTER_REPORT_MEMORY_ACCOUNT_H
#define ETX_EXPORTER_REPORT_MEMORY_ACCOUNT_H

#include "exporter/placement/plan_memory.h"
#include "exporter/report/export_report.h"

typedef struct etx_memory_account {
  uint64_t naive_bytes;     // of all values that nodes make, and planned inputs
  uint64_t view_bytes;      // of those that are bytes of another value
  uint64_t in_place_bytes;  // of those made in a state, in an input, in a
                            // concatenation or in the block of an argument
  uint64_t sharing_bytes;   // of blocks that lie where another one lay before
  uint64_t live_bytes;      // at the fullest moment, as they are
  uint64_t padding_bytes;   // of the alignment, between those
  etx_export_block* values;  // live there, the largest first
  size_t value_count;
  etx_export_block* blocks;  // all of arena 1
  size_t block_count;
} etx_memory_account;

// `placement` has been planned as `memory` says. The values live in `pool`.
ETX_MUST_USE etx_status etx_memory_account_find(
    etx_pool* pool, const etx_ir_module* module, const etx_ir_method* method,
    const etx_placement* placement, const etx_memory_plan* memory,
    etx_memory_account* out_account);

#endif
