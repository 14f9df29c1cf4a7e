// Replaces indexing by consecutive indices with slices:
//
//   index(x, [None, arange(a, b)])           ->  slice(x, 1, a, b)
//   index_select(x, d, arange(a, b))         ->  slice(x, d, a, b)
//   embedding(x, arange(a, b))               ->  slice(x, 0, a, b)
//   index_put(x, [None, arange(a, b)], src)  ->  slice_scatter(x, src, 1, a, b)
//
// The indices may also be a constant, or the first numbers of one.
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

// Reads a constant of consecutive numbers, one along `axis`.
static bool read_constant(const etx_ir_constant* constant, size_t axis,
                          row_range* out) {
  if (constant->dtype != ETX_DTYPE_INT64 || constant->data.size == 0 ||
      (size_t)constant->sizes[axis] * sizeof out->start !=
          constant->data.size) {
    return false;
  }
  int64_t first = 0;
  memcpy(&first, constant->data.data, sizeof first);
  for (int64_t i = 1; i < constant->sizes[axis]; ++i) {
    int64_t item = 0;
    memcpy(&item, constant->data.data + (size_t)i * sizeof item, sizeof item);
    if (item != first + i) return false;
  }
  out->start = first;
  out->end = first + constant->sizes[axis];
  return true;
}

// Reads a slice of such a constant.
static etx_status read_slice(etx_rewrite* rewrite, const etx_ir_node* node,
                             size_t axis, row_range* out, bool* out_done) {
  const etx_builder* const builder = &rewrite->builder;
  etx_symbols* const symbols = &builder->method->symbols;
  const etx_ir_constant* const constant = etx_rewrite_constant(
      builder->module, builder->method, node->args[0].as.value);
  if (constant == NULL || !is_number(&node->args[1], (int64_t)axis) ||
      node->args[2].kind != ETX_IR_ARG_INT ||
      node->args[3].kind != ETX_IR_ARG_INT || !is_number(&node->args[4], 1) ||
      !read_constant(constant, axis, out)) {
    return ETX_OK;
  }
  const etx_dim first = out->start;
  *out_done = true;
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_ADD, first,
                            node->args[2].as.integer, &out->start));
  return etx_symbols_apply(symbols, ETX_SYMBOL_ADD, first,
                           node->args[3].as.integer, &out->end);
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

// The only dimension of a value that may have another size than 1; the last
// one if there is none. False if there are several.
static bool find_axis(const etx_shape* shape, size_t* out_axis) {
  if (shape->rank == 0) return false;
  *out_axis = shape->rank - 1u;
  size_t found = 0;
  for (size_t i = 0; i < shape->rank; ++i) {
    if (shape->dims[i] == 1) continue;
    ++found;
    *out_axis = i;
  }
  return found <= 1;
}

// The value that a view changes the sizes of, if it is one.
static uint32_t skip_view(const etx_rewrite* rewrite, uint32_t value) {
  const etx_ir_node* const view = etx_rewrite_definition(rewrite, value);
  return etx_rewrite_is_op(view, ETX_OP_view_copy_out) ? view->args[0].as.value
                                                       : value;
}

// Reads an index that selects consecutive indices of dimension `axis` of
// `self`.
static bool read_rows(etx_rewrite* rewrite, uint32_t index, uint32_t self,
                      size_t axis, row_range* out) {
  const etx_ir_method* const method = rewrite->builder.method;
  const uint32_t base = skip_view(rewrite, index);
  const etx_shape* const shape = etx_builder_shape(&rewrite->builder, self);
  size_t along = 0;
  bool is_consecutive = false;
  if (axis >= shape->rank || !find_axis(&method->values[base].shape, &along)) {
    return false;
  }
  out->axis = axis;
  const etx_ir_constant* const constant =
      etx_rewrite_constant(rewrite->builder.module, method, base);
  const etx_ir_node* const node = etx_rewrite_definition(rewrite, base);
  if (constant != NULL) {
    is_consecutive = method->values[index].shape.rank == 1 &&
                     read_constant(constant, along, out);
  } else if (etx_rewrite_is_op(node, ETX_OP_slice_copy_tensor_out)) {
    if (read_slice(rewrite, node, along, out, &is_consecutive) != ETX_OK) {
      return false;
    }
  } else if (node != NULL) {
    is_consecutive = read_arange(node, out);
  }
  return is_consecutive && is_inside(rewrite, out, shape->dims[axis]);
}

// True for an index that is 0 in a dimension of size 1, where sizes of the
// result vary.
static bool selects_only_row(const etx_rewrite* rewrite,
                             const etx_ir_arg* index, const etx_shape* self,
                             size_t axis) {
  const etx_builder* const builder = &rewrite->builder;
  const etx_ir_constant* const constant =
      etx_rewrite_constant(builder->module, builder->method, index->as.value);
  double number = 0;
  return axis < self->rank && self->dims[axis] == 1 && constant != NULL &&
         etx_dtype_category_of(constant->dtype) == ETX_CATEGORY_INTEGER &&
         constant->data.size == etx_dtype_bytes(constant->dtype) &&
         etx_rewrite_number(constant, &number) && number == 0 &&
         !etx_ir_is_static(
             etx_builder_shape(builder, builder->node->outputs[0]));
}

// Position of the only index tensor of a list, apart from those that select
// the only row of a dimension; false if there are several.
static bool only_index(const etx_rewrite* rewrite, const etx_ir_node* node,
                       size_t* out_axis) {
  const etx_ir_arg* const list = &node->args[1];
  const etx_shape* const self = etx_rewrite_shape(rewrite, &node->args[0]);
  size_t found = 0;
  for (size_t i = 0; i < list->as.list.count; ++i) {
    const etx_ir_arg* const index = &list->as.list.items[i];
    if (index->kind == ETX_IR_ARG_NONE ||
        selects_only_row(rewrite, index, self, i)) {
      continue;
    }
    ++found;
    *out_axis = i;
  }
  return found == 1;
}

// The slice, with the sizes that the node has: an index of several dimensions
// adds dimensions of size 1.
static etx_status emit_slice(etx_rewrite* rewrite, uint32_t self,
                             const row_range* r) {
  etx_builder* const builder = &rewrite->builder;
  const etx_shape to = *etx_builder_shape(builder, builder->node->outputs[0]);
  uint32_t* const result = &builder->results[0];
  ETX_TRY(etx_build_slice(
      builder, self, (etx_dim_slice){r->axis, r->start, r->end, 1}, result));
  return etx_build_view(builder, *result, to.dims, to.rank, result);
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
             only_index(rewrite, node, &axis)) {
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
      only_index(rewrite, node, &axis) &&
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
