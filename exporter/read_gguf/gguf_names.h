// Names of tensors in GGUF files as names in PyTorch models (gguf_names.def).

#ifndef ETX_EXPORTER_READ_GGUF_GGUF_NAMES_H
#define ETX_EXPORTER_READ_GGUF_GGUF_NAMES_H

#include "exporter/host/host_memory.h"

// What a converter did to a tensor, which must be undone.
typedef enum etx_gguf_change {
  ETX_GGUF_NONE,
  ETX_GGUF_PAIRS,
  ETX_GGUF_PLUS_ONE,
  ETX_GGUF_TRANSPOSE,
} etx_gguf_change;

typedef struct etx_gguf_name {
  uint32_t architectures;  // bits
  const char* gguf;
  const char* pytorch;
  etx_gguf_change change;
} etx_gguf_name;

// The bit of an architecture; 0 if it is not in the table.
uint32_t etx_gguf_architecture(etx_text name);

// "llama, qwen2, ..": all architectures of the table.
const char* etx_gguf_architecture_list(void);

// The row of a tensor "blk.3.attn_q.weight" of an architecture; NULL if there
// is none.
const etx_gguf_name* etx_gguf_name_find(uint32_t architecture, etx_text tensor);

// True for tensors that PyTorch models compute.
bool etx_gguf_name_is_computed(etx_text tensor);

// The name in PyTorch "layers.3.self_attn.q_proj.weight" by the row of a
// tensor; data is NULL if there is no memory.
etx_text etx_gguf_name_in_pytorch(etx_pool* pool, const etx_gguf_name* name,
                                  etx_text tensor);

// True if `whole` is `name`, or ends with it after a dot.
bool etx_gguf_name_ends(etx_text whole, etx_text name);

// The name of the tensor that a model's "model.layers.3.mlp.up_proj.weight"
// comes from; empty if no row fits. data is NULL if there is no memory.
etx_text etx_gguf_name_of_pytorch(etx_pool* pool, uint32_t architecture,
                                  etx_text whole);

#endif
