// How many bytes of each storage one call of a method reads and writes: the
// reason to place it in a fast memory.
//
// Each instruction counts as if it read its arguments and wrote its results
// once, at the upper bounds of all sizes. What a loop repeats counts 16 times
// for each loop around it, since the number of iterations may be unknown.

#ifndef ETX_EXPORTER_ARENAS_MEMORY_TRAFFIC_H
#define ETX_EXPORTER_ARENAS_MEMORY_TRAFFIC_H

#include "exporter/placement/placement.h"

// One number for each storage of `placement`, of any kind; sums stop at 2^50.
// The array lives in `pool`.
ETX_MUST_USE etx_status etx_memory_traffic_find(etx_pool* pool,
                                                const etx_ir_method* method,
                                                const etx_placement* placement,
                                                uint64_t** out_traffic);

#endif
