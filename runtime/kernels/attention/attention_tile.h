// Tiles of attention: rows of queries whose scores become weights together
// (attention.c), where what they read lies (attention_rows.c), and sums of
// values (attention_values.c).

#ifndef ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_TILE_H
#define ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_TILE_H

#include "runtime/kernels/attention/attention_args.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"
#include "runtime/kernels/simd/elementwise/unary_loops.h"

enum {
  ETX_ATTENTION_TILE = 96,         // rows of a tile, at most
  ETX_ATTENTION_KEYS = ETX_BLOCK,  // keys of a block
  ETX_ATTENTION_GROUP = ETX_LANE_GROUP_BYTES / sizeof(float),
};

// Dense float rows, `stride` elements apart.
typedef struct etx_attention_rows {
  const float* data;
  ptrdiff_t stride;
} etx_attention_rows;

// Rows that are read next, which loops ask memory for meanwhile; or none.
typedef struct etx_attention_prefetch_rows {
  etx_attention_rows rows;
  size_t count, width;
} etx_attention_prefetch_rows;

// Rows of queries and what has been summed for them: rows first up to
// first + count of one batch, or, where a batch has a single one, those of
// batches batch up to batch + count, which are heads of one last batch
// dimension.
typedef struct etx_attention_tile {
  const etx_attention* attention;
  const etx_f32_microkernels* loops;
  size_t batch, first, count;
  bool has_heads;
  etx_unary_loop tanh;
  etx_attention_rows query;
  float* sums;  // count rows of groups, or of value_width where these are whole
  ptrdiff_t sums_stride;
  int64_t reach[ETX_ATTENTION_TILE];  // the first key that a row does not see
  int64_t least_reach;                // of all rows
  size_t most_keys;                   // that are read for any
  size_t keys[ETX_ATTENTION_TILE];  // that are read for it and those it shares
                                    // keys with
  float largest[ETX_ATTENTION_TILE];  // of the scores so far
  // Partial sums of their weights.
  float totals[ETX_ATTENTION_TILE][ETX_ATTENTION_GROUP];
  // Temporary pieces; NULL if nothing is converted.
  float* query_piece;
  float* key_piece;
  float* value_piece;
  float* sum_piece;  // NULL if sums are in the result's rows
} etx_attention_tile;

// The batch of row `r` of a tile.
static inline size_t etx_attention_batch(const etx_attention_tile* t,
                                         size_t r) {
  return t->has_heads ? t->batch + r : t->batch;
}

// True if rows are dense float32.
static inline bool etx_attention_is_dense(const etx_attention_side* side) {
  return side->dtype == ETX_DTYPE_FLOAT32 && side->inner == 1;
}

// Floats of a row of sums: whole groups.
static inline size_t etx_attention_sum_width(const etx_attention* a) {
  const size_t groups =
      (a->value_width + ETX_ATTENTION_GROUP - 1) / ETX_ATTENTION_GROUP;
  return groups * ETX_ATTENTION_GROUP;
}

// True if the result's rows have no room for sums.
static inline bool etx_attention_keeps_sums(const etx_attention* a) {
  return !etx_attention_is_dense(&a->out) ||
         a->value_width % ETX_ATTENTION_GROUP != 0;
}

// Where row `r` of a tile is among the last batch dimension, if that has heads.
static inline size_t etx_attention_head(const etx_attention_tile* t, size_t r) {
  const etx_attention* a = t->attention;
  return (t->batch + r) % (size_t)a->batch[a->batch_rank - 1];
}

// What is added to a place of a tile's first row for row `r`.
static inline ptrdiff_t etx_attention_step(const etx_attention_tile* t,
                                           const etx_attention_side* side,
                                           size_t r) {
  const etx_attention* a = t->attention;
  if (!t->has_heads) return (ptrdiff_t)r * side->row;
  const ptrdiff_t step = side->batch[a->batch_rank - 1];
  if (side->repeat == 1) return (ptrdiff_t)r * step;
  const size_t first = etx_attention_head(t, 0) / side->repeat;
  return (ptrdiff_t)(etx_attention_head(t, r) / side->repeat - first) * step;
}

// How many rows from `r` on meet the same keys and values.
static inline size_t etx_attention_shared(const etx_attention_tile* t,
                                          size_t r) {
  const etx_attention* a = t->attention;
  const size_t repeat = a->key.repeat;
  if (!t->has_heads) return t->count - r;
  if (repeat == 1 || a->value.repeat != repeat) return 1;
  const size_t shared = repeat - etx_attention_head(t, r) % repeat;
  return shared < t->count - r ? shared : t->count - r;
}

// True if row `row` of a batch may see key `key`: nothing but the mask can
// still hide it.
bool etx_attention_is_in_reach(const etx_attention* attention, size_t batch,
                               size_t row, size_t key);

// Where row `row` of a batch begins, in elements from the start of a side.
ptrdiff_t etx_attention_at(const etx_attention* attention,
                           const etx_attention_side* side, size_t batch,
                           size_t row);

// The query's rows, in place or through the tile's piece.
etx_attention_rows etx_attention_queries(const etx_attention_tile* tile);

// Rows `first` up to first + count of a batch, one behind the other.
void etx_attention_convert(const etx_attention* attention,
                           const etx_attention_side* side, size_t batch,
                           size_t first, size_t count, size_t width,
                           float* out);

// Lets a block whose taps are known ask for rows.
static inline void etx_attention_prefetch(
    etx_gemm_block* block, const etx_attention_prefetch_rows* ahead) {
  const size_t steps =
      (block->taps + ETX_GEMM_PREFETCH_TAPS - 1) / ETX_GEMM_PREFETCH_TAPS;
  if (ahead->count == 0 || ahead->width == 0 || steps == 0) return;
  block->ahead = (const char*)ahead->rows.data;
  block->ahead_row = ahead->rows.stride * (ptrdiff_t)sizeof(float);
  block->ahead_pieces = ahead->count;
  block->ahead_step = (ahead->width * sizeof(float) + steps - 1) / steps;
}

// Finds how far rows see. Returns how many keys are read for any of them.
size_t etx_attention_look(etx_attention_tile* tile);

// Scales the scores of row `r` of keys `first` on, and then adds the mask and
// hides what the row does not see.
void etx_attention_mask(const etx_attention_tile* tile, size_t r, size_t first,
                        size_t count, float scale, float* scores);

// Sums of `many` rows from `r` on += sum over k of weights[i][k] * value k, for
// `count` values, from zero if it `starts`. Rows of weights are
// ETX_ATTENTION_KEYS apart.
void etx_attention_add_values(const etx_attention_tile* tile, size_t r,
                              size_t many, const float* weights,
                              etx_attention_rows values, size_t count,
                              bool starts,
                              const etx_attention_prefetch_rows* ahead);

// A row of sums times `factor` as value_width floats. `out` may be `sums`.
void etx_attention_join(const etx_attention* attention, const float* sums,
                        float factor, float* out);

#endif
