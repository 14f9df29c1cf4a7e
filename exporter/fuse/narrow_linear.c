// Pushes slice, select and glu above a linear layer:
//
//   linear(x, w)[.., -1:, :]     ->  linear(x[.., -1:, :], w)
//   linear(x, w, b)[.., :, i:j]  ->  linear(x, w[i:j], b[i:j])
//   glu(linear(x, w))            ->  linear(x, w[:n]) * sigmoid(linear(x,
//   w[n:]))
//   linear(x, w).unflatten(-1, (3, n)).movedim(-2, 0)[i]
//                                ->  linear(x, w[i * n:(i + 1) * n])
//
// So the last layer of a language model computes only the rows that are read,
// and the parts of a fused query-key-value layer are contiguous: torch.nn's
// attention and most vision transformers stack the three in the last form.
// Every element is the same sum as before.

#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"

enum {
  MAX_PARTS = 4,  // that one layer is split into
  MAX_STEPS = 8   // views between a layer and the selection of its parts
};

// The linear layer that computes operand 0, or NULL.
static const etx_ir_node* find_layer(const etx_rewrite* rewrite) {
  const etx_ir_node* const layer =
      etx_rewrite_operand(rewrite, rewrite->builder.node, 0, ETX_OP_linear_out);
  return layer != NULL && etx_rewrite_shape(rewrite, &layer->args[1])->rank == 2
             ? layer
             : NULL;
}

static size_t axis_of(const etx_rewrite* rewrite) {
  const etx_ir_node* const node = rewrite->builder.node;
  const int64_t dim = node->args[1].as.integer;
  const size_t rank = etx_rewrite_shape(rewrite, &node->args[0])->rank;
  return (size_t)(dim < 0 ? dim + (int64_t)rank : dim);
}

// ------------------------------------------------ rows

// Applies the node to the input of the layer.
static etx_status narrow_input(etx_rewrite* rewrite, const etx_ir_node* layer) {
  etx_builder* const builder = &rewrite->builder;
  etx_ir_arg args[3] = {layer->args[0], layer->args[1], layer->args[2]};
  etx_ir_arg part[ETX_MAX_ARGUMENTS];
  memcpy(part, builder->node->args, builder->node->arg_count * sizeof *part);
  part[0] = args[0];
  uint32_t value = 0;
  ETX_TRY(etx_build_op(builder, builder->node->op->id, part,
                       builder->node->arg_count, &value));
  args[0] = etx_ir_value_arg(value);
  return etx_build_op(builder, ETX_OP_linear_out, args, 3,
                      &builder->results[0]);
}

static etx_status narrow_rows(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->builder.node;
  if (node->op->id != ETX_OP_slice_copy_tensor_out &&
      node->op->id != ETX_OP_select_copy_int_out) {
    return ETX_OK;
  }
  const etx_ir_node* const layer = find_layer(rewrite);
  if (layer == NULL ||
      !etx_rewrite_is_only_use(rewrite, node->args[0].as.value)) {
    return ETX_OK;
  }
  const size_t rank = etx_rewrite_shape(rewrite, &node->args[0])->rank;
  if (axis_of(rewrite) + 1 >= rank) return ETX_OK;
  *out_done = true;
  return narrow_input(rewrite, layer);
}

// ------------------------------------------------ columns

// True for None, a constant or the permute of one, which will be folded.
static bool is_constant(const etx_rewrite* rewrite, const etx_ir_arg* arg) {
  if (arg->kind != ETX_IR_ARG_VALUE) return arg->kind == ETX_IR_ARG_NONE;
  const etx_ir_method* const method = rewrite->builder.method;
  const etx_ir_node* const node = etx_ir_definition(method, arg->as.value);
  const uint32_t value = node != NULL && node->op->id == ETX_OP_permute_copy_out
                             ? node->args[0].as.value
                             : arg->as.value;
  return etx_rewrite_constant(rewrite->builder.module, method, value) != NULL;
}

// True for an input with several rows. With one row, slices of the result are
// contiguous anyway.
static bool has_several_rows(const etx_rewrite* rewrite,
                             const etx_ir_arg* arg) {
  const etx_shape* const shape = etx_rewrite_shape(rewrite, arg);
  for (size_t i = 0; i + 1 < shape->rank; ++i) {
    if (shape->dims[i] != 1) return true;
  }
  return false;
}

// True if the layer's result has as many uses as there are parts of `size`
// columns in it: then all parts are read and the whole is not.
static bool is_split_evenly(const etx_rewrite* rewrite, etx_dim size) {
  const etx_ir_node* const node = rewrite->builder.node;
  const uint32_t whole = node->args[0].as.value;
  const etx_shape* const shape = etx_rewrite_shape(rewrite, &node->args[0]);
  const etx_dim all = shape->dims[shape->rank - 1];
  if (whole >= rewrite->value_count || size <= 0 || all % size != 0) {
    return false;
  }
  const uint32_t uses = rewrite->uses[whole];
  return uses >= 2 && uses <= MAX_PARTS && (etx_dim)uses == all / size;
}

// The layer with output columns [start, end) only.
static etx_status emit_columns(etx_builder* builder, const etx_ir_node* layer,
                               etx_dim start, etx_dim end,
                               uint32_t* out_value) {
  etx_ir_arg args[3] = {layer->args[0], layer->args[1], layer->args[2]};
  for (size_t i = 1; i < 3; ++i) {
    uint32_t value = 0;
    if (args[i].kind == ETX_IR_ARG_NONE) continue;
    ETX_TRY(etx_build_slice(builder, args[i].as.value,
                            (etx_dim_slice){0, start, end, 1}, &value));
    args[i] = etx_ir_value_arg(value);
  }
  return etx_build_op(builder, ETX_OP_linear_out, args, 3, out_value);
}

// True if the columns of the layer can be split at plan time.
static bool can_split_columns(const etx_rewrite* rewrite,
                              const etx_ir_node* layer) {
  return has_several_rows(rewrite, &layer->args[0]) &&
         is_constant(rewrite, &layer->args[1]) &&
         is_constant(rewrite, &layer->args[2]) &&
         (layer->args[2].kind == ETX_IR_ARG_NONE ||
          etx_rewrite_shape(rewrite, &layer->args[2])->rank == 1);
}

static etx_status split_columns(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->builder.node;
  if (node->op->id != ETX_OP_slice_copy_tensor_out) return ETX_OK;
  const etx_ir_node* const layer = find_layer(rewrite);
  if (layer == NULL || !can_split_columns(rewrite, layer)) return ETX_OK;
  const size_t rank = etx_rewrite_shape(rewrite, &node->args[0])->rank;
  const etx_ir_arg *const start = &node->args[2], *const end = &node->args[3];
  const bool is_known =
      axis_of(rewrite) + 1 == rank && start->kind == ETX_IR_ARG_INT &&
      end->kind == ETX_IR_ARG_INT && etx_dim_is_number(start->as.integer) &&
      etx_dim_is_number(end->as.integer) && start->as.integer >= 0 &&
      etx_rewrite_is_int(&node->args[4], 1);
  if (!is_known ||
      !is_split_evenly(rewrite, end->as.integer - start->as.integer)) {
    return ETX_OK;
  }
  *out_done = true;
  return emit_columns(&rewrite->builder, layer, start->as.integer,
                      end->as.integer, &rewrite->builder.results[0]);
}

// Splits the columns of a layer before glu into values and gates.
static etx_status split_glu(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  if (builder->node->op->id != ETX_OP_glu_out) return ETX_OK;
  const etx_ir_node* const found = find_layer(rewrite);
  const etx_ir_arg* const input = &builder->node->args[0];
  if (found == NULL || !can_split_columns(rewrite, found) ||
      axis_of(rewrite) + 1 != etx_rewrite_shape(rewrite, input)->rank ||
      !etx_rewrite_is_only_use(rewrite, input->as.value)) {
    return ETX_OK;
  }
  // A copy, because appending nodes moves them.
  const etx_ir_node layer = *found;
  const etx_dim all = etx_rewrite_shape(rewrite, &layer.args[1])->dims[0];
  uint32_t value = 0, gate = 0;
  ETX_TRY(emit_columns(builder, &layer, 0, all / 2, &value));
  ETX_TRY(emit_columns(builder, &layer, all / 2, all, &gate));
  ETX_TRY(etx_build_unary(builder, ETX_OP_sigmoid_out, gate, &gate));
  *out_done = true;
  return etx_build_binary(builder, ETX_OP_mul_out, value, gate,
                          &builder->results[0]);
}

// ------------------------------------------------ stacked parts

// The views from a layer to the value of which parts are selected, the last one
// first, and the axis of the parts in the result of each.
typedef struct part_views {
  etx_ir_node nodes[MAX_STEPS];
  size_t axes[MAX_STEPS];
  size_t count;
} part_views;

// Finds the axis that `axis` of a view's result has in its operand, if the view
// adds and removes dimensions of size 1 alone.
static bool find_axis_before(const etx_shape* from, const etx_shape* to,
                             size_t* axis) {
  size_t i = 0, k = 0, found = from->rank;
  while (true) {
    while (i < from->rank && from->dims[i] == 1) ++i;
    while (k < to->rank && to->dims[k] == 1) ++k;
    if (i == from->rank || k == to->rank) break;
    if (from->dims[i] != to->dims[k]) return false;
    if (k == *axis) found = i;
    ++i;
    ++k;
  }
  if (i != from->rank || k != to->rank || found == from->rank) return false;
  *axis = found;
  return true;
}

// True if the view splits the columns of a layer's result into parts, which are
// at `axis`, and what each part has.
static bool splits_columns(const etx_shape* from, const etx_shape* to,
                           size_t axis) {
  if (axis + 1 != from->rank || to->rank <= from->rank) return false;
  for (size_t i = 0; i < axis; ++i) {
    if (from->dims[i] != to->dims[i]) return false;
  }
  for (size_t i = axis; i < to->rank; ++i) {
    if (!etx_dim_is_number(to->dims[i])) return false;
  }
  return etx_dim_is_number(from->dims[axis]);
}

// Collects the views between the operand of the node, whose parts lie along
// `axis`, and a layer whose result is read by the first view alone. NULL if
// there are others.
static const etx_ir_node* find_stacked_layer(const etx_rewrite* rewrite,
                                             size_t axis, part_views* views) {
  const etx_ir_node* node = rewrite->builder.node;
  for (views->count = 0; views->count < MAX_STEPS; ++views->count) {
    const etx_shape* const to = etx_rewrite_shape(rewrite, &node->args[0]);
    node = etx_rewrite_argument(rewrite, &node->args[0]);
    if (node == NULL ||
        (node->op->id != ETX_OP_view_copy_out &&
         node->op->id != ETX_OP_permute_copy_out) ||
        !etx_rewrite_is_only_use(rewrite, node->args[0].as.value)) {
      return NULL;
    }
    views->nodes[views->count] = *node;
    views->axes[views->count] = axis;
    if (node->op->id == ETX_OP_permute_copy_out) {
      axis = (size_t)node->args[1].as.list.items[axis].as.integer;
      continue;
    }
    const etx_shape* const from = etx_rewrite_shape(rewrite, &node->args[0]);
    const etx_ir_node* const layer =
        etx_rewrite_operand(rewrite, node, 0, ETX_OP_linear_out);
    if (layer != NULL && splits_columns(from, to, axis)) {
      ++views->count;
      return etx_rewrite_shape(rewrite, &layer->args[1])->rank == 2 ? layer
                                                                    : NULL;
    }
    if (!find_axis_before(from, to, &axis)) return NULL;
  }
  return NULL;
}

// Applies a view to one part, which has no axis of parts.
static etx_status view_part(etx_builder* builder, const etx_ir_node* node,
                            size_t axis, uint32_t* value) {
  const etx_shape* const whole =
      &builder->method->values[node->outputs[0]].shape;
  etx_dim dims[ETX_MAX_RANK];
  size_t order[ETX_MAX_RANK];
  size_t rank = 0;
  if (node->op->id == ETX_OP_view_copy_out) {
    for (size_t i = 0; i < whole->rank; ++i) {
      if (i != axis) dims[rank++] = whole->dims[i];
    }
    return etx_build_view(builder, *value, dims, rank, value);
  }
  const etx_ir_arg* const items = node->args[1].as.list.items;
  for (size_t i = 0; i < whole->rank; ++i) {
    const int64_t from = items[i].as.integer;
    if (i != axis) {
      order[rank++] = (size_t)(from - (from > items[axis].as.integer));
    }
  }
  return etx_build_permute(builder, *value, order, value);
}

static etx_status split_stacked(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_select_copy_int_out) return ETX_OK;
  const uint32_t stack = node->args[0].as.value;
  const etx_dim parts =
      etx_rewrite_shape(rewrite, &node->args[0])->dims[axis_of(rewrite)];
  const etx_dim index = node->args[2].as.integer;
  if (!etx_dim_is_number(parts) || parts < 2 || parts > MAX_PARTS ||
      node->args[2].kind != ETX_IR_ARG_INT || !etx_dim_is_number(index) ||
      stack >= rewrite->value_count || rewrite->uses[stack] != parts) {
    return ETX_OK;
  }
  part_views views;
  const etx_ir_node* const found =
      find_stacked_layer(rewrite, axis_of(rewrite), &views);
  if (found == NULL || !can_split_columns(rewrite, found)) return ETX_OK;
  // A copy, because appending nodes moves them.
  const etx_ir_node layer = *found;
  const etx_dim all = etx_rewrite_shape(rewrite, &layer.args[1])->dims[0];
  const etx_dim size = all / parts;
  const etx_dim start = (index < 0 ? index + parts : index) * size;
  uint32_t value = 0;
  ETX_TRY(emit_columns(builder, &layer, start, start + size, &value));
  for (size_t i = views.count; i > 0; --i) {
    ETX_TRY(view_part(builder, &views.nodes[i - 1], views.axes[i - 1], &value));
  }
  builder->results[0] = value;
  *out_done = true;
  return ETX_OK;
}

etx_status etx_pass_narrow_linear(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {narrow_rows, split_columns,
                                           split_glu, split_stacked};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, 4);
}
