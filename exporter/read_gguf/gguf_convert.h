// The values of a tensor of a GGUF file as a constant of a PyTorch graph.

#ifndef ETX_EXPORTER_READ_GGUF_GGUF_CONVERT_H
#define ETX_EXPORTER_READ_GGUF_GGUF_CONVERT_H

#include "exporter/ir/ir.h"
#include "exporter/read_gguf/gguf_file.h"
#include "exporter/read_gguf/gguf_names.h"

typedef struct etx_gguf_conversion {
  const etx_gguf_tensor* tensor;
  etx_gguf_change change;  // to undo; TRANSPOSE leaves vectors as they are
  uint64_t heads;          // for PAIRS: heads that the rows belong to, not 0
} etx_gguf_conversion;

// The sizes that the tensor has in PyTorch; returns their number.
uint8_t etx_gguf_convert_sizes(const etx_gguf_conversion* from,
                               int64_t out_sizes[ETX_GGUF_MOST_RANK]);

// Writes the elements to `to`, whose dtype is float32, float64, float16 or
// bfloat16 and whose sizes are those of the tensor; its data is from `pool`.
// float16 and bfloat16 are rounded to nearest even, and `*out_rounded` tells if
// that changed a number. ETX_OUT_OF_RANGE if a number is too large for the
// dtype; ETX_BAD_FILE if the rows do not fit the heads.
ETX_MUST_USE etx_status etx_gguf_convert(etx_pool* pool,
                                         const etx_gguf_conversion* from,
                                         etx_ir_constant* to, bool* out_rounded,
                                         etx_diag* diag);

#endif
