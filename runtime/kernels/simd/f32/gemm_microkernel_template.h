// The GEMM microkernel (etx_gemm_block) for one element type and instruction
// set. All sets give the same bits.
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
//   EIGHT_TAPS(taps, sums)    optional  eight taps at a time, in the set's own
//                                       code
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

#include "runtime/kernels/simd/vector/prefetch.h"
#include "runtime/kernels/simd/vector/prefetch_stream.h"
#include "runtime/kernels/simd/vector/loop_step.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"

typedef T NAME(vector) __attribute__((vector_size(VECTOR_BYTES)));
enum {
  NAME(WIDTH) = VECTOR_BYTES / (int)sizeof(T),
  NAME(GROUP) = ETX_LANE_GROUP_BYTES / (int)sizeof(T),
  NAME(PARTS) = ETX_LANE_GROUP_BYTES / VECTOR_BYTES,  // vectors of a group
  NAME(NEAR) = 3,  // rows of weights that are found from one address
#ifdef PREFETCH_EACH_TAP
  NAME(BY_TAP) = true,
#else
  NAME(BY_TAP) = false,
#endif
};

// Asks memory for rows that will be added, which were written long ago.
static inline void NAME(ask_added)(const etx_gemm_block *b, int i, size_t row,
                                   size_t group, size_t rows, size_t vectors) {
  const size_t groups = vectors / NAME(PARTS);
  const T *added = (const T *)b->added[i] + (ptrdiff_t)row * b->added_row[i] +
                   group * NAME(GROUP);
  for (size_t r = 0; r < rows; ++r, added += b->added_row[i]) {
    for (size_t g = 0; g < groups; ++g) {
      __builtin_prefetch(added + g * NAME(GROUP));
    }
  }
}

// Asks memory for the next rows' sums, which are in no near cache if the result
// is large.
static inline __attribute__((always_inline)) void NAME(ask_sums)(
    const T *sums, ptrdiff_t sum_row, size_t rows, size_t vectors) {
#ifdef __OPTIMIZE_SIZE__  // nothing: it stands in each of many blocks
  rows = 0;
#endif
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    ETX_UNROLLED
    for (size_t v = 0; v < vectors; v += NAME(PARTS)) {
      __builtin_prefetch(sums + v * NAME(WIDTH), 1);
    }
    ETX_STEP(sums, sum_row);
  }
}

// What some rows ask for between taps: their share, once for all groups of
// lanes.
typedef struct NAME(share) {
  const char *piece;
  size_t line, lines;  // the first one of it, and those of a piece
  size_t count;        // each time
} NAME(share);

static inline NAME(share)
    NAME(share_of)(const etx_gemm_block *b, size_t row, size_t rows) {
  const size_t lines =
      (b->ahead_step + ETX_CACHE_LINE_BYTES - 1) / ETX_CACHE_LINE_BYTES;
  const size_t all = b->ahead_pieces * lines;
  const size_t first = all * row / b->rows;
  return (NAME(share)){
      .piece = b->ahead + (ptrdiff_t)(first / lines) * b->ahead_row,
      .line = first % lines,
      .lines = lines,
      .count = all * (row + rows) / b->rows - first};
}

// Asks for what is `step` bytes behind it.
static inline __attribute__((always_inline)) void NAME(ask_share)(
    const etx_gemm_block *b, const NAME(share) * share, size_t step) {
  const char *piece = share->piece + step;
  size_t line = share->line;
  for (size_t i = 0; i < share->count; ++i) {
    ETX_PREFETCH(piece + line * ETX_CACHE_LINE_BYTES, b->prefetches_to_l1);
    if (++line < share->lines) continue;
    line = 0;
    piece += b->ahead_row;
  }
}

// `rows` rows of `vectors` vectors of lanes from `row` and `group` on. Inlined
// with constants, so that the sums stay in registers.
static inline __attribute__((always_inline)) void NAME(add_block)(
    const etx_gemm_block *b, size_t row, size_t group, size_t rows,
    size_t vectors, bool is_scattered, etx_prefetch_stream **walker) {
  const T *weights = (const T *)b->weights + (ptrdiff_t)row * b->weight_row;
  const ptrdiff_t sum_row = b->sum_row;
  T *sums = (T *)b->sums + (ptrdiff_t)row * sum_row + group * NAME(GROUP);
  const ptrdiff_t panel_row = b->panel_row;
  const ptrdiff_t weight_row = b->weight_row;
  const ptrdiff_t panel_group = is_scattered ? NAME(GROUP) : b->panel_group;
  const T *panel = (const T *)b->panel + (ptrdiff_t)group * panel_group;
  const ptrdiff_t *offsets = b->offsets;
#ifdef GEMM_CLOBBER_ALL
  GEMM_CLOBBER_ALL;
#endif
  NAME(vector) own[6][8] = {{{0}}};
  if (!b->starts) {
    const T *from = sums;
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      ETX_UNROLLED
      for (size_t v = 0; v < vectors; ++v) {
        memcpy(&own[r][v], from + v * NAME(WIDTH), VECTOR_BYTES);
      }
      ETX_STEP(from, sum_row);
    }
  }
  NAME(share) share = {0};
  // Where each has work enough for it.
  const bool asks_by_tap =
      NAME(BY_TAP) && !is_scattered && vectors > 2 && rows > 2;
  etx_prefetch_stream *asked = *walker;
  const char *ask = asked->at;
  ptrdiff_t ask_step = asked->step;
  size_t turns = asked->left;
  if (!asks_by_tap && !is_scattered && group == 0 && b->ahead_pieces > 0) {
    share = NAME(share_of)(b, row, rows);
  }
  const bool prefetches_rows = !is_scattered && group == 0 &&
                               b->prefetches_rows && row + 2 * rows <= b->rows;
  const size_t step =
      share.count > 0 || prefetches_rows ? ETX_GEMM_PREFETCH_TAPS : b->taps;
  if (rows > 3 && row + 2 * rows <= b->rows) {
    NAME(ask_sums)(sums + (ptrdiff_t)rows * sum_row, sum_row, rows, vectors);
  }
  for (int i = 0; !is_scattered && i < ETX_GEMM_ADDENDS; ++i) {
    if (b->added[i] == NULL) break;
    NAME(ask_added)(b, i, row, group, rows, vectors);
  }
  const T *next = panel;
  for (size_t k = 0; k < b->taps;) {
    const size_t left = b->taps - k;
    const size_t stop = k + (left < step ? left : step);
    for (size_t r = rows; prefetches_rows && r < 2 * rows; ++r) {
      __builtin_prefetch(weights + (ptrdiff_t)r * b->weight_row + k);
    }
    if (share.count > 0) {
      NAME(ask_share)(b, &share, k / ETX_GEMM_PREFETCH_TAPS * b->ahead_step);
    }
#ifdef EIGHT_TAPS
    if (rows > 3 && vectors == 2 && k + 8 <= stop) {
      const size_t eights = (stop - k) / 8;
      EIGHT_TAPS(weights + k, b->weight_row, is_scattered ? panel : next,
                 panel_row, is_scattered ? offsets : NULL, eights, rows, own);
      next += (ptrdiff_t)(8 * eights) * panel_row;
      if (is_scattered) offsets += 8 * eights;
      k += 8 * eights;
    }
#endif
    const T *const end = weights + stop;
    for (const T *first = weights + k; first != end; ++first) {
      const T *at = next;
      if (is_scattered) {
        at = panel + *offsets++;
      } else {
        next += panel_row;
      }
      if (asks_by_tap) {
        __asm__("" : "+r"(ask_step));
        ETX_PREFETCH(ask, b->prefetches_to_l1);
        ask += ask_step;
        if (!b->prefetches_to_l1) ETX_PREFETCH_L2(ask - ETX_CACHE_LINE_BYTES);
      }
      if (asks_by_tap && --turns == 0) {
        asked = etx_prefetch_stream_next_row(asked, ask);
        ask = asked->at;
        ask_step = asked->step;
        turns = asked->left;
      }
#ifdef GEMM_CLOBBER_REST
      GEMM_CLOBBER_REST(rows * vectors + vectors + 1);
#endif
      NAME(vector) seen[8];
      ETX_UNROLLED
      for (size_t v = 0; v < vectors; ++v) {
        const size_t pair = 2 * (size_t)NAME(PARTS), of_pair = v % pair;
        if (v > 0 && of_pair == 0) ETX_STEP(at, 2 * panel_group);
        memcpy(&seen[v],
               at + (ptrdiff_t)(of_pair / NAME(PARTS)) * panel_group +
                   of_pair % NAME(PARTS) * NAME(WIDTH),
               VECTOR_BYTES);
      }
#ifdef GEMM_KEEP_LOADS_IN_PLACE  // one is read ahead of its row
      T next_weight = *first;
#else
      const T *near = first;
#endif
      ETX_UNROLLED
      for (size_t r = 0; r < rows; ++r) {
#ifdef GEMM_KEEP_LOADS_IN_PLACE
        const T weight = next_weight;
        if (r + 1 < rows) next_weight = first[(ptrdiff_t)(r + 1) * weight_row];
        GEMM_KEEP_LOADS_IN_PLACE;
#else
        if (r > 0 && r % NAME(NEAR) == 0) {
          ETX_STEP(near, NAME(NEAR) * weight_row);
        }
        const T weight = near[(ptrdiff_t)(r % NAME(NEAR)) * weight_row];
#endif
        ETX_UNROLLED
        for (size_t v = 0; v < vectors; ++v) {
          own[r][v] = STEP(weight, seen[v], own[r][v]);
        }
      }
    }
    k = stop;
  }
  if (asks_by_tap) {
    asked->at = ask;
    asked->left = turns;
    *walker = asked;
  }
  for (int i = 0; !is_scattered && i < ETX_GEMM_ADDENDS; ++i) {
    if (b->added[i] == NULL) break;
    const T *added = (const T *)b->added[i] + (ptrdiff_t)row * b->added_row[i] +
                     group * NAME(GROUP);
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      ETX_UNROLLED
      for (size_t v = 0; v < vectors; ++v) {
        NAME(vector) x;
        memcpy(&x, added + (ptrdiff_t)r * b->added_row[i] + v * NAME(WIDTH),
               VECTOR_BYTES);
        own[r][v] = x + own[r][v];
      }
    }
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    ETX_UNROLLED
    for (size_t v = 0; v < vectors; ++v) {
      memcpy(sums + v * NAME(WIDTH), &own[r][v], VECTOR_BYTES);
    }
    ETX_STEP(sums, sum_row);
  }
}

// Asks memory for a share of the weights of the rows behind `row`: those that
// come next, while some of `groups` groups are computed.
static inline void NAME(fetch_rows)(const etx_gemm_block *b, size_t row,
                                    size_t rows, size_t group, size_t some,
                                    size_t groups) {
  enum { LINE = ETX_CACHE_LINE_BYTES / (int)sizeof(T) };
  const size_t lines = b->taps / LINE + 1;
  const size_t first = lines * group / groups;
  const size_t end = lines * (group + some) / groups;
  if (row + rows > b->rows) return;
  for (size_t r = 0; r < rows; ++r) {
    const T *weights =
        (const T *)b->weights + (ptrdiff_t)(row + r) * b->weight_row;
    for (size_t i = first; i < end; ++i) __builtin_prefetch(weights + i * LINE);
  }
}

// All groups of a few rows, as many at a time as have sums enough to keep the
// processor busy: what the rows have in their taps stays in the first cache.
static inline __attribute__((always_inline)) void NAME(add_rows)(
    const etx_gemm_block *b, size_t row, size_t rows, size_t groups,
    bool is_scattered, etx_prefetch_stream **walker) {
  enum { PARTS = NAME(PARTS), VECTORS = GEMM_MIN_SUMS < 8 ? GEMM_MIN_SUMS : 8 };
  const size_t few = GEMM_MIN_SUMS / (rows * PARTS);
  const size_t fit = few < VECTORS / PARTS ? few : VECTORS / PARTS;
  const size_t most = fit > GEMM_GROUPS ? fit : GEMM_GROUPS;
  size_t group = 0;
  for (; group + most <= groups; group += most) {
    if (b->fetches) NAME(fetch_rows)(b, row + rows, rows, group, most, groups);
    NAME(add_block)(b, row, group, rows, most * PARTS, is_scattered, walker);
  }
  for (; most > 4 && group + 4 <= groups; group += 4) {
    NAME(add_block)(b, row, group, rows, 4 * PARTS, is_scattered, walker);
  }
  for (; most > 2 && group + 2 <= groups; group += 2) {
    NAME(add_block)(b, row, group, rows, 2 * PARTS, is_scattered, walker);
  }
  for (; most > 1 && group < groups; ++group) {
    NAME(add_block)(b, row, group, rows, PARTS, is_scattered, walker);
  }
}

static inline __attribute__((always_inline)) void NAME(add_all)(
    const etx_gemm_block *b, bool is_scattered) {
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
  }
  etx_prefetch_stream *walker = &ahead;
  for (size_t row = 0; row < b->rows;) {
    const size_t left = b->rows - row;
    size_t rows = left;
    // No block of one or two rows at the end if it can be helped.
    if (left > ROWS) {
      rows = left < ROWS + 3 && ROWS > 3 ? (left + 1) / 2 : ROWS;
    }
    switch (rows) {
#if ROWS > 3
      case 6:
        NAME(add_rows)(b, row, 6, groups, is_scattered, &walker);
        break;
      case 5:
        NAME(add_rows)(b, row, 5, groups, is_scattered, &walker);
        break;
      case 4:
        NAME(add_rows)(b, row, 4, groups, is_scattered, &walker);
        break;
#endif
      case 3:
        NAME(add_rows)(b, row, 3, groups, is_scattered, &walker);
        break;
      case 2:
        NAME(add_rows)(b, row, 2, groups, is_scattered, &walker);
        break;
      default:
        NAME(add_rows)(b, row, 1, groups, is_scattered, &walker);
        break;
    }
    row += rows;
  }
}

static void NAME(add_products)(const etx_gemm_block *b) {
  if (sizeof(T) == sizeof(float) && b->offsets != NULL) {
    NAME(add_all)(b, true);
  } else {
    NAME(add_all)(b, false);
  }
}
