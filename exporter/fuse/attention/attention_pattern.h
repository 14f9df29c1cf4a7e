// Attention in a lowered graph: what stands around the product of weights and
// values, and the operands as they lie before they were moved.
//
//   bmm(view(softmax(score chain)), values)
//
//   score chain: products of queries and keys, scaled by numbers or a tensor,
//   masked by additions, a choice or both, in any order of views that keep the
//   last dimension

#ifndef ETX_EXPORTER_FUSE_ATTENTION_ATTENTION_PATTERN_H
#define ETX_EXPORTER_FUSE_ATTENTION_ATTENTION_PATTERN_H

#include "exporter/rewrite/ir_rewrite.h"

// Why something that looks like attention is left as it is; NULL: it is taken.
typedef const char* etx_fusion_obstacle;

// Additions that a chain has at most.
enum { ETX_ATTENTION_MAX_ADDENDS = 4 };

// A tensor that is combined with scores; `scores` is their shape there, to
// which it broadcasts.
typedef struct etx_score_operand {
  uint32_t value;  // ETX_IR_NONE
  etx_shape scores;
  double factor;  // of what is added: scores may be scaled behind it
} etx_score_operand;

// What happens to the product of queries and keys.
typedef struct etx_attention_scores {
  etx_shape shape;    // of the scores where they have four dimensions; else
                      // where they have most, or as the softmax reads them
  uint32_t products;  // result of bmm or bmm_nt
  uint32_t left;      // operands of that: [N, rows, D]
  uint32_t right;     // [N, S, D], or [N, D, S]
  bool is_nt;         // the first of these
  double scale;
  etx_score_operand scaler;  // of one number a row; float of the products' type
  bool is_divisor;           // what is scaled by it is divided
  etx_score_operand added[ETX_ATTENTION_MAX_ADDENDS];
  size_t added_count;
  size_t behind_choice;      // the first of these: to hidden keys too
  double cap;                // of scaled scores, before masks; 0: none
  double least;              // of the sum of what is added
  etx_score_operand choice;  // bool
  bool is_inverted;          // it says which keys are hidden
  double hidden;             // score of a hidden key
  bool is_guarded;           // rows without a key give zeros
} etx_attention_scores;

// Follows the chain from `at`, as the softmax reads them, to the product;
// `out_scores` is preset.
etx_fusion_obstacle etx_attention_scores_follow(
    const etx_rewrite* rewrite, uint32_t at,
    etx_attention_scores* out_scores);

// A rule for softmax: what is added to scores under dimensions of images
// becomes one mask of rows and keys.
ETX_MUST_USE etx_status
etx_attention_scores_fold_image_bias(etx_rewrite* rewrite, bool* out_done);

// Moves on over views that keep the last dimension, and casts between types
// that are computed in float32.
uint32_t etx_rewrite_skip_views(const etx_rewrite* rewrite, uint32_t value);

// Reads the chain behind `weights`, the left operand of a bmm with values.
// `*out_reason` is "" where there is no softmax at all: it is a product like
// any other.
ETX_MUST_USE bool etx_attention_scores_read(const etx_rewrite* rewrite,
                                            uint32_t weights,
                                            etx_attention_scores* out_scores,
                                            etx_fusion_obstacle* out_reason);

// Sizes of one attention.
typedef struct etx_attention_sizes {
  etx_dim batch, heads, rows, keys;
  etx_dim groups;         // heads of key and value
  etx_dim width, height;  // elements of a row of key, and of value
} etx_attention_sizes;

// True if `beside` can be laid as below.
bool etx_score_operand_fits(etx_rewrite* rewrite,
                            const etx_score_operand* beside,
                            const etx_attention_sizes* sizes);

// `value`, which broadcasts to scores where `beside` does, as a tensor that
// broadcasts to [batch, heads, rows, keys].
ETX_MUST_USE etx_status etx_score_operand_broadcast(
    etx_rewrite* rewrite, const etx_score_operand* beside,
    const etx_attention_sizes* sizes, uint32_t value, uint32_t* out_value);

// What masks the scores, as operands of one operator.
typedef struct etx_attention_masking {
  etx_ir_arg mask, last;
  double hidden;
  bool is_causal;
} etx_attention_masking;

ETX_MUST_USE etx_status etx_attention_masking_emit(
    etx_rewrite* rewrite, const etx_attention_scores* scores,
    const etx_attention_sizes* sizes, etx_attention_masking* out);

// A tensor whose dimensions in this order are [batch, heads, rows, elements].
typedef struct etx_attention_operand {
  uint32_t base;     // value of any rank
  etx_shape stored;  // how `base` is viewed: four dimensions
  size_t order[4];
  double factor;  // what its elements are multiplied with
} etx_attention_operand;

// Follows `value`, whose elements are those of `dims` in order, to where they
// lie before they were transposed, repeated or scaled. A dimension that was
// repeated has its size before that.
etx_attention_operand etx_attention_operand_find(const etx_rewrite* rewrite,
                                                 uint32_t value,
                                                 const etx_dim dims[4]);

// The keys that a row sees end at a position.
typedef struct etx_causal_mask {
  uint32_t last;  // int64 value [.., rows, 1] or of one element: the last key,
                  // `shift` added
  int64_t shift;
  bool is_causal;  // row i sees keys up to i; `last` is not used
  bool hides_nothing;
  double hidden;  // score or addend of other keys
} etx_causal_mask;

// True if `mask` is known to be of that kind.
bool etx_causal_mask_read(const etx_rewrite* rewrite, uint32_t mask,
                          bool is_inverted, etx_causal_mask* out);

// True if a times b is the size `wanted`.
bool etx_rewrite_is_product(etx_rewrite* rewrite, etx_dim a, etx_dim b,
                            etx_dim wanted);

// The number behind a value that is one for every element.
bool etx_rewrite_value_number(const etx_rewrite* rewrite, uint32_t value,
                              double* out_number);

#endif
