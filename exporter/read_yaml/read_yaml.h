// Reads a method written in YAML. docs/graphs-yaml.md describes the format.

#ifndef ETX_EXPORTER_READ_YAML_READ_YAML_H
#define ETX_EXPORTER_READ_YAML_READ_YAML_H

#include "exporter/import/import.h"
#include "exporter/import/weight_files.h"

// Reads the file at `path` as method `name`. Problems of the file are reported
// to `import` with line and column and do not fail the call; ETX_OUT_OF_MEMORY
// does. `weights` must live until etx_import_merge_buffers has run.
ETX_MUST_USE etx_status etx_yaml_method_read(etx_import* import,
                                             etx_weight_files* weights,
                                             etx_text path, etx_text name);

#endif
