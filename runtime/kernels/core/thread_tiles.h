// Tiles: memory that a thread uses while it does its items, such as a block of
// packed weights. They are in the temporary memory of the call, one for each
// thread, because a thread's stack may be small.

#ifndef ETX_RUNTIME_KERNELS_CORE_THREAD_TILES_H
#define ETX_RUNTIME_KERNELS_CORE_THREAD_TILES_H

#include "runtime/kernel.h"

// Tiles begin at a multiple of so many bytes.
enum { ETX_TILE_ALIGNMENT = 64 };

// The tiles of a loop.
typedef struct etx_thread_tiles {
  void* memory;  // etx_thread_tiles_needed bytes, of any alignment
  size_t bytes;  // bytes of a tile
} etx_thread_tiles;

// Does the items [first, end) with a tile, whose content is undefined.
typedef void (*etx_tiled_function)(const void* context, void* tile,
                                   size_t first, size_t end);

// States the bytes of memory for tiles of `bytes` for all threads; 0 if `bytes`
// is 0. Returns false if the number is too large.
bool etx_thread_tiles_needed(const etx_parallel* parallel, size_t bytes,
                             size_t* out_bytes);

// Does what etx_parallel_for does, and gives each call of `run` a tile that no
// other call uses at the same time.
void etx_parallel_for_tiled(const etx_parallel* parallel, size_t count,
                            double work, etx_tiled_function run,
                            const void* context, const etx_thread_tiles* tiles);

#endif
