// Transposes matrices of bytes in registers: a case of strided_copy.h.

#ifndef ETX_RUNTIME_KERNELS_VIEWS_BYTE_TRANSPOSE_H
#define ETX_RUNTIME_KERNELS_VIEWS_BYTE_TRANSPOSE_H

#include <stdbool.h>

#include "runtime/kernels/views/copy_dim.h"

// Copies elements of one byte over two dimensions: `a`, along which the source
// is contiguous, and `b`, along which the target is. Returns false and copies
// nothing if both are too short.
bool etx_byte_transpose_copy(const etx_copy_dim* a, const etx_copy_dim* b,
                             char* to, const char* from);

#endif
