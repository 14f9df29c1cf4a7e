// Bump allocator over a block of memory that the caller owns.
//
//   base            used                     capacity
//   |--- taken -----|--- free ---------------|
//                   ^ a mark is a copy of `used`
//
// A counting arena (base NULL, see etx_arena_init_counting) returns no memory
// but counts exactly what a real one would need, so one function both computes
// the size of a layout and builds it.
//
// Ownership     the arena never owns its block, which must outlive it.
// Failure       `take` returns NULL when too little is free, changing nothing.
// Threads       one arena, one thread.
// Not promised  zeroed memory; freeing single allocations.

#ifndef ETX_FORMAT_BASE_ARENA_H
#define ETX_FORMAT_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Alignment of every block; enough for every scalar type.
enum { ETX_ARENA_ALIGNMENT = 16 };

// A block of memory, and how much of it was taken.
typedef struct etx_arena {
  uint8_t* base;          // first byte of the block, NULL when counting
  size_t capacity_bytes;  // size of the block, SIZE_MAX when counting
  size_t used_bytes;      // bytes taken so far, padding included
  size_t peak_bytes;      // largest used_bytes ever seen
  bool counting;          // true: returns no memory
} etx_arena;

// Starts `arena` empty over `capacity_bytes` at `base`, which must be aligned
// to ETX_ARENA_ALIGNMENT and may be NULL if the capacity is zero.
void etx_arena_init(etx_arena* arena, void* base, size_t capacity_bytes);

// Starts an arena that only counts: every `take` returns NULL, and
// `used_bytes` is what a real arena would have needed.
void etx_arena_init_counting(etx_arena* arena);

// Returns `size_bytes` at a multiple of `alignment` (a power of two, at most
// ETX_ARENA_ALIGNMENT), or NULL. Use etx_arena_take_ok to tell a counting
// arena from an exhausted one. A size of 0 gives a valid pointer.
void* etx_arena_take(etx_arena* arena, size_t size_bytes, size_t alignment);

// Takes as above and reports success; `*out` is NULL on failure and when
// counting.
bool etx_arena_take_ok(etx_arena* arena, size_t size_bytes, size_t alignment,
                       void** out);

// Takes `count` items of `item_bytes` each at ETX_ARENA_ALIGNMENT, as above.
static inline bool etx_arena_take_items(etx_arena* arena, size_t count,
                                        size_t item_bytes, void** out) {
  *out = NULL;
  return (count == 0 || item_bytes <= SIZE_MAX / count) &&
         etx_arena_take_ok(arena, count * item_bytes, ETX_ARENA_ALIGNMENT, out);
}

// Returns the current position, for `etx_arena_rewind`.
size_t etx_arena_mark(const etx_arena* arena);

// Frees everything taken since `mark`. The peak is kept.
void etx_arena_rewind(etx_arena* arena, size_t mark);

#endif
