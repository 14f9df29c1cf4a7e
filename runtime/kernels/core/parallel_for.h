// Splits independent work over the threads of a call.

#ifndef ETX_RUNTIME_KERNELS_CORE_PARALLEL_FOR_H
#define ETX_RUNTIME_KERNELS_CORE_PARALLEL_FOR_H

#include "runtime/kernel.h"

// Does items `first` up to `end`.
typedef void (*etx_parallel_for_function)(const void* context, size_t first,
                                          size_t end);

// Does `count` items, each once, in shares on several threads if `work`, the
// operations of all together, is worth it. What an item gives must not depend
// on the others.
void etx_parallel_for(const etx_parallel* parallel, size_t count, double work,
                      etx_parallel_for_function run, const void* context);

// Into how many strips of rows an image of so many positions is cut, so that a
// thread sees what it wrote itself: one for each thread, unless it is small or
// low. Items are then in the order of strips.
size_t etx_parallel_for_strips(const etx_parallel* parallel, size_t rows,
                               size_t positions);

#endif
