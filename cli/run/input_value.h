// What stands behind "--in NAME=": a number, a list, a file, for one input.

#ifndef ETX_CLI_RUN_INPUT_VALUE_H
#define ETX_CLI_RUN_INPUT_VALUE_H

#include "cli/tensors/host_tensor.h"
#include "cli/program/port.h"

// Reads `text` as a value of the input's kind and type. A bare number for a
// tensor of one element takes the tensor's sizes. Data is in the pool; a
// tensor value borrows `out_tensor`, which is untouched for other kinds.
ETX_MUST_USE etx_status etx_input_value_read(const etx_port* port,
                                             const char* text, etx_pool* pool,
                                             etx_host_tensor* out_tensor,
                                             etx_value* out_value,
                                             etx_diag* diag);

#endif
