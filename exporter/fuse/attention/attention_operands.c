// Follows queries, keys and values from the matrix product towards their
// source, over views, expands, one permute and constant factors, so that the
// attention operator reads them where they are stored.

#include "exporter/fuse/attention/attention_pattern.h"
#include "exporter/ir/ir_edit.h"

enum { MAX_STEPS = 24 };

static bool same_dims(const etx_rewrite* rewrite, const etx_dim* a,
                      const etx_dim* b, size_t count) {
  return etx_builder_same_dims(&rewrite->builder, a, b, count);
}

// ------------------------------------------------ nodes to skip

// Skips a multiplication by or division by a number.
static bool skip_factor(const etx_rewrite* rewrite, const etx_ir_node* node,
                        etx_attention_operand* o) {
  double number = 0;
  const etx_ir_arg* const factor = &node->args[1];
  const bool is_tensor =
      node->op->id == ETX_OP_mul_out || node->op->id == ETX_OP_div_out;
  if (!is_tensor && node->op->id != ETX_OP_mul_scalar_out &&
      node->op->id != ETX_OP_div_scalar_out) {
    return false;
  }
  if (is_tensor) {
    if (etx_rewrite_shape(rewrite, factor)->rank != 0 ||
        !etx_rewrite_value_number(rewrite, factor->as.value, &number)) {
      return false;
    }
  } else if (factor->kind == ETX_IR_ARG_DOUBLE) {
    number = factor->as.real;
  } else {
    return false;
  }
  const bool divides =
      node->op->id == ETX_OP_div_out || node->op->id == ETX_OP_div_scalar_out;
  o->factor = divides ? o->factor / number : o->factor * number;
  o->base = node->args[0].as.value;
  return true;
}

// Skips an expand of the batch, or of key heads that several query heads share:
// [B, G, 1, S, D] to [B, G, R, S, D], viewed as [B, G R, S, D].
static bool skip_expand(const etx_rewrite* rewrite, const etx_ir_node* node,
                        etx_attention_operand* o) {
  const etx_shape* const from = etx_rewrite_shape(rewrite, &node->args[0]);
  const etx_shape* const to =
      etx_builder_shape(&rewrite->builder, node->outputs[0]);
  etx_dim* const dims = o->stored.dims;
  if (from->rank != to->rank) return false;
  if (to->rank == 4 && same_dims(rewrite, to->dims, dims, 4)) {
    if (!same_dims(rewrite, from->dims + 1, dims + 1, 3)) return false;
    dims[0] = from->dims[0];
  } else if (to->rank == 5 && same_dims(rewrite, to->dims, dims, 1) &&
             same_dims(rewrite, to->dims + 3, dims + 2, 2)) {
    const bool repeats = same_dims(rewrite, from->dims, to->dims, 2) &&
                         same_dims(rewrite, from->dims + 3, to->dims + 3, 2) &&
                         from->dims[2] == 1;
    if (!repeats) return false;
    dims[1] = from->dims[1];
  } else {
    return false;
  }
  o->base = node->args[0].as.value;
  return true;
}

// Skips a permute whose result has the four dimensions, or the last three if
// the batch is 1.
static bool skip_permute(const etx_rewrite* rewrite, const etx_ir_node* node,
                         etx_attention_operand* o) {
  const etx_shape* const from = etx_rewrite_shape(rewrite, &node->args[0]);
  const etx_shape* const to =
      etx_builder_shape(&rewrite->builder, node->outputs[0]);
  const size_t added = 4u - to->rank;
  if (to->rank != 4 && !(to->rank == 3 && o->stored.dims[0] == 1)) return false;
  if (!same_dims(rewrite, to->dims, o->stored.dims + added, to->rank)) {
    return false;
  }
  for (size_t i = 0; i < to->rank; ++i) {
    const etx_dim position = node->args[1].as.list.items[i].as.integer;
    o->order[i + added] = (size_t)position + added;
    o->stored.dims[i + added] = from->dims[i];
  }
  o->base = node->args[0].as.value;
  return true;
}

// Views are skipped without a look at their sizes: `dims` has the same elements
// in the same order, and the permute must have its dimensions.
etx_attention_operand etx_attention_operand_find(const etx_rewrite* rewrite,
                                                 uint32_t value,
                                                 const etx_dim dims[4]) {
  etx_attention_operand o = {
      .base = value,
      .stored = *etx_builder_shape(&rewrite->builder, value),
      .order = {0, 1, 2, 3},
      .factor = 1};
  o.stored.rank = 4;
  memcpy(o.stored.dims, dims, 4 * sizeof *dims);
  for (size_t step = 0; step < MAX_STEPS; ++step) {
    const etx_ir_node* const node =
        etx_ir_definition(rewrite->builder.method, o.base);
    if (node == NULL) break;
    if (node->op->id == ETX_OP_view_copy_out) {
      o.base = node->args[0].as.value;
    } else if (node->op->id == ETX_OP_expand_copy_out) {
      if (!skip_expand(rewrite, node, &o)) break;
    } else if (node->op->id == ETX_OP_permute_copy_out) {
      skip_permute(rewrite, node, &o);
      break;
    } else if (!skip_factor(rewrite, node, &o)) {
      break;
    }
  }
  return o;
}
