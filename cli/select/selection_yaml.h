// selected_operators.yaml: a selection as ExecuTorch's tools write and read it.
//
// A selection of one program file is written as
// `python -m executorch.codegen.tools.gen_oplist --model_file_path=FILE` writes
// it, byte for byte.

#ifndef ETX_CLI_SELECT_SELECTION_YAML_H
#define ETX_CLI_SELECT_SELECTION_YAML_H

#include "cli/select/selection.h"
#include "exporter/host/yaml_tree.h"
#include "format/base/sink.h"

// Reads a file's text, which must outlive the selection. Unknown keys, values
// of wrong types and kernel keys that cannot be read are ETX_BAD_FILE, with
// line and column. `kernel_metadata`, which ExecuTorch does not use, must be
// empty.
ETX_MUST_USE etx_status etx_selection_yaml_read(etx_pool* pool, etx_text text,
                                                etx_selection* out_selection,
                                                etx_diag* diag);

// The same for a file that was parsed.
ETX_MUST_USE etx_status etx_selection_yaml_take(etx_pool* pool,
                                                const etx_yaml* root,
                                                etx_selection* out_selection,
                                                etx_diag* diag);

// Writes a selection; returns the status of the sink.
ETX_MUST_USE etx_status etx_selection_yaml_write(const etx_selection* selection,
                                                 const etx_sink* sink);

// Sets in `out_dtypes` a bit for each type in a kernel key; all bits for
// "default". False if the key cannot be read.
bool etx_kernel_key_dtypes(etx_text key, uint32_t* out_dtypes);

#endif
