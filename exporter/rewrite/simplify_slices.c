// Reading a part of what was just put together: the part is at hand.
//
//   slice(slice(x))                     one slice
//   slice(slice_scatter(x, src))        src where the ranges are equal, a slice
//                                       of x where they are apart
//   slice(cat(a, b))                    the piece
//
// So a layer that reads back the row of a cache it has written does not wait
// for the whole cache.

#include "exporter/rewrite/simplify_rules.h"

// Rows [start, end) of a dimension.
typedef struct range {
  size_t axis;
  etx_dim start;
  etx_dim end;
} range;

static bool equal(const etx_rewrite* rewrite, etx_dim a, etx_dim b) {
  return etx_symbols_equal(&rewrite->lower.method->symbols, a, b);
}

// True if a <= b for all sizes.
static bool at_most(etx_rewrite* rewrite, etx_dim a, etx_dim b) {
  etx_symbols* const symbols = &rewrite->lower.method->symbols;
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

// Reads (.., dim, start, end, step) from argument `first` on; false unless all
// are given and the step is 1.
static bool read_range(const etx_ir_node* node, size_t first, range* out) {
  const etx_ir_arg* const args = &node->args[first];
  for (size_t i = 0; i < 4; ++i) {
    if (args[i].kind != ETX_IR_ARG_INT) return false;
  }
  if (args[0].as.integer < 0 || args[3].as.integer != 1) return false;
  *out = (range){(size_t)args[0].as.integer, args[1].as.integer,
                 args[2].as.integer};
  return true;
}

static etx_status slice_of_slice(etx_rewrite* rewrite, const etx_ir_node* inner,
                                 const range* outer, bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  range r;
  if (!read_range(inner, 1, &r) || r.axis != outer->axis) return ETX_OK;
  etx_dim start = 0;
  etx_dim end = 0;
  ETX_TRY(etx_symbols_apply(&lower->method->symbols, ETX_SYMBOL_ADD, r.start,
                            outer->start, &start));
  ETX_TRY(etx_symbols_apply(&lower->method->symbols, ETX_SYMBOL_ADD, r.start,
                            outer->end, &end));
  *out_done = true;
  return etx_build_slice(lower, inner->args[0].as.value,
                         (etx_dim_slice){r.axis, start, end, 1},
                         &lower->results[0]);
}

// What rows `outer` of slice_scatter(x, src) are; ETX_IR_NONE if they are of
// both.
static etx_status rows_of_scatter(etx_rewrite* rewrite,
                                  const etx_ir_node* scatter,
                                  const range* outer, uint32_t* out_value) {
  etx_builder* const lower = &rewrite->lower;
  range r;
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
  return etx_build_slice(lower, scatter->args[0].as.value,
                         (etx_dim_slice){r.axis, outer->start, outer->end, 1},
                         out_value);
}

// The piece of a cat that is exactly `outer`; ETX_IR_NONE if none is.
static etx_status piece_of_cat(etx_rewrite* rewrite, const etx_ir_node* cat,
                               const range* outer, uint32_t* out_value) {
  etx_builder* const lower = &rewrite->lower;
  const etx_ir_arg* const list = &cat->args[0];
  etx_dim start = 0;
  *out_value = ETX_IR_NONE;
  if (cat->args[1].as.integer != (etx_dim)outer->axis) return ETX_OK;
  for (size_t i = 0; i < list->as.list.count; ++i) {
    const uint32_t piece = list->as.list.items[i].as.value;
    const etx_shape* const shape = etx_builder_shape(lower, piece);
    if (outer->axis >= shape->rank) return ETX_OK;
    etx_dim end = 0;
    ETX_TRY(etx_symbols_apply(&lower->method->symbols, ETX_SYMBOL_ADD, start,
                              shape->dims[outer->axis], &end));
    if (equal(rewrite, start, outer->start) &&
        equal(rewrite, end, outer->end)) {
      *out_value = piece;
      return ETX_OK;
    }
    start = end;
  }
  return ETX_OK;
}

// Finds rows `outer` of operand 0 without reading all of it.
static etx_status find_rows(etx_rewrite* rewrite, const range* outer,
                            uint32_t* out_value) {
  const etx_ir_node* const node = rewrite->lower.node;
  *out_value = ETX_IR_NONE;
  const etx_ir_node* const scatter =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_slice_scatter_out);
  if (scatter != NULL) {
    return rows_of_scatter(rewrite, scatter, outer, out_value);
  }
  const etx_ir_node* const cat =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_cat_out);
  return cat == NULL ? ETX_OK : piece_of_cat(rewrite, cat, outer, out_value);
}

etx_status etx_simplify_slice(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  range outer;
  if (node->op->id != ETX_OP_slice_copy_tensor_out ||
      !read_range(node, 1, &outer)) {
    return ETX_OK;
  }
  const uint32_t self = node->args[0].as.value;
  const etx_shape* const shape = etx_builder_shape(lower, self);
  if (outer.start == 0 && equal(rewrite, outer.end, shape->dims[outer.axis])) {
    lower->results[0] = self;
    *out_done = true;
    return ETX_OK;
  }
  const etx_ir_node* const inner =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_slice_copy_tensor_out);
  if (inner != NULL) return slice_of_slice(rewrite, inner, &outer, out_done);
  uint32_t rows = 0;
  ETX_TRY(find_rows(rewrite, &outer, &rows));
  if (rows == ETX_IR_NONE) return ETX_OK;
  lower->results[0] = rows;
  *out_done = true;
  return ETX_OK;
}

// A select is a slice of one row without its dimension.
etx_status etx_simplify_select(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  if (node->op->id != ETX_OP_select_copy_int_out) return ETX_OK;
  range outer = {(size_t)node->args[1].as.integer, node->args[2].as.integer, 0};
  ETX_TRY(etx_symbols_apply(&lower->method->symbols, ETX_SYMBOL_ADD,
                            outer.start, 1, &outer.end));
  const etx_shape to = *etx_builder_shape(lower, node->outputs[0]);
  const etx_ir_node* const scatter =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_slice_scatter_out);
  uint32_t rows = 0;
  ETX_TRY(find_rows(rewrite, &outer, &rows));
  if (rows == ETX_IR_NONE) return ETX_OK;
  *out_done = true;
  const bool from_below = scatter != NULL && rows != scatter->args[1].as.value;
  if (from_below) {
    // The slice that was found is a select of the tensor below.
    const etx_ir_arg args[] = {scatter->args[0], node->args[1], node->args[2]};
    return etx_build_op(lower, ETX_OP_select_copy_int_out, args, 3,
                        &lower->results[0]);
  }
  return etx_build_view(lower, rows, to.dims, to.rank, &lower->results[0]);
}

// A scatter of all rows is its source; one over rows that a scatter below has
// just written hides that one.
etx_status etx_simplify_scatter(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  range outer;
  if (node->op->id != ETX_OP_slice_scatter_out ||
      !read_range(node, 2, &outer)) {
    return ETX_OK;
  }
  const etx_shape shape = *etx_builder_shape(lower, node->outputs[0]);
  if (outer.start == 0 && equal(rewrite, outer.end, shape.dims[outer.axis])) {
    *out_done = true;
    return etx_build_expand(lower, node->args[1].as.value, shape.dims,
                            shape.rank, &lower->results[0]);
  }
  const etx_ir_node* const below =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_slice_scatter_out);
  range r;
  const bool hidden = below != NULL && read_range(below, 2, &r) &&
                      r.axis == outer.axis &&
                      at_most(rewrite, outer.start, r.start) &&
                      at_most(rewrite, r.end, outer.end);
  if (!hidden) return ETX_OK;
  const etx_ir_arg args[] = {below->args[0], node->args[1], node->args[2],
                             node->args[3],  node->args[4], node->args[5]};
  *out_done = true;
  return etx_build_op(lower, ETX_OP_slice_scatter_out, args, 6,
                      &lower->results[0]);
}
