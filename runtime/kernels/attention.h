// softmax(capped(query * key^T * scale) + mask) * value, for every batch and
// head, without ever holding a row of scores: keys come in blocks, and what was
// summed for earlier blocks is rescaled when a larger score turns up.
//
// float32, halves and int8 with a scale and a zero point per row are computed
// in float32, double in double. Each row's sums depend on the row and on sizes
// alone: not on its neighbours, the instruction set or the threads. A float32
// score is summed as a product is (product.h): of up to 12 queries, if the
// width is a multiple of 16, in sixteen partial sums, else from the first
// element to the last. Keys that no row of a tile can see are not read.

#ifndef ETX_RUNTIME_KERNELS_ATTENTION_H
#define ETX_RUNTIME_KERNELS_ATTENTION_H

#include "runtime/kernel.h"

// One operand: [batch.., rows, width], strides in elements.
typedef struct etx_attention_side {
  const void* data;
  etx_dtype dtype;
  ptrdiff_t batch[ETX_MAX_RANK];  // strides of the batch dimensions
  size_t repeat;                  // heads of the query that share one of these
  ptrdiff_t row, inner;
  // Of int8: one pair for each row, in memory of one layout; NULL otherwise.
  const float* scales;
  const int8_t* zeros;
  ptrdiff_t pair_batch[ETX_MAX_RANK];
  ptrdiff_t pair_row;
} etx_attention_side;

typedef struct etx_attention {
  size_t batch_rank;  // the last batch dimension is that of the heads
  int32_t batch[ETX_MAX_RANK];
  size_t queries, keys;
  size_t width;        // elements of a row of query and key
  size_t value_width;  // elements of a row of value and out
  double scale;
  double cap;      // scaled scores x become cap tanh(x / cap); 0: they stay
  bool is_causal;  // row i sees keys up to first + i alone
  int64_t first;
  // The last key that a row sees, int64; data NULL: all. Strides as of a side.
  etx_attention_side last;
  double hidden;   // score of a key that a row does not see: -infinity, or so
                   // low that it adds nothing to a row that sees another one
  bool keeps_nan;  // a row whose scores are all -infinity gives NaN, not zeros
  etx_attention_side query, key, value;
  etx_attention_side mask;  // floats are added, bool keeps; data NULL: none
  bool has_mask;
  etx_attention_side out;
} etx_attention;

// Temporary bytes for so many threads; false if they do not fit in a size.
bool etx_attention_bytes(const etx_attention* attention, size_t threads,
                         size_t* out_bytes);

// Computes all of it. `temporary` has the bytes stated above, 16-aligned.
void etx_attention_run(const etx_attention* attention, void* temporary,
                       const etx_parallel* parallel);

// True if row `row` of a batch may see key `key`: nothing but the mask can
// still hide it.
bool etx_attention_is_in_reach(const etx_attention* attention, size_t batch,
                               size_t row, size_t key);

// A row of double attention; `sums` has room for value_width numbers.
// Positions are of batches as etx_attention_at counts them.
void etx_attention_row_f64(const etx_attention* attention, size_t batch,
                           size_t row, double* sums);

// Where row `row` of a batch begins, in elements from the start of a side.
ptrdiff_t etx_attention_at(const etx_attention* attention,
                           const etx_attention_side* side, size_t batch,
                           size_t row);

#endif
