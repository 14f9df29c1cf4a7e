// Direct convolution vectorised over output channels (etx_conv_oc). Include
// after transpose_pack_template.h and depthwise_row_template.h.
//
//   VECTOR_BYTES          required  bytes of a vector register: 16, 32 or 64
//   ETX_F32_FMA(a, b, c)  required  a * b + c, rounded once: f32_vec_template.h

#if !defined(VECTOR_BYTES) || !defined(ETX_F32_FMA)
#error "this header needs the macros of its table"
#endif

#include "runtime/kernels/simd/vector/loop_step.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/f32/conv_microkernels.h"

enum {
  CONV_OC_LANES = ETX_LANE_GROUP_BYTES / 4,  // lanes of a group
  CONV_OC_PARTS = CONV_OC_LANES / ETX_F32_LANES,
#if VECTOR_BYTES == 16 && !defined(__aarch64__)  // 16 registers
  CONV_OC_POSITIONS = 2,
#else
  CONV_OC_POSITIONS = 6,
#endif
#if VECTOR_BYTES == 64
  CONV_OC_GROUPS = 4,  // at a time
#else
  CONV_OC_GROUPS = 1,
#endif
  CONV_OC_VECTORS = CONV_OC_GROUPS * CONV_OC_PARTS,
  CONV_OC_PREFETCHED = 4,  // taps whose next weights are prefetched together
};

// What a block prefetches meanwhile: rows from `row` on, and the next weights
// of its groups from `first` up to `end`.
typedef struct conv_oc_prefetch {
  size_t row, first, end;
} conv_oc_prefetch;

// `count` positions by `groups` groups. Inlined with constants, so that the
// sums stay in registers.
static inline __attribute__((always_inline)) void conv_oc_block(
    const etx_conv_oc* s, size_t position, size_t count, size_t group,
    size_t groups, conv_oc_prefetch wanted) {
  const ptrdiff_t* const places = s->places + position;
  const float* const input = s->input + places[0];
  ptrdiff_t apart[CONV_OC_POSITIONS] = {0};
  ETX_UNROLLED
  for (size_t i = 1; i < count; ++i) apart[i] = places[i] - places[0];
  const ptrdiff_t weight_group = s->weight_group, sum_row = s->sum_row;
  const float* const weights = s->weights + (ptrdiff_t)group * weight_group;
  float* sums = s->sums + (ptrdiff_t)position * sum_row + group * CONV_OC_LANES;
  const ptrdiff_t* const offsets = s->offsets;
  const ptrdiff_t* const weight_places = s->weight_places;
  const size_t vectors = groups * CONV_OC_PARTS;
  etx_f32_vec acc[CONV_OC_POSITIONS][CONV_OC_VECTORS] = {{{0}}};
  if (!s->starts) {
    const float* from = sums;
    ETX_UNROLLED
    for (size_t i = 0; i < count; ++i, from += sum_row) {
      ETX_UNROLLED
      for (size_t v = 0; v < vectors; ++v) {
        memcpy(&acc[i][v], from + v * ETX_F32_LANES, sizeof acc[i][v]);
      }
    }
  }
  const size_t left =
      wanted.row < s->ahead_rows ? s->ahead_rows - wanted.row : 0;
  const size_t rows = left < CONV_OC_LANES ? left : CONV_OC_LANES;
  const char* ahead = s->ahead + (ptrdiff_t)wanted.row * s->ahead_row;
  const size_t taps = s->taps;
  const size_t few = wanted.first < wanted.end ? CONV_OC_PREFETCHED
                     : rows > 0                ? CONV_OC_LANES
                                               : taps;
  for (size_t k = 0; k < taps;) {
    const size_t step = taps - k < few ? taps - k : few;
    if (k % CONV_OC_LANES == 0) {
      for (size_t i = 0; i < rows; ++i) {
        __builtin_prefetch(ahead + (ptrdiff_t)i * s->ahead_row);
      }
      ahead += ETX_LANE_GROUP_BYTES;
    }
    // Prefetches in a loop of its acc, because the tap loop has no registers
    // left.
    for (size_t g = wanted.first; g < wanted.end; ++g) {
      const float* const next =
          weights + (ptrdiff_t)g * weight_group + s->weight_prefetch;
      for (size_t i = 0; i < step; ++i) {
        __builtin_prefetch(next + weight_places[k + i]);
      }
    }
    for (const size_t stop = k + step; k < stop; ++k) {
      const float* const at = input + offsets[k];
      const float* const from = weights + weight_places[k];
      etx_f32_vec weight[CONV_OC_VECTORS];
      ETX_UNROLLED
      for (size_t v = 0; v < vectors; ++v) {
        memcpy(&weight[v],
               from + (ptrdiff_t)(v / CONV_OC_PARTS) * weight_group +
                   v % CONV_OC_PARTS * ETX_F32_LANES,
               sizeof weight[v]);
        if (count > 1) ETX_F32_KEEP(weight[v]);
      }
      ETX_UNROLLED
      for (size_t i = 0; i < count; ++i) {
        const etx_f32_vec x = ETX_F32_BROADCAST(at[apart[i]]);
        ETX_UNROLLED
        for (size_t v = 0; v < vectors; ++v) {
          acc[i][v] = ETX_F32_FMA(weight[v], x, acc[i][v]);
        }
      }
    }
  }
  ETX_UNROLLED
  for (size_t i = 0; i < count; ++i, sums += sum_row) {
    ETX_UNROLLED
    for (size_t v = 0; v < vectors; ++v) {
      memcpy(sums + v * ETX_F32_LANES, &acc[i][v], sizeof acc[i][v]);
    }
  }
}

// All positions, in blocks of similar size: small blocks have too few
// accumulators to hide the latency of an FMA.
static inline __attribute__((always_inline)) void conv_oc_row(
    const etx_conv_oc* s, size_t group, size_t groups) {
  const size_t blocks =
      (s->positions + CONV_OC_POSITIONS - 1) / CONV_OC_POSITIONS;
  const size_t asked = s->weight_prefetch == 0 ? 0 : groups;
  conv_oc_prefetch wanted = {.row = group == 0 ? 0 : s->ahead_rows};
  for (size_t i = 0, at = 0; i < blocks; ++i, wanted.row += CONV_OC_LANES) {
    const size_t left = blocks - i;
    const size_t count = (s->positions - at + left - 1) / left;
    wanted.first = wanted.end;
    wanted.end = (i + 1) * asked / blocks;
    switch (count) {
#if VECTOR_BYTES > 16 || defined(__aarch64__)
      case 6:
        conv_oc_block(s, at, 6, group, groups, wanted);
        break;
      case 5:
        conv_oc_block(s, at, 5, group, groups, wanted);
        break;
      case 4:
        conv_oc_block(s, at, 4, group, groups, wanted);
        break;
      case 3:
        conv_oc_block(s, at, 3, group, groups, wanted);
        break;
#endif
      case 2:
        conv_oc_block(s, at, 2, group, groups, wanted);
        break;
      default:
        conv_oc_block(s, at, 1, group, groups, wanted);
        break;
    }
    at += count;
  }
}

//   @conv_oc  float32 | direct convolution vectorised over output channels |
//     {CONV_OC_POSITIONS} pixels x {CONV_OC_GROUPS * CONV_OC_LANES} channels
static void conv_oc(const etx_conv_oc* s) {
  size_t group = 0;
#if VECTOR_BYTES == 64
  for (; group + 4 <= s->groups; group += 4) conv_oc_row(s, group, 4);
  for (; group + 2 <= s->groups; group += 2) conv_oc_row(s, group, 2);
#endif
  for (; group < s->groups; ++group) conv_oc_row(s, group, 1);
}

// Results of one channel at up to TRANSPOSE_SIDE positions.
static inline __attribute__((always_inline)) void store_line(
    const etx_row_store* s, const etx_f32_vec* sums, const float* added,
    float* out, size_t count) {
#if VECTOR_BYTES == 64
  finish_some(s, sums, added, out, row_first((ptrdiff_t)count));
#else
  if (count == TRANSPOSE_SIDE) {
    finish_plane(s, sums, added, out);
    return;
  }
  float results[TRANSPOSE_SIDE], other[TRANSPOSE_SIDE] = {0};
  if (added != NULL) copy_row(added, other, count);
  finish_plane(s, sums, added == NULL ? NULL : other, results);
  copy_row(results, out, count);
#endif
}

// Stores a square of positions x channels; those that do not exist are skipped.
static void store_square(const etx_conv_oc_store* s, size_t at,
                         size_t channel) {
  etx_row_store one = s->store;
  const size_t left = one.count - at, others = s->channels - channel;
  const size_t count = left < TRANSPOSE_SIDE ? left : TRANSPOSE_SIDE;
  const float* const bias = s->bias + channel;
  etx_f32_vec x[TRANSPOSE_SIDE];
  transpose_in_registers(one.sums + (ptrdiff_t)at * one.sum_row + channel,
                         one.sum_row, x);
  const ptrdiff_t to = (ptrdiff_t)channel * s->out_channel + (ptrdiff_t)at;
  float* out = one.out + to;
  if (others >= TRANSPOSE_SIDE && one.added == NULL) {
    ETX_UNROLLED_16
    for (size_t c = 0; c < TRANSPOSE_SIDE; ++c) {
      one.bias = row_bias(&one, bias[c]);
      store_line(&one, &x[c], NULL, out, count);
      ETX_STEP(out, s->out_channel);
    }
    return;
  }
  const float* added = one.added == NULL ? NULL : one.added + to;
  for (size_t c = 0; c < TRANSPOSE_SIDE && c < others;
       ++c, out += s->out_channel) {
    one.bias = row_bias(&one, bias[c]);
    store_line(&one, &x[c], added, out, count);
    if (added != NULL) added += s->out_channel;
  }
}

//   @conv_oc_store  float32 | its sums transposed and stored with bias,
//     addition, clamp | {TRANSPOSE_SIDE} x {TRANSPOSE_SIDE}
static void conv_oc_store(const etx_conv_oc_store* given) {
  const etx_conv_oc_store s = *given;  // which results do not change
  for (size_t at = 0; at < s.store.count; at += TRANSPOSE_SIDE) {
    for (size_t c = 0; c < s.channels; c += TRANSPOSE_SIDE)
      store_square(&s, at, c);
  }
}
