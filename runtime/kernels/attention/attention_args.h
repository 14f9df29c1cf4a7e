// The operands of one attention (attention.h), and how far its rows see.

#ifndef ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_ARGS_H
#define ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_ARGS_H

#include "runtime/tensor.h"

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

#endif
