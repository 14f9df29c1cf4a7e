// What the fusing passes made one operator of, and what they left as it is
// although it looks the same: for the report of `etx plan`.

#ifndef ETX_EXPORTER_REPORT_FUSION_REPORT_H
#define ETX_EXPORTER_REPORT_FUSION_REPORT_H

#include "exporter/ir/ir.h"

struct etx_builder;

typedef struct etx_fusion {
  etx_text method;
  etx_text node;       // name of the value that it computes
  const char* kind;    // "attention"
  const char* reason;  // why it was left as it is; NULL: it was fused
} etx_fusion;

// In the module's pool.
typedef struct etx_fusion_report {
  etx_fusion* items;
  size_t count, capacity;
} etx_fusion_report;

// Notes that the node offered was fused with others. `fusions` may be NULL:
// nobody asks.
ETX_MUST_USE etx_status etx_fusion_report_fused(etx_fusion_report* fusions,
                                                const struct etx_builder* lower,
                                                const char* kind);

// The same for a node that stands in a method already.
ETX_MUST_USE etx_status etx_fusion_report_fused_node(
    etx_fusion_report* fusions, const etx_ir_module* module,
    const etx_ir_method* method, const etx_ir_node* node, const char* kind);

// Notes that it could have been but for `reason`; "" is none worth a word.
ETX_MUST_USE etx_status etx_fusion_report_missed(
    etx_fusion_report* fusions, const struct etx_builder* lower,
    const char* kind, const char* reason);

#endif
