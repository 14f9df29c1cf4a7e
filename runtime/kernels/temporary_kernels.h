// Kernels with temporaries: one macro for each, empty but for a function
//
//   #define ETX_TEMPORARY_<symbol> , etx_temporary_<family>
//
// that states the bytes (kernel.h: `temporary_bytes`). The comma is what the
// table of all kernels looks for: a symbol without a macro has no function.

#ifndef ETX_RUNTIME_KERNELS_TEMPORARY_KERNELS_H
#define ETX_RUNTIME_KERNELS_TEMPORARY_KERNELS_H

#include "runtime/kernel.h"

#endif
