// The text after "--in NAME=" as a value: a number, a nested list or a file.

#ifndef ETX_CLI_RUN_INPUT_VALUE_H
#define ETX_CLI_RUN_INPUT_VALUE_H

#include "cli/tensors/host_tensor.h"
#include "cli/program/port.h"

// Reads `text` as a value of the input's kind and dtype. A number without
// brackets for a tensor of one element gets the tensor's rank. Data is in the
// pool. A tensor value borrows `out_tensor`, which other kinds do not change.
ETX_MUST_USE etx_status etx_input_value_read(const etx_port* port,
                                             const char* text, etx_pool* pool,
                                             etx_host_tensor* out_tensor,
                                             etx_value* out_value,
                                             etx_diag* diag);

#endif
