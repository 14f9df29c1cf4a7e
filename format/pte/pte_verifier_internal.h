// Shared by the files of the verifier: pte_verifier.c checks programs, methods
// and instructions, pte_verifier_values.c checks values.

#ifndef ETX_FORMAT_PTE_PTE_VERIFIER_INTERNAL_H
#define ETX_FORMAT_PTE_PTE_VERIFIER_INTERNAL_H

#include "format/pte/pte_segments.h"

typedef struct etx_pte_verifier {
  uint64_t items_left;  // of ETX_MAX_PTE_ITEMS
  uint64_t max_arena_bytes;
  uint64_t max_instructions;
  size_t value_count;  // of the current method
  etx_diag* diag;
  uint32_t position;       // of the current table, for the diag
  etx_pte_plan plan;       // the current method
  etx_pte_value value;     // the current value
  etx_pte_totals* totals;  // of the current method, so far
  const char* part;        // what messages name, such as "value", or NULL
  size_t part_index;
} etx_pte_verifier;

// Subtracts `count` from the items that the program may still have.
// ETX_OUT_OF_RANGE if it has too many.
ETX_MUST_USE etx_status etx_pte_verifier_use_items(etx_pte_verifier* v,
                                               uint64_t count);

// Reads value `index` of the current method into `v->value` and verifies it.
ETX_MUST_USE etx_status etx_pte_verifier_check_value(etx_pte_verifier* v,
                                                     size_t index);

#endif
