// A method written in YAML. The format is told in README.md of this folder.

#ifndef ETX_EXPORTER_READ_YAML_READ_YAML_H
#define ETX_EXPORTER_READ_YAML_READ_YAML_H

#include "exporter/import/import.h"
#include "exporter/import/weight_files.h"

// Reads the file at `path` as method `name`. Problems are reported to `import`
// with line and column; returns other failures (memory). `weights` must live
// until the claims have been settled.
ETX_MUST_USE etx_status etx_yaml_method_read(etx_import* import,
                                             etx_weight_files* weights,
                                             etx_text path, etx_text name);

#endif
