// Tensors written on the command line: "3", "[1, 2, 3]", "[[1, 2], [3, 4]]".

#ifndef ETX_CLI_TENSORS_TENSOR_LITERAL_H
#define ETX_CLI_TENSORS_TENSOR_LITERAL_H

#include "cli/tensors/host_tensor.h"

// Reads `text` as a tensor of `dtype`. Rank and sizes come from the brackets; a
// number without brackets has rank 0. ETX_BAD_ARGUMENT, with the column, for
// lists of different lengths and for numbers that `dtype` cannot represent.
ETX_MUST_USE etx_status etx_tensor_literal_read(etx_text text, etx_dtype dtype,
                                                etx_pool* pool,
                                                etx_host_tensor* out_tensor,
                                                etx_diag* diag);

#endif
