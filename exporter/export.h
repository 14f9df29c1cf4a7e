// The pipeline: a directory of methods in, a program file out.
//
//   read -> check -> passes -> lifetimes -> plan -> verify -> emit
//
// Each stage is one function below; etx_export_plan runs them all.

#ifndef ETX_EXPORTER_EXPORT_H
#define ETX_EXPORTER_EXPORT_H

#include "exporter/evaluator.h"
#include "exporter/fusions.h"
#include "exporter/ir.h"
#include "exporter/packed_list.h"
#include "exporter/quantized_list.h"
#include "format/base/sink.h"

typedef enum etx_target {
  ETX_TARGET_ETX,         // operators of etx's runtime (default)
  ETX_TARGET_EXECUTORCH,  // only operators of the stock portable library
} etx_target;

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

enum { ETX_EXPORT_SAVINGS = 10 };

// Nodes [start, end).
typedef struct etx_export_stretch {
  uint32_t start;
  uint32_t end;
} etx_export_stretch;

// A block of arena 1.
typedef struct etx_export_block {
  etx_text name;                   // of a value in it
  etx_text op;                     // that made the value; empty: an input
  uint64_t bytes;                  // at the upper bounds
  uint64_t offset;                 // in arena 1
  uint32_t start;                  // in use from this node on,
  uint32_t end;                    // one past the last,
  const etx_export_stretch* gaps;  // but not in these: branches that leave out
  size_t gap_count;                // those which use it
  bool is_stable;  // outlives calls of other methods: not in the shared range
  uint64_t saves;  // so much less would be live at the fullest moment of the
                   // method without it; counted at the peak, for the largest
                   // ETX_EXPORT_SAVINGS
} etx_export_block;

// One row of the plan report.
//
//   naive = view + in place + sharing + planned + stable
//
// where sizes count as multiples of the alignment.
typedef struct etx_export_method_report {
  etx_text name;
  uint64_t scratch_bytes;   // of this method's plan, from byte 0 on
  uint64_t range_start;     // of the range that methods share: above 0 if it
                            // lies over methods which may run beside it
  uint64_t planned_bytes;   // of that range
  uint64_t stable_bytes;    // of outputs that outlive other methods' calls
  uint64_t lower_bound;     // no plan of the shared range can be smaller:
                            // where both are equal it is the best there is
  uint64_t naive_bytes;     // if every value had memory of its own
  uint64_t view_bytes;      // of values that are bytes of another one
  uint64_t in_place_bytes;  // of values made in a state, an input, a
                            // concatenation, or an argument that dies
  uint64_t sharing_bytes;   // of blocks where another one lay before
  uint64_t order_bytes;     // by which another order of nodes lowered what is
                            // live at the fullest moment
  uint64_t order_steps;     // spent on finding it
  uint64_t live_bytes;      // at the fullest moment, padding not counted
  uint64_t padding_bytes;   // of the alignment, between what is live there
  etx_export_block* peak_values;  // live there, the largest first; named by
                                  // the last value made in them
  size_t peak_value_count;
  etx_export_block* blocks;  // all of arena 1; named by the first one
  size_t block_count;
  size_t value_count;  // planned values
  size_t instruction_count;
  uint32_t peak_instruction;
  etx_text peak_operator;
  uint64_t copied_bytes;  // by all copies that remain
  const char* algorithm;
  uint64_t steps;  // of the planner
} etx_export_method_report;

// A copy that could not be avoided, and why.
typedef struct etx_export_copy_report {
  etx_text method;
  etx_text target;  // state, constant, input or output
  etx_text op;      // that copies
  uint64_t bytes;   // per call
  etx_text reason;
} etx_export_copy_report;

typedef struct etx_export_report {
  etx_export_method_report* methods;
  size_t method_count;
  etx_export_copy_report* copies;
  size_t copy_count;
  const etx_fusion* fusions;  // what became one operator, and what did not
  size_t fusion_count;
  const etx_quantized* quantized;  // weights, if some rule asked for it
  size_t quantized_count;
  const etx_quantize_rule* rules;  // that asked for it
  size_t rule_count;
  const etx_packed* packed;  // weights of layers, if it was asked for
  size_t packed_count;
  const etx_ir_pair* concurrent;  // methods that may run at the same time
  size_t concurrent_count;
  uint64_t scratch_bytes;  // maximum over methods
  uint64_t method_bytes;   // sum over methods: one arena for each of them
  uint64_t state_bytes;    // arena 2
  uint64_t state_bound;    // sum of the states' sizes: the rest is padding
  size_t state_count;
  uint64_t constant_bytes;  // after deduplication
  size_t constant_count;
  uint64_t file_bytes;
} etx_export_report;

// Reads a directory (or a single .yaml or .pt2 file) with its program.yaml.
// All problems of all methods go to `problems`; the status is the first one's.
// The module then holds the methods without problems, for those who look for
// more (`etx check`); it must not be planned into a file.
ETX_MUST_USE etx_status etx_export_read(etx_ir_module* module, const char* path,
                                        etx_problems* problems, etx_diag* diag);

// Declares methods concurrent beside those that program.yaml declares; `names`
// are separated by commas.
ETX_MUST_USE etx_status etx_export_concurrent(etx_ir_module* module,
                                              const char* names,
                                              etx_diag* diag);

// Adds a rule by which weights are quantised (quantize_rules.h) behind those of
// program.yaml.
ETX_MUST_USE etx_status etx_export_quantize(etx_ir_module* module,
                                            const char* rule, etx_diag* diag);

// Runs passes, plans, verifies and writes the file to `sink`. `module` is
// changed. The report lives in the module's pool.
ETX_MUST_USE etx_status etx_export_plan(etx_ir_module* module,
                                        const etx_export_options* options,
                                        const etx_sink* sink,
                                        etx_export_report* out_report,
                                        etx_problems* problems, etx_diag* diag);

// Writes a module that was read (not yet planned) as YAML + safetensors into
// directory `path`. Planning that directory gives the same program.
ETX_MUST_USE etx_status etx_export_dump(const etx_ir_module* module,
                                        const char* path, etx_diag* diag);

#endif
