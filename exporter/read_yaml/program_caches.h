// The key `caches` of program.yaml.

#ifndef ETX_EXPORTER_READ_YAML_PROGRAM_CACHES_H
#define ETX_EXPORTER_READ_YAML_PROGRAM_CACHES_H

#include "exporter/read_yaml/program_file.h"

// Reads one entry: `key` is a name, a module or a glob of states, `node` says
// along which dimension rows are appended to them, which state counts the rows,
// and what happens when there is no room.
ETX_MUST_USE etx_status etx_program_caches(etx_program_file* program,
                                           const etx_yaml* key,
                                           const etx_yaml* node,
                                           etx_diag* diag);

#endif
