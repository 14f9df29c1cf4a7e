// Bytes whose rows become columns, in registers: a step of strided_copy.h.

#ifndef ETX_RUNTIME_KERNELS_VIEWS_BYTE_TRANSPOSE_H
#define ETX_RUNTIME_KERNELS_VIEWS_BYTE_TRANSPOSE_H

#include <stdbool.h>

#include "runtime/kernels/views/copy_dim.h"

// Copies the elements of two dimensions, of one byte each: `a`, along which the
// source is dense, and `b`, along which the target is. False, and nothing is
// done, where both are too short.
bool etx_byte_transpose_copy(const etx_copy_dim* a, const etx_copy_dim* b,
                             char* to, const char* from);

#endif
