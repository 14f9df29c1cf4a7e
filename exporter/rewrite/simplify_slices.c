// Simplifies slices of slices, of slice_scatter and of cat:
//
//   slice(slice(x))               ->  slice(x)
//   slice(slice_scatter(x, src))  ->  src if the ranges are equal, slice(x) if
//                                     they are disjoint
//   slice(cat(a, b))              ->  a or b if the range is exactly one of
//   them
//
// A layer that reads the row of a cache which it has just written then reads
// the row and not the cache.

#include "exporter/rewrite/simplify_rules.h"

// Indices [start, end) of dimension `axis`.
typedef struct slice_range {
  size_t axis;
  etx_dim start;
  etx_dim end;
} slice_range;

static bool equal(const etx_rewrite* rewrite, etx_dim a, etx_dim b) {
  return etx_symbols_equal(&rewrite->builder.method->symbols, a, b);
}

// True if a <= b for all sizes.
static bool at_most(etx_rewrite* rewrite, etx_dim a, etx_dim b) {
  etx_symbols* const symbols = &rewrite->builder.method->symbols;
  etx_dim difference = 0;
  int64_t low = 0;
  int64_t high = 0;
  if (etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, b, a, &difference) !=
      ETX_OK) {
    return false;
  }
  etx_symbols_bounds(symbols, difference, &low, &high);
  return low >= 0;
}

// Reads the arguments (dim, start, end, step) from position `first` on; false
// unless all are given and the step is 1.
static bool read_range(const etx_ir_node* node, size_t first,
                       slice_range* out) {
  const etx_ir_arg* const args = &node->args[first];
  for (size_t i = 0; i < 4; ++i) {
    if (args[i].kind != ETX_IR_ARG_INT) return false;
  }
  if (args[0].as.integer < 0 || args[3].as.integer != 1) return false;
  *out = (slice_range){(size_t)args[0].as.integer, args[1].as.integer,
                       args[2].as.integer};
  return true;
}

static etx_status slice_of_slice(etx_rewrite* rewrite, const etx_ir_node* inner,
                                 const slice_range* outer, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  slice_range r;
  if (!read_range(inner, 1, &r) || r.axis != outer->axis) return ETX_OK;
  etx_dim start = 0;
  etx_dim end = 0;
  ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_ADD, r.start,
                            outer->start, &start));
  ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_ADD, r.start,
                            outer->end, &end));
  *out_done = true;
  return etx_build_slice(builder, inner->args[0].as.value,
                         (etx_dim_slice){r.axis, start, end, 1},
                         &builder->results[0]);
}

// Range `outer` of slice_scatter(x, src): src, or a slice of x; ETX_IR_NONE if
// it has parts of both.
static etx_status range_of_scatter(etx_rewrite* rewrite,
                                   const etx_ir_node* scatter,
                                   const slice_range* outer,
                                   uint32_t* out_value) {
  etx_builder* const builder = &rewrite->builder;
  slice_range r;
  *out_value = ETX_IR_NONE;
  if (!read_range(scatter, 2, &r) || r.axis != outer->axis) return ETX_OK;
  if (equal(rewrite, r.start, outer->start) &&
      equal(rewrite, r.end, outer->end)) {
    *out_value = scatter->args[1].as.value;
    return ETX_OK;
  }
  if (!at_most(rewrite, outer->end, r.start) &&
      !at_most(rewrite, r.end, outer->start)) {
    return ETX_OK;
  }
  return etx_build_slice(builder, scatter->args[0].as.value,
                         (etx_dim_slice){r.axis, outer->start, outer->end, 1},
                         out_value);
}

// The operand of a cat that fills exactly range `outer`; ETX_IR_NONE if none
// does.
static etx_status operand_of_cat(etx_rewrite* rewrite, const etx_ir_node* cat,
                                 const slice_range* outer,
                                 uint32_t* out_value) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_arg* const list = &cat->args[0];
  etx_dim start = 0;
  *out_value = ETX_IR_NONE;
  if (cat->args[1].as.integer != (etx_dim)outer->axis) return ETX_OK;
  for (size_t i = 0; i < list->as.list.count; ++i) {
    const uint32_t operand = list->as.list.items[i].as.value;
    const etx_shape* const shape = etx_builder_shape(builder, operand);
    if (outer->axis >= shape->rank) return ETX_OK;
    etx_dim end = 0;
    ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_ADD, start,
                              shape->dims[outer->axis], &end));
    if (equal(rewrite, start, outer->start) &&
        equal(rewrite, end, outer->end)) {
      *out_value = operand;
      return ETX_OK;
    }
    start = end;
  }
  return ETX_OK;
}

// Range `outer` of operand 0 where that is a slice_scatter or a cat;
// ETX_IR_NONE if there is no simpler value.
static etx_status find_range(etx_rewrite* rewrite, const slice_range* outer,
                             uint32_t* out_value) {
  const etx_ir_node* const node = rewrite->builder.node;
  *out_value = ETX_IR_NONE;
  const etx_ir_node* const scatter =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_slice_scatter_out);
  if (scatter != NULL) {
    return range_of_scatter(rewrite, scatter, outer, out_value);
  }
  const etx_ir_node* const cat =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_cat_out);
  return cat == NULL ? ETX_OK : operand_of_cat(rewrite, cat, outer, out_value);
}

etx_status etx_simplify_slice(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  slice_range outer;
  if (node->op->id != ETX_OP_slice_copy_tensor_out ||
      !read_range(node, 1, &outer)) {
    return ETX_OK;
  }
  const uint32_t self = node->args[0].as.value;
  const etx_shape* const shape = etx_builder_shape(builder, self);
  if (outer.start == 0 && equal(rewrite, outer.end, shape->dims[outer.axis])) {
    builder->results[0] = self;
    *out_done = true;
    return ETX_OK;
  }
  const etx_ir_node* const inner =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_slice_copy_tensor_out);
  if (inner != NULL) return slice_of_slice(rewrite, inner, &outer, out_done);
  uint32_t part = 0;
  ETX_TRY(find_range(rewrite, &outer, &part));
  if (part == ETX_IR_NONE) return ETX_OK;
  builder->results[0] = part;
  *out_done = true;
  return ETX_OK;
}

// select is a slice of one index with the dimension removed.
etx_status etx_simplify_select(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_select_copy_int_out) return ETX_OK;
  slice_range outer = {(size_t)node->args[1].as.integer,
                       node->args[2].as.integer, 0};
  ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_ADD,
                            outer.start, 1, &outer.end));
  const etx_shape to = *etx_builder_shape(builder, node->outputs[0]);
  const etx_ir_node* const scatter =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_slice_scatter_out);
  uint32_t part = 0;
  ETX_TRY(find_range(rewrite, &outer, &part));
  if (part == ETX_IR_NONE) return ETX_OK;
  *out_done = true;
  const bool is_of_self = scatter != NULL && part != scatter->args[1].as.value;
  if (is_of_self) {
    // The range is outside of what slice_scatter writes.
    const etx_ir_arg args[] = {scatter->args[0], node->args[1], node->args[2]};
    return etx_build_op(builder, ETX_OP_select_copy_int_out, args, 3,
                        &builder->results[0]);
  }
  return etx_build_view(builder, part, to.dims, to.rank, &builder->results[0]);
}

// slice_scatter over a whole dimension is its source. An inner slice_scatter
// whose range the outer one overwrites is skipped.
etx_status etx_simplify_scatter(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  slice_range outer;
  if (node->op->id != ETX_OP_slice_scatter_out ||
      !read_range(node, 2, &outer)) {
    return ETX_OK;
  }
  const etx_shape shape = *etx_builder_shape(builder, node->outputs[0]);
  if (outer.start == 0 && equal(rewrite, outer.end, shape.dims[outer.axis])) {
    *out_done = true;
    return etx_build_expand(builder, node->args[1].as.value, shape.dims,
                            shape.rank, &builder->results[0]);
  }
  const etx_ir_node* const inner =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_slice_scatter_out);
  slice_range r;
  const bool is_overwritten = inner != NULL && read_range(inner, 2, &r) &&
                              r.axis == outer.axis &&
                              at_most(rewrite, outer.start, r.start) &&
                              at_most(rewrite, r.end, outer.end);
  if (!is_overwritten) return ETX_OK;
  const etx_ir_arg args[] = {inner->args[0], node->args[1], node->args[2],
                             node->args[3],  node->args[4], node->args[5]};
  *out_done = true;
  return etx_build_op(builder, ETX_OP_slice_scatter_out, args, 6,
                      &builder->results[0]);
}
