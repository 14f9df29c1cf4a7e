// The section `dims` of program.yaml, which tightens bounds of sizes, and the
// check that every size has bounds. For read_program_yaml.c only.

#ifndef ETX_EXPORTER_READ_YAML_PROGRAM_DIMS_H
#define ETX_EXPORTER_READ_YAML_PROGRAM_DIMS_H

#include "exporter/read_yaml/program_file.h"

// Reads one entry of `dims`: the key is "method.input[dimension]", or
// "method.input" for an integer input; the value is {min, max}.
ETX_MUST_USE etx_status etx_program_dim(etx_program_file* program,
                                        const etx_yaml* key,
                                        const etx_yaml* bounds, etx_diag* diag);

// Reports every symbol without an upper or lower bound, and how to state one.
void etx_program_check_bounds(etx_program_file* program);

// Splits "method.rest"; names of methods may contain dots, so the longest one
// is taken. An unknown method is an error that suggests the nearest name.
ETX_MUST_USE etx_status etx_program_find_method(etx_program_file* program,
                                                const etx_yaml* key,
                                                etx_ir_method** out_method,
                                                etx_text* out_rest,
                                                etx_diag* diag);

#endif
