// Models in several GGUF files, as llama-gguf-split and the package gguf write
// them: NAME-00001-of-00003.gguf and so on. Each part states split.no, from 0
// on, and split.count; the first one has the metadata of the model, and states
// in split.tensors.count how many tensors all parts have.

#ifndef ETX_EXPORTER_READ_GGUF_GGUF_PARTS_H
#define ETX_EXPORTER_READ_GGUF_GGUF_PARTS_H

#include "exporter/read_gguf/gguf_file.h"

// Opens the file at `path` and, if it is one of several parts, the others
// beside it: `file` then has the tensors of all and the metadata of the first.
// They are mapped, and must not change, as long as the pool lives. Statuses are
// those of etx_file_map and etx_gguf_open; ETX_BAD_FILE too if the parts are
// not those of one model.
ETX_MUST_USE etx_status etx_gguf_open_parts(etx_gguf_file* file, etx_pool* pool,
                                            etx_text path, etx_diag* diag);

#endif
