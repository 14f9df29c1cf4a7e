// Attention over images with decomposed relative position biases: queries and
// keys are pixels, and the model adds one bias for the rows of two pixels and
// one for their columns to a 5-d view of the scores:
//
//   scores [N, L, S] viewed as [N, h, w, H, W]
//     + [N, h, w, H, 1] + [N, h, w, 1, W]      viewed as [N, L, S]
//
// The rule adds the biases first and views the sum as [N, L, S], so that it is
// an ordinary mask.

#include "exporter/fuse/attention/attention_pattern.h"
#include "exporter/ir/ir_edit.h"

enum { MAX_BIASES = 4 };

typedef struct image_scores {
  etx_shape dims;   // of the 5-d view
  uint32_t scores;  // before the view
  uint32_t added[MAX_BIASES];
  size_t added_count;
} image_scores;

static bool has_one_use(const etx_rewrite* rewrite, uint32_t value) {
  return value >= rewrite->value_count || rewrite->uses[value] <= 1;
}

static bool has_dims(const etx_rewrite* rewrite, uint32_t value,
                     const etx_shape* wanted) {
  const etx_shape* const own = etx_builder_shape(&rewrite->builder, value);
  return own->rank == wanted->rank && own->dtype == wanted->dtype &&
         etx_builder_same_dims(&rewrite->builder, own->dims, wanted->dims,
                               own->rank);
}

// True if `value` is a view of a batched matrix product.
static bool is_product_view(const etx_rewrite* rewrite, uint32_t value) {
  const etx_ir_node* const view = etx_rewrite_definition(rewrite, value);
  if (!etx_rewrite_is_op(view, ETX_OP_view_copy_out)) return false;
  const uint32_t source =
      etx_rewrite_skip_views(rewrite, view->args[0].as.value);
  const etx_ir_node* const product = etx_rewrite_definition(rewrite, source);
  return etx_rewrite_is_op(product, ETX_OP_bmm_out) ||
         etx_rewrite_is_op(product, ETX_OP_bmm_nt_out);
}

// The position of the operand of an addition that leads to the scores; 2 if
// there is none.
static size_t scored_operand(const etx_rewrite* rewrite, const etx_ir_node* sum,
                             const etx_shape* dims) {
  for (size_t i = 0; i < 2; ++i) {
    if (is_product_view(rewrite, sum->args[i].as.value) &&
        has_dims(rewrite, sum->args[i].as.value, dims)) {
      return i;
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    if (etx_rewrite_operand(rewrite, sum, i, ETX_OP_add_out) != NULL &&
        has_dims(rewrite, sum->args[i].as.value, dims)) {
      return i;
    }
  }
  return 2;
}

// Follows additions from `at` towards the operands to the view of the product.
static bool read_image_scores(const etx_rewrite* rewrite, uint32_t at,
                              image_scores* out) {
  *out = (image_scores){.dims = *etx_builder_shape(&rewrite->builder, at)};
  while (has_one_use(rewrite, at)) {
    const etx_ir_node* const node = etx_rewrite_definition(rewrite, at);
    if (is_product_view(rewrite, at)) {
      out->scores = node->args[0].as.value;
      return out->added_count != 0;
    }
    if (!etx_rewrite_is_op(node, ETX_OP_add_out) ||
        !etx_rewrite_is_int(&node->args[2], 1) ||
        out->added_count == MAX_BIASES) {
      return false;
    }
    const size_t scored = scored_operand(rewrite, node, &out->dims);
    if (scored == 2) return false;
    const uint32_t other = node->args[1 - scored].as.value;
    if (etx_builder_shape(&rewrite->builder, other)->dtype != out->dims.dtype) {
      return false;
    }
    out->added[out->added_count++] = other;
    at = node->args[scored].as.value;
  }
  return false;
}

// The sum of all biases with shape `flat`.
static etx_status emit_mask(etx_rewrite* rewrite, const image_scores* g,
                            const etx_shape* flat, uint32_t* out_mask) {
  etx_builder* const builder = &rewrite->builder;
  uint32_t sum = g->added[0];
  for (size_t i = 1; i < g->added_count; ++i) {
    ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, sum, g->added[i], &sum));
  }
  if (!has_dims(rewrite, sum, &g->dims)) {
    ETX_TRY(etx_build_expand(builder, sum, g->dims.dims, g->dims.rank, &sum));
  }
  return etx_build_view(builder, sum, flat->dims, flat->rank, out_mask);
}

static bool same_rows_and_keys(const etx_rewrite* rewrite, const etx_shape* a,
                               const etx_shape* b) {
  return a->rank >= 2 && b->rank >= 2 &&
         etx_builder_same_dims(&rewrite->builder, a->dims + a->rank - 2,
                               b->dims + b->rank - 2, 2);
}

etx_status etx_attention_scores_fold_image_bias(etx_rewrite* rewrite,
                                                bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_softmax_out) return ETX_OK;
  const etx_ir_node* const view =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_view_copy_out);
  if (view == NULL || !has_one_use(rewrite, node->args[0].as.value)) {
    return ETX_OK;
  }
  const etx_shape flat = *etx_builder_shape(builder, view->outputs[0]);
  image_scores g;
  uint32_t value = 0, mask = 0;
  if (!read_image_scores(rewrite, view->args[0].as.value, &g) ||
      same_rows_and_keys(rewrite, &flat, &g.dims) ||
      !same_rows_and_keys(rewrite, &flat,
                          etx_builder_shape(builder, g.scores))) {
    return ETX_OK;
  }
  ETX_TRY(emit_mask(rewrite, &g, &flat, &mask));
  ETX_TRY(etx_build_view(builder, g.scores, flat.dims, flat.rank, &value));
  ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, value, mask, &value));
  *out_done = true;
  return etx_build_softmax(builder, value, node->args[1].as.integer,
                           &builder->results[0]);
}
