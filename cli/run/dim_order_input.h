// Giving a method a dense tensor, whatever order of dimensions its file wants.
//
// The runtime takes an input only as the file lays it out (channels last, say)
// and rearranges nothing. What comes from files and from the command line is in
// default order, so it is rearranged here, and so is what the method writes to
// the input.

#ifndef ETX_CLI_RUN_DIM_ORDER_INPUT_H
#define ETX_CLI_RUN_DIM_ORDER_INPUT_H

#include "cli/tensors/host_tensor.h"
#include "runtime/method.h"

typedef struct etx_dim_order_input {
  etx_host_tensor* dense;  // the caller's, in default order
  // Its elements as the method has them: in the same memory if the order is
  // the default one. NULL: nothing was set.
  void* data;
  int32_t strides[ETX_MAX_RANK];
} etx_dim_order_input;

// Sets input `index` of the method to `dense`, which stays where it is as long
// as the input is set; so does the memory that is taken from `pool`.
ETX_MUST_USE etx_status etx_dim_order_input_set(
    etx_method* method, size_t index, etx_host_tensor* dense, etx_pool* pool,
    etx_dim_order_input* out_input, etx_diag* diag);

// Brings what the method wrote to the input into the dense tensor.
void etx_dim_order_input_read_back(const etx_dim_order_input* input);

#endif
