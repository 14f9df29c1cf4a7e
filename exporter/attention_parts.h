// Attention in a lowered graph: what stands around the product of weights and
// values, and the operands as they lie before they were moved.
//
//   bmm(view(softmax(score chain)), values)
//
//   score chain: products of queries and keys, scaled, masked by an addition, a
//   choice or both, in any order of views that keep the last dimension

#ifndef ETX_EXPORTER_ATTENTION_PARTS_H
#define ETX_EXPORTER_ATTENTION_PARTS_H

#include "exporter/ir_rewrite.h"

// Why something that looks like attention is left as it is; NULL: it is taken.
typedef const char* etx_reason;

// What happens to the product of queries and keys.
typedef struct etx_scores {
  etx_shape shape;    // of the scores where they are masked, or as the softmax
                      // reads them
  uint32_t products;  // result of bmm or bmm_nt
  uint32_t left;      // operands of that: [N, rows, D]
  uint32_t right;     // [N, S, D], or [N, D, S]
  bool is_nt;         // the first of these
  double scale;
  uint32_t mask;       // broadcasts to `shape`; ETX_IR_NONE
  uint32_t also;       // beside a mask a second one, of float32, that is added;
                       // ETX_IR_NONE
  bool is_by_product;  // of three dimensions, where batch and heads are one
  double factor;       // of what is added: scores may be scaled behind it
  bool is_inverted;    // a bool mask that says which keys are hidden
  double hidden;       // score of a hidden key
  bool is_guarded;     // rows without a key give zeros
} etx_scores;

// Reads the chain behind `weights`, the left operand of a bmm with values.
// `*out_reason` is "" where there is no softmax at all: it is a product like
// any other.
ETX_MUST_USE bool etx_scores_read(const etx_rewrite* rewrite, uint32_t weights,
                                  etx_scores* out_scores,
                                  etx_reason* out_reason);

// A tensor whose dimensions in this order are [batch, heads, rows, elements].
typedef struct etx_ordered {
  uint32_t base;     // value of any rank
  etx_shape stored;  // how `base` is viewed: four dimensions
  size_t order[4];
  double factor;  // what its elements are multiplied with
} etx_ordered;

// Follows `value`, whose elements are those of `dims` in order, to where they
// lie before they were transposed, repeated or scaled. A dimension that was
// repeated has its size before that.
etx_ordered etx_ordered_find(const etx_rewrite* rewrite, uint32_t value,
                             const etx_dim dims[4]);

// The keys that a row sees end at a position.
typedef struct etx_position_mask {
  uint32_t last;  // int64 value [.., rows, 1] or of one element: the last key,
                  // `shift` added
  int64_t shift;
  bool is_causal;  // row i sees keys up to i; `last` is not used
  bool hides_nothing;
  double hidden;  // score or addend of other keys
} etx_position_mask;

// True if `mask` is known to be of that kind.
bool etx_position_mask_read(const etx_rewrite* rewrite, uint32_t mask,
                            bool is_inverted, etx_position_mask* out);

// The number behind a value that is one for every element.
bool etx_rewrite_value_number(const etx_rewrite* rewrite, uint32_t value,
                              double* out_number);

#endif
