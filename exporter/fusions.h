// What the fusing passes made one operator of, and what they left as it is
// although it looks the same: for the report of `etx plan`.

#ifndef ETX_EXPORTER_FUSIONS_H
#define ETX_EXPORTER_FUSIONS_H

#include "exporter/ir.h"

struct etx_lower;

typedef struct etx_fusion {
  etx_text method;
  etx_text node;       // name of the value that it computes
  const char* kind;    // "attention"
  const char* reason;  // why it was left as it is; NULL: it was fused
} etx_fusion;

// In the module's pool.
typedef struct etx_fusions {
  etx_fusion* items;
  size_t count, capacity;
} etx_fusions;

// Notes that the node offered was fused with others. `fusions` may be NULL:
// nobody asks.
ETX_MUST_USE etx_status etx_fusion_made(etx_fusions* fusions,
                                        const struct etx_lower* lower,
                                        const char* kind);

// The same for a node that stands in a method already.
ETX_MUST_USE etx_status etx_fusion_found(etx_fusions* fusions,
                                         const etx_ir_module* module,
                                         const etx_ir_method* method,
                                         const etx_ir_node* node,
                                         const char* kind);

// Notes that it could have been but for `reason`; "" is none worth a word.
ETX_MUST_USE etx_status etx_fusion_missed(etx_fusions* fusions,
                                          const struct etx_lower* lower,
                                          const char* kind, const char* reason);

#endif
