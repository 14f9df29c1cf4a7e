// Kernels with temporaries: one macro for each, empty but for a function
//
//   #define ETX_TEMPORARY_<symbol> , etx_temporary_<family>
//
// that states the bytes (kernel.h: `temporary_bytes`). The comma is what the
// table of all kernels looks for: a symbol without a macro has no function.

#ifndef ETX_RUNTIME_KERNELS_TEMPORARY_KERNELS_H
#define ETX_RUNTIME_KERNELS_TEMPORARY_KERNELS_H

#include "runtime/kernel.h"

// Sums and other results of elements that an index sends to one place.
#define ETX_TEMPORARY_index_put_out , etx_temporary_index_put
#define ETX_TEMPORARY_index_put_in_place , etx_temporary_index_put
#define ETX_TEMPORARY_index_add_out , etx_temporary_index_add
#define ETX_TEMPORARY_scatter_add_out , etx_temporary_scatter_add
#define ETX_TEMPORARY_scatter_reduce_two_out , etx_temporary_scatter_reduce
etx_status etx_temporary_index_put(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_index_add(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_scatter_add(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_scatter_reduce(const etx_call* call,
                                        size_t* out_bytes);

#endif
