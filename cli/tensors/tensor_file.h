// Tensors in .npy and .safetensors files.
//
// "x.npy" names the tensor of that file, "values.safetensors#x" the tensor x of
// a .safetensors file.

#ifndef ETX_CLI_TENSORS_TENSOR_FILE_H
#define ETX_CLI_TENSORS_TENSOR_FILE_H

#include "cli/tensors/host_tensor.h"

// True if `text` has one of these two forms.
bool etx_tensor_file_is_path(const char* text);

// True if the file name ends with .npy or .safetensors.
bool etx_tensor_file_has_known_suffix(const char* path);

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

// Writes tensors to a .safetensors file, or one tensor to a .npy file. The file
// is renamed into place when it is complete.
ETX_MUST_USE etx_status etx_tensor_file_write(const char* path,
                                              const etx_tensor_item* items,
                                              size_t count, etx_pool* pool,
                                              etx_diag* diag);

#endif
