// The fusions that the passes made, and those that they could not make, with
// the reason: for the report of `etx plan`.

#ifndef ETX_EXPORTER_REPORT_FUSION_REPORT_H
#define ETX_EXPORTER_REPORT_FUSION_REPORT_H

#include "exporter/ir/ir.h"

struct etx_builder;

typedef struct etx_fusion {
  etx_text method;
  etx_text node;       // name of the value that it computes
  const char* kind;    // "attention"
  const char* reason;  // why it was not fused; NULL: it was fused
} etx_fusion;

// In the module's pool.
typedef struct etx_fusion_report {
  etx_fusion* items;
  size_t count, capacity;
} etx_fusion_report;

// Adds a fusion of the node that the builder replaces. `fusions` may be NULL.
ETX_MUST_USE etx_status
etx_fusion_report_fused(etx_fusion_report* fusions,
                        const struct etx_builder* builder, const char* kind);

// Adds a fusion whose node is already in the method.
ETX_MUST_USE etx_status etx_fusion_report_fused_node(
    etx_fusion_report* fusions, const etx_ir_module* module,
    const etx_ir_method* method, const etx_ir_node* node, const char* kind);

// Adds one that was not possible because of `reason`, of a node that is already
// in the method.
ETX_MUST_USE etx_status etx_fusion_report_missed_node(
    etx_fusion_report* fusions, const etx_ir_module* module,
    const etx_ir_method* method, const etx_ir_node* node, const char* kind,
    const char* reason);

// Adds a fusion that was not possible because of `reason`. An empty reason adds
// nothing.
ETX_MUST_USE etx_status etx_fusion_report_missed(
    etx_fusion_report* fusions, const struct etx_builder* builder,
    const char* kind, const char* reason);

#endif
