// The operands and parameters of one attention (attention.h).

#ifndef ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_ARGS_H
#define ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_ARGS_H

#include "runtime/kernels/simd/int8/attention_byte_loops.h"
#include "runtime/tensor.h"

// One operand: [batch.., rows, width]. Strides are in elements.
typedef struct etx_attention_view {
  const void* data;
  etx_dtype dtype;
  ptrdiff_t batch[ETX_MAX_RANK];  // strides of the batch dimensions
  size_t repeat;  // query heads that share one head (grouped-query attention)
  ptrdiff_t row, inner;
  // For int8: one scale and one zero point for each row, both with the strides
  // below. NULL for other types. Without zero points they are zeros, and scores
  // (weights) are multiplied by the scales instead of keys (values).
  const float* scales;
  const int8_t* zero_points;
  ptrdiff_t qparam_batch[ETX_MAX_RANK];
  ptrdiff_t qparam_row;
} etx_attention_view;

typedef struct etx_attention {
  size_t batch_rank;  // the last batch dimension has the heads
  int32_t batch[ETX_MAX_RANK];
  size_t queries, keys;
  size_t width;        // elements of a row of query and key
  size_t value_width;  // elements of a row of value and out
  double scale;
  double cap;      // softcap: a scaled score x becomes cap * tanh(x / cap);
                   // 0: no softcap
  bool is_causal;  // row i sees keys 0 to first_position + i only
  int64_t first_position;
  // int64 [batch.., rows]: the last key that each row sees. data NULL: no
  // limit.
  etx_attention_view last_key;
  // The score of a key that a row does not see: -infinity, or a number so low
  // that its weight is zero beside any visible key.
  double masked_score;
  bool keeps_nan;  // a row whose scores are all -infinity gives NaN, not zeros
  etx_attention_view query, key, value;
  // Floats are added to the scores; bool is true where a key is visible. Valid
  // if has_mask.
  etx_attention_view mask;
  bool has_mask;
  etx_attention_view out;
  // The loops over rows of int8, of operators that have such rows: others do
  // not link them. NULL: such rows are converted.
  const etx_attention_byte_loops* (*bytes_of)(etx_instruction_set set);
} etx_attention;

#endif
