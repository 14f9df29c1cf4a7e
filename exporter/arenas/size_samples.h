// Sizes at which the memory of a method of varying sizes is judged: some at
// which all symbols are small or large together, and, for several symbols, a
// grid of them. The upper bounds are not among them if there is one symbol.

#ifndef ETX_EXPORTER_ARENAS_SIZE_SAMPLES_H
#define ETX_EXPORTER_ARENAS_SIZE_SAMPLES_H

#include "exporter/placement/placement.h"

enum { ETX_SIZE_SAMPLES_MOST = 45 };

// How many samples a method has; 0: all its sizes are fixed, or data decide
// them.
size_t etx_size_samples_count(const etx_symbols* symbols);

// The bytes of every storage of `placement` at sample `index`, at most those at
// the upper bounds. Fails with ETX_OUT_OF_RANGE if a size is negative or too
// large there.
ETX_MUST_USE etx_status etx_size_samples_bytes(const etx_ir_method* method,
                                               const etx_placement* placement,
                                               size_t index,
                                               uint64_t* out_bytes);

#endif
