// Each tile is behind a mark that states whether it is in use. A call takes the
// first tile that is free, so a thread that works alone always takes the same
// one, and so do mostly the threads of a pool.

#include "runtime/kernels/core/thread_tiles.h"

#include "format/base/checked_math.h"
#include "runtime/kernels/core/parallel_for.h"

// The mark has a cache line of its own.
typedef struct tiled_work {
  etx_tiled_function run;
  const void* context;
  char* first_mark;
  size_t threads, step;  // tiles; bytes from one mark to the next
} tiled_work;

static bool tile_step(size_t bytes, size_t* out) {
  const size_t most = SIZE_MAX - 2 * (size_t)ETX_TILE_ALIGNMENT;
  if (bytes > most) return false;
  const size_t last = ETX_TILE_ALIGNMENT - 1;
  *out = ETX_TILE_ALIGNMENT +
         (bytes + last) / ETX_TILE_ALIGNMENT * ETX_TILE_ALIGNMENT;
  return true;
}

bool etx_thread_tiles_needed(const etx_parallel* parallel, size_t bytes,
                             size_t* out_bytes) {
  size_t step = 0;
  *out_bytes = 0;
  if (bytes == 0) return true;
  return tile_step(bytes, &step) &&
         etx_multiply_size(step, parallel->thread_count, out_bytes) &&
         etx_add_size(*out_bytes, ETX_TILE_ALIGNMENT, out_bytes);
}

static uint32_t* mark_of(const tiled_work* w, size_t tile) {
  return (uint32_t*)(void*)(w->first_mark + tile * w->step);
}

// No more calls run at a time than there are threads, so a tile is free.
static size_t take_tile(const tiled_work* w) {
  size_t tile = 0;
  while (__atomic_exchange_n(mark_of(w, tile), 1u, __ATOMIC_ACQUIRE) != 0) {
    tile = tile + 1 < w->threads ? tile + 1 : 0;
  }
  return tile;
}

static void run_with_tile(const void* context, size_t first, size_t end) {
  const tiled_work* w = context;
  const size_t tile = take_tile(w);
  char* const memory = w->first_mark + tile * w->step + ETX_TILE_ALIGNMENT;
  w->run(w->context, memory, first, end);
  __atomic_store_n(mark_of(w, tile), 0u, __ATOMIC_RELEASE);
}

static void run_without_tile(const void* context, size_t first, size_t end) {
  const tiled_work* w = context;
  w->run(w->context, NULL, first, end);
}

void etx_parallel_for_tiled(const etx_parallel* parallel, size_t count,
                            double work, etx_tiled_function run,
                            const void* context,
                            const etx_thread_tiles* tiles) {
  tiled_work w = {.run = run,
                  .context = context,
                  .first_mark = tiles->memory,
                  .threads = parallel->thread_count};
  // Cannot fail: prepare has stated the bytes of all tiles.
  if (tiles->bytes == 0 || !tile_step(tiles->bytes, &w.step)) {
    etx_parallel_for(parallel, count, work, run_without_tile, &w);
    return;
  }
  w.first_mark += -(uintptr_t)tiles->memory % ETX_TILE_ALIGNMENT;
  for (size_t i = 0; i < w.threads; ++i) *mark_of(&w, i) = 0;
  etx_parallel_for(parallel, count, work, run_with_tile, &w);
}
