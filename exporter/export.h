// The interface of the exporter: reads a directory of methods and writes a
// program file.
//
//   etx_export_read   reads and checks the methods
//   etx_export_plan   runs passes, plans memory and writes the file
//   etx_export_dump   writes a module that was read as YAML

#ifndef ETX_EXPORTER_EXPORT_H
#define ETX_EXPORTER_EXPORT_H

#include "exporter/ir/ir.h"
#include "exporter/passes/export_options.h"
#include "exporter/report/export_report.h"
#include "format/base/sink.h"

// The file of a directory with the operators of the application, which is
// optional (etx_export_operators).
#define ETX_EXPORT_OPERATORS_NAME "operators.ops"

// Reads a directory (or a single .yaml or .pt2 file) with its program.yaml.
// All problems of all methods are reported to `problems`; the status is that of
// the first one. After problems, the module has the methods without problems,
// so that `etx check` can check them further; it must not be planned.
ETX_MUST_USE etx_status etx_export_read(etx_ir_module* module, const char* path,
                                        etx_problems* problems, etx_diag* diag);

// Declares that the methods `names`, separated by commas, may run at the same
// time, in addition to those that program.yaml declares.
ETX_MUST_USE etx_status etx_export_concurrent(etx_ir_module* module,
                                              const char* names,
                                              etx_diag* diag);

// Appends a rule which weights are quantised (quantize_rules.h) to those of
// program.yaml.
ETX_MUST_USE etx_status etx_export_quantize(etx_ir_module* module,
                                            const char* rule, etx_diag* diag);

// Stores caches of keys and values as "int8", "f16" or "bf16" (cache_type.h)
// instead of what program.yaml says.
ETX_MUST_USE etx_status etx_export_kv(etx_ir_module* module, const char* type,
                                      etx_diag* diag);

// Adds variants of methods for some of their sizes, "T=1,2..16"
// (specialize_option.h): after all methods were read and after
// etx_export_concurrent.
ETX_MUST_USE etx_status etx_export_specialize(etx_ir_module* module,
                                              const char* option,
                                              etx_diag* diag);

// Appends a memory of a board, "sram=64K" (memory_list.h), to those of
// program.yaml.
ETX_MUST_USE etx_status etx_export_memory(etx_ir_module* module,
                                          const char* memory, etx_diag* diag);

// Caps a size or integer that data decide, "u0=64" or "method.u0=64". To be
// called before etx_export_read.
ETX_MUST_USE etx_status etx_export_cap(etx_ir_module* module, const char* cap,
                                       etx_diag* diag);

// Takes the weights from the GGUF file `path` instead of the graphs
// (read_gguf/gguf_weights.h). `names` is the path of a file with pairs of names,
// or NULL. To be called before etx_export_read, which reports what is wrong with
// the files.
ETX_MUST_USE etx_status etx_export_weights(etx_ir_module* module,
                                           const char* path,
                                           const char* names);

// Adds the operators of the application that file `path` describes
// (format/own_ops). Errors name the file, the line and the column. To be called
// before etx_export_read.
ETX_MUST_USE etx_status etx_export_operators(etx_ir_module* module,
                                             const char* path, etx_diag* diag);

// Runs the passes, plans memory and writes the file to `sink`. Changes
// `module`. The report is in the module's pool.
ETX_MUST_USE etx_status etx_export_plan(etx_ir_module* module,
                                        const etx_export_options* options,
                                        const etx_sink* sink,
                                        etx_export_report* out_report,
                                        etx_problems* problems, etx_diag* diag);

// Writes a module that was read, and not yet planned, as YAML and safetensors
// into directory `path`. Planning that directory gives the same program.
ETX_MUST_USE etx_status etx_export_dump(const etx_ir_module* module,
                                        const char* path, etx_diag* diag);

#endif
