// The safetensors files of a directory of YAML graphs. Each is opened once. A
// graph refers to a tensor as "file.safetensors#name"; buffers without a value
// are looked up by name in the files that program.yaml lists.

#ifndef ETX_EXPORTER_IMPORT_WEIGHT_FILES_H
#define ETX_EXPORTER_IMPORT_WEIGHT_FILES_H

#include "exporter/import/safetensors.h"
#include "exporter/host/yaml_tree.h"

typedef struct etx_weight_files {
  etx_pool* pool;
  etx_text directory;  // names are relative to it
  etx_text* names;
  etx_safetensors** files;
  size_t count, name_capacity, file_capacity;
  etx_safetensors** searched;
  size_t searched_count, searched_capacity;
} etx_weight_files;

void etx_weight_files_init(etx_weight_files* weights, etx_pool* pool,
                           etx_text directory);

// Adds a file to those in which buffers are looked up by name.
ETX_MUST_USE etx_status etx_weight_files_search(etx_weight_files* weights,
                                                etx_text name, etx_diag* diag);

// Finds a tensor in the searched files; ETX_NOT_FOUND if there is none.
ETX_MUST_USE etx_status etx_weight_files_find(const etx_weight_files* weights,
                                              etx_text name,
                                              etx_ir_constant* out_tensor);

// The tensor that "file.safetensors#name" refers to.
ETX_MUST_USE etx_status etx_weight_files_reference(etx_weight_files* weights,
                                                   etx_text reference,
                                                   etx_ir_constant* out_tensor,
                                                   etx_diag* diag);

// The value that a YAML node states for a tensor of `type`: a number for all
// elements, or {tensor: file#name}. Added to the module's constants.
ETX_MUST_USE etx_status etx_weight_files_value(
    etx_weight_files* weights, etx_ir_module* module, const etx_yaml* node,
    const etx_ir_constant* type, uint32_t* out_constant, etx_diag* diag);

#endif
