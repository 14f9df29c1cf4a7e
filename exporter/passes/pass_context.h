// The context that every pass gets, and the prototypes of all passes.
//
// A pass is one function over the whole module. It fails with a diag for a bug
// of the exporter or exhausted memory. Problems of the user's program are
// reported to `problems`; the pass then succeeds, and the runner (pass_list.h)
// stops after it.

#ifndef ETX_EXPORTER_PASSES_PASS_CONTEXT_H
#define ETX_EXPORTER_PASSES_PASS_CONTEXT_H

#include "exporter/passes/constant_names.h"
#include "exporter/report/fusion_report.h"
#include "exporter/ir/ir.h"
#include "exporter/report/packed_report.h"
#include "exporter/passes/export_options.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/placement_copy.h"
#include "exporter/report/quantized_report.h"

// What scheduling saved in one method.
typedef struct etx_schedule_saving {
  uint64_t saved_bytes;  // by which the peak of live bytes is lower
  uint64_t steps;        // of the search
} etx_schedule_saving;

// What constant folding took of its limits (known_values.h).
typedef struct etx_fold_use {
  uint64_t work;        // of options->fold_budget
  uint64_t bytes;       // of computed constants
  uint64_t most_bytes;  // 0: not yet known
} etx_fold_use;

typedef struct etx_pass_context {
  etx_ir_module* module;              // changed by every pass
  const etx_export_options* options;  // target, evaluator, passes switched off
  etx_problems* problems;             // receives problems of the program
  etx_diag* diag;                     // may be NULL
  // Called after each pass that ran, for dumps; may be NULL.
  etx_status (*after)(void* context, etx_text pass, bool is_lowered,
                      const etx_ir_module* module);
  void* after_context;
  etx_placement* placements;    // by method, set by the pass assign_storage
  etx_placement_copies copies;  // copies that remain, for the report
  etx_fusion_report fusions;    // made and missed, for the report
  etx_fold_use folding;         // what constant folding took so far
  etx_constant_names constant_names;  // of computed constants
  etx_quantized_report quantized;     // set by the pass quantize_weights
  etx_quantized_report caches;  // set by the pass narrow_caches
  etx_packed_report packed;           // set by the pass pack_weights
  etx_schedule_saving* orders;  // by method, made by the pass schedule_nodes;
                                // NULL if it did not run
} etx_pass_context;

// True if the options do not switch the pass of that name off.
bool etx_passes_include(const etx_pass_context* context, const char* pass);

// A list of passes to switch off, "-name,-name": takes the next entry, its mark
// included; false at the end. NULL is the empty list.
bool etx_pass_entry_next(const char** list, etx_text* out_entry);

// An entry without its mark, which is '-' or '!'.
etx_text etx_pass_entry_name(etx_text entry);

// The present name of a pass that is given by a former one
// (renamed_passes.def); every other name stays as it is.
etx_text etx_pass_present_name(etx_text name);

// True if the list switches the pass off, by its present or a former name.
bool etx_pass_entry_switches_off(const char* list, const char* pass);

// Prototypes of all passes, from the rows.
#define PASS(name, function, kind, ir, sentence) \
  ETX_MUST_USE etx_status function(etx_pass_context* context);
#include "exporter/passes/pass_list.def"
#undef PASS

#endif
