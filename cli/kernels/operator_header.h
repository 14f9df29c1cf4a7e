// `etx ops --header`: the operators of a text (format/own_ops) as a C header
// for authors of kernels.

#ifndef ETX_CLI_KERNELS_OPERATOR_HEADER_H
#define ETX_CLI_KERNELS_OPERATOR_HEADER_H

#include "format/base/sink.h"
#include "format/own_ops/own_operator_list.h"

// Writes the header; `path` is the name of the text in its comments. Returns
// the status of the sink.
ETX_MUST_USE etx_status etx_operator_header_write(const etx_own_list* list,
                                                  const char* path,
                                                  const etx_sink* sink);

// Writes the row of one operator: a static object of C.
ETX_MUST_USE etx_status etx_operator_row_write(const etx_own_operator* row,
                                               const etx_sink* sink);

// Writes the prototype of the first phase of its kernel: my_scale_out_prepare.
ETX_MUST_USE etx_status etx_operator_prototype_write(const etx_op* op,
                                                     const etx_sink* sink);

// Writes the name of that object: "my_scale_out".
ETX_MUST_USE etx_status etx_operator_identifier_write(const etx_op* op,
                                                      const etx_sink* sink);

#endif
