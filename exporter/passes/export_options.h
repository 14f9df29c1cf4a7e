// What the caller of the pipeline asks for (export.h).

#ifndef ETX_EXPORTER_PASSES_EXPORT_OPTIONS_H
#define ETX_EXPORTER_PASSES_EXPORT_OPTIONS_H

#include "exporter/passes/evaluator.h"
#include "exporter/ir/target.h"
#include "format/base/sink.h"

typedef struct etx_export_options {
  etx_target target;
  etx_evaluator evaluator;  // for constant folding
  const char* passes;       // "-name,-name": passes switched off, or NULL
  const char* algorithm;    // planner by name, or NULL: the best of all
  const char* dump_after;   // pass after which the IR is dumped, or NULL
  etx_sink dump;            // where that dump goes
  const char* keep_layout;  // path of a .pte whose state layout is kept
  bool pack_weights;        // of layers with many rows, as panels
  bool source_lines;        // keep where instructions come from
  void (*progress)(void* context, const char* stage, size_t done,
                   size_t total);  // may be NULL
  void* progress_context;
} etx_export_options;

#endif
