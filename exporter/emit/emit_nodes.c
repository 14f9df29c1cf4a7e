// The instructions of nodes. Nodes without one (views, parts of states that are
// updated in place, elided copies) appear only as tensors. Every other node is
// a KernelCall: its arguments in the order of the schema, outs included, and
// the slot of the result.

#include "exporter/emit/emit_internal.h"
#include "exporter/ir/ir_cond.h"
#include "exporter/ir/own_operators.h"
#include "exporter/placement/view_rules.h"

// The slots of a kernel call.
typedef struct kernel_call {
  uint32_t arguments[ETX_MAX_ARGUMENTS + 1];
  size_t count;
  uint32_t outs[ETX_MAX_ARGUMENTS];
  size_t out_count;
  uint32_t out_list;  // slot of a TensorList of outs, or ETX_IR_NONE
} kernel_call;

static etx_status emit_output(etx_emit_method* m, const etx_ir_node* node,
                              size_t output, uint32_t* out_index) {
  if (output >= node->output_count || node->outputs[output] == ETX_IR_NONE) {
    return etx_diag_fail(m->emit->diag, ETX_INTERNAL,
                         "method '%t': output %z of '%t' has no value",
                         m->method->name, output, node->aten);
  }
  return etx_emit_tensor(m, node->outputs[output], out_index);
}

static etx_status add_outs(etx_emit_method* m, const etx_ir_node* node,
                           const etx_argument* argument, kernel_call* call) {
  if (argument->type == ETX_ARGUMENT_TENSOR) {
    uint32_t* const out = &call->outs[call->out_count];
    ETX_TRY(emit_output(m, node, call->out_count, out));
    ++call->out_count;
    call->arguments[call->count++] = *out;
    return ETX_OK;
  }
  if (node->output_count > ETX_MAX_ARGUMENTS) return ETX_OUT_OF_RANGE;
  while (call->out_count < node->output_count) {
    ETX_TRY(
        emit_output(m, node, call->out_count, &call->outs[call->out_count]));
    ++call->out_count;
  }
  ETX_TRY(
      etx_emit_tensor_list(m, call->outs, call->out_count, &call->out_list));
  call->arguments[call->count++] = call->out_list;
  return ETX_OK;
}

static etx_status add_result(etx_emit_method* m, const etx_op* op,
                             kernel_call* call) {
  uint32_t* const slot = &call->arguments[call->count];
  switch (op->result) {
    case ETX_RESULT_OUT:
      *slot = call->outs[0];
      break;
    case ETX_RESULT_OUT_LIST:
      ETX_TRY(etx_emit_tensor_list(m, call->outs, call->out_count, slot));
      break;
    case ETX_RESULT_LIST:
      *slot = call->out_list;
      break;
    case ETX_RESULT_SELF:
      *slot = call->arguments[0];
      break;
    case ETX_RESULT_SCALAR:
      return etx_diag_fail(
          m->emit->diag, ETX_INTERNAL,
          "method '%t': unexpected node of scalar operator '%s'",
          m->method->name, op->name);
    case ETX_RESULT_NONE:
      return ETX_OK;
  }
  ++call->count;
  return ETX_OK;
}

// Emits the argument that an operator of the application changes: the tensor of
// its new content. If that does not lie where the old content does, the old
// content is copied there first.
static etx_status emit_changed(etx_emit_method* m, const etx_ir_node* node,
                               size_t argument, size_t output,
                               uint32_t* out_index) {
  uint32_t copy[4];
  ETX_TRY(emit_output(m, node, output, out_index));
  ETX_TRY(etx_emit_tensor(m, node->args[argument].as.value, &copy[0]));
  if (copy[0] == *out_index) return ETX_OK;
  ETX_TRY(etx_emit_null(m, &copy[1]));
  copy[2] = copy[3] = *out_index;
  return etx_emit_call(m, etx_op_at(ETX_OP_clone_out), copy, 4);
}

// Emits a call of an operator of the application. It has the arguments of the
// operator's row, in which the new contents of changed arguments, which are
// outputs of the node, are these arguments.
static etx_status emit_own(etx_emit_method* m, const etx_ir_node* node,
                           const etx_own_entry* entry) {
  kernel_call call = {.out_list = ETX_IR_NONE};
  const etx_op* const row = &entry->row.op;
  etx_argument_cursor cursor = etx_argument_first(row->arguments);
  etx_argument argument;
  size_t changed = 0;
  while (etx_argument_next(&cursor, &argument)) {
    uint32_t* const slot = &call.arguments[call.count];
    if (etx_argument_is_changed(&argument)) {
      ETX_TRY(emit_changed(m, node, call.count, changed++, slot));
    } else if (argument.written) {
      ETX_TRY(emit_output(m, node, changed + call.out_count, slot));
      call.outs[call.out_count++] = *slot;
    } else {
      ETX_TRY(etx_emit_argument(m, &argument, &node->args[call.count], slot));
    }
    ++call.count;
  }
  ETX_TRY(add_result(m, row, &call));
  return etx_emit_call(m, row, call.arguments, call.count);
}

static etx_status emit_kernel(etx_emit_method* m, const etx_ir_node* node) {
  const etx_own_entry* const own =
      etx_own_operators_of(m->emit->module, node->op);
  if (own != NULL) return emit_own(m, node, own);
  kernel_call call = {.out_list = ETX_IR_NONE};
  etx_argument_cursor cursor = etx_argument_first(node->op->arguments);
  etx_argument argument;
  size_t next = 0;
  while (etx_argument_next(&cursor, &argument)) {
    if (argument.written) {
      ETX_TRY(add_outs(m, node, &argument, &call));
      continue;
    }
    static const etx_ir_arg none = {ETX_IR_ARG_NONE, {0}};
    const etx_ir_arg* const arg =
        next < node->arg_count ? &node->args[next] : &none;
    ++next;
    ETX_TRY(etx_emit_argument(m, &argument, arg, &call.arguments[call.count]));
    ++call.count;
  }
  ETX_TRY(add_result(m, node->op, &call));
  return etx_emit_call(m, node->op, call.arguments, call.count);
}

// aten::copy whose result has the placement of its `self` is emitted as
// aten::copy_, which does not copy `self` first.
static etx_status emit_in_place_copy(etx_emit_method* m,
                                     const etx_ir_node* node, bool* out_done) {
  uint32_t arguments[4];
  uint32_t out = 0;
  if (node->op->id != ETX_OP_copy_out) return ETX_OK;
  ETX_TRY(emit_output(m, node, 0, &out));
  ETX_TRY(etx_emit_tensor(m, node->args[0].as.value, &arguments[0]));
  if (arguments[0] != out) return ETX_OK;
  static const etx_ir_arg no = {ETX_IR_ARG_BOOL, {0}};
  ETX_TRY(etx_emit_tensor(m, node->args[1].as.value, &arguments[1]));
  ETX_TRY(etx_emit_any(m, &no, &arguments[2]));
  arguments[3] = out;
  *out_done = true;
  return etx_emit_call(m, etx_op_at(ETX_OP_copy_in_place), arguments, 4);
}

// The sizes of a view. If the view has all elements, its first dynamic size is
// written as -1, which needs no instruction. -1 is ambiguous if another size
// can be 0.
static etx_status emit_view_sizes(etx_emit_method* m, const etx_shape* shape,
                                  bool all_elements, uint32_t* out_index) {
  size_t inferred = shape->rank;  // the dimension to write as -1
  bool can_be_empty = !all_elements;
  for (size_t i = 0; i < shape->rank; ++i) {
    int64_t low = 0;
    int64_t high = 0;
    etx_symbols_bounds(m->symbols, shape->dims[i], &low, &high);
    if (!etx_dim_is_number(shape->dims[i]) && inferred == shape->rank) {
      inferred = i;
    } else if (low <= 0) {
      can_be_empty = true;
    }
  }
  etx_ir_arg items[ETX_MAX_RANK];
  for (size_t i = 0; i < shape->rank; ++i) {
    items[i] = etx_ir_int(i == inferred && !can_be_empty ? -1 : shape->dims[i]);
  }
  const etx_ir_arg list = {ETX_IR_ARG_LIST, .as.list = {items, shape->rank}};
  const etx_argument argument = {.type = ETX_ARGUMENT_INTS};
  return etx_emit_argument(m, &argument, &list, out_index);
}

// The first element of a view in its base.
static etx_status emit_view_start(etx_emit_method* m,
                                  const etx_value_placement* place,
                                  const etx_value_view* view,
                                  uint32_t* out_index) {
  const etx_shape* const base = &m->method->values[place->base].shape;
  etx_dim start = view->index;
  if (place->kind != ETX_PLACEMENT_DYNAMIC_PART) {
    start = (etx_dim)(place->delta / etx_dtype_bytes(base->dtype));
    return etx_emit_int(m, start, out_index);
  }
  for (size_t i = view->dimension + 1; i < base->rank; ++i) {
    ETX_TRY(etx_symbols_apply(m->symbols, ETX_SYMBOL_MULTIPLY, start,
                              base->dims[i], &start));
  }
  return etx_emit_integer(m, start, out_index);
}

// Sets the sizes and the address of a view with dynamic sizes or offset.
static etx_status emit_view(etx_emit_method* m, const etx_ir_node* node,
                            size_t output) {
  const uint32_t value = node->outputs[output];
  const etx_value_placement* const place = &m->placement->values[value];
  const etx_shape* const shape = &m->method->values[value].shape;
  uint32_t base = 0;
  uint32_t out = 0;
  uint32_t start = 0;
  uint32_t sizes = 0;
  ETX_TRY(etx_emit_tensor(m, place->base, &base));
  ETX_TRY(etx_emit_tensor(m, value, &out));
  // The view has the sizes of an existing tensor.
  if (base == out) return ETX_OK;
  etx_value_view view = {0};
  const bool all_elements =
      etx_value_view_find(m->method, node, output, &view) && view.all_elements;
  ETX_TRY(emit_view_sizes(m, shape, all_elements, &sizes));
  if (all_elements) {
    const uint32_t arguments[3] = {base, sizes, out};
    return etx_emit_call(m, etx_op_at(ETX_OP_et_view_default), arguments, 3);
  }
  ETX_TRY(emit_view_start(m, place, &view, &start));
  const uint32_t arguments[4] = {base, start, sizes, out};
  return etx_emit_call(m, etx_op_at(ETX_OP_part_view_default), arguments, 4);
}

// Sets the dynamic sizes of a tensor whose bytes other nodes write. aten::empty
// does only that: it does not touch the bytes.
static etx_status emit_sizes(etx_emit_method* m, uint32_t value) {
  uint32_t arguments[4];
  ETX_TRY(etx_emit_tensor(m, value, &arguments[2]));
  ETX_TRY(emit_view_sizes(m, &m->method->values[value].shape, false,
                          &arguments[0]));
  ETX_TRY(etx_emit_null(m, &arguments[1]));
  arguments[3] = arguments[2];
  return etx_emit_call(m, etx_op_at(ETX_OP_empty_out), arguments, 4);
}

// Places the operands of a concatenation one after the other in its result, and
// those of a concatenation that the result is an operand of before.
static etx_status emit_parts(etx_emit_method* m, uint32_t concat) {
  const uint32_t outer = m->placement->values[concat].part_of;
  const etx_ir_node* const node =
      &m->method->nodes[m->method->values[concat].index];
  const etx_shape* const shape = &m->method->values[concat].shape;
  const etx_ir_arg* const operands = &node->args[0];
  uint32_t arguments[4];
  if (m->are_parts_bound[concat]) return ETX_OK;
  m->are_parts_bound[concat] = true;
  if (outer != 0) {
    ETX_TRY(emit_parts(m, outer - 1));
  } else if (!etx_ir_is_static(shape)) {
    ETX_TRY(emit_sizes(m, concat));
  }
  ETX_TRY(etx_emit_tensor(m, concat, &arguments[0]));
  ETX_TRY(etx_emit_null(m, &arguments[1]));
  for (size_t i = 0; i < operands->as.list.count; ++i) {
    uint64_t delta = 0;
    const uint32_t part = etx_placement_root(
        m->placement, operands->as.list.items[i].as.value, &delta);
    ETX_TRY(emit_view_sizes(m, &m->method->values[part].shape, false,
                            &arguments[2]));
    ETX_TRY(etx_emit_tensor(m, part, &arguments[3]));
    ETX_TRY(
        etx_emit_call(m, etx_op_at(ETX_OP_part_after_default), arguments, 4));
    arguments[1] = arguments[3];
  }
  return ETX_OK;
}

// Places the outputs that are computed in a concatenation.
static etx_status emit_places(etx_emit_method* m, const etx_ir_node* node) {
  for (size_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i] == ETX_IR_NONE) continue;
    const etx_value_placement* const place =
        &m->placement->values[node->outputs[i]];
    if (place->kind == ETX_PLACEMENT_COMPUTED && place->part_of != 0) {
      ETX_TRY(emit_parts(m, place->part_of - 1));
    }
  }
  return ETX_OK;
}

// Sets sizes and addresses of the outputs of a node without a kernel call.
static etx_status emit_alias_setup(etx_emit_method* m,
                                   const etx_ir_node* node) {
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t value = node->outputs[i];
    if (value == ETX_IR_NONE) continue;
    switch (m->placement->values[value].kind) {
      case ETX_PLACEMENT_DYNAMIC_VIEW:
      case ETX_PLACEMENT_DYNAMIC_PART:
        ETX_TRY(emit_view(m, node, i));
        break;
      case ETX_PLACEMENT_DYNAMIC_SIZE:
        ETX_TRY(emit_sizes(m, value));
        break;
      default:
        break;
    }
  }
  return ETX_OK;
}

// Reads the symbol that a node sets from data: the number that item() reads, or
// the first size of the result that is the symbol.
static etx_status emit_late(etx_emit_method* m, const etx_ir_node* node) {
  const bool is_item = node->op->id == ETX_OP_local_scalar_dense;
  const uint32_t value = is_item ? node->args[0].as.value : node->outputs[0];
  const etx_shape* const shape = &m->method->values[value].shape;
  int32_t dim = is_item ? -1 : 0;
  uint32_t tensor = 0;
  etx_dim symbol = 0;
  ETX_TRY(etx_symbols_dim(m->symbols, node->late - 1, &symbol));
  while (dim >= 0 && dim < shape->rank && shape->dims[dim] != symbol) ++dim;
  if (dim == shape->rank) {
    return etx_diag_fail(m->emit->diag, ETX_INTERNAL,
                         "method '%t': '%t' does not have the size that it "
                         "sets",
                         m->method->name, node->aten);
  }
  ETX_TRY(etx_emit_tensor(m, value, &tensor));
  return etx_emit_late(m, node->late - 1, tensor, dim);
}

// A check of a condition. Its slot is not read.
static etx_status emit_check(etx_emit_method* m, const etx_ir_node* node) {
  const etx_pte_value result = {.kind = ETX_PTE_INT};
  uint32_t arguments[5];
  for (size_t i = 0; i < 4; ++i) {
    ETX_TRY(etx_emit_any(m, &node->args[i], &arguments[i]));
  }
  ETX_TRY(etx_emit_value(m, &result, &arguments[4]));
  return etx_emit_call(m, node->op, arguments, 5);
}

etx_status etx_emit_node(etx_emit_method* m, const etx_ir_node* node) {
  ETX_TRY(etx_emit_enter_branch(m, node->branch));
  if (etx_ir_is_head(node)) return etx_emit_head(m, node);
  if (etx_ir_is_join(node) || etx_ir_is_iteration_end(node)) return ETX_OK;
  if (!etx_placement_has_instruction(m->placement, node)) {
    // This instruction finds nothing to copy, and checks that.
    return node->output_count == 1 && node->outputs[0] != ETX_IR_NONE &&
                   etx_emit_has_dynamic_parts(m, node->outputs[0])
               ? emit_kernel(m, node)
               : emit_alias_setup(m, node);
  }
  ETX_TRY(emit_places(m, node));
  if (node->op->id == ETX_OP_check_range) return emit_check(m, node);
  bool done = node->op->id == ETX_OP_local_scalar_dense;
  if (!done) ETX_TRY(emit_in_place_copy(m, node, &done));
  if (!done) ETX_TRY(emit_kernel(m, node));
  return node->late == 0 ? ETX_OK : emit_late(m, node);
}
