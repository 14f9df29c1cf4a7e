// A dense tensor in the memory of the command, and its text.

#ifndef ETX_CLI_TENSORS_HOST_TENSOR_H
#define ETX_CLI_TENSORS_HOST_TENSOR_H

#include <stdio.h>

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"
#include "runtime/value.h"

typedef struct etx_host_tensor {
  etx_dtype dtype;
  uint8_t rank;
  int32_t sizes[ETX_MAX_RANK];
  void* data;    // in the pool, row-major
  size_t bytes;  // of data
} etx_host_tensor;

// Allocates zeroed memory for a tensor whose dtype, rank and sizes are set.
// ETX_OUT_OF_RANGE if a size is negative or the bytes do not fit in a size_t.
ETX_MUST_USE etx_status etx_host_tensor_allocate(etx_host_tensor* tensor,
                                                 etx_pool* pool,
                                                 etx_diag* diag);

size_t etx_host_tensor_numel(const etx_host_tensor* tensor);

// The tensor in the runtime's form. It borrows `tensor`.
etx_tensor etx_host_tensor_view(const etx_host_tensor* tensor);

// Copies a tensor of the runtime with any strides into dense memory.
ETX_MUST_USE etx_status etx_host_tensor_copy(const etx_tensor* from,
                                             etx_pool* pool,
                                             etx_host_tensor* out_tensor,
                                             etx_diag* diag);

// Writes "float32[2, 3]".
void etx_host_tensor_print_type(etx_dtype dtype, size_t rank,
                                const int32_t* sizes, FILE* out);

// Prints the elements as nested lists. If there are more than `most`, only the
// first and last ones of each dimension are printed; 0 prints all.
void etx_host_tensor_print(const etx_host_tensor* tensor, size_t most,
                           FILE* out);

#endif
