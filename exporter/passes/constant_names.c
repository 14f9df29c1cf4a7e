#include "exporter/passes/constant_names.h"

static bool is_recorded(const etx_constant_names* names, uint32_t constant,
                        uint32_t buffer) {
  for (size_t i = 0; i < names->count; ++i) {
    if (names->items[i].constant == constant &&
        names->items[i].buffer == buffer) {
      return true;
    }
  }
  return false;
}

etx_status etx_constant_name_add(etx_constant_names* names, etx_pool* pool,
                                 uint32_t constant, uint32_t buffer) {
  if (is_recorded(names, constant, buffer)) return ETX_OK;
  ETX_TRY(etx_pool_grow(pool, &names->items, names->count, &names->capacity,
                        sizeof *names->items));
  names->items[names->count++] = (etx_constant_name){constant, buffer};
  return ETX_OK;
}

static bool is_named(const etx_constant_names* names,
                     const etx_ir_module* module, uint32_t constant,
                     uint32_t buffer) {
  const etx_ir_buffer* const own = &module->buffers[buffer];
  return (!own->is_state && own->initial == constant) ||
         is_recorded(names, constant, buffer);
}

etx_status etx_constant_names_inherit(etx_constant_names* names,
                                      const etx_ir_module* module,
                                      uint32_t from, uint32_t to) {
  for (uint32_t b = 0; b < module->buffer_count; ++b) {
    if (!is_named(names, module, from, b)) continue;
    ETX_TRY(etx_constant_name_add(names, module->pool, to, b));
  }
  return ETX_OK;
}

uint32_t etx_constant_name_of(const etx_constant_names* names,
                              const etx_ir_value* value) {
  if (value->origin == ETX_IR_FROM_BUFFER) return value->index;
  if (value->origin != ETX_IR_FROM_CONSTANT) return ETX_IR_NONE;
  for (size_t i = 0; i < names->count; ++i) {
    if (names->items[i].constant == value->index) return names->items[i].buffer;
  }
  return ETX_IR_NONE;
}

etx_status etx_constant_names_find(const etx_constant_names* names,
                                   const etx_ir_module* module,
                                   uint32_t constant, etx_text** out_names,
                                   size_t* out_count) {
  etx_text* list = NULL;
  size_t count = 0, capacity = 0;
  for (uint32_t b = 0; b < module->buffer_count; ++b) {
    const etx_ir_buffer* const buffer = &module->buffers[b];
    if (!is_named(names, module, constant, b)) continue;
    ETX_TRY(etx_pool_grow(module->pool, &list, count, &capacity, sizeof *list));
    list[count++] = buffer->name;
  }
  *out_names = list;
  *out_count = count;
  return ETX_OK;
}
