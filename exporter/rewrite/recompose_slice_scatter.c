// Replaces where() over a range of one dimension by slice_scatter:
//
//   where(mask of indices i to j, src, self)  ->  slice_scatter(self, src)
//
// Core ATen decomposes select_scatter into where, with a mask that compares an
// arange with the index; fold_constants has computed the mask. where reads and
// writes the whole tensor; slice_scatter writes only the range and can be
// computed in place.

#include "exporter/rewrite/ir_rewrite.h"

// A mask that is true for indices [start, end) of dimension `axis` only.
typedef struct band {
  size_t axis;  // dimension of the result
  int64_t start;
  int64_t end;
} band;

// The only dimension of the mask whose size is not 1, as a dimension of the
// result; false if there is none or several.
static bool only_dimension(const etx_ir_constant* mask, size_t result_rank,
                           size_t* out_axis) {
  size_t found = 0;
  for (size_t i = 0; i < mask->rank; ++i) {
    if (mask->sizes[i] == 1) continue;
    ++found;
    *out_axis = i + result_rank - mask->rank;
  }
  return found == 1;
}

static bool read_band(const etx_ir_constant* mask, size_t result_rank,
                      band* out) {
  if (mask->dtype != ETX_DTYPE_BOOL || mask->rank > result_rank ||
      !only_dimension(mask, result_rank, &out->axis)) {
    return false;
  }
  const uint8_t* const data = mask->data.data;
  const int64_t count = (int64_t)mask->data.size;
  int64_t at = 0;
  while (at < count && data[at] == 0) ++at;
  out->start = at;
  while (at < count && data[at] != 0) ++at;
  out->end = at;
  while (at < count && data[at] == 0) ++at;
  return at == count && out->start < out->end && out->end - out->start < count;
}

// The operand, or the argument of the expand that computes it.
static uint32_t before_expand(const etx_rewrite* rewrite, size_t position) {
  const etx_ir_node* const node = rewrite->builder.node;
  const etx_ir_node* const expand =
      etx_rewrite_operand(rewrite, node, position, ETX_OP_expand_copy_out);
  return expand != NULL ? expand->args[0].as.value
                        : node->args[position].as.value;
}

// The part of `value` inside the band, expanded to the sizes of the result.
static etx_status slice_source(etx_rewrite* rewrite, uint32_t value,
                               const etx_shape* result, const band* b,
                               uint32_t* out_value) {
  etx_builder* const builder = &rewrite->builder;
  etx_shape part = *result;
  part.dims[b->axis] = b->end - b->start;
  const size_t rank = etx_builder_shape(builder, value)->rank;
  const size_t added = result->rank - rank;
  const bool has_axis = b->axis >= added;
  if (has_axis && etx_builder_shape(builder, value)->dims[b->axis - added] != 1) {
    ETX_TRY(etx_build_slice(
        builder, value, (etx_dim_slice){b->axis - added, b->start, b->end, 1},
        &value));
  }
  return etx_build_expand(builder, value, part.dims, part.rank, out_value);
}

static etx_status recompose_where(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  band b = {0};
  if (node->op->id != ETX_OP_where_self_out) return ETX_OK;
  const etx_shape result = *etx_builder_shape(builder, node->outputs[0]);
  const etx_shape* const self =
      etx_builder_shape(builder, node->args[2].as.value);
  const etx_ir_constant* const mask = etx_rewrite_constant(
      builder->module, builder->method, node->args[0].as.value);
  const bool fits =
      mask != NULL && self->rank == result.rank &&
      etx_builder_same_dims(builder, self->dims, result.dims, result.rank) &&
      read_band(mask, result.rank, &b);
  if (!fits) return ETX_OK;
  uint32_t part = 0;
  ETX_TRY(slice_source(rewrite, before_expand(rewrite, 1), &result, &b, &part));
  const etx_ir_arg args[] = {
      node->args[2],       etx_ir_value_arg(part), etx_ir_int((etx_dim)b.axis),
      etx_ir_int(b.start), etx_ir_int(b.end),      etx_ir_int(1)};
  *out_done = true;
  return etx_build_op(builder, ETX_OP_slice_scatter_out, args, 6,
                      &builder->results[0]);
}

etx_status etx_pass_recompose_slice_scatter(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {recompose_where};
  return etx_rewrite_module(context, rules, 1);
}
