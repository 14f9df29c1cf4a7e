// The options of an export (export.h).

#ifndef ETX_EXPORTER_PASSES_EXPORT_OPTIONS_H
#define ETX_EXPORTER_PASSES_EXPORT_OPTIONS_H

#include "exporter/passes/evaluator.h"
#include "exporter/passes/layer_inputs.h"
#include "exporter/host/workers.h"
#include "exporter/ir/target.h"
#include "format/base/sink.h"

// A few seconds with one thread. Weights of a few billion elements can be
// transposed within it.
#define ETX_FOLD_BUDGET UINT64_C(20000000000)

typedef struct etx_export_options {
  etx_target target;
  etx_evaluator evaluator;  // for constant folding
  uint64_t fold_budget;  // most work of constant folding (evaluator.h); 0: the
                         // default, ETX_FOLD_BUDGET
  const char* passes;       // "-name,-name": passes switched off, or NULL
  const char* algorithm;    // a planning algorithm, or NULL: the best of all
  const char* dump_after;   // pass after which the IR is dumped, or NULL
  etx_sink dump;            // receives that dump
  const char*
      keep_layout;        // path of a .pte whose state layout is kept, or NULL
  bool pack_weights;      // run the pass pack_weights
  uint64_t pack_budget;   // most bytes of weights that it stores twice
  bool parallel_regions;  // independent regions share no memory
  const etx_workers* workers;  // threads for work on weights; NULL: none
  const etx_layer_inputs* layer_inputs;  // by which weights are rounded, or
                                         // NULL: by themselves
  bool source_lines;      // store the source lines of instructions
  // Called when a stage begins; `done` of `total` stages are finished. May be
  // NULL.
  void (*progress)(void* context, const char* stage, size_t done, size_t total);
  void* progress_context;
} etx_export_options;

#endif
