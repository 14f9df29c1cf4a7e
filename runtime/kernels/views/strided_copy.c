// After simplification, the innermost dimension of the target selects the loop:
//
//   element size other than 1, 2, 4, 8, 16             rows of short copies
//   source stride 0                                    a fill
//   source stride -1                                   a reversed row
//   source contiguous along another dimension          tiles, see below
//   else                                               one element at a time
//
// A tile is a square of the two dimensions along which source and target are
// contiguous. Whole cache lines are read into it and written from it. Without
// tiles, strides that are powers of two would evict cache lines from L1 that
// have been used only in part.
//
// Code for size without vector registers, as for a microcontroller, has one
// loop for rows of all strides, and no tiles.

#include "runtime/kernels/views/strided_copy.h"

#include <string.h>

#include "runtime/kernels/views/byte_transpose.h"
#include "runtime/kernels/core/dtype_switch.h"
#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/core/short_copy.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"

#ifdef ETX_LOOPS_ARE_SHORT
enum { HAS_LOOPS_BY_STRIDE = 0 };
#else
enum { HAS_LOOPS_BY_STRIDE = 1 };
#endif

// ---- simplifying ----

// Adds `dim` to the last dimension if that continues it on both sides.
static bool merge_dim(etx_copy_dim* last, const etx_copy_dim* dim) {
  if (last->to != dim->to * dim->size || last->from != dim->from * dim->size) {
    return false;
  }
  *last = (etx_copy_dim){last->size * dim->size, dim->to, dim->from};
  return true;
}

// Drops dimensions of size 1, merges neighbours and sorts the others, outermost
// of the target first. Most are sorted already. False if there is no element.
static bool sort_dims(etx_copy* copy, bool* out_were_sorted) {
  size_t kept = 0;
  *out_were_sorted = true;
  for (size_t i = 0; i < copy->rank; ++i) {
    const etx_copy_dim dim = copy->dims[i];
    if (dim.size == 0) return false;
    if (dim.size == 1) continue;
    if (kept > 0 && merge_dim(&copy->dims[kept - 1], &dim)) continue;
    size_t at = kept++;
    for (; at > 0 && copy->dims[at - 1].to < dim.to; --at) {
      copy->dims[at] = copy->dims[at - 1];
      *out_were_sorted = false;
    }
    copy->dims[at] = dim;
  }
  copy->rank = kept;
  return true;
}

// Merges neighbours of sorted dimensions.
static void merge_dims(etx_copy* copy) {
  size_t kept = 0;
  for (size_t i = 0; i < copy->rank; ++i) {
    const etx_copy_dim dim = copy->dims[i];
    if (kept > 0 && merge_dim(&copy->dims[kept - 1], &dim)) continue;
    copy->dims[kept++] = dim;
  }
  copy->rank = kept;
}

// A dimension that is contiguous on both sides becomes part of the element.
static void widen_element(etx_copy* copy) {
  if (copy->rank == 0) return;
  const etx_copy_dim* last = &copy->dims[copy->rank - 1];
  const ptrdiff_t bytes = (ptrdiff_t)copy->bytes;
  if (last->to != bytes || last->from != bytes) return;
  copy->bytes *= (size_t)last->size;
  --copy->rank;
}

// ---- rows ----

static bool is_one_byte(const char* element, size_t bytes) {
  return memcmp(element, element + 1, bytes - 1) == 0;
}

// Writes lines of as many copies of an element as fit, from registers.
static void repeat_line(char* to, const char* from, size_t bytes,
                        size_t total) {
  enum { LINE = 64 };
  char line[LINE];
  for (size_t at = 0; at < LINE; at += bytes) memcpy(line + at, from, bytes);
  size_t done = 0;
  if (bytes <= 8) {
    uint64_t eight;
    memcpy(&eight, line, sizeof eight);
    done = total / 8 * 8;
    etx_float_loops_best()->spread(to, eight, total / 8);
  }
  for (; done + LINE <= total; done += LINE) memcpy(to + done, line, LINE);
  memcpy(to + done, line, total - done);
}

// Writes one element many times, contiguously. For sizes that are not those of
// tensor elements, copies what was written before, doubling its size.
static void repeat_element(char* to, const char* from, size_t bytes,
                           size_t count) {
  enum { PIECE = 4096 };
  const size_t total = bytes * count;
  size_t done = bytes;
  if (is_one_byte(from, bytes)) {
    memset(to, from[0], total);
    return;
  }
  if (etx_is_element_size(bytes)) {
    repeat_line(to, from, bytes, total);
    return;
  }
  memcpy(to, from, bytes);
  while (done < total) {
    size_t piece = done < PIECE ? done : PIECE / bytes * bytes;
    if (piece == 0) piece = bytes;
    if (piece > total - done) piece = total - done;
    memcpy(to + done, to, piece);
    done += piece;
  }
}

static void copy_elements(size_t bytes, const etx_copy_dim* dim, char* to,
                          const char* from) {
  for (ptrdiff_t i = 0; i < dim->size; ++i) {
    etx_copy_short(to, from, bytes);
    to += dim->to;
    from += dim->from;
  }
}

static void copy_loop(size_t bytes, const etx_copy_dim* dim, char* to,
                      const char* from) {
  const ptrdiff_t count = dim->size;
  ETX_SWITCH_BYTES(bytes, T, {
    const ptrdiff_t size = (ptrdiff_t)sizeof(T);
    T one;
    if (HAS_LOOPS_BY_STRIDE && dim->to == size && dim->from == 0) {
      memcpy(&one, from, sizeof one);
      for (ptrdiff_t i = 0; i < count; ++i) {
        memcpy(to + i * size, &one, sizeof one);
      }
    } else if (HAS_LOOPS_BY_STRIDE && dim->to == size && dim->from == -size) {
      for (ptrdiff_t i = 0; i < count; ++i) {
        memcpy(&one, from - i * size, sizeof one);
        memcpy(to + i * size, &one, sizeof one);
      }
    } else {
      // Four reads on their way at once: none waits for a write.
      const ptrdiff_t a = dim->to, b = dim->from;
      ptrdiff_t i = 0;
      for (; HAS_LOOPS_BY_STRIDE && i + 4 <= count;
           i += 4, to += 4 * a, from += 4 * b) {
        T held[4];
        for (ptrdiff_t k = 0; k < 4; ++k) {
          memcpy(&held[k], from + k * b, sizeof one);
        }
        for (ptrdiff_t k = 0; k < 4; ++k) {
          memcpy(to + k * a, &held[k], sizeof one);
        }
      }
      for (; i < count; ++i, to += a, from += b) {
        memcpy(&one, from, sizeof one);
        memcpy(to, &one, sizeof one);
      }
    }
  })
}

// Fills of at least this many bytes use memcpy, memset and the loop of the
// widest instruction set, whose stores are wider than those of the baseline.
enum { LONG_FILL = 512 };

static bool is_long_fill(size_t element, const etx_copy_dim* dim) {
  const ptrdiff_t bytes = (ptrdiff_t)element;
  if (dim->from != 0 || dim->to != bytes) return false;
  return !etx_is_element_size(element) || dim->size * bytes >= LONG_FILL;
}

static void copy_row(size_t bytes, const etx_copy_dim* dim, char* to,
                     const char* from) {
  if (is_long_fill(bytes, dim)) {
    repeat_element(to, from, bytes, (size_t)dim->size);
  } else if (etx_is_element_size(bytes)) {
    copy_loop(bytes, dim, to, from);
  } else {
    copy_elements(bytes, dim, to, from);
  }
}

void etx_fill_dense(char* to, const char* element, size_t bytes, size_t count) {
  const etx_copy_dim dim = {(ptrdiff_t)count, (ptrdiff_t)bytes, 0};
  copy_row(bytes, &dim, to, element);
}

// ---- tiles ----

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }

enum { TILE_BYTES = 64 };

// Copies a square of the dimensions `a`, along which the source is contiguous,
// and `b`, along which the target is.
#define COPY_TILE(T, side_a, side_b)                                      \
  for (size_t j = 0; j < (side_b); ++j) {                                 \
    memcpy(tile[j], from + (ptrdiff_t)j * b->from, (side_a) * sizeof(T)); \
  }                                                                       \
  for (size_t i = 0; i < (side_a); ++i) {                                 \
    T line[TILE_BYTES / sizeof(T)];                                       \
    for (size_t j = 0; j < (side_b); ++j) line[j] = tile[j][i];           \
    memcpy(to + (ptrdiff_t)i * a->to, line, (side_b) * sizeof(T));        \
  }

static void copy_tile(size_t bytes, const etx_copy_dim* a,
                      const etx_copy_dim* b, char* to, const char* from) {
  const ptrdiff_t side = (ptrdiff_t)(TILE_BYTES / bytes);
  const size_t count_a = (size_t)least(a->size, side);
  const size_t count_b = (size_t)least(b->size, side);
  ETX_SWITCH_BYTES(bytes, T, {
    enum { SIDE = TILE_BYTES / sizeof(T) };
    T tile[SIDE][SIDE];
    if (count_a == SIDE && count_b == SIDE) {
      COPY_TILE(T, SIDE, SIDE)
    } else {
      COPY_TILE(T, count_a, count_b)
    }
  })
}

// Where one side of the square is so short that tiles would be mostly empty,
// long rows are copied in pieces of LONG_PIECE elements.
enum { SHORT_SIDE = 8, LONG_PIECE = 1024 };

// Copies rows along `row`, one for each element of the short dimension `side`.
static void copy_long_rows(size_t bytes, const etx_copy_dim* side,
                           const etx_copy_dim* row, char* to,
                           const char* from) {
  for (ptrdiff_t i = 0; i < row->size; i += LONG_PIECE) {
    const ptrdiff_t left = row->size - i;
    etx_copy_dim piece = *row;
    piece.size = left < LONG_PIECE ? left : LONG_PIECE;
    for (ptrdiff_t k = 0; k < side->size; ++k) {
      copy_loop(bytes, &piece, to + i * row->to + k * side->to,
                from + i * row->from + k * side->from);
    }
  }
}

// A square of so few bytes stays in L1 in any order of copying.
enum { SMALL_SQUARE_BYTES = 2048 };

static void copy_small(size_t bytes, const etx_copy_dim* a,
                       const etx_copy_dim* b, char* to, const char* from) {
  ETX_SWITCH_BYTES(bytes, T, {
    for (ptrdiff_t i = 0; i < a->size; ++i) {
      char* row = to + i * a->to;
      const char* column = from + i * a->from;
      for (ptrdiff_t j = 0; j < b->size; ++j) {
        T one;
        memcpy(&one, column + j * b->from, sizeof one);
        memcpy(row + j * (ptrdiff_t)sizeof one, &one, sizeof one);
      }
    }
  })
}

// Tiles of a block in each direction.
enum { TILES = 8 };

static void copy_any_tile(const etx_float_loops* loops, size_t bytes,
                          const etx_copy_dim* a, const etx_copy_dim* b,
                          char* to, const char* from) {
  const ptrdiff_t side = (ptrdiff_t)(TILE_BYTES / bytes);
  if (bytes == 4 && a->size >= side && b->size >= side) {
    loops->transpose_16x16(to, a->to, from, b->from);
    return;
  }
  copy_tile(bytes, a, b, to, from);
}

// Copies tiles, innermost along the side with the smaller distance of rows, so
// that the larger distance is crossed less often.
static void copy_block(size_t bytes, const etx_copy_dim* a,
                       const etx_copy_dim* b, char* to, const char* from) {
  const ptrdiff_t side = (ptrdiff_t)(TILE_BYTES / bytes);
  const bool a_is_inner = b->from > a->to;
  const etx_copy_dim *outer = a_is_inner ? b : a, *inner = a_is_inner ? a : b;
  const etx_float_loops* const loops = etx_float_loops_best();
  for (ptrdiff_t i = 0; i < outer->size; i += side) {
    for (ptrdiff_t j = 0; j < inner->size; j += side) {
      etx_copy_dim left_a = *a, left_b = *b;
      left_a.size -= a_is_inner ? j : i;
      left_b.size -= a_is_inner ? i : j;
      copy_any_tile(loops, bytes, &left_a, &left_b,
                    to + i * outer->to + j * inner->to,
                    from + i * outer->from + j * inner->from);
    }
  }
}

static void copy_tiles(size_t bytes, const etx_copy_dim* a,
                       const etx_copy_dim* b, char* to, const char* from) {
  const ptrdiff_t side = TILES * (ptrdiff_t)(TILE_BYTES / bytes);
  if (bytes == 1 && etx_byte_transpose_copy(a, b, to, from)) return;
  if (a->size * b->size * (ptrdiff_t)bytes <= SMALL_SQUARE_BYTES) {
    copy_small(bytes, a, b, to, from);
    return;
  }
  if (a->size < SHORT_SIDE || b->size < SHORT_SIDE) {
    const bool a_is_short = a->size < b->size;
    copy_long_rows(bytes, a_is_short ? a : b, a_is_short ? b : a, to, from);
    return;
  }
  for (ptrdiff_t j = 0; j < b->size; j += side) {
    for (ptrdiff_t i = 0; i < a->size; i += side) {
      etx_copy_dim some_a = *a, some_b = *b;
      some_a.size = least(a->size - i, side);
      some_b.size = least(b->size - j, side);
      copy_block(bytes, &some_a, &some_b, to + i * a->to + j * b->to,
                 from + i * a->from + j * b->from);
    }
  }
}

// The dimension along which the source is contiguous, if the target is
// contiguous along the innermost dimension; else the innermost dimension.
static size_t find_dense_dim(const etx_copy* copy) {
  const ptrdiff_t bytes = (ptrdiff_t)copy->bytes;
  const size_t last = copy->rank - 1;
  const etx_copy_dim* row = &copy->dims[last];
  if (!etx_is_element_size(copy->bytes) || row->to != bytes || row->from == 0) {
    return last;
  }
  for (size_t i = last; i-- > 0;) {
    if (copy->dims[i].from == bytes) return i;
  }
  return last;
}

// ---- the loop nest ----

bool etx_copy_simplify(etx_copy* copy) {
  bool were_sorted = true;
  if (!sort_dims(copy, &were_sorted)) return false;
  if (!were_sorted) merge_dims(copy);
  widen_element(copy);
  return true;
}

// Copies rows of the innermost dimension, one for each element of `a`.
static void copy_rows(const etx_copy* copy, const etx_copy_dim* a, char* to,
                      const char* from) {
  const etx_copy_dim* b = &copy->dims[copy->rank - 1];
  const ptrdiff_t bytes = (ptrdiff_t)copy->bytes;
  const bool is_plain =
      etx_is_element_size(copy->bytes) &&
      !(b->to == bytes && (b->from == 0 || b->from == -bytes));
  if (!is_plain) {
    for (ptrdiff_t i = 0; i < a->size; ++i) {
      copy_row(copy->bytes, b, to, from);
      to += a->to;
      from += a->from;
    }
    return;
  }
  ETX_SWITCH_BYTES(copy->bytes, T, {
    for (ptrdiff_t i = 0; i < a->size; ++i, to += a->to, from += a->from) {
      for (ptrdiff_t j = 0; j < b->size; ++j) {
        T one;
        memcpy(&one, from + j * b->from, sizeof one);
        memcpy(to + j * b->to, &one, sizeof one);
      }
    }
  })
}

// Copies the two innermost dimensions together, or as tiles the innermost and
// the one along which the source is contiguous; iterates over the others.
static void copy_nest(const etx_copy* copy, size_t dense, char* to,
                      const char* from) {
  const size_t last = copy->rank - 1;
  const bool is_tiled = HAS_LOOPS_BY_STRIDE && dense != last;
  const size_t other = is_tiled ? dense : last - 1;
  ptrdiff_t position[ETX_COPY_RANK];
  for (size_t i = 0; i < last; ++i) position[i] = 0;
  for (;;) {
    if (is_tiled) {
      copy_tiles(copy->bytes, &copy->dims[dense], &copy->dims[last], to, from);
    } else {
      copy_rows(copy, &copy->dims[other], to, from);
    }
    size_t i = last;
    for (; i > 0; --i) {
      const etx_copy_dim* dim = &copy->dims[i - 1];
      if (i - 1 == other) continue;
      if (++position[i - 1] < dim->size) break;
      position[i - 1] = 0;
      to -= dim->to * (dim->size - 1);
      from -= dim->from * (dim->size - 1);
    }
    if (i == 0) return;
    to += copy->dims[i - 1].to;
    from += copy->dims[i - 1].from;
  }
}

void etx_copy_run(const etx_copy* copy, char* to, const char* from) {
  if (copy->rank == 0) {
    etx_copy_short(to, from, copy->bytes);
  } else if (copy->rank == 1) {
    copy_row(copy->bytes, copy->dims, to, from);
  } else {
    copy_nest(copy, find_dense_dim(copy), to, from);
  }
}

void etx_copy_strided(etx_copy* copy, char* to, const char* from) {
  if (etx_copy_simplify(copy)) etx_copy_run(copy, to, from);
}
