// Tensors in files: .npy, and tensors of a .safetensors file by name.
//
// "x.npy" is a file; "values.safetensors#x" is the tensor x of that file.

#ifndef ETX_CLI_TENSORS_TENSOR_FILE_H
#define ETX_CLI_TENSORS_TENSOR_FILE_H

#include "cli/tensors/host_tensor.h"

// True if `text` looks like one of the two forms.
bool etx_tensor_file_is_path(const char* text);

// True if tensors can be written to a file of that name.
bool etx_tensor_file_is_writable(const char* path);

// Reads the tensor that `path` names; the data is in the pool.
ETX_MUST_USE etx_status etx_tensor_file_read(const char* path, etx_pool* pool,
                                             etx_host_tensor* out_tensor,
                                             etx_diag* diag);

// The tensors of one .safetensors file, in the pool.
typedef struct etx_tensor_set {
  struct etx_tensor_item* items;  // in the order of the file
  size_t count;
} etx_tensor_set;

typedef struct etx_tensor_item {
  etx_text name;
  etx_host_tensor tensor;
} etx_tensor_item;

ETX_MUST_USE etx_status etx_tensor_set_read(const char* path, etx_pool* pool,
                                            etx_tensor_set* out_set,
                                            etx_diag* diag);

// NULL if there is none of that name.
const etx_host_tensor* etx_tensor_set_find(const etx_tensor_set* set,
                                           etx_text name);

// Writes tensors to a .npy (exactly one) or .safetensors file. The file
// appears only when it is complete.
ETX_MUST_USE etx_status etx_tensor_file_write(const char* path,
                                              const etx_tensor_item* items,
                                              size_t count, etx_pool* pool,
                                              etx_diag* diag);

#endif
