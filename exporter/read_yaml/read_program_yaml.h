// program.yaml: settings of a program that its methods do not state themselves.
//
// It is read in steps, interleaved with the reading of the methods:
//
//   1. etx_program_file_open: weights, which methods in YAML need
//   2. the methods, which define the names of buffers
//   3. etx_program_file_buffers: state and initial values
//   4. etx_import_merge_buffers
//   5. etx_program_file_apply: all other keys

#ifndef ETX_EXPORTER_READ_YAML_READ_PROGRAM_YAML_H
#define ETX_EXPORTER_READ_YAML_READ_PROGRAM_YAML_H

#include "exporter/read_yaml/program_file.h"

// Reads `path` if it exists and opens the files under its key `weights`;
// without that key, weights.safetensors in the same directory if it exists.
ETX_MUST_USE etx_status etx_program_file_open(etx_program_file* program,
                                              etx_import* import,
                                              etx_weight_files* weights,
                                              etx_text path);

// Reads `shared_buffers`, which marks buffers as state, and `initial`:
// `*out_overrides` has the initial value of each buffer, or ETX_IR_NONE, as
// etx_import_merge_buffers takes it.
ETX_MUST_USE etx_status etx_program_file_buffers(etx_program_file* program,
                                                 uint32_t** out_overrides);

// Reads the other keys, then checks that every size has bounds.
ETX_MUST_USE etx_status etx_program_file_apply(etx_program_file* program);

#endif
