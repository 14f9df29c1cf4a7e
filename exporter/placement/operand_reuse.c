#include "exporter/placement/operand_reuse.h"

typedef struct reuse_check {
  const etx_ir_method* method;
  const etx_placement* placement;
  const etx_ir_node* node;
  uint32_t result;
  uint32_t storage;
  bool allowed;
} reuse_check;

bool etx_operand_reuse_is_block(const etx_placement* placement,
                                uint32_t value) {
  const etx_storage_range range = etx_placement_range(placement, value);
  const etx_storage* const storage = &placement->storages[range.storage];
  return storage->kind == ETX_STORAGE_SCRATCH &&
         storage->index == ETX_IR_NONE && range.start == 0 &&
         range.end == storage->bytes && storage->bytes != 0 &&
         etx_placement_has_fixed_offset(placement, value);
}

// Refuses if the node also reads the block through another argument or with
// other sizes.
static etx_status check_read(void* context, size_t argument, uint32_t value) {
  reuse_check* const s = context;
  if (etx_placement_range(s->placement, value).storage != s->storage) {
    return ETX_OK;
  }
  const bool self = s->node->op->in_place == ETX_IN_PLACE_SELF;
  if ((self && argument != 0) ||
      !etx_operand_reuse_is_block(s->placement, value)) {
    s->allowed = false;
  }
  if (!self) {
    etx_shape shape = s->method->values[value].shape;
    const etx_shape* const result = &s->method->values[s->result].shape;
    shape.dtype = result->dtype;
    if (shape.rank != result->rank) s->allowed = false;
    for (size_t i = 0; s->allowed && i < shape.rank; ++i) {
      s->allowed = etx_symbols_equal(&s->method->symbols, shape.dims[i],
                                     result->dims[i]);
    }
  }
  return ETX_OK;
}

uint32_t etx_operand_reuse_result(const etx_placement* placement,
                                  const etx_ir_node* node) {
  if (node->op->in_place == ETX_IN_PLACE_NEVER || node->output_count != 1 ||
      node->outputs[0] == ETX_IR_NONE) {
    return ETX_IR_NONE;
  }
  const uint32_t result = node->outputs[0];
  const etx_value_placement* const place = &placement->values[result];
  // The results of two branches must stay in one storage.
  const bool may_move = place->kind == ETX_PLACEMENT_COMPUTED &&
                        etx_operand_reuse_is_block(placement, result) &&
                        !placement->storages[place->storage].is_branch_result;
  return may_move ? result : ETX_IR_NONE;
}

bool etx_operand_reuse_is_allowed(const etx_ir_method* method,
                                  const etx_placement* placement,
                                  const etx_ir_node* node, size_t argument,
                                  uint32_t result) {
  const bool self = node->op->in_place == ETX_IN_PLACE_SELF;
  if ((self && argument != 0) ||
      node->args[argument].kind != ETX_IR_ARG_VALUE) {
    return false;
  }
  const uint32_t value = node->args[argument].as.value;
  if (!etx_operand_reuse_is_block(placement, value)) return false;
  const uint32_t storage = etx_placement_range(placement, value).storage;
  if (placement->storages[storage].bytes != placement->values[result].bytes) {
    return false;
  }
  reuse_check s = {method, placement, node, result, storage, true};
  return etx_placement_each_read(node, check_read, &s) == ETX_OK && s.allowed;
}
