// A file of names for tensors whose names etx does not know:
//
//   # a comment
//   blk.0.attn_q.weight = layer0.query.weight
//   output.weight =
//
// Left is a tensor of the GGUF file, right a weight of the graph. Without a
// right side the tensor is not used. Several lines may have one tensor: it is
// the value of several weights.

#ifndef ETX_EXPORTER_READ_GGUF_GGUF_PAIRS_H
#define ETX_EXPORTER_READ_GGUF_GGUF_PAIRS_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"

typedef struct etx_gguf_name_pair {
  etx_text gguf;
  etx_text pytorch;  // empty: not used
  uint32_t line;     // 1-based
} etx_gguf_name_pair;

typedef struct etx_gguf_name_pairs {
  etx_gguf_name_pair* items;
  size_t count, capacity;
} etx_gguf_name_pairs;

// Reads the lines of `text`, which must live as long as the pairs. ETX_BAD_FILE
// with the line if one has another form.
ETX_MUST_USE etx_status etx_gguf_name_pairs_read(etx_gguf_name_pairs* pairs,
                                                 etx_pool* pool, etx_text text,
                                                 etx_diag* diag);

#endif
