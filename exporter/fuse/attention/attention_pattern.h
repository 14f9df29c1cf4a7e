// The pattern of attention in a lowered graph:
//
//   bmm(view(softmax(score chain)), values)
//
// The score chain leads from the softmax to the product of queries and keys.
// Its nodes scale the scores by numbers or a tensor, cap them by tanh, and mask
// them by additions or a where(), with views between them that keep the last
// dimension.

#ifndef ETX_EXPORTER_FUSE_ATTENTION_ATTENTION_PATTERN_H
#define ETX_EXPORTER_FUSE_ATTENTION_ATTENTION_PATTERN_H

#include "exporter/rewrite/ir_rewrite.h"

// Why something that looks like attention is not fused; NULL if it is; "" if it
// is so different that the report should not mention it.
typedef const char* etx_fusion_obstacle;

// Different tensors that are added to the scores, at most.
enum { ETX_ATTENTION_MAX_ADDENDS = 4 };

// A tensor that is combined with the scores. It broadcasts to `scores`, the
// shape of the scores at that node.
typedef struct etx_score_operand {
  uint32_t value;  // ETX_IR_NONE if there is none
  etx_shape scores;
  double factor;  // an addend is multiplied with it, because scores are scaled
                  // after the addition
} etx_score_operand;

// How the scores are computed from the product of queries and keys.
typedef struct etx_attention_scores {
  etx_shape shape;  // of the scores at a node where they have rank 4; otherwise
                    // with the largest rank, or as the softmax reads them
  uint32_t products;  // result of bmm or bmm_nt
  uint32_t left;      // queries [N, rows, D]
  uint32_t right;     // keys [N, S, D] for bmm_nt, [N, D, S] for bmm
  bool is_nt;         // the product is bmm_nt
  double scale;
  etx_score_operand scaler;  // one number per row, of the type of the product
  bool is_divisor;           // scores are divided by the scaler
  etx_score_operand added[ETX_ATTENTION_MAX_ADDENDS];  // the outermost first
  size_t added_count;
  size_t
      added_after_where;  // number of biases that are added after the where()
  double cap;             // scores become cap * tanh(scores / cap); 0: none
  double minimum;         // of the sum of the addends
  etx_score_operand condition;  // bool mask of the where()
  bool is_inverted;             // true in the mask hides a key
  double hidden;                // score that the where() gives to hidden keys
  bool is_guarded;              // rows that see no key give zeros
} etx_attention_scores;

// Follows the score chain from `at`, the operand of the softmax, to the
// product. `out_scores` must hold the values of a chain without nodes.
etx_fusion_obstacle etx_attention_scores_follow(
    const etx_rewrite* rewrite, uint32_t at, etx_attention_scores* out_scores);

// A rule for softmax: biases that are added to a 5-d view of the scores of
// images become one mask of rows and keys (attention_image_bias.c).
ETX_MUST_USE etx_status
etx_attention_scores_fold_image_bias(etx_rewrite* rewrite, bool* out_done);

// The operand of nested views that keep the last dimension and of casts between
// float32, float16 and bfloat16.
uint32_t etx_rewrite_skip_views(const etx_rewrite* rewrite, uint32_t value);

// Reads softmax and score chain from `weights`, the left operand of a bmm with
// the values. If it returns false, `*out_reason` is the obstacle, "" for a
// product without softmax.
ETX_MUST_USE bool etx_attention_scores_read(const etx_rewrite* rewrite,
                                            uint32_t weights,
                                            etx_attention_scores* out_scores,
                                            etx_fusion_obstacle* out_reason);

// Sizes of one attention.
typedef struct etx_attention_sizes {
  etx_dim batch, heads, rows, keys;
  etx_dim groups;         // heads of keys and values
  etx_dim width, height;  // elements per row of keys, and of values
} etx_attention_sizes;

// True if etx_score_operand_broadcast works for this operand.
bool etx_score_operand_fits(etx_rewrite* rewrite,
                            const etx_score_operand* operand,
                            const etx_attention_sizes* sizes);

// Reshapes `value`, which broadcasts to the scores like `operand`, to a tensor
// that broadcasts to [batch, heads, rows, keys].
ETX_MUST_USE etx_status etx_score_operand_broadcast(
    etx_rewrite* rewrite, const etx_score_operand* operand,
    const etx_attention_sizes* sizes, uint32_t value, uint32_t* out_value);

// The mask arguments of the attention operator.
typedef struct etx_attention_masking {
  etx_ir_arg mask;  // bool or float tensor, or none
  etx_ir_arg last;  // int64 tensor, the last visible key of each row, or none
  double hidden;    // score of hidden keys
  bool is_causal;
} etx_attention_masking;

ETX_MUST_USE etx_status etx_attention_masking_emit(
    etx_rewrite* rewrite, const etx_attention_scores* scores,
    const etx_attention_sizes* sizes, etx_attention_masking* out);

// An operand as it is stored: permuting `stored` by `order` gives [batch,
// heads, rows, elements].
typedef struct etx_attention_operand {
  uint32_t base;     // value of any rank
  etx_shape stored;  // the 4-d view of `base`
  size_t order[4];
  double factor;  // to multiply the elements with
} etx_attention_operand;

// Finds the tensor that `value`, viewed as `dims`, is transposed, expanded or
// scaled from. A dimension that was expanded has its size before that.
etx_attention_operand etx_attention_operand_find(const etx_rewrite* rewrite,
                                                 uint32_t value,
                                                 const etx_dim dims[4]);

// A mask with which each row sees the keys up to a position.
typedef struct etx_causal_mask {
  uint32_t last;  // int64 value [.., rows, 1] or of one element; the last
                  // visible key is `last` + `shift`
  int64_t shift;
  bool is_causal;  // row i sees keys up to i; `last` is unused
  bool hides_nothing;
  double hidden;  // score, or number added to it, of hidden keys
  // bool: true where a key is visible, if other tests hide keys before the
  // position, too; otherwise ETX_IR_NONE.
  uint32_t tests;
} etx_causal_mask;

// Reads such a mask; false if `mask` is not known to be one.
bool etx_causal_mask_read(const etx_rewrite* rewrite, uint32_t mask,
                          bool is_inverted, etx_causal_mask* out);

// True for a view that only adds or removes leading dimensions of size 1.
bool etx_mask_view_keeps_rows(const etx_rewrite* rewrite,
                              const etx_ir_node* view);

// True if a times b is the size `wanted`.
bool etx_rewrite_is_product(etx_rewrite* rewrite, etx_dim a, etx_dim b,
                            etx_dim wanted);

// The element of a constant whose elements are all equal; false for other
// values.
bool etx_rewrite_value_number(const etx_rewrite* rewrite, uint32_t value,
                              double* out_number);

#endif
