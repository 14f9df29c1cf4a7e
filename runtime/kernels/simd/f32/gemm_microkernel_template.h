// The GEMM microkernel (etx_gemm_block) for one element type and instruction
// set. All sets give the same bits. A tap is one step of all sums of a register
// block: a vector of lanes, times one weight of each row.
//
//   VECTOR_BYTES              required  bytes of a vector register: 16, 32 or
//                                       64
//   T                         required  the C type of the elements
//   NAME(x)                   required  x with the suffix of the type
//   STEP(weight, x, sum)      required  sum + weight * x, for a scalar weight
//   ROWS                      required  rows of the register block, 3 or 6
//   GEMM_GROUPS               required  lane groups (64 bytes) of the register
//                                       block
//   GEMM_MIN_SUMS             required  vectors of accumulators that hide the
//                                       latency of a step
//   EIGHT_TAPS                optional  eight taps at a time, in the set's own
//                                       code: f(const etx_gemm_taps*, rows,
//                                       accumulators)
//   ADD_TILE                  optional  all taps of a block of GEMM_GROUPS lane
//                                       groups and at least four rows, in the
//                                       set's own code: f(const
//                                       etx_gemm_tile*, rows)
//   PREFETCH_EACH_TAP         optional  defined: every tap prefetches a line or
//                                       two; otherwise some taps prefetch
//                                       several
//   GEMM_KEEP_LOADS_IN_PLACE  optional  statement that stops the compiler from
//                                       loading the weights of all rows at once
//   GEMM_CLOBBER_ALL          optional  statement that clobbers all vector
//                                       registers
//   GEMM_CLOBBER_REST(used)   optional  statement that clobbers all but `used`
//                                       of them
//
// Where the accumulators fill all vector registers, general registers are
// scarce as well, and a compiler that runs out of them spills addresses into
// vector registers. The moves back use the execution ports of the FMAs, so that
// a block that begins with one waits for the whole block before it. Therefore
// addresses are derived from few registers, and a set may clobber the vector
// registers to keep the compiler out of them: all of them where a block begins
// (GEMM_CLOBBER_ALL), and the unused ones in each tap (GEMM_CLOBBER_REST).

#if !defined(VECTOR_BYTES) || !defined(T) || !defined(NAME) ||   \
    !defined(STEP) || !defined(ROWS) || !defined(GEMM_GROUPS) || \
    !defined(GEMM_MIN_SUMS)
#error "this header needs the macros of its table"
#endif

#include <stdint.h>
#include <string.h>

#include "runtime/kernels/simd/vector/prefetch_stream.h"
#include "runtime/kernels/simd/vector/loop_step.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"
#include "runtime/kernels/simd/f32/gemm_prefetch.h"

typedef T NAME(vector) __attribute__((vector_size(VECTOR_BYTES)));
enum {
  NAME(WIDTH) = VECTOR_BYTES / (int)sizeof(T),
  NAME(GROUP) = ETX_LANE_GROUP_BYTES / (int)sizeof(T),
  NAME(PARTS) = ETX_LANE_GROUP_BYTES / VECTOR_BYTES,  // vectors of a group
  NAME(NEAR) = 3,  // rows of weights that are addressed from one register
  NAME(MAX_ROWS) = 6,
  NAME(MAX_VECTORS) = 8,
#ifdef PREFETCH_EACH_TAP
  NAME(BY_TAP) = true,
#else
  NAME(BY_TAP) = false,
#endif
};

// The position of a register block: rows from `row` on, lanes from lane group
// `group` on. Its size, rows x vectors accumulators, comes as arguments that
// are constants wherever they are inlined: so all loops over them are unrolled,
// and the accumulators stay in registers.
typedef struct NAME(tile) {
  size_t row, group;
} NAME(tile);

// Distances of a tap, in elements: of the weights from row to row, of the lanes
// from group to group.
typedef struct NAME(strides) {
  ptrdiff_t weight_row, panel_group;
} NAME(strides);

// ------------------------------------------------ one block

static inline __attribute__((always_inline)) void NAME(load_sums)(
    const T* sums, ptrdiff_t sum_row, size_t rows, size_t vectors,
    NAME(vector) acc[NAME(MAX_ROWS)][NAME(MAX_VECTORS)]) {
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    ETX_UNROLLED
    for (size_t v = 0; v < vectors; ++v) {
      memcpy(&acc[r][v], sums + v * NAME(WIDTH), VECTOR_BYTES);
    }
    ETX_STEP(sums, sum_row);
  }
}

static inline __attribute__((always_inline)) void NAME(store_sums)(
    T* sums, ptrdiff_t sum_row, size_t rows, size_t vectors,
    NAME(vector) acc[NAME(MAX_ROWS)][NAME(MAX_VECTORS)]) {
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    ETX_UNROLLED
    for (size_t v = 0; v < vectors; ++v) {
      memcpy(sums + v * NAME(WIDTH), &acc[r][v], VECTOR_BYTES);
    }
    ETX_STEP(sums, sum_row);
  }
}

// The first row of addend `i` that belongs to the tile.
static inline const T* NAME(added_of)(const etx_gemm_block* b, int i,
                                      const NAME(tile) * t) {
  return (const T*)b->added[i] + (ptrdiff_t)t->row * b->added_row[i] +
         t->group * NAME(GROUP);
}

// Adds the rows `b->added` to the accumulators.
static inline __attribute__((always_inline)) void NAME(add_added)(
    const etx_gemm_block* b, const NAME(tile) * t, size_t rows, size_t vectors,
    NAME(vector) acc[NAME(MAX_ROWS)][NAME(MAX_VECTORS)]) {
  for (int i = 0; i < ETX_GEMM_ADDENDS; ++i) {
    if (b->added[i] == NULL) break;
    const T* added = NAME(added_of)(b, i, t);
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      ETX_UNROLLED
      for (size_t v = 0; v < vectors; ++v) {
        NAME(vector) x;
        memcpy(&x, added + (ptrdiff_t)r * b->added_row[i] + v * NAME(WIDTH),
               VECTOR_BYTES);
        acc[r][v] = x + acc[r][v];
      }
    }
  }
}

// Adds one tap: the weights from `weight` on, one a row, times the lanes at
// `lanes`.
static inline __attribute__((always_inline)) void NAME(add_tap)(
    const NAME(strides) * s, const T* weight, const T* lanes, size_t rows,
    size_t vectors, NAME(vector) acc[NAME(MAX_ROWS)][NAME(MAX_VECTORS)]) {
#ifdef GEMM_CLOBBER_REST
  GEMM_CLOBBER_REST(rows * vectors + vectors + 1);
#endif
  NAME(vector) x[NAME(MAX_VECTORS)];
  ETX_UNROLLED
  for (size_t v = 0; v < vectors; ++v) {
    const size_t pair = 2 * (size_t)NAME(PARTS), of_pair = v % pair;
    if (v > 0 && of_pair == 0) ETX_STEP(lanes, 2 * s->panel_group);
    memcpy(&x[v],
           lanes + (ptrdiff_t)(of_pair / NAME(PARTS)) * s->panel_group +
               of_pair % NAME(PARTS) * NAME(WIDTH),
           VECTOR_BYTES);
  }
#ifdef GEMM_KEEP_LOADS_IN_PLACE  // the next row's weight is loaded ahead
  T next_weight = *weight;
#else
  const T* near = weight;
#endif
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
#ifdef GEMM_KEEP_LOADS_IN_PLACE
    const T w = next_weight;
    if (r + 1 < rows) {
      next_weight = weight[(ptrdiff_t)(r + 1) * s->weight_row];
    }
    GEMM_KEEP_LOADS_IN_PLACE;
#else
    if (r > 0 && r % NAME(NEAR) == 0) {
      ETX_STEP(near, NAME(NEAR) * s->weight_row);
    }
    const T w = near[(ptrdiff_t)(r % NAME(NEAR)) * s->weight_row];
#endif
    ETX_UNROLLED
    for (size_t v = 0; v < vectors; ++v) {
      acc[r][v] = STEP(w, x[v], acc[r][v]);
    }
  }
}

// Prefetches the sums of the next rows, and what is added to those of these.
static inline __attribute__((always_inline)) void NAME(prefetch_outside)(
    const etx_gemm_block* b, const NAME(tile) * t, const T* sums, size_t rows,
    size_t lines, bool is_scattered) {
  if (rows > 3 && t->row + 2 * rows <= b->rows) {
    const ptrdiff_t row_bytes = b->sum_row * (ptrdiff_t)sizeof(T);
    etx_gemm_prefetch_sums(sums + (ptrdiff_t)rows * b->sum_row, row_bytes, rows,
                           lines);
  }
  for (int i = 0; !is_scattered && i < ETX_GEMM_ADDENDS; ++i) {
    if (b->added[i] == NULL) break;
    etx_gemm_prefetch_added(NAME(added_of)(b, i, t),
                            b->added_row[i] * (ptrdiff_t)sizeof(T), rows,
                            lines);
  }
}

#ifdef ADD_TILE
// True if the block has enough lanes and taps for tiles, and so many rows that
// their prefetches reach every line: each reaches one, in two taps.
static inline bool NAME(suits_tiles)(const etx_gemm_block* b) {
  enum { LEAST_ROWS = 2 * GEMM_GROUPS * NAME(MAX_ROWS) };
  return b->taps >= ETX_GEMM_TILE_TAPS &&
         b->lanes >= (size_t)GEMM_GROUPS * NAME(GROUP) &&
         (b->ahead_pieces == 0 || b->rows >= LEAST_ROWS);
}

// Adds the rows `b->added` to sums that are stored.
static inline __attribute__((always_inline)) void NAME(add_added_to_stored)(
    const etx_gemm_block* b, const NAME(tile) * t, T* sums, size_t rows,
    size_t vectors) {
  for (size_t r = 0; r < rows && b->added[0] != NULL; ++r) {
    NAME(vector) acc[NAME(MAX_ROWS)][NAME(MAX_VECTORS)];
    const NAME(tile) row = {t->row + r, t->group};
    NAME(load_sums)(sums, 0, 1, vectors, acc);
    NAME(add_added)(b, &row, 1, vectors, acc);
    NAME(store_sums)(sums, 0, 1, vectors, acc);
    sums += b->sum_row;
  }
}

// add_block in the set's own code, in parts that end where a row of the stream
// ends. The weights of the next rows are left to the hardware prefetcher.
static inline __attribute__((always_inline)) void NAME(add_tile)(
    const etx_gemm_block* b, NAME(tile) t, size_t rows,
    etx_prefetch_stream** stream) {
  const ptrdiff_t size = sizeof(T);
  T* sums = (T*)b->sums + (ptrdiff_t)t.row * b->sum_row + t.group * NAME(GROUP);
  NAME(prefetch_outside)(b, &t, sums, rows, GEMM_GROUPS, false);
  etx_gemm_tile tile = {
      .sums = sums,
      .sum_row = b->sum_row * size,
      .starts = b->starts,
      .weights = (const T*)b->weights + (ptrdiff_t)t.row * b->weight_row,
      .weight_row = b->weight_row * size,
      .panel = (const T*)b->panel + (ptrdiff_t)t.group * b->panel_group,
      .panel_row = b->panel_row * size,
      .panel_group = b->panel_group * size};
  for (size_t left = b->taps; left > 0; tile.starts = false) {
    etx_prefetch_stream* s = *stream;
    tile.turns = left / ETX_GEMM_TILE_TAPS;
    if (tile.turns > s->left) tile.turns = s->left;
    const size_t taps = tile.turns * ETX_GEMM_TILE_TAPS;
    left -= taps;
    tile.rest = left < ETX_GEMM_TILE_TAPS ? left : 0;
    left -= tile.rest;
    tile.ahead = s->at;
    tile.ahead_step = s->step / ETX_GEMM_TILE_PREFETCHES;
    ADD_TILE(&tile, rows);
    tile.weights += taps;
    tile.panel += (ptrdiff_t)taps * b->panel_row;
    s->at += s->step * (ptrdiff_t)tile.turns;
    s->left -= tile.turns;
    if (s->left == 0) *stream = etx_prefetch_stream_next_row(s, s->at);
  }
  NAME(add_added_to_stored)(b, &t, sums, rows, GEMM_GROUPS * NAME(PARTS));
}
#endif

// Computes all taps of a block: loads or clears the accumulators, adds the taps
// and the added rows, and stores the sums. It prefetches in between.
static inline __attribute__((always_inline)) void NAME(add_block)(
    const etx_gemm_block* b, NAME(tile) t, size_t rows, size_t vectors,
    bool is_scattered, etx_prefetch_stream** stream) {
  const ptrdiff_t sum_row = b->sum_row, panel_row = b->panel_row;
  const NAME(strides)
      s = {b->weight_row, is_scattered ? NAME(GROUP) : b->panel_group};
  const T* weights = (const T*)b->weights + (ptrdiff_t)t.row * b->weight_row;
  T* sums = (T*)b->sums + (ptrdiff_t)t.row * sum_row + t.group * NAME(GROUP);
  const T* panel = (const T*)b->panel + (ptrdiff_t)t.group * s.panel_group;
  const ptrdiff_t* offsets = b->offsets;
#ifdef GEMM_CLOBBER_ALL
  GEMM_CLOBBER_ALL;
#endif
  NAME(vector) acc[NAME(MAX_ROWS)][NAME(MAX_VECTORS)] = {{{0}}};
  if (!b->starts) NAME(load_sums)(sums, sum_row, rows, vectors, acc);
  const size_t lines = vectors / NAME(PARTS);
  NAME(prefetch_outside)(b, &t, sums, rows, lines, is_scattered);
  // Small blocks have too little work in a tap to hide a prefetch.
  const bool by_tap = NAME(BY_TAP) && !is_scattered && vectors > 2 && rows > 2;
  etx_prefetch_cursor cursor = etx_prefetch_cursor_of(*stream);
  const bool is_first = !is_scattered && t.group == 0;
  const bool has_next_rows = t.row + 2 * rows <= b->rows;
  etx_gemm_share share = {0};
  if (!by_tap && is_first && b->ahead_pieces > 0) {
    share = etx_gemm_share_of(b, t.row, rows);
  }
  const bool prefetches_rows = is_first && b->prefetches_rows && has_next_rows;
  const size_t step =
      share.count > 0 || prefetches_rows ? ETX_GEMM_PREFETCH_TAPS : b->taps;
  const T* next = panel;
  for (size_t k = 0; k < b->taps;) {
    const size_t left = b->taps - k;
    const size_t stop = k + (left < step ? left : step);
    for (size_t r = rows; prefetches_rows && r < 2 * rows; ++r) {
      __builtin_prefetch(weights + (ptrdiff_t)r * b->weight_row + k);
    }
    if (share.count > 0) {
      const size_t done = k / ETX_GEMM_PREFETCH_TAPS;
      etx_gemm_prefetch_share(b, &share, done * b->ahead_step);
    }
#ifdef EIGHT_TAPS
    if (rows > 3 && vectors == 2 && k + 8 <= stop) {
      const size_t eights = (stop - k) / 8;
      const etx_gemm_taps taps = {.weights = weights + k,
                                  .weight_row = b->weight_row,
                                  .panel = is_scattered ? panel : next,
                                  .panel_row = panel_row,
                                  .offsets = is_scattered ? offsets : NULL,
                                  .eights = eights};
      EIGHT_TAPS(&taps, rows, acc);
      next += (ptrdiff_t)(8 * eights) * panel_row;
      if (is_scattered) offsets += 8 * eights;
      k += 8 * eights;
    }
#endif
    const T* const end = weights + stop;
    for (const T* weight = weights + k; weight != end; ++weight) {
      const T* lanes = next;
      if (is_scattered) {
        lanes = panel + *offsets++;
      } else {
        next += panel_row;
      }
      if (by_tap) etx_prefetch_cursor_advance(&cursor, b->prefetches_to_l1);
      NAME(add_tap)(&s, weight, lanes, rows, vectors, acc);
    }
    k = stop;
  }
  if (by_tap) *stream = etx_prefetch_cursor_store(&cursor);
  if (!is_scattered) NAME(add_added)(b, &t, rows, vectors, acc);
  NAME(store_sums)(sums, sum_row, rows, vectors, acc);
}

// ------------------------------------------------ all blocks

// All lane groups of a few rows, as many groups at a time as have enough sums
// to hide the latency of a step. The weights of the rows stay in L1.
static inline __attribute__((always_inline)) void NAME(add_rows)(
    const etx_gemm_block* b, size_t row, size_t rows, size_t groups,
    bool is_scattered, etx_prefetch_stream** stream) {
  enum { PARTS = NAME(PARTS), VECTORS = GEMM_MIN_SUMS < 8 ? GEMM_MIN_SUMS : 8 };
#ifdef ETX_LOOPS_ARE_SHORT  // one block for all
  enum { few = 0 };
#else
  const size_t few = GEMM_MIN_SUMS / (rows * PARTS);
#endif
  const size_t fit = few < VECTORS / PARTS ? few : VECTORS / PARTS;
  const size_t most = fit > GEMM_GROUPS ? fit : GEMM_GROUPS;
  NAME(tile) t = {.row = row};
  for (; t.group + most <= groups; t.group += most) {
    if (b->fetches) {
      etx_gemm_prefetch_weights(b, sizeof(T), row + rows, rows,
                                (etx_gemm_part){t.group, most, groups});
    }
#ifdef ADD_TILE
    if (!is_scattered && rows > 3 && most == GEMM_GROUPS &&
        NAME(suits_tiles)(b)) {
      NAME(add_tile)(b, t, rows, stream);
      continue;
    }
#endif
    NAME(add_block)(b, t, rows, most * PARTS, is_scattered, stream);
  }
  for (; most > 4 && t.group + 4 <= groups; t.group += 4) {
    NAME(add_block)(b, t, rows, 4 * PARTS, is_scattered, stream);
  }
  for (; most > 2 && t.group + 2 <= groups; t.group += 2) {
    NAME(add_block)(b, t, rows, 2 * PARTS, is_scattered, stream);
  }
  for (; most > 1 && t.group < groups; ++t.group) {
    NAME(add_block)(b, t, rows, PARTS, is_scattered, stream);
  }
}

static inline __attribute__((always_inline)) void NAME(add_all)(
    const etx_gemm_block* b, bool is_scattered) {
  const size_t groups = (b->lanes + NAME(GROUP) - 1) / NAME(GROUP);
  etx_prefetch_stream none = etx_prefetch_stream_none(b);
  etx_prefetch_stream ahead = none;
  if (NAME(BY_TAP) && !is_scattered && b->ahead_pieces > 0) {
    const size_t bytes =
        (b->taps * b->ahead_step + ETX_GEMM_PREFETCH_TAPS - 1) /
        ETX_GEMM_PREFETCH_TAPS;
    const size_t turns = (b->rows + ROWS - 1) / ROWS * b->taps;
    ahead = etx_prefetch_stream_over(b->ahead, bytes, turns, b->ahead_pieces,
                                     b->ahead_row, &none);
#ifdef ADD_TILE
    if (NAME(suits_tiles)(b)) {
      const size_t step = (size_t)ahead.step * ETX_GEMM_TILE_TAPS;
      ahead = etx_prefetch_stream_by_step(b->ahead, bytes, step,
                                          b->ahead_pieces, b->ahead_row, &none);
    }
#endif
  }
  etx_prefetch_stream* stream = &ahead;
  for (size_t row = 0; row < b->rows;) {
    const size_t left = b->rows - row;
    size_t rows = left;
    // No block of one or two rows at the end if it can be helped.
    if (left > ROWS) {
      rows = left < ROWS + 3 && ROWS > 3 ? (left + 1) / 2 : ROWS;
    }
#ifdef ETX_LOOPS_ARE_SHORT
    NAME(add_rows)(b, row, rows, groups, is_scattered, &stream);
#else
    switch (rows) {
#if ROWS > 3
      case 6:
        NAME(add_rows)(b, row, 6, groups, is_scattered, &stream);
        break;
      case 5:
        NAME(add_rows)(b, row, 5, groups, is_scattered, &stream);
        break;
      case 4:
        NAME(add_rows)(b, row, 4, groups, is_scattered, &stream);
        break;
#endif
      case 3:
        NAME(add_rows)(b, row, 3, groups, is_scattered, &stream);
        break;
      case 2:
        NAME(add_rows)(b, row, 2, groups, is_scattered, &stream);
        break;
      default:
        NAME(add_rows)(b, row, 1, groups, is_scattered, &stream);
        break;
    }
#endif
    row += rows;
  }
}

static void NAME(add_products)(const etx_gemm_block* b) {
  const bool is_scattered = sizeof(T) == sizeof(float) && b->offsets != NULL;
#ifdef ETX_LOOPS_ARE_SHORT
  NAME(add_all)(b, is_scattered);
#else
  if (is_scattered) {
    NAME(add_all)(b, true);
  } else {
    NAME(add_all)(b, false);
  }
#endif
}
