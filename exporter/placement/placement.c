#include "exporter/placement/placement.h"

#include "exporter/ir/ir_edit.h"
#include "exporter/placement/view_rules.h"

etx_status etx_placement_add(etx_pool* pool, etx_placement* placement,
                             const etx_value_placement* place) {
  const etx_value_placement copy = *place;
  ETX_TRY(etx_pool_extend(pool, &placement->values, placement->value_count,
                          &placement->value_capacity, sizeof *place));
  placement->values[placement->value_count++] = copy;
  return ETX_OK;
}

etx_status etx_placement_add_storage(etx_pool* pool, etx_placement* placement,
                                     const etx_storage* storage,
                                     uint32_t* out_index) {
  const etx_storage copy = *storage;
  ETX_TRY(etx_pool_extend(pool, &placement->storages, placement->storage_count,
                          &placement->storage_capacity, sizeof *storage));
  *out_index = (uint32_t)placement->storage_count;
  placement->storages[placement->storage_count++] = copy;
  return ETX_OK;
}

uint32_t etx_placement_root(const etx_placement* placement, uint32_t value,
                            uint64_t* out_delta) {
  uint64_t delta = 0;
  while (!etx_placement_kind_is_root(placement->values[value].kind)) {
    const etx_value_placement* const place = &placement->values[value];
    delta += place->delta;
    if (place->kind == ETX_PLACEMENT_DYNAMIC_PART) delta = 0;
    value = place->base;
  }
  *out_delta = delta;
  return value;
}

uint32_t etx_placement_written_as(const etx_ir_method* method,
                                  const etx_placement* placement,
                                  uint32_t value) {
  const etx_value_placement* place = &placement->values[value];
  while (place->kind == ETX_PLACEMENT_ALIAS && place->delta == 0 &&
         etx_value_view_same_shape(method, value, place->base)) {
    value = place->base;
    place = &placement->values[value];
  }
  return value;
}

// The outermost value of which a part with an offset that depends on sizes was
// taken, on the way from `value` to its root; `value` if there is none.
static uint32_t fixed_value(const etx_placement* placement, uint32_t value) {
  uint32_t found = value;
  while (!etx_placement_kind_is_root(placement->values[value].kind)) {
    const etx_value_placement* const place = &placement->values[value];
    value = place->base;
    if (place->kind == ETX_PLACEMENT_DYNAMIC_PART) found = value;
  }
  return found;
}

bool etx_placement_has_fixed_offset(const etx_placement* placement,
                                    uint32_t value) {
  return fixed_value(placement, value) == value;
}

etx_storage_range etx_placement_range(const etx_placement* placement,
                                      uint32_t value) {
  uint64_t delta = 0;
  value = fixed_value(placement, value);
  const etx_value_placement* const root =
      &placement->values[etx_placement_root(placement, value, &delta)];
  const uint64_t start = root->offset + delta;
  const etx_storage_range range = {root->storage, start,
                                   start + placement->values[value].bytes};
  return range;
}

bool etx_placement_has_instruction(const etx_placement* placement,
                                   const etx_ir_node* node) {
  for (size_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i] == ETX_IR_NONE) continue;
    const etx_placement_kind kind = placement->values[node->outputs[i]].kind;
    if (kind == ETX_PLACEMENT_COMPUTED || kind == ETX_PLACEMENT_SELF_COPY)
      return true;
  }
  return false;
}

void etx_placement_move_node(etx_ir_method* method, size_t from, size_t to) {
  const etx_ir_node moved = method->nodes[from];
  if (from < to) {
    memmove(&method->nodes[from], &method->nodes[from + 1],
            (to - from) * sizeof moved);
  } else {
    memmove(&method->nodes[to + 1], &method->nodes[to],
            (from - to) * sizeof moved);
  }
  method->nodes[to] = moved;
  etx_ir_renumber_outputs(method, from < to ? from : to,
                          (from < to ? to : from) + 1);
}

uint32_t etx_placement_target(const etx_placement* placement,
                              const etx_ir_mutation* mutation) {
  return mutation->is_input ? placement->storage_of_input[mutation->target]
                            : placement->storage_of_buffer[mutation->target];
}

etx_text etx_placement_target_name(const etx_ir_module* module,
                                   const etx_ir_method* method,
                                   const etx_ir_mutation* mutation) {
  return mutation->is_input ? method->inputs[mutation->target].name
                            : module->buffers[mutation->target].name;
}

bool etx_placement_is_in_place(const etx_placement* placement,
                               const etx_ir_mutation* mutation) {
  const etx_storage_range range =
      etx_placement_range(placement, mutation->value);
  return range.storage == etx_placement_target(placement, mutation) &&
         etx_placement_has_fixed_offset(placement, mutation->value) &&
         range.start == 0;
}

etx_status etx_placement_each_read(const etx_ir_node* node,
                                   etx_placement_visit visit, void* context) {
  for (size_t i = 0; i < node->arg_count; ++i) {
    const etx_ir_arg* const arg = &node->args[i];
    if (arg->kind == ETX_IR_ARG_VALUE) {
      ETX_TRY(visit(context, i, arg->as.value));
    }
    if (arg->kind != ETX_IR_ARG_LIST) continue;
    for (size_t k = 0; k < arg->as.list.count; ++k) {
      const etx_ir_arg* const item = &arg->as.list.items[k];
      if (item->kind != ETX_IR_ARG_VALUE) continue;
      ETX_TRY(visit(context, i, item->as.value));
    }
  }
  return ETX_OK;
}
