// Splits independent work over the threads of a call.

#ifndef ETX_RUNTIME_KERNELS_CORE_PARALLEL_FOR_H
#define ETX_RUNTIME_KERNELS_CORE_PARALLEL_FOR_H

#include "runtime/kernel.h"

// Calls task(argument, i) once for every i below `count` with the application's
// parallel_for. A task number beyond `count` is ignored. In a build without
// NDEBUG, a task that did not run, or ran twice, is a trap: its results would be
// wrong without a word.
void etx_parallel_run_tasks(const etx_parallel* parallel,
                            void (*task)(void* argument, size_t i),
                            void* argument, size_t count);

// Does the items [first, end).
typedef void (*etx_parallel_for_function)(const void* context, size_t first,
                                          size_t end);

// Does `count` items, each once, on several threads if `work`, the number of
// operations of all items together, is large enough. Items must be independent.
void etx_parallel_for(const etx_parallel* parallel, size_t count, double work,
                      etx_parallel_for_function run, const void* context);

// The same for work that is repeated at once with the same items: a thread does
// its items in one task, and mostly gets the same ones again, which are then in
// its caches.
void etx_parallel_for_repeated(const etx_parallel* parallel, size_t count,
                               double work, etx_parallel_for_function run,
                               const void* context);

// The number of strips of rows that an image of `positions` pixels is cut into,
// so that a thread mostly reads what it wrote itself: one for each thread,
// fewer for images that are small or have few rows. Items are then to be
// ordered by strips.
size_t etx_parallel_for_strips(const etx_parallel* parallel, size_t rows,
                               size_t positions);

#endif
