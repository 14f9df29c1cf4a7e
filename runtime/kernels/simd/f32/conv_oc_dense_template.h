// Direct convolution vectorised over output channels, for positions that are
// neighbours in memory (etx_conv_oc_dense). Include after f32_vec_template.h.
//
//   VECTOR_BYTES                      required
//       bytes of a vector register: 16, 32 or 64
//   ETX_F32_FMA(a, b, c)              required
//       a * b + c, rounded once: f32_vec_template.h
//   CONV_OC_DENSE_EIGHTS  optional
//       eight taps at a time, in the set's own code

#if !defined(VECTOR_BYTES) || !defined(ETX_F32_FMA)
#error "this header needs the macros of its table"
#endif

#include <string.h>

#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/f32/conv_microkernels.h"

enum {
  CONV_OC_DENSE_LANES = ETX_F32_LANES,
  CONV_OC_DENSE_PARTS =
      ETX_CONV_OC_CHANNELS / CONV_OC_DENSE_LANES,  // vectors of a panel
#if VECTOR_BYTES == 64
  CONV_OC_DENSE_POSITIONS = 12,
  CONV_OC_DENSE_PANELS = 2,
#else
  CONV_OC_DENSE_POSITIONS = 6,
  CONV_OC_DENSE_PANELS = 1,
#endif
  CONV_OC_DENSE_VECTORS = CONV_OC_DENSE_PANELS * CONV_OC_DENSE_PARTS,
};

// Computes `count` positions by CONV_OC_DENSE_PANELS panels. Inlined with a
// constant, so that the sums stay in registers. It prefetches `piece` and,
// except in blocks of eight taps, for each tap the line at `prefetched`: rows
// are too short for the hardware prefetcher.
static inline __attribute__((always_inline)) void conv_oc_dense_block(
    const etx_conv_oc_dense* s, size_t position, size_t count, size_t panel,
    size_t piece, const float* prefetched) {
  const ptrdiff_t sum_row = s->sum_row, input_row = s->input_row;
  // A single last panel is multiplied twice; the second result is discarded.
  const ptrdiff_t next = panel + 1 < s->panels ? s->weight_panel : 0;
  const float* weights = s->weights + (ptrdiff_t)panel * s->weight_panel;
  const float* input = s->input + position;
  float* sums =
      s->sums + (ptrdiff_t)position * sum_row + panel * ETX_CONV_OC_CHANNELS;
  etx_f32_vec acc[CONV_OC_DENSE_POSITIONS][CONV_OC_DENSE_VECTORS] = {{{0}}};
  if (!s->starts) {
    const float* from = sums;
    ETX_UNROLLED_16
    for (size_t i = 0; i < count; ++i, from += sum_row) {
      ETX_UNROLLED
      for (size_t v = 0; v < CONV_OC_DENSE_VECTORS; ++v) {
        memcpy(&acc[i][v], from + v * CONV_OC_DENSE_LANES, sizeof acc[i][v]);
      }
    }
  }
  const char* const ahead = s->ahead + (ptrdiff_t)piece * s->ahead_piece;
  const size_t lines = piece < s->ahead_pieces ? s->ahead_lines : 0;
  size_t k = 0;
#ifdef CONV_OC_DENSE_EIGHTS
  // Eight taps at a time while there are lines to prefetch; then all at once.
  while (count > 3 && k + 8 <= s->taps) {
    const size_t eights = k < lines ? 1 : (s->taps - k) / 8;
    for (size_t i = k; i < k + 8 && i < lines; ++i) {
      __builtin_prefetch(ahead + i * ETX_CONV_OC_LINE);
    }
    CONV_OC_DENSE_EIGHTS(input, input_row, weights, eights, count, acc);
    input += (ptrdiff_t)(8 * eights) * input_row;
    prefetched += (ptrdiff_t)(8 * eights) * input_row;
    weights += 8 * eights * ETX_CONV_OC_CHANNELS;
    k += 8 * eights;
  }
#endif
  for (; k < s->taps; ++k, input += input_row, prefetched += input_row) {
    etx_f32_vec weight[CONV_OC_DENSE_VECTORS];
    __builtin_prefetch(prefetched);
    if (k < lines) __builtin_prefetch(ahead + k * ETX_CONV_OC_LINE);
    ETX_UNROLLED
    for (size_t v = 0; v < CONV_OC_DENSE_VECTORS; ++v) {
      const ptrdiff_t at = (ptrdiff_t)(v / CONV_OC_DENSE_PARTS) * next;
      memcpy(&weight[v],
             weights + at + v % CONV_OC_DENSE_PARTS * CONV_OC_DENSE_LANES,
             sizeof weight[v]);
      ETX_F32_KEEP(weight[v]);
    }
    weights += ETX_CONV_OC_CHANNELS;
    ETX_UNROLLED_16
    for (size_t i = 0; i < count; ++i) {
      const etx_f32_vec x = ETX_F32_BROADCAST(input[i]);
      ETX_UNROLLED
      for (size_t v = 0; v < CONV_OC_DENSE_VECTORS; ++v) {
        acc[i][v] = ETX_F32_FMA(weight[v], x, acc[i][v]);
      }
    }
  }
  ETX_UNROLLED_16
  for (size_t i = 0; i < count; ++i, sums += sum_row) {
    ETX_UNROLLED
    for (size_t v = 0; v < CONV_OC_DENSE_VECTORS; ++v) {
      memcpy(sums + v * CONV_OC_DENSE_LANES, &acc[i][v], sizeof acc[i][v]);
    }
  }
}

// The sizes of the blocks of a call: the first `longer` ones have one position
// more than the others, so that none has too few sums to hide the latency of an
// FMA. They are computed once, because a division takes as long as some taps.
typedef struct conv_oc_dense_blocks {
  size_t size, longer;
} conv_oc_dense_blocks;

static inline conv_oc_dense_blocks conv_oc_dense_blocks_of(size_t positions) {
#if VECTOR_BYTES >= 32
  const size_t count =
      (positions + CONV_OC_DENSE_POSITIONS - 1) / CONV_OC_DENSE_POSITIONS;
  if (count == 0) return (conv_oc_dense_blocks){1, 0};
  const conv_oc_dense_blocks b = {positions / count, positions % count};
  const bool is_short =
      VECTOR_BYTES == 64 && b.size < CONV_OC_DENSE_POSITIONS / 2;
  return is_short ? (conv_oc_dense_blocks){1, 0} : b;
#else
  (void)positions;
  return (conv_oc_dense_blocks){CONV_OC_DENSE_POSITIONS, 0};
#endif
}

// The size of block `i`, where `left` positions are left.
static inline size_t conv_oc_dense_count(const conv_oc_dense_blocks* b,
                                         size_t i, size_t left) {
  const size_t count = b->size + (i < b->longer ? 1 : 0);
  return left >= count ? count : left >= 2 ? 2 : 1;
}

// The last position of block `i`, which begins at `at`, to prefetch it.
static inline const float* conv_oc_dense_prefetch(const etx_conv_oc_dense* s,
                                                  const conv_oc_dense_blocks* b,
                                                  size_t i, size_t at) {
  if (at == s->positions) return s->next;
  return s->input + at + conv_oc_dense_count(b, i, s->positions - at) - 1;
}

//   @conv_oc_dense  float32 | direct convolution vectorised over output
//     channels, neighbouring pixels; Winograd products |
//     {CONV_OC_DENSE_POSITIONS} pixels x {CONV_OC_DENSE_PANELS *
//     ETX_CONV_OC_CHANNELS} channels
static void conv_oc_dense(const etx_conv_oc_dense* s) {
  const conv_oc_dense_blocks blocks = conv_oc_dense_blocks_of(s->positions);
  for (size_t panel = 0; panel < s->panels; panel += CONV_OC_DENSE_PANELS) {
    size_t piece = panel == 0 ? 0 : s->ahead_pieces;
    for (size_t i = 0, at = 0, count; at < s->positions; at += count, ++i) {
      count = conv_oc_dense_count(&blocks, i, s->positions - at);
      const float* const prefetched =
          conv_oc_dense_prefetch(s, &blocks, i + 1, at + count);
      switch (count) {
#if VECTOR_BYTES == 64
        case 12:
          conv_oc_dense_block(s, at, 12, panel, piece, prefetched);
          break;
        case 11:
          conv_oc_dense_block(s, at, 11, panel, piece, prefetched);
          break;
        case 10:
          conv_oc_dense_block(s, at, 10, panel, piece, prefetched);
          break;
        case 9:
          conv_oc_dense_block(s, at, 9, panel, piece, prefetched);
          break;
        case 8:
          conv_oc_dense_block(s, at, 8, panel, piece, prefetched);
          break;
        case 7:
          conv_oc_dense_block(s, at, 7, panel, piece, prefetched);
          break;
#else
#if VECTOR_BYTES == 32
        case 5:
          conv_oc_dense_block(s, at, 5, panel, piece, prefetched);
          break;
        case 4:
          conv_oc_dense_block(s, at, 4, panel, piece, prefetched);
          break;
        case 3:
          conv_oc_dense_block(s, at, 3, panel, piece, prefetched);
          break;
#endif
        case 2:
          conv_oc_dense_block(s, at, 2, panel, piece, prefetched);
          break;
#endif
        case 6:
          conv_oc_dense_block(s, at, 6, panel, piece, prefetched);
          break;
        default:
          conv_oc_dense_block(s, at, 1, panel, piece, prefetched);
          break;
      }
      ++piece;
    }
  }
}
