// What the two halves of the verifier share: pte_verifier.c walks programs,
// methods and instructions, pte_verifier_values.c looks at values.

#ifndef ETX_FORMAT_PTE_PTE_VERIFIER_INTERNAL_H
#define ETX_FORMAT_PTE_PTE_VERIFIER_INTERNAL_H

#include "format/pte/pte_segments.h"

typedef struct etx_pte_verifier {
  uint64_t items_left;  // of ETX_MAX_PTE_ITEMS
  uint64_t max_arena_bytes;
  uint64_t max_instructions;
  size_t value_count;  // of the method at hand
  etx_diag* diag;
  uint32_t position;    // of the table at hand, for the diag
  etx_pte_plan plan;    // the method at hand
  etx_pte_value value;  // the value at hand
  etx_pte_totals* totals;  // of the method at hand, as far as it was seen
  const char* part;     // what of the method is looked at, or NULL
  size_t part_index;
} etx_pte_verifier;

// Takes `count` off the items that may still be looked at.
ETX_MUST_USE etx_status etx_pte_verifier_use_items(etx_pte_verifier* v,
                                               uint64_t count);

// Verifies value `index` of the method at hand, which becomes the value at
// hand.
ETX_MUST_USE etx_status etx_pte_verifier_check_value(etx_pte_verifier* v,
                                                     size_t index);

#endif
