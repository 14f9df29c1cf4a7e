#include "format/base/arena.h"

#include "format/base/assertion.h"
#include "format/base/checked_math.h"

// AddressSanitizer sees an access beyond a block of the heap, but none from one
// array of it into the next one. With ARENA_REDZONES, that many bytes behind each
// array are forbidden.
#ifdef ARENA_REDZONES
#include <sanitizer/asan_interface.h>
enum { REDZONE_BYTES = ARENA_REDZONES };
#endif

void etx_arena_init(etx_arena* arena, void* base, size_t capacity_bytes) {
  arena->base = base;
  arena->capacity_bytes = capacity_bytes;
  arena->used_bytes = 0;
  arena->peak_bytes = 0;
  arena->counting = false;
#ifdef ARENA_REDZONES
  if (base != NULL) __asan_unpoison_memory_region(base, capacity_bytes);
#endif
}

void etx_arena_init_counting(etx_arena* arena) {
  etx_arena_init(arena, NULL, SIZE_MAX);
  arena->counting = true;
}

bool etx_arena_take_ok(etx_arena* arena, size_t size_bytes, size_t alignment,
                       void** out) {
  ETX_ASSERT(etx_is_power_of_two(alignment) &&
             alignment <= ETX_ARENA_ALIGNMENT);
  size_t start = 0;
  size_t end = 0;
  *out = NULL;
  if (!etx_align_up(arena->used_bytes, alignment, &start)) return false;
  if (!etx_add_size(start, size_bytes, &end)) return false;
#ifdef ARENA_REDZONES
  if (!etx_add_size(end, REDZONE_BYTES, &end)) return false;
#endif
  if (end > arena->capacity_bytes) return false;
  arena->used_bytes = end;
  if (end > arena->peak_bytes) arena->peak_bytes = end;
  if (!arena->counting) *out = arena->base + start;
#ifdef ARENA_REDZONES
  if (*out != NULL) {
    __asan_unpoison_memory_region(*out, size_bytes);
    __asan_poison_memory_region((char*)*out + size_bytes, REDZONE_BYTES);
  }
#endif
  return true;
}

void* etx_arena_take(etx_arena* arena, size_t size_bytes, size_t alignment) {
  void* out = NULL;
  (void)etx_arena_take_ok(arena, size_bytes, alignment, &out);
  return out;
}

size_t etx_arena_mark(const etx_arena* arena) { return arena->used_bytes; }

void etx_arena_rewind(etx_arena* arena, size_t mark) {
  ETX_ASSERT(mark <= arena->used_bytes);
  arena->used_bytes = mark;
}
