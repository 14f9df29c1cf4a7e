// Replaces indexing by consecutive indices with slices:
//
//   index(x, [None, arange(a, b)])           ->  slice(x, 1, a, b)
//   index_select(x, d, arange(a, b))         ->  slice(x, d, a, b)
//   embedding(x, arange(a, b))               ->  slice(x, 0, a, b)
//   index_put(x, [None, arange(a, b)], src)  ->  slice_scatter(x, src, 1, a, b)
//
// A slice is a view or one copy and needs no index tensor. A slice_scatter can
// be written in place.

#include "exporter/rewrite/ir_rewrite.h"

// Rows [start, end) of dimension `axis`.
typedef struct row_range {
  size_t axis;
  etx_dim start;
  etx_dim end;
} row_range;

static bool is_number(const etx_ir_arg* arg, int64_t number) {
  return arg->kind == ETX_IR_ARG_INT && arg->as.integer == number;
}

static bool read_arange(const etx_ir_node* node, row_range* out) {
  if (node->op->id != ETX_OP_arange_start_out ||
      node->args[0].kind != ETX_IR_ARG_INT ||
      node->args[1].kind != ETX_IR_ARG_INT || !is_number(&node->args[2], 1)) {
    return false;
  }
  out->start = node->args[0].as.integer;
  out->end = node->args[1].as.integer;
  return true;
}

static bool read_constant(const etx_ir_constant* constant, row_range* out) {
  if (constant->dtype != ETX_DTYPE_INT64 || constant->sizes[0] == 0) {
    return false;
  }
  int64_t first = 0;
  memcpy(&first, constant->data.data, sizeof first);
  for (int64_t i = 1; i < constant->sizes[0]; ++i) {
    int64_t item = 0;
    memcpy(&item, constant->data.data + (size_t)i * sizeof item, sizeof item);
    if (item != first + i) return false;
  }
  out->start = first;
  out->end = first + constant->sizes[0];
  return true;
}

// True if 0 <= start <= end <= size for all sizes.
static bool is_inside(etx_rewrite* rewrite, const row_range* r, etx_dim size) {
  etx_symbols* const symbols = &rewrite->builder.method->symbols;
  const etx_dim ends[] = {0, r->start, r->end, size};
  for (size_t i = 0; i < 3; ++i) {
    etx_dim difference = 0;
    int64_t low = 0;
    int64_t high = 0;
    if (etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, ends[i + 1], ends[i],
                          &difference) != ETX_OK) {
      return false;
    }
    etx_symbols_bounds(symbols, difference, &low, &high);
    if (low < 0) return false;
  }
  return true;
}

// Reads an index of rank 1 that selects consecutive indices of dimension `axis`
// of `self`.
static bool read_rows(etx_rewrite* rewrite, uint32_t index, uint32_t self,
                      size_t axis, row_range* out) {
  const etx_ir_method* const method = rewrite->builder.method;
  const etx_ir_value* const value = &method->values[index];
  const etx_shape* const shape = etx_builder_shape(&rewrite->builder, self);
  if (value->shape.rank != 1 || axis >= shape->rank) return false;
  out->axis = axis;
  const etx_ir_constant* const constant =
      etx_rewrite_constant(rewrite->builder.module, method, index);
  const bool is_consecutive =
      constant != NULL ? read_constant(constant, out)
      : value->origin == ETX_IR_FROM_NODE
          ? read_arange(&method->nodes[value->index], out)
          : false;
  return is_consecutive && is_inside(rewrite, out, shape->dims[axis]);
}

// Position of the only index tensor of a list; false if there are several.
static bool only_index(const etx_ir_arg* list, size_t* out_axis) {
  size_t found = 0;
  for (size_t i = 0; i < list->as.list.count; ++i) {
    if (list->as.list.items[i].kind == ETX_IR_ARG_NONE) continue;
    ++found;
    *out_axis = i;
  }
  return found == 1;
}

static etx_status emit_slice(etx_rewrite* rewrite, uint32_t self,
                             const row_range* r) {
  return etx_build_slice(&rewrite->builder, self,
                         (etx_dim_slice){r->axis, r->start, r->end, 1},
                         &rewrite->builder.results[0]);
}

static etx_status read_to_slice(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->builder.node;
  const uint32_t self =
      node->arg_count > 0 && node->args[0].kind == ETX_IR_ARG_VALUE
          ? node->args[0].as.value
          : ETX_IR_NONE;
  size_t axis = 0;
  uint32_t index = ETX_IR_NONE;
  if (node->op->id == ETX_OP_embedding_out) {
    index = node->args[1].as.value;
  } else if (node->op->id == ETX_OP_index_select_out) {
    axis = (size_t)node->args[1].as.integer;
    index = node->args[2].as.value;
  } else if (node->op->id == ETX_OP_index_tensor_out &&
             only_index(&node->args[1], &axis)) {
    index = node->args[1].as.list.items[axis].as.value;
  }
  row_range r;
  if (index == ETX_IR_NONE || !read_rows(rewrite, index, self, axis, &r)) {
    return ETX_OK;
  }
  *out_done = true;
  return emit_slice(rewrite, self, &r);
}

static etx_status write_to_slice_scatter(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  size_t axis = 0;
  row_range r;
  const bool fits =
      node->op->id == ETX_OP_index_put_out && !node->args[3].as.boolean &&
      only_index(&node->args[1], &axis) &&
      read_rows(rewrite, node->args[1].as.list.items[axis].as.value,
                node->args[0].as.value, axis, &r);
  if (!fits) return ETX_OK;
  etx_shape part = *etx_builder_shape(builder, node->outputs[0]);
  // Values of a higher rank, whose leading sizes are 1, are not supported.
  if (etx_builder_shape(builder, node->args[2].as.value)->rank > part.rank) {
    return ETX_OK;
  }
  ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_SUBTRACT,
                            r.end, r.start, &part.dims[axis]));
  uint32_t source = 0;
  ETX_TRY(etx_build_expand(builder, node->args[2].as.value, part.dims,
                           part.rank, &source));
  const etx_ir_arg args[] = {
      node->args[0],       etx_ir_value_arg(source), etx_ir_int((etx_dim)axis),
      etx_ir_int(r.start), etx_ir_int(r.end),        etx_ir_int(1)};
  *out_done = true;
  return etx_build_op(builder, ETX_OP_slice_scatter_out, args, 6,
                      &builder->results[0]);
}

etx_status etx_pass_index_to_slice(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {read_to_slice,
                                           write_to_slice_scatter};
  return etx_rewrite_module(context, rules, 2);
}
