// The first placement: every value has a storage of its own.
//
// A buffer that the method mutates is a state, any other one a constant; only
// the method itself counts (see insert_self_copy). Inputs stay in the caller's
// memory. For ExecuTorch's runtime, inputs that are written or returned are
// planned in scratch instead, because its callers may free the memory of
// inputs, or give outputs other memory. emit_method.c copies what is written
// back to the caller.

#include "exporter/ir/ir_cond.h"
#include "exporter/passes/pass_context.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/view_rules.h"

typedef struct storage_assignment {
  etx_ir_module* module;
  etx_ir_method* method;
  etx_placement* placement;
  etx_diag* diag;
  const bool* is_returned;  // by value: an output shows it or a view of it
  bool plans_inputs;        // target executorch
} storage_assignment;

static etx_status too_large(const storage_assignment* p, uint32_t value) {
  return etx_diag_fail(p->diag, ETX_OUT_OF_RANGE,
                       "method '%t': '%t' is too large at its upper bounds",
                       p->method->name, p->method->values[value].name);
}

// The constant of a buffer that is not a state here: its initial value, or
// zeros.
static etx_status constant_of_buffer(storage_assignment* p, uint32_t buffer,
                                     uint64_t bytes, uint32_t* out_constant) {
  const etx_ir_buffer* const from = &p->module->buffers[buffer];
  if (from->initial != ETX_IR_NONE) {
    *out_constant = from->initial;
    return ETX_OK;
  }
  etx_ir_constant zeros = {.dtype = from->dtype, .rank = from->rank};
  memcpy(zeros.sizes, from->sizes, sizeof zeros.sizes);
  zeros.data.data = etx_pool_take(p->module->pool, (size_t)bytes);
  zeros.data.size = (size_t)bytes;
  if (zeros.data.data == NULL) return ETX_OUT_OF_MEMORY;
  return etx_ir_add_constant(p->module, &zeros, out_constant);
}

static etx_status storage_of(storage_assignment* p, uint32_t value,
                             uint64_t bytes, etx_storage* out_storage) {
  const etx_ir_value* const v = &p->method->values[value];
  etx_storage storage = {
      .kind = ETX_STORAGE_SCRATCH, .index = ETX_IR_NONE, .bytes = bytes};
  switch (v->origin) {
    case ETX_IR_FROM_NODE:
      break;
    case ETX_IR_FROM_INPUT:
      storage.index = v->index;
      if (!p->plans_inputs ||
          !(p->is_returned[value] || p->method->inputs[v->index].is_mutable)) {
        storage.kind = ETX_STORAGE_INPUT;
      }
      break;
    case ETX_IR_FROM_BUFFER:
      if (etx_ir_mutation_of_buffer(p->method, v->index) != ETX_IR_NONE) {
        storage.kind = ETX_STORAGE_STATE;
        storage.index = v->index;
        break;
      }
      storage.kind = ETX_STORAGE_CONSTANT;
      ETX_TRY(constant_of_buffer(p, v->index, bytes, &storage.index));
      break;
    case ETX_IR_FROM_CONSTANT:
      storage.kind = ETX_STORAGE_CONSTANT;
      storage.index = v->index;
      break;
  }
  *out_storage = storage;
  return ETX_OK;
}

// True if `value` is the copy of a value onto itself. The node of an unused
// value may have been removed.
static bool is_self_copy(const etx_ir_method* method, uint32_t value) {
  const uint32_t index = method->values[value].index;
  if (index >= method->node_count) return false;
  const etx_ir_node* const node = &method->nodes[index];
  return node->op->id == ETX_OP_copy_out && node->outputs[0] == value &&
         node->args[0].as.value == node->args[1].as.value;
}

static etx_status assign_value(storage_assignment* p, uint32_t value) {
  const etx_ir_value* const v = &p->method->values[value];
  const bool is_node = v->origin == ETX_IR_FROM_NODE;
  etx_value_placement place = {
      .kind = is_node ? ETX_PLACEMENT_COMPUTED : ETX_PLACEMENT_EXTERNAL,
      .base = ETX_IR_NONE};
  // Unused values may have no shape.
  if (v->has_shape && !etx_ir_upper_bytes(p->method, &v->shape, &place.bytes)) {
    return too_large(p, value);
  }
  if (is_node && is_self_copy(p->method, value)) {
    place.kind = ETX_PLACEMENT_SELF_COPY;
    place.base = p->method->nodes[v->index].args[0].as.value;
  } else {
    etx_storage storage;
    ETX_TRY(storage_of(p, value, place.bytes, &storage));
    ETX_TRY(etx_placement_add_storage(p->module->pool, p->placement, &storage,
                                      &place.storage));
    if (storage.kind == ETX_STORAGE_STATE) {
      p->placement->storage_of_buffer[v->index] = place.storage;
    } else if (v->origin == ETX_IR_FROM_INPUT) {
      p->placement->storage_of_input[v->index] = place.storage;
    }
  }
  return etx_placement_add(p->module->pool, p->placement, &place);
}

// Marks the outputs and the values that outputs may be views of. This matters
// for ExecuTorch only, where parts at dynamic offsets are copies.
static void mark_returned(const etx_ir_method* method, bool* is_returned) {
  for (size_t i = 0; i < method->output_count; ++i) {
    const etx_ir_arg* const arg = &method->outputs[i].arg;
    if (arg->kind == ETX_IR_ARG_VALUE) is_returned[arg->as.value] = true;
  }
  for (size_t n = method->node_count; n > 0; --n) {
    const etx_ir_node* const node = &method->nodes[n - 1];
    for (size_t i = 0; i < node->output_count; ++i) {
      etx_value_view view;
      if (node->outputs[i] == ETX_IR_NONE || !is_returned[node->outputs[i]] ||
          !etx_value_view_find(method, node, i, &view) ||
          view.has_dynamic_offset) {
        continue;
      }
      is_returned[view.base] = true;
    }
  }
}

static etx_status new_lookup(etx_pool* pool, size_t count,
                             uint32_t** out_items) {
  *out_items = etx_pool_take(pool, count * sizeof **out_items);
  if (*out_items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) (*out_items)[i] = ETX_IR_NONE;
  return ETX_OK;
}

// The results of both branches get the storage of the join.
static void share_join_storage(const storage_assignment* p) {
  for (size_t n = 0; n < p->method->node_count; ++n) {
    const etx_ir_node* const node = &p->method->nodes[n];
    if (!etx_ir_is_join(node)) continue;
    etx_value_placement* const values = p->placement->values;
    etx_value_placement* const result = &values[node->outputs[0]];
    result->kind = ETX_PLACEMENT_BRANCH_RESULT;
    p->placement->storages[result->storage].is_branch_result = true;
    values[node->args[ETX_JOIN_THEN].as.value].storage = result->storage;
    values[node->args[ETX_JOIN_ELSE].as.value].storage = result->storage;
  }
}

static etx_status assign_method(etx_pass_context* context, size_t index) {
  etx_ir_module* const module = context->module;
  etx_ir_method* const method = &module->methods[index];
  for (size_t i = 0; i < method->mutation_count; ++i) {
    uint32_t target = 0;
    if (method->mutations[i].is_input) continue;
    ETX_TRY(etx_ir_buffer_value(module, method, method->mutations[i].target,
                                &target));
  }
  etx_placement* const placement = &context->placements[index];
  ETX_TRY(new_lookup(module->pool, module->buffer_count,
                     &placement->storage_of_buffer));
  ETX_TRY(new_lookup(module->pool, method->input_count,
                     &placement->storage_of_input));
  bool* const is_returned = etx_pool_take(module->pool, method->value_count);
  if (is_returned == NULL) return ETX_OUT_OF_MEMORY;
  mark_returned(method, is_returned);
  storage_assignment p = {
      module,      method,
      placement,   context->diag,
      is_returned, context->options->target == ETX_TARGET_EXECUTORCH};
  for (uint32_t v = 0; v < method->value_count; ++v) {
    ETX_TRY(assign_value(&p, v));
  }
  share_join_storage(&p);
  return ETX_OK;
}

etx_status etx_pass_assign_storage(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  context->placements = etx_pool_take(
      module->pool, module->method_count * sizeof *context->placements);
  if (context->placements == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < module->method_count; ++i) {
    ETX_TRY(assign_method(context, i));
  }
  return ETX_OK;
}
