// safetensors files: named dense tensors.
//
//   u64 n | n bytes of JSON | data
//
// For each name, the JSON has the dtype, the shape and data_offsets
// [begin, end) into the data. All offsets are checked when the file is opened.

#ifndef ETX_EXPORTER_IMPORT_SAFETENSORS_H
#define ETX_EXPORTER_IMPORT_SAFETENSORS_H

#include "exporter/ir/ir.h"
#include "exporter/host/read_json.h"
#include "format/base/sink.h"

typedef struct etx_safetensors {
  etx_text path;
  const etx_json* header;  // in the pool
  etx_bytes data;          // borrowed, or an aligned copy in the pool
} etx_safetensors;

// Opens a file's bytes in place. `bytes` must live as long as the tensors
// found in it.
ETX_MUST_USE etx_status etx_safetensors_open(etx_safetensors* file,
                                             etx_pool* pool, etx_text path,
                                             etx_bytes bytes, etx_diag* diag);

// Finds a tensor; its data points into the file.
bool etx_safetensors_find(const etx_safetensors* file, etx_text name,
                          etx_ir_constant* out_tensor);

// A "did you mean" hint for a name that the file does not have, written into
// `out`.
const char* etx_safetensors_hint(const etx_safetensors* file, etx_text name,
                                 char* out, size_t capacity);

typedef struct etx_named_tensor {
  etx_text name;
  const etx_ir_constant* tensor;
} etx_named_tensor;

// Writes tensors sorted by element size, largest first, then by name, so that
// every tensor is aligned without gaps. `tensors` is reordered. ETX_UNSUPPORTED
// if safetensors has no name for a dtype.
ETX_MUST_USE etx_status etx_safetensors_write(etx_pool* pool,
                                              etx_named_tensor* tensors,
                                              size_t count,
                                              const etx_sink* sink);

#endif
