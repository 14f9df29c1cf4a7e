// Options of the export pipeline (export.h).

#ifndef ETX_EXPORTER_PASSES_EXPORT_OPTIONS_H
#define ETX_EXPORTER_PASSES_EXPORT_OPTIONS_H

#include "exporter/passes/evaluator.h"
#include "exporter/ir/target.h"
#include "format/base/sink.h"

typedef struct etx_export_options {
  etx_target target;
  etx_evaluator evaluator;  // for constant folding
  const char* passes;       // "-name,-name": passes switched off, or NULL
  const char* algorithm;    // of the memory planner, or NULL: try all
  const char* dump_after;   // pass after which the IR is dumped, or NULL
  etx_sink dump;            // where that dump goes
  const char* keep_layout;  // path of a .pte whose state layout is kept
  bool pack_weights;        // store weights in the layout of the GEMM kernels
  bool source_lines;        // write the source map
  void (*progress)(void* context, const char* stage, size_t done,
                   size_t total);  // may be NULL
  void* progress_context;
} etx_export_options;

#endif
