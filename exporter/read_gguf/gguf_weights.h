// Weights of a graph from a GGUF file, by name.
//
// A tensor is the value of the weight
//   1. that the file of names states for it (gguf_pairs.h), else
//   2. that has the same name, else
//   3. whose name ends with the name that gguf_names.def has for the model's
//      architecture. A model without output.weight multiplies by its embedding
//      table: token_embd.weight is then the value of lm_head.weight too.
//
// Values are expanded as gguf_blocks.h states, and rounded if the graph has
// float16 or bfloat16. All tensors must be used, and all floating parameters
// and tensors named .weight or .bias of the graph must get a value; other
// tensors of the graph, such as tables that it computed, keep theirs.

#ifndef ETX_EXPORTER_READ_GGUF_GGUF_WEIGHTS_H
#define ETX_EXPORTER_READ_GGUF_GGUF_WEIGHTS_H

#include "exporter/import/import.h"

// Reads the files of module->weights, if it has any, after the declarations of
// all files. Sets `overrides` of each buffer that gets a value to a constant of
// the buffer's type. Problems are reported: each missing, unused or unfit
// tensor.
ETX_MUST_USE etx_status etx_gguf_weights_read(etx_import* import,
                                              uint32_t* overrides);

#endif
