// The passes between reading a module and planning it: one list, one runner.
//
// A pass is one function over the whole module. It either succeeds, or fails
// with a diag (a bug, no memory), or reports problems of the user's program
// and succeeds: the runner then stops after it. The IR is verified after every
// pass.

#ifndef ETX_EXPORTER_PASSES_PASS_LIST_H
#define ETX_EXPORTER_PASSES_PASS_LIST_H

#include "exporter/constant_names.h"
#include "exporter/export.h"
#include "exporter/ir.h"
#include "exporter/fusions.h"
#include "exporter/packed_list.h"
#include "exporter/place.h"
#include "exporter/place_copy.h"
#include "exporter/quantized_list.h"

// What another order of a method's nodes saved.
typedef struct etx_pass_order {
  uint64_t saved_bytes;  // of those live at the fullest moment
  uint64_t steps;        // spent on looking for it
} etx_pass_order;

typedef struct etx_pass_context {
  etx_ir_module* module;              // changed by every pass
  const etx_export_options* options;  // target, evaluator, passes switched off
  etx_problems* problems;             // where refusals of the program go
  etx_diag* diag;                     // may be NULL
  // Called after each pass that ran, for dumps; may be NULL.
  etx_status (*after)(void* context, etx_text pass, bool is_lowered,
                      const etx_ir_module* module);
  void* after_context;
  etx_placement* placements;  // by method, made by the pass place_values
  etx_place_copies copies;    // copies that remain, for the report
  etx_fusions fusions;        // made and missed, for the report
  etx_constant_names constant_names;  // of folded weights
  etx_quantized_list quantized;       // by the pass quantize_weights
  etx_packed_list packed;             // by the pass pack_weights
  etx_pass_order* orders;     // by method, made by the pass order_nodes; NULL
                              // if it did not run
} etx_pass_context;

typedef struct etx_pass {
  const char* name;
  bool is_optional;  // may be switched off with equal results
  bool is_lowered;   // nodes are lowered after it
  const char* sentence;
  etx_status (*run)(etx_pass_context* context);
} etx_pass;

size_t etx_pass_count(void);

// The pass at `index`, in the order in which passes run.
const etx_pass* etx_pass_at(size_t index);

// Refuses a list of passes to switch off ("-name,-name") that names an unknown
// pass, one that is not optional, or one without its dash. Tests may switch off
// any pass by writing
// "!name" instead. NULL is the empty list.
ETX_MUST_USE etx_status etx_passes_check(const char* switched_off,
                                         etx_diag* diag);

// True if the pass of that name will run, or has run.
bool etx_passes_include(const etx_pass_context* context, const char* pass);

// Runs all passes that are not switched off. ETX_UNSUPPORTED if a pass
// reported problems; later passes have then not run.
ETX_MUST_USE etx_status etx_passes_run(etx_pass_context* context);

// Prototypes of all passes, from the rows.
#define PASS(name, kind, ir, sentence) \
  ETX_MUST_USE etx_status etx_pass_##name(etx_pass_context* context);
#include "exporter/passes/pass_list.def"
#undef PASS

#endif
