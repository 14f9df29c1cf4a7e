// The execution plan of one method. Nodes without an instruction (views, parts
// of states that are updated in place, elided copies) appear only as tensors.
// Every other node is a KernelCall: its arguments in the order of the schema,
// outs included, and the slot of the result.

#include "exporter/emit/emit_internal.h"
#include "exporter/ir/ir_cond.h"
#include "exporter/ir/own_operators.h"
#include "exporter/placement/view_rules.h"
#include "format/pte/reserved_names.h"

// ---------------------------------------------------------------- nodes

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

static etx_status emit_node(etx_emit_method* m, const etx_ir_node* node) {
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

// ---------------------------------------------------- inputs, outputs

static etx_status emit_input(etx_emit_method* m, size_t input) {
  const etx_ir_arg* const arg = &m->method->inputs[input].arg;
  uint32_t* const out = &m->input_index[input];
  etx_pte_value value = {.kind = ETX_PTE_NULL};
  switch (arg->kind) {
    case ETX_IR_ARG_VALUE:
      return etx_emit_tensor(m, arg->as.value, out);
    case ETX_IR_ARG_INT: {
      int64_t low = 0;
      value.kind = ETX_PTE_INT;
      etx_symbols_bounds(m->symbols, arg->as.integer, &low, &value.as.integer);
      break;
    }
    case ETX_IR_ARG_DOUBLE:
      value.kind = ETX_PTE_DOUBLE;
      value.as.real = arg->as.real;
      break;
    case ETX_IR_ARG_BOOL:
      value.kind = ETX_PTE_BOOL;
      value.as.boolean = arg->as.boolean;
      break;
    case ETX_IR_ARG_DTYPE:
      value.kind = ETX_PTE_INT;
      value.as.integer = arg->as.dtype;
      break;
    case ETX_IR_ARG_STRING:
      value.kind = ETX_PTE_STRING;
      value.as.string = arg->as.string;
      break;
    case ETX_IR_ARG_NONE:
    case ETX_IR_ARG_LIST:
      break;
  }
  // Not a shared slot, since the caller sets it.
  return etx_emit_value(m, &value, out);
}

static etx_blob_lifetime lifetime_of(const etx_emit_method* m,
                                     const etx_ir_output* output) {
  if (output->arg.kind != ETX_IR_ARG_VALUE || output->is_number) {
    return ETX_LIFETIME_SCRATCH;
  }
  const etx_storage_range range =
      etx_placement_range(m->placement, output->arg.as.value);
  switch (m->placement->storages[range.storage].kind) {
    case ETX_STORAGE_STATE:
    case ETX_STORAGE_CONSTANT:
      return ETX_LIFETIME_STATE;
    default:
      return output->lifetime == ETX_IR_STABLE ? ETX_LIFETIME_STABLE
                                               : ETX_LIFETIME_SCRATCH;
  }
}

typedef struct inputs_and_outputs {
  int32_t* inputs;
  int32_t* outputs;
  etx_blob_input* input_rows;
  etx_blob_output* output_rows;
  size_t output_count;
} inputs_and_outputs;

// ExecuTorch's runtime copies the caller's tensor into an input with planned
// memory, and then the caller does not see what the method writes. So a mutable
// input is the caller's own memory: the method copies it to planned memory,
// works on that, and at the end copies the new content back. It cannot work on
// the caller's memory, because hosts give outputs without planned memory a new
// address before the method runs (the Python bindings do), and the new content
// is an output.
static bool is_copied(const etx_emit_method* m, size_t input) {
  return m->plans_inputs && m->method->inputs[input].is_mutable &&
         m->method->inputs[input].arg.kind == ETX_IR_ARG_VALUE;
}

static etx_status copy_from_caller(etx_emit_method* m, uint32_t value,
                                   uint32_t copy, uint32_t* out_input) {
  uint32_t arguments[4];
  ETX_TRY(etx_emit_callers_tensor(m, value, out_input));
  arguments[0] = *out_input;
  ETX_TRY(etx_emit_null(m, &arguments[1]));
  arguments[2] = arguments[3] = copy;
  return etx_emit_call(m, etx_op_at(ETX_OP_clone_out), arguments, 4);
}

static etx_status copy_to_callers(etx_emit_method* m,
                                  const inputs_and_outputs* p) {
  static const etx_ir_arg no = {ETX_IR_ARG_BOOL, {0}};
  for (size_t i = 0; i < m->method->input_count; ++i) {
    uint32_t arguments[4];
    if (!is_copied(m, i)) continue;
    arguments[0] = arguments[3] = (uint32_t)p->inputs[i];
    arguments[1] = m->input_index[i];
    ETX_TRY(etx_emit_any(m, &no, &arguments[2]));
    ETX_TRY(etx_emit_call(m, etx_op_at(ETX_OP_copy_in_place), arguments, 4));
  }
  return ETX_OK;
}

static etx_status emit_inputs(etx_emit_method* m, inputs_and_outputs* p) {
  for (size_t i = 0; i < m->method->input_count; ++i) {
    uint32_t slot = 0;
    ETX_TRY(emit_input(m, i));
    slot = m->input_index[i];
    if (is_copied(m, i)) {
      ETX_TRY(
          copy_from_caller(m, m->method->inputs[i].arg.as.value, slot, &slot));
    }
    p->inputs[i] = (int32_t)slot;
    p->input_rows[i] = (etx_blob_input){m->method->inputs[i].name,
                                        m->method->inputs[i].is_mutable};
  }
  return ETX_OK;
}

// ExecuTorch lists mutated inputs before the other outputs.
static void emit_mutated_inputs(etx_emit_method* m, inputs_and_outputs* p) {
  if (!m->plans_inputs) return;
  for (size_t i = 0; i < m->method->mutation_count; ++i) {
    const etx_ir_mutation* const mutation = &m->method->mutations[i];
    if (!mutation->is_input) continue;
    const size_t at = p->output_count++;
    p->outputs[at] = (int32_t)m->input_index[mutation->target];
    p->output_rows[at] =
        (etx_blob_output){.name = m->method->inputs[mutation->target].name,
                          .lifetime = ETX_LIFETIME_SCRATCH,
                          .mutated_input = (int32_t)mutation->target};
  }
}

// Reads the number in a tensor, at the end of the method.
static etx_status emit_number(etx_emit_method* m, uint32_t value,
                              uint32_t* out_index) {
  const etx_dtype dtype = m->method->values[value].shape.dtype;
  etx_pte_value number = {.kind = ETX_PTE_INT};
  uint32_t arguments[2];
  if (dtype == ETX_DTYPE_BOOL) number.kind = ETX_PTE_BOOL;
  if (etx_dtype_category_of(dtype) == ETX_CATEGORY_FLOATING) {
    number.kind = ETX_PTE_DOUBLE;
  }
  ETX_TRY(etx_emit_tensor(m, value, &arguments[0]));
  ETX_TRY(etx_emit_value(m, &number, &arguments[1]));
  *out_index = arguments[1];
  return etx_emit_call(m, etx_op_at(ETX_OP_local_scalar_dense), arguments, 2);
}

static etx_status emit_outputs(etx_emit_method* m, inputs_and_outputs* p) {
  emit_mutated_inputs(m, p);
  for (size_t i = 0; i < m->method->output_count; ++i) {
    const etx_ir_output* const output = &m->method->outputs[i];
    const size_t at = p->output_count++;
    uint32_t index = 0;
    ETX_TRY(output->is_number ? emit_number(m, output->arg.as.value, &index)
                              : etx_emit_any(m, &output->arg, &index));
    p->outputs[at] = (int32_t)index;
    p->output_rows[at] = (etx_blob_output){.name = output->name,
                                           .lifetime = lifetime_of(m, output),
                                           .mutated_input = -1};
    ETX_TRY(etx_emit_output_sizes(m, output, &p->output_rows[at].sizes));
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- the plan

static void fill_none(uint32_t* items, size_t count) {
  for (size_t i = 0; i < count; ++i) items[i] = ETX_IR_NONE;
}

static etx_status init_method(etx_emit_method* m, inputs_and_outputs* p) {
  etx_pool* const pool = m->emit->pool;
  const etx_ir_method* const method = m->method;
  const size_t value_count = method->value_count;
  const size_t storage_count = m->placement->storage_count;
  const size_t input_count = method->input_count;
  const size_t output_count = method->output_count + method->mutation_count;
  m->index_of_value = etx_pool_take(pool, value_count * sizeof(uint32_t));
  m->are_parts_bound = etx_pool_take(pool, value_count * sizeof(bool));
  m->external_of_storage =
      etx_pool_take(pool, storage_count * sizeof(uint32_t));
  m->index_of_symbol =
      etx_pool_take(pool, m->symbols->symbol_count * sizeof(uint32_t));
  m->input_index = etx_pool_take(pool, input_count * sizeof(uint32_t));
  p->inputs = etx_pool_take(pool, input_count * sizeof *p->inputs);
  p->input_rows = etx_pool_take(pool, input_count * sizeof *p->input_rows);
  p->outputs = etx_pool_take(pool, output_count * sizeof *p->outputs);
  p->output_rows = etx_pool_take(pool, output_count * sizeof *p->output_rows);
  if (m->index_of_value == NULL || m->are_parts_bound == NULL ||
      m->external_of_storage == NULL || m->index_of_symbol == NULL ||
      m->input_index == NULL || p->inputs == NULL || p->input_rows == NULL ||
      p->outputs == NULL || p->output_rows == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  fill_none(m->index_of_value, value_count);
  fill_none(m->external_of_storage, storage_count);
  fill_none(m->index_of_symbol, m->symbols->symbol_count);
  for (uint32_t v = 0; v < m->placement->value_count; ++v) {
    const etx_value_placement* const place = &m->placement->values[v];
    if (place->kind == ETX_PLACEMENT_EXTERNAL)
      m->external_of_storage[place->storage] = v;
  }
  return etx_emit_join_tensors(m);
}

// The synthetic init method has the tensors of all states, including states
// without bytes, so that it describes the whole layout.
static etx_status emit_states(etx_emit_method* m) {
  if (!m->method->is_synthetic) return ETX_OK;
  for (uint32_t v = 0; v < m->method->value_count; ++v) {
    uint32_t index = 0;
    if (m->method->values[v].origin != ETX_IR_FROM_BUFFER) continue;
    ETX_TRY(etx_emit_tensor(m, v, &index));
  }
  return ETX_OK;
}

static etx_status describe_symbols(etx_emit_method* m, etx_blob_method* blob) {
  const size_t count = m->symbols->symbol_count;
  etx_blob_symbol* const rows =
      etx_pool_take(m->emit->pool, count * sizeof *rows);
  if (rows == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    const etx_symbol* const symbol = &m->symbols->symbols[i];
    rows[i] = (etx_blob_symbol){symbol->name, symbol->minimum, symbol->maximum};
  }
  etx_blob_input_dim* dims = NULL;
  ETX_TRY(etx_emit_input_dims(m, &dims, &blob->input_dim_count));
  blob->symbols = rows;
  blob->symbol_count = count;
  blob->input_dims = dims;
  return ETX_OK;
}

// The pytree text of inputs (is_call: a tuple of arguments and a dict of
// keywords) or outputs, as torch.utils._pytree writes it.
static etx_status tree_of(etx_emit* emit, size_t leaf_count, bool is_call,
                          etx_text* out_text) {
#define LEAF "{\"type\": null, \"context\": null, \"children_spec\": []}"
  static const char open[] =
      "{\"type\": \"builtins.tuple\", \"context\": \"null\", "
      "\"children_spec\": [";
  static const char leaf[] = LEAF;
  static const char keywords[] =
      ", {\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": "
      "[]}]}]";
#undef LEAF
  const size_t room =
      2 * sizeof open + leaf_count * (sizeof leaf + 2) + sizeof keywords + 16;
  char* const text = etx_pool_take(emit->pool, room);
  if (text == NULL) return ETX_OUT_OF_MEMORY;
  size_t size = etx_format_text(text, room, "[1, %s%s", is_call ? open : "",
                                !is_call && leaf_count == 1 ? "" : open);
  for (size_t i = 0; i < leaf_count; ++i) {
    size += etx_format_text(text + size, room - size, "%s%s",
                            i == 0 ? "" : ", ", leaf);
  }
  size += etx_format_text(text + size, room - size, "%s%s",
                          !is_call && leaf_count == 1 ? "" : "]}",
                          is_call ? keywords : "]");
  *out_text = (etx_text){text, size};
  return ETX_OK;
}

etx_status etx_emit_output_tree(etx_emit* emit, size_t count,
                                etx_text* out_text) {
  return tree_of(emit, count, false, out_text);
}

static etx_status finish_plan(etx_emit_method* m, const inputs_and_outputs* p,
                              const etx_memory_plan* memory,
                              etx_pte_plan_content* plan) {
  etx_emit* const emit = m->emit;
  const etx_state_layout* const layout = emit->program->layout;
  etx_pte_chain* const chain = etx_pool_take(emit->pool, sizeof *chain);
  const size_t memories = emit->module->memory_count;
  int64_t* const sizes =
      etx_pool_take(emit->pool, (memories + 3) * sizeof *sizes);
  if (chain == NULL || sizes == NULL) return ETX_OUT_OF_MEMORY;
  chain->instructions = m->instructions;
  chain->instruction_count = m->instruction_count;
  sizes[ETX_MEMORY_SCRATCH] = (int64_t)memory->memory_bytes[0];
  sizes[ETX_MEMORY_STATE] = (int64_t)layout->bytes;
  for (size_t k = 1; k < memories; ++k) {
    sizes[etx_memory_arena_of(k)] = (int64_t)memory->memory_bytes[k];
  }
  ETX_TRY(tree_of(emit, m->method->input_count, true, &plan->input_tree));
  ETX_TRY(tree_of(emit, m->method->output_count, false, &plan->output_tree));
  plan->name = m->method->name;
  plan->values = m->values;
  plan->value_count = m->value_count;
  plan->inputs = p->inputs;
  plan->input_count = m->method->input_count;
  plan->outputs = p->outputs;
  plan->output_count = p->output_count;
  plan->chains = chain;
  plan->chain_count = 1;
  plan->operators = m->operators;
  plan->operator_count = m->operator_count;
  plan->buffer_sizes = sizes;
  plan->buffer_size_count = layout->count == 0 ? 2 : 3;
  if (memories > 1) plan->buffer_size_count = memories + 2;
  return ETX_OK;
}

// The places of all tensors of arena 1 in the further layouts.
static etx_status describe_layouts(const etx_emit_method* m,
                                   const etx_memory_plan* memory,
                                   etx_blob_method* out_blob) {
  const size_t count = memory->layout_count * m->scratch_count;
  etx_blob_place* const places =
      etx_pool_take(m->emit->pool, count * sizeof *places);
  size_t at = 0;
  if (places == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t k = 0; k < memory->layout_count; ++k) {
    for (size_t i = 0; i < m->scratch_count; ++i) {
      const etx_emit_scratch* const tensor = &m->scratch[i];
      const etx_storage_place* const place =
          &memory->layouts[k][tensor->storage];
      const uint64_t rest =
          place->bytes > tensor->start ? place->bytes - tensor->start : 0;
      places[at++] = (etx_blob_place){tensor->slot, k,
                                      place->offset + tensor->start, rest};
    }
  }
  out_blob->places = places;
  out_blob->place_count = count;
  return ETX_OK;
}

etx_status etx_emit_plan(etx_emit* emit, size_t method,
                         etx_pte_plan_content* out_plan,
                         etx_blob_method* out_blob, size_t* out_peak) {
  const etx_memory_plan* const memory = &emit->program->memory[method];
  etx_ir_method* const source = &emit->module->methods[method];
  etx_emit_method m = {
      .emit = emit,
      .method = source,
      .symbols = &source->symbols,
      .placement = &emit->program->placements[method],
      .plans_inputs = emit->program->target == ETX_TARGET_EXECUTORCH};
  inputs_and_outputs p = {0};
  ETX_TRY(init_method(&m, &p));
  ETX_TRY(emit_inputs(&m, &p));
  int32_t* const starts =
      etx_pool_take(emit->pool, (source->node_count + 1) * sizeof *starts);
  if (starts == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t n = 0; n < source->node_count; ++n) {
    starts[n] = (int32_t)m.instruction_count;
    ETX_TRY(emit_node(&m, &source->nodes[n]));
  }
  if (memory->peak_node < source->node_count) {
    *out_peak = (size_t)starts[memory->peak_node];
  }
  ETX_TRY(etx_emit_enter_branch(&m, 0));
  ETX_TRY(emit_outputs(&m, &p));
  ETX_TRY(copy_to_callers(&m, &p));
  ETX_TRY(emit_states(&m));
  ETX_TRY(describe_symbols(&m, out_blob));
  out_blob->name = source->name;
  out_blob->inputs = p.input_rows;
  out_blob->input_count = source->input_count;
  out_blob->outputs = p.output_rows;
  out_blob->output_count = p.output_count;
  out_blob->views = m.views;
  out_blob->view_count = m.view_count;
  ETX_TRY(describe_layouts(&m, memory, out_blob));
  ETX_TRY(etx_emit_source(emit, source, starts, m.instruction_count));
  return finish_plan(&m, &p, memory, out_plan);
}
