// Operators with two float operands on a few elements, where finding out what
// to do costs more than doing it.

#ifndef ETX_RUNTIME_KERNELS_BINARY_FEW_H
#define ETX_RUNTIME_KERNELS_BINARY_FEW_H

#include "runtime/kernels/binary_loops.h"

// Up to so many elements: from there on the loops of the widest registers gain
// more than the way to them costs.
enum { ETX_BINARY_FEW = 96 };

// Where prepare leaves the number of elements, in etx_call.prepared.
enum { ETX_BINARY_FEW_COUNT = 4 };

// What runs a row of binary_list.def for two float32 tensors that lie densely
// and have the result's elements each, at most ETX_BINARY_FEW, and a result
// that is the call's last argument; NULL: not that row. Same bits as the loops.
etx_kernel_function etx_binary_few_of(size_t row);

#endif
