// Sums of positions that lie side by side with result channels as lanes
// (row_loops.h). Read once for each instruction set, after fused_template.h.

#include <string.h>

#include "runtime/kernels/loop_unrolled.h"
#include "runtime/kernels/row_loops.h"

enum {
  DENSE_LANES = ETX_FUSED_LANES,
  DENSE_PARTS = ETX_DENSE_CHANNELS / DENSE_LANES,  // vectors of a panel
#if VECTOR_BYTES == 64
  DENSE_POSITIONS = 12,
  DENSE_PANELS = 2,
#else
  DENSE_POSITIONS = 6,
  DENSE_PANELS = 1,
#endif
  DENSE_VECTORS = DENSE_PANELS * DENSE_PARTS,
};

// `count` positions by DENSE_PANELS panels. Inlined with a constant, so that the
// sums stay in registers. `piece` is what it asks for, and, but for eights, of each
// tap what lies where `soon` says: rows are too short for a processor to see the
// next coming.
static inline __attribute__((always_inline)) void dense_block(
    const etx_dense_spots* s, size_t position, size_t count, size_t panel,
    size_t piece, const float* soon) {
  const ptrdiff_t sum_row = s->sum_row, seen_row = s->seen_row;
  // A panel that stands alone is multiplied twice.
  const ptrdiff_t next = panel + 1 < s->panels ? s->weight_panel : 0;
  const float* weights = s->weights + (ptrdiff_t)panel * s->weight_panel;
  const float* seen = s->seen + position;
  float* sums = s->sums + (ptrdiff_t)position * sum_row +
                panel * ETX_DENSE_CHANNELS;
  etx_fused own[DENSE_POSITIONS][DENSE_VECTORS] = {{{0}}};
  if (!s->starts) {
    const float* from = sums;
    ETX_UNROLLED_16
    for (size_t i = 0; i < count; ++i, from += sum_row) {
      ETX_UNROLLED
      for (size_t v = 0; v < DENSE_VECTORS; ++v) {
        memcpy(&own[i][v], from + v * DENSE_LANES, sizeof own[i][v]);
      }
    }
  }
  const char* const ahead = s->ahead + (ptrdiff_t)piece * s->ahead_piece;
  const size_t lines = piece < s->ahead_pieces ? s->ahead_lines : 0;
  size_t k = 0;
#ifdef DENSE_EIGHTS
  // Eight by eight while lines are asked for; then all at once.
  while (count > 3 && k + 8 <= s->taps) {
    const size_t eights = k < lines ? 1 : (s->taps - k) / 8;
    for (size_t i = k; i < k + 8 && i < lines; ++i) {
      __builtin_prefetch(ahead + i * ETX_DENSE_LINE);
    }
    DENSE_EIGHTS(seen, seen_row, weights, eights, count, own);
    seen += (ptrdiff_t)(8 * eights) * seen_row;
    soon += (ptrdiff_t)(8 * eights) * seen_row;
    weights += 8 * eights * ETX_DENSE_CHANNELS;
    k += 8 * eights;
  }
#endif
  for (; k < s->taps; ++k, seen += seen_row, soon += seen_row) {
    etx_fused weight[DENSE_VECTORS];
    __builtin_prefetch(soon);
    if (k < lines) __builtin_prefetch(ahead + k * ETX_DENSE_LINE);
    ETX_UNROLLED
    for (size_t v = 0; v < DENSE_VECTORS; ++v) {
      const ptrdiff_t at = (ptrdiff_t)(v / DENSE_PARTS) * next;
      memcpy(&weight[v], weights + at + v % DENSE_PARTS * DENSE_LANES,
             sizeof weight[v]);
      ETX_FUSED_LOADED(weight[v]);
    }
    weights += ETX_DENSE_CHANNELS;
    ETX_UNROLLED_16
    for (size_t i = 0; i < count; ++i) {
      const etx_fused x = ETX_FUSED_ALL(seen[i]);
      ETX_UNROLLED
      for (size_t v = 0; v < DENSE_VECTORS; ++v) {
        own[i][v] = ETX_FUSED_ADD(weight[v], x, own[i][v]);
      }
    }
  }
  ETX_UNROLLED_16
  for (size_t i = 0; i < count; ++i, sums += sum_row) {
    ETX_UNROLLED
    for (size_t v = 0; v < DENSE_VECTORS; ++v) {
      memcpy(sums + v * DENSE_LANES, &own[i][v], sizeof own[i][v]);
    }
  }
}

// How many of the `left` positions come next.
static inline size_t dense_count(size_t left) {
#if VECTOR_BYTES >= 32
  // Blocks of as equal a size as can be: small ones have too few sums to hide
  // how long a step takes.
  const size_t blocks = (left + DENSE_POSITIONS - 1) / DENSE_POSITIONS;
  const size_t count = (left + blocks - 1) / blocks;
  return VECTOR_BYTES == 64 && count < DENSE_POSITIONS / 2 ? 1 : count;
#else
  return left >= DENSE_POSITIONS ? DENSE_POSITIONS : left >= 2 ? 2 : 1;
#endif
}

// The last of the positions that come behind `at`.
static inline const float* dense_soon(const etx_dense_spots* s, size_t at) {
  if (at == s->positions) return s->next;
  return s->seen + at + dense_count(s->positions - at) - 1;
}

static void sum_dense_spots(const etx_dense_spots* s) {
  for (size_t panel = 0; panel < s->panels; panel += DENSE_PANELS) {
    size_t piece = panel == 0 ? 0 : s->ahead_pieces;
    for (size_t at = 0, count; at < s->positions; at += count) {
      count = dense_count(s->positions - at);
      const float* const soon = dense_soon(s, at + count);
      switch (count) {
#if VECTOR_BYTES == 64
        case 12:
          dense_block(s, at, 12, panel, piece, soon);
          break;
        case 11:
          dense_block(s, at, 11, panel, piece, soon);
          break;
        case 10:
          dense_block(s, at, 10, panel, piece, soon);
          break;
        case 9:
          dense_block(s, at, 9, panel, piece, soon);
          break;
        case 8:
          dense_block(s, at, 8, panel, piece, soon);
          break;
        case 7:
          dense_block(s, at, 7, panel, piece, soon);
          break;
#else
#if VECTOR_BYTES == 32
        case 5:
          dense_block(s, at, 5, panel, piece, soon);
          break;
        case 4:
          dense_block(s, at, 4, panel, piece, soon);
          break;
        case 3:
          dense_block(s, at, 3, panel, piece, soon);
          break;
#endif
        case 2:
          dense_block(s, at, 2, panel, piece, soon);
          break;
#endif
        case 6:
          dense_block(s, at, 6, panel, piece, soon);
          break;
        default:
          dense_block(s, at, 1, panel, piece, soon);
          break;
      }
      ++piece;
    }
  }
}
