// Passes row-major tensors to methods whose inputs have another dimension
// order.
//
// The runtime accepts an input only in the dimension order of the file, for
// instance channels last. Tensors from files and from the command line are
// row-major, so they are copied into that order here, and changed inputs are
// copied back.

#ifndef ETX_CLI_RUN_DIM_ORDER_INPUT_H
#define ETX_CLI_RUN_DIM_ORDER_INPUT_H

#include "cli/tensors/host_tensor.h"
#include "runtime/method.h"

typedef struct etx_dim_order_input {
  etx_host_tensor* dense;  // the caller's tensor, row-major
  // Its elements in the method's order; the same memory if that is row-major.
  // NULL: no input is set.
  void* data;
  int32_t strides[ETX_MAX_RANK];
} etx_dim_order_input;

// Sets input `index` of the method to `dense`. `dense` and the memory from
// `pool` must stay valid as long as the input is set.
ETX_MUST_USE etx_status etx_dim_order_input_set(
    etx_method* method, size_t index, etx_host_tensor* dense, etx_pool* pool,
    etx_dim_order_input* out_input, etx_diag* diag);

// Copies what the method wrote to the input back into the dense tensor.
void etx_dim_order_input_read_back(const etx_dim_order_input* input);

#endif
