// Bounds of sizes that program.yaml tightens, and the check that every size
// has some. For read_program_yaml.c only.

#ifndef ETX_EXPORTER_READ_YAML_PROGRAM_DIMS_H
#define ETX_EXPORTER_READ_YAML_PROGRAM_DIMS_H

#include "exporter/read_yaml/program_file.h"

// One entry of `dims`: "method.input[dimension]" or "method.input" for an
// integer input, and {min, max}.
ETX_MUST_USE etx_status etx_program_dim(etx_program_file* program,
                                        const etx_yaml* key,
                                        const etx_yaml* bounds, etx_diag* diag);

// Reports every size without an upper (or lower) bound and how to state one.
void etx_program_check_bounds(etx_program_file* program);

// Splits "method.rest" at the longest method name. Refused: unknown methods,
// with the nearest name.
ETX_MUST_USE etx_status etx_program_find_method(etx_program_file* program,
                                                const etx_yaml* key,
                                                etx_ir_method** out_method,
                                                etx_text* out_rest,
                                                etx_diag* diag);

#endif
