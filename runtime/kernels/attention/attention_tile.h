// Tiles of query rows, and what attention.c needs of them: the addresses of the
// rows that they read and the mask (attention_rows.c), the visible keys
// (attention_visible.c), and the weighted sums of the values
// (attention_values.c).

#ifndef ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_TILE_H
#define ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_TILE_H

#include "runtime/kernels/attention/attention_args.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/simd/vector/prefetch.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"
#include "runtime/kernels/simd/elementwise/unary_loops.h"

enum {
  ETX_ATTENTION_TILE = 96,         // most query rows of a tile
  ETX_ATTENTION_KEYS = ETX_BLOCK,  // keys of a key block
  ETX_ATTENTION_GROUP = ETX_LANE_GROUP_BYTES / sizeof(float),
};

// Dense float rows, `stride` elements apart.
typedef struct etx_attention_rows {
  const float* data;
  ptrdiff_t stride;
} etx_attention_rows;

// Rows of `bytes` bytes, `row_bytes` apart, that are prefetched because they
// are read next; count 0: none.
typedef struct etx_attention_prefetch_rows {
  const char* data;
  ptrdiff_t row_bytes;
  size_t count, bytes;
} etx_attention_prefetch_rows;

// A tile of query rows with the state of their online softmax. The tile has the
// rows [first, first + count) of one batch. If there is a single query row,
// spans_heads is true and the tile has that row of the batches
// [batch, batch + count), which are heads of one last batch dimension.
typedef struct etx_attention_tile {
  const etx_attention* attention;
  const etx_f32_microkernels* loops;
  size_t batch, first, count;
  bool spans_heads;
  etx_unary_loop tanh;
  // Of keys and values of int8 that are multiplied as integers
  // (attention_bytes.c); NULL: floats.
  const etx_attention_byte_loops* bytes;
  bool reads_halves;                        // (attention_halves.c)
  etx_attention_rows query;                 // not of bytes
  float query_factors[ETX_ATTENTION_TILE];  // of rounded queries; only of bytes
  // `count` rows of etx_attention_accumulator_width floats.
  float* accumulators;
  ptrdiff_t accumulator_stride;
  int64_t visible_end[ETX_ATTENTION_TILE];  // first key that a row does not see
  int64_t min_visible_end;                  // the smallest of all rows
  // The first key that is read, a multiple of ETX_ATTENTION_KEYS, and the end
  // of those that are read for any row.
  size_t first_key, max_keys;
  // The end of the keys that are read for a row and for the rows that share its
  // keys.
  size_t keys[ETX_ATTENTION_TILE];
  float row_max[ETX_ATTENTION_TILE];  // running maximum of the scores
  // Running sum of exp(score - row_max), as partial sums.
  float row_sum[ETX_ATTENTION_TILE][ETX_ATTENTION_GROUP];
  // Parts of the thread's workspace; NULL if nothing is converted.
  float* query_workspace;
  float* block_workspace;  // of keys, and then of values
  // NULL if the result's own rows are the accumulators.
  float* accumulator_workspace;
} etx_attention_tile;

// The batch of row `r` of a tile.
static inline size_t etx_attention_batch(const etx_attention_tile* t,
                                         size_t r) {
  return t->spans_heads ? t->batch + r : t->batch;
}

// The index, in its batch, of row `r` of a tile.
static inline size_t etx_attention_batch_row(const etx_attention_tile* t,
                                             size_t r) {
  return t->spans_heads ? t->first : t->first + r;
}

// True if rows are dense float32.
static inline bool etx_attention_is_dense(const etx_attention_view* operand) {
  return operand->dtype == ETX_DTYPE_FLOAT32 && operand->inner == 1;
}

// Floats of a row of accumulators: value_width, rounded up to whole groups.
static inline size_t etx_attention_accumulator_width(const etx_attention* a) {
  const size_t groups =
      (a->value_width + ETX_ATTENTION_GROUP - 1) / ETX_ATTENTION_GROUP;
  return groups * ETX_ATTENTION_GROUP;
}

// True if the result's rows cannot be the accumulators: they are not dense
// float32, or have no whole number of groups.
static inline bool etx_attention_needs_accumulators(const etx_attention* a) {
  return !etx_attention_is_dense(&a->out) ||
         a->value_width % ETX_ATTENTION_GROUP != 0;
}

// The head of row `r`: its index in the last batch dimension.
static inline size_t etx_attention_head(const etx_attention_tile* t, size_t r) {
  const etx_attention* a = t->attention;
  return (t->batch + r) % (size_t)a->batch[a->batch_rank - 1];
}

// The distance in elements from the tile's first row to row `r` in an operand.
static inline ptrdiff_t etx_attention_row_step(
    const etx_attention_tile* t, const etx_attention_view* operand, size_t r) {
  const etx_attention* a = t->attention;
  if (!t->spans_heads) return (ptrdiff_t)r * operand->row;
  const ptrdiff_t step = operand->batch[a->batch_rank - 1];
  if (operand->repeat == 1) return (ptrdiff_t)r * step;
  const size_t first = etx_attention_head(t, 0) / operand->repeat;
  return (ptrdiff_t)(etx_attention_head(t, r) / operand->repeat - first) * step;
}

// The number of rows, from `r` on, that read the same keys and values.
static inline size_t etx_attention_rows_with_same_keys(
    const etx_attention_tile* t, size_t r) {
  const etx_attention* a = t->attention;
  const size_t repeat = a->key.repeat;
  if (!t->spans_heads) return t->count - r;
  if (repeat == 1 || a->value.repeat != repeat) return 1;
  const size_t shared = repeat - etx_attention_head(t, r) % repeat;
  return shared < t->count - r ? shared : t->count - r;
}

// True if neither causality nor last_key hides key `key` from a row. The mask
// still may.
bool etx_attention_is_visible(const etx_attention* attention, size_t batch,
                              size_t row, size_t key);

// The offset of row `row` of a batch from the operand's data, in elements.
ptrdiff_t etx_attention_row_offset(const etx_attention* attention,
                                   const etx_attention_view* operand,
                                   size_t batch, size_t row);

// The tile's query rows: in place, or converted to the tile's workspace.
etx_attention_rows etx_attention_queries(const etx_attention_tile* tile);

// The rows [first, first + count) of one batch of an operand.
typedef struct etx_attention_row_range {
  const etx_attention_view* operand;
  size_t batch, first, count;
  size_t width;  // elements of a row
} etx_attention_row_range;

// Converts rows to float32, one behind the other: out [count, width].
void etx_attention_convert(const etx_attention* attention,
                           const etx_attention_row_range* range, float* out);

// Multiplies the scores (weights) of rows of a tile by the scales of the keys
// (values) that they belong to, if these have scales and no zero points.
void etx_attention_apply_scales(const etx_attention* attention,
                                const etx_attention_row_range* range,
                                size_t rows,
                                float (*scores)[ETX_ATTENTION_KEYS]);

// The scale of the first row of a range.
const float* etx_attention_scales_at(const etx_attention* attention,
                                     const etx_attention_row_range* range);

// The scales of a block of rows; zeros behind the last one.
void etx_attention_read_scales(const etx_attention* attention,
                               const etx_attention_row_range* range,
                               float out[ETX_ATTENTION_KEYS]);

// True if keys and values are multiplied as integers.
bool etx_attention_uses_bytes(const etx_attention* attention);

// Rounds the queries of a tile.
void etx_attention_round_queries(etx_attention_tile* tile);

// The scores of `rows` rows from row `r` on for a block of keys.
void etx_attention_score_bytes(const etx_attention_tile* tile, size_t r,
                               size_t rows, const etx_attention_row_range* keys,
                               float (*scores)[ETX_ATTENTION_KEYS]);

// Adds a block of values, multiplied by the weights of `rows` rows from row `r`
// on, to the accumulators. Overwrites the weights.
void etx_attention_add_bytes(const etx_attention_tile* tile, size_t r,
                             size_t rows, const etx_attention_row_range* values,
                             float (*weights)[ETX_ATTENTION_KEYS]);

// Prefetches part `i` of `parts` of some rows.
static inline void etx_attention_prefetch_part(
    const etx_attention_prefetch_rows* p, size_t i, size_t parts) {
  const size_t end = p->count * (i + 1) / parts;
  for (size_t row = p->count * i / parts; row < end; ++row) {
    const char* at = p->data + (ptrdiff_t)row * p->row_bytes;
    for (size_t k = 0; k < p->bytes; k += ETX_CACHE_LINE_BYTES) {
      ETX_PREFETCH_L2(at + k);
    }
  }
}

// True if a few queries read keys and values of halves as stored. The bits are
// those of expanded keys and values.
bool etx_attention_reads_halves(const etx_attention* attention);

// The scores of `rows` rows of the tile from row `r` on with a range of keys.
// Prefetches `next` meanwhile.
void etx_attention_score_halves(const etx_attention_tile* tile, size_t r,
                                size_t rows,
                                const etx_attention_row_range* keys,
                                const etx_attention_prefetch_rows* next,
                                float (*scores)[ETX_ATTENTION_KEYS]);

// Adds a range of values, times their weights, to the rows' accumulators.
void etx_attention_add_halves(const etx_attention_tile* tile, size_t r,
                              size_t rows,
                              const etx_attention_row_range* values,
                              const etx_attention_prefetch_rows* next,
                              float (*weights)[ETX_ATTENTION_KEYS]);

// Lets a GEMM call prefetch `ahead`. The call's taps must be set: they decide
// how many bytes are prefetched with each of them.
static inline void etx_attention_prefetch(
    etx_gemm_block* block, const etx_attention_prefetch_rows* ahead) {
  const size_t steps =
      (block->taps + ETX_GEMM_PREFETCH_TAPS - 1) / ETX_GEMM_PREFETCH_TAPS;
  if (ahead->count == 0 || ahead->bytes == 0 || steps == 0) return;
  block->ahead = ahead->data;
  block->ahead_row = ahead->row_bytes;
  block->ahead_pieces = ahead->count;
  block->ahead_step = (ahead->bytes + steps - 1) / steps;
}

// Sets visible_end, min_visible_end, first_key, max_keys and keys.
void etx_attention_find_visible(etx_attention_tile* tile);

// Multiplies the scores of row `r` for keys `first` to first + count by
// `scale`, adds the mask, and sets the scores of keys that the row does not see
// to masked_score.
void etx_attention_mask(const etx_attention_tile* tile, size_t r, size_t first,
                        size_t count, float scale, float* scores);

// Weights of consecutive rows of a tile and the values that they apply to.
typedef struct etx_attention_weighted_values {
  size_t first_row, rows;
  const float* weights;  // [rows, count], rows ETX_ATTENTION_KEYS apart
  etx_attention_rows values;
  size_t count;  // values
  bool starts;   // the accumulators are zero and not read
} etx_attention_weighted_values;

// accumulators[i] += sum over k of weights[i][k] * values[k], for each row i.
void etx_attention_add_values(const etx_attention_tile* tile,
                              const etx_attention_weighted_values* weighted,
                              const etx_attention_prefetch_rows* ahead);

// out [value_width] = a row of accumulators times `factor`. `out` may be
// `sums`.
void etx_attention_store_row(const etx_attention* attention, const float* sums,
                             float factor, float* out);

#endif
