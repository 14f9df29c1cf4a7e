// program.yaml: what the methods of a directory do not say themselves.
//
// It is read in steps, between which the methods are: weights are needed
// before YAML methods, names of buffers exist only after all methods.

#ifndef ETX_EXPORTER_READ_YAML_READ_PROGRAM_YAML_H
#define ETX_EXPORTER_READ_YAML_READ_PROGRAM_YAML_H

#include "exporter/read_yaml/program_file.h"

// Reads `path` if it exists and opens the weights files that it names; without
// the key `weights`, weights.safetensors in the same directory if it is there.
ETX_MUST_USE etx_status etx_program_file_open(etx_program_file* program,
                                              etx_import* import,
                                              etx_weight_files* weights,
                                              etx_text path);

// Declares shared buffers as state; collects `initial` by buffer for
// etx_import_settle (ETX_IR_NONE where not given).
ETX_MUST_USE etx_status etx_program_file_buffers(etx_program_file* program,
                                                 uint32_t** out_settled);

// Dims, outputs, constant methods, alignment; then every size must have
// bounds.
ETX_MUST_USE etx_status etx_program_file_apply(etx_program_file* program);

#endif
