// The pipeline: a directory of methods in, a program file out.
//
//   read -> check -> passes -> lifetimes -> plan -> verify -> emit
//
// Each stage is one function below; etx_export_plan runs them all.

#ifndef ETX_EXPORTER_EXPORT_H
#define ETX_EXPORTER_EXPORT_H

#include "exporter/ir/ir.h"
#include "exporter/passes/export_options.h"
#include "exporter/report/export_report.h"
#include "format/base/sink.h"

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
