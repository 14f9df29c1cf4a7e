// The state of reading program.yaml.

#ifndef ETX_EXPORTER_READ_YAML_PROGRAM_FILE_H
#define ETX_EXPORTER_READ_YAML_PROGRAM_FILE_H

#include "exporter/import/import.h"
#include "exporter/import/weight_files.h"

typedef struct etx_program_file {
  etx_import* import;
  etx_ir_module* module;
  etx_weight_files* weights;
  etx_source_location place;  // file; empty if there is no program.yaml
  const etx_yaml* root;       // an empty map if there is none
} etx_program_file;

#endif
