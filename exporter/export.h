// The pipeline: a directory of methods in, a program file out.
//
//   read -> check -> passes -> lifetimes -> plan -> verify -> emit
//
// Each stage is one function below; etx_export_plan runs them all.

#ifndef ETX_EXPORTER_EXPORT_H
#define ETX_EXPORTER_EXPORT_H

#include "exporter/evaluator.h"
#include "exporter/ir.h"
#include "format/base/sink.h"

typedef enum etx_target {
  ETX_TARGET_ETX,         // operators of etx's runtime (default)
  ETX_TARGET_EXECUTORCH,  // only operators of the stock portable library
} etx_target;

typedef struct etx_export_options {
  etx_target target;
  etx_evaluator evaluator;    // for constant folding
  const char* passes;         // "-name,-name": passes switched off, or NULL
  const char* algorithm;      // planner by name, or NULL: the best of all
  const char* dump_after;     // pass after which the IR is dumped, or NULL
  etx_sink dump;              // where that dump goes
  const char* keep_layout;    // path of a .pte whose state layout is kept
  void (*progress)(void* context, const char* stage, size_t done,
                   size_t total);  // may be NULL
  void* progress_context;
} etx_export_options;

// One row of the plan report.
typedef struct etx_export_method_report {
  etx_text name;
  uint64_t scratch_bytes;    // of this method's plan
  uint64_t lower_bound;
  size_t value_count;        // planned values
  size_t instruction_count;
  uint32_t peak_instruction;
  etx_text peak_operator;
  uint64_t copied_bytes;     // by all copies that remain
  const char* algorithm;
} etx_export_method_report;

// A copy that could not be avoided, and why.
typedef struct etx_export_copy_report {
  etx_text method;
  etx_text target;   // state, constant, input or output
  uint64_t bytes;    // per call
  etx_text reason;
} etx_export_copy_report;

typedef struct etx_export_report {
  etx_export_method_report* methods;
  size_t method_count;
  etx_export_copy_report* copies;
  size_t copy_count;
  uint64_t scratch_bytes;    // maximum over methods
  uint64_t state_bytes;      // arena 2
  size_t state_count;
  uint64_t constant_bytes;   // after deduplication
  size_t constant_count;
  uint64_t file_bytes;
} etx_export_report;

// Reads a directory (or a single .yaml or .pt2 file) with its program.yaml.
// All problems of all methods go to `problems`; the status is the first one's.
// The module then holds the methods without problems, for those who look for
// more (`etx check`); it must not be planned into a file.
ETX_MUST_USE etx_status etx_export_read(etx_ir_module* module, const char* path,
                                        etx_problems* problems,
                                        etx_diag* diag);

// Runs passes, plans, verifies and writes the file to `sink`. `module` is
// changed. The report lives in the module's pool.
ETX_MUST_USE etx_status etx_export_plan(etx_ir_module* module,
                                        const etx_export_options* options,
                                        const etx_sink* sink,
                                        etx_export_report* out_report,
                                        etx_problems* problems,
                                        etx_diag* diag);

// Writes a module that was read (not yet planned) as YAML + safetensors into
// directory `path`. Planning that directory gives the same program.
ETX_MUST_USE etx_status etx_export_dump(const etx_ir_module* module,
                                        const char* path, etx_diag* diag);

#endif
