// `etx ops --header`: the operators of a text (format/own_ops) as a C header
// for authors of kernels.

#ifndef ETX_CLI_KERNELS_OPERATOR_HEADER_H
#define ETX_CLI_KERNELS_OPERATOR_HEADER_H

#include <stdio.h>

#include "format/own_ops/own_operator_list.h"

// Prints the header; `path` is the name of the text in its comments.
void etx_operator_header_print(const etx_own_list* list, const char* path,
                               FILE* out);

#endif
