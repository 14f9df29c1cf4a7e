// Reshapes masks, biases and scalers to the dimensions [batch, heads, rows,
// keys] of the attention operator. Models add them to scores that are viewed in
// another way: with batch and heads as one dimension, or the batch as several,
// of which the mask broadcasts only some.
//
//   model                                          operator
//   scores [N W, H, L, S] + bias [H, L, S]         [H, L, S]
//   scores [N, W, H, L, S] + mask [W, 1, L, S]     [N W, 1, L, S]

#include "exporter/fuse/attention/attention_pattern.h"
#include "exporter/ir/ir_edit.h"

bool etx_rewrite_is_product(etx_rewrite* rewrite, etx_dim a, etx_dim b,
                            etx_dim wanted) {
  etx_symbols* const symbols = &rewrite->builder.method->symbols;
  etx_dim product = 0;
  return etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, a, b, &product) ==
             ETX_OK &&
         etx_symbols_equal(symbols, product, wanted);
}

// Number of dimensions before rows and keys.
static size_t leading_dims(const etx_shape* shape) {
  return shape->rank < 2 ? 0 : shape->rank - 2u;
}

// How many of the leading dimensions of the scores are the batch; the others
// are the heads. If no split gives both sizes but their product fits, all
// leading dimensions count as batch.
static bool find_split(etx_rewrite* rewrite, const etx_shape* scores,
                       const etx_attention_sizes* z, size_t* out_split) {
  const size_t lead = leading_dims(scores);
  etx_dim batch = 1, heads = 1;
  for (size_t split = 0; split <= lead; ++split) {
    if (etx_builder_product(&rewrite->builder, scores->dims, 0, split,
                            &batch) != ETX_OK ||
        etx_builder_product(&rewrite->builder, scores->dims, split, lead,
                            &heads) != ETX_OK) {
      return false;
    }
    *out_split = split;
    if (etx_builder_same_dims(&rewrite->builder, &batch, &z->batch, 1) &&
        etx_builder_same_dims(&rewrite->builder, &heads, &z->heads, 1)) {
      return true;
    }
  }
  return etx_rewrite_is_product(rewrite, z->batch, z->heads, batch);
}

// The tensor's shape with leading sizes of 1, up to the rank of the scores.
static etx_shape padded(const etx_shape* shape, const etx_shape* scores) {
  etx_shape out = *scores;
  const size_t added = scores->rank - shape->rank;
  for (size_t i = 0; i < scores->rank; ++i) {
    out.dims[i] = i < added ? 1 : shape->dims[i - added];
  }
  return out;
}

static bool all_are_one(const etx_dim* dims, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (dims[i] != 1) return false;
  }
  return true;
}

bool etx_score_operand_fits(etx_rewrite* rewrite, const etx_score_operand* b,
                            const etx_attention_sizes* z) {
  if (b->value == ETX_IR_NONE) return true;
  const etx_shape* const own = etx_builder_shape(&rewrite->builder, b->value);
  const size_t rank = b->scores.rank;
  size_t split = 0;
  if (own->rank > rank || rank < 2) return own->rank <= rank;
  const etx_dim* const rows = &b->scores.dims[rank - 2];
  const bool has_rows =
      own->rank < 2 || own->dims[own->rank - 2] == 1 ||
      etx_builder_same_dims(&rewrite->builder, rows, &z->rows, 1);
  return has_rows && find_split(rewrite, &b->scores, z, &split);
}

// If a tensor broadcasts in some of dimensions [first, end) but not in all,
// expands it in all of them.
static void expand_partial(const etx_rewrite* rewrite, const etx_shape* scores,
                           size_t first, size_t end, etx_shape* own,
                           bool* expands) {
  etx_dim* const dims = own->dims + first;
  const etx_dim* const all = scores->dims + first;
  const size_t count = end - first;
  if (all_are_one(dims, count) ||
      etx_builder_same_dims(&rewrite->builder, dims, all, count)) {
    return;
  }
  memcpy(dims, all, count * sizeof *dims);
  *expands = true;
}

etx_status etx_score_operand_broadcast(etx_rewrite* rewrite,
                                       const etx_score_operand* b,
                                       const etx_attention_sizes* z,
                                       uint32_t value, uint32_t* out_value) {
  etx_builder* const builder = &rewrite->builder;
  const etx_shape* const scores = &b->scores;
  const size_t lead = leading_dims(scores);
  const etx_dim wanted[] = {z->batch, z->heads};
  const etx_shape given = *etx_builder_shape(builder, value);
  size_t split = 0;
  *out_value = value;
  if (given.rank <= 2 ||
      (lead == 2 && etx_builder_same_dims(builder, scores->dims, wanted, 2)) ||
      !find_split(rewrite, scores, z, &split)) {
    return ETX_OK;
  }
  etx_shape own = padded(&given, scores);
  bool expands = false;
  expand_partial(rewrite, scores, 0, split, &own, &expands);
  expand_partial(rewrite, scores, split, lead, &own, &expands);
  const size_t heads = split == lead && z->heads != 1 ? 0 : split;
  const etx_dim dims[] = {
      all_are_one(own.dims, split) ? 1 : z->batch,
      all_are_one(own.dims + heads, lead - heads) ? 1 : z->heads,
      own.dims[lead], own.dims[lead + 1]};
  if (expands) {
    ETX_TRY(etx_build_expand(builder, value, own.dims, own.rank, &value));
  }
  return etx_build_view(builder, value, dims, 4, out_value);
}
