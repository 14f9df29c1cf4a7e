// The last step of reading: unused entries of the module's tables are dropped,
// and the rest is sorted by names and contents alone, so that an archive and
// its dump give the same module.

#include <stdlib.h>

#include "exporter/import/import.h"

// A renumbering: new index by old index, ETX_IR_NONE for dropped entries.
typedef struct renumbering {
  uint32_t* to;
  size_t count;  // kept
} renumbering;

typedef struct named_index {
  etx_text name;
  uint32_t index;
} named_index;

static int by_name(const void* a, const void* b) {
  const named_index* const x = a;
  const named_index* const y = b;
  const int order = etx_text_compare(x->name, y->name);
  return order != 0 ? order : (x->index < y->index ? -1 : 1);
}

static etx_status init_renumbering(etx_pool* pool, size_t count,
                                   renumbering* out) {
  out->count = 0;
  out->to = etx_pool_take(pool, count * sizeof *out->to);
  if (out->to == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) out->to[i] = ETX_IR_NONE;
  return ETX_OK;
}

static void assign_number(renumbering* numbers, uint32_t old) {
  if (old == ETX_IR_NONE || numbers->to[old] != ETX_IR_NONE) return;
  numbers->to[old] = (uint32_t)numbers->count++;
}

// ---------------------------------------------------------------- buffers

static etx_status mark_used_buffers(const etx_ir_module* module, bool* used) {
  for (size_t i = 0; i < module->buffer_count; ++i) {
    used[i] = module->buffers[i].is_state;
  }
  for (size_t i = 0; i < module->method_count; ++i) {
    const etx_ir_method* const method = &module->methods[i];
    for (size_t j = 0; j < method->value_count; ++j) {
      if (method->values[j].origin != ETX_IR_FROM_BUFFER) continue;
      used[method->values[j].index] = true;
    }
  }
  return ETX_OK;
}

static etx_status order_buffers(const etx_ir_module* module,
                                renumbering* numbers) {
  etx_pool* const pool = module->pool;
  const size_t count = module->buffer_count;
  bool* const used = etx_pool_take(pool, count * sizeof *used);
  named_index* const names = etx_pool_take(pool, count * sizeof *names);
  ETX_TRY(init_renumbering(pool, count, numbers));
  if (used == NULL || names == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(mark_used_buffers(module, used));
  for (size_t i = 0; i < count; ++i) {
    names[i].name = module->buffers[i].name;
    names[i].index = (uint32_t)i;
  }
  if (count > 1) qsort(names, count, sizeof *names, by_name);
  for (size_t i = 0; i < count; ++i) {
    if (used[names[i].index]) assign_number(numbers, names[i].index);
  }
  return ETX_OK;
}

static etx_status move_buffers(etx_ir_module* module,
                               const renumbering* numbers) {
  etx_ir_buffer* const moved =
      etx_pool_take(module->pool, numbers->count * sizeof *moved);
  if (moved == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < module->buffer_count; ++i) {
    if (numbers->to[i] == ETX_IR_NONE) continue;
    etx_ir_buffer* const buffer = &moved[numbers->to[i]];
    *buffer = module->buffers[i];
    if (buffer->cache.is_cache && buffer->cache.counter != ETX_IR_NONE) {
      // The counter is a state, so it is kept.
      buffer->cache.counter = numbers->to[buffer->cache.counter];
    }
  }
  ETX_TRY(etx_ir_set_buffers(module, moved, numbers->count));
  for (size_t i = 0; i < module->method_count; ++i) {
    etx_ir_method* const method = &module->methods[i];
    for (size_t j = 0; j < method->value_count; ++j) {
      etx_ir_value* const value = &method->values[j];
      if (value->origin != ETX_IR_FROM_BUFFER) continue;
      value->index = numbers->to[value->index];
    }
    for (size_t j = 0; j < method->mutation_count; ++j) {
      etx_ir_mutation* const mutation = &method->mutations[j];
      if (mutation->is_input) continue;
      mutation->target = numbers->to[mutation->target];
    }
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- constants

// In order of first use: initial values of buffers, constants of the methods,
// then constant methods.
static void order_constants(const etx_ir_module* module, renumbering* numbers) {
  for (size_t i = 0; i < module->buffer_count; ++i) {
    assign_number(numbers, module->buffers[i].initial);
  }
  for (size_t i = 0; i < module->method_count; ++i) {
    const etx_ir_method* const method = &module->methods[i];
    for (size_t j = 0; j < method->value_count; ++j) {
      if (method->values[j].origin != ETX_IR_FROM_CONSTANT) continue;
      assign_number(numbers, method->values[j].index);
    }
  }
  for (size_t i = 0; i < module->constant_method_count; ++i) {
    assign_number(numbers, module->constant_methods[i].constant);
  }
}

static void renumber(const renumbering* numbers, uint32_t* index) {
  if (*index != ETX_IR_NONE) *index = numbers->to[*index];
}

static etx_status move_constants(etx_ir_module* module,
                                 const renumbering* numbers) {
  ETX_TRY(etx_ir_renumber_constants(module, numbers->to, numbers->count));
  for (size_t i = 0; i < module->buffer_count; ++i) {
    renumber(numbers, &module->buffers[i].initial);
  }
  for (size_t i = 0; i < module->method_count; ++i) {
    etx_ir_method* const method = &module->methods[i];
    for (size_t j = 0; j < method->value_count; ++j) {
      if (method->values[j].origin != ETX_IR_FROM_CONSTANT) continue;
      renumber(numbers, &method->values[j].index);
    }
  }
  for (size_t i = 0; i < module->constant_method_count; ++i) {
    renumber(numbers, &module->constant_methods[i].constant);
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- methods

static int by_method_name(const void* a, const void* b) {
  const etx_ir_method* const x = a;
  const etx_ir_method* const y = b;
  return etx_text_compare(x->name, y->name);
}

static int by_constant_method_name(const void* a, const void* b) {
  const etx_ir_constant_method* const x = a;
  const etx_ir_constant_method* const y = b;
  return etx_text_compare(x->name, y->name);
}

etx_status etx_import_compact(etx_ir_module* module) {
  if (module->method_count > 1) {
    qsort(module->methods, module->method_count, sizeof *module->methods,
          by_method_name);
  }
  if (module->constant_method_count > 1) {
    qsort(module->constant_methods, module->constant_method_count,
          sizeof *module->constant_methods, by_constant_method_name);
  }
  renumbering numbers;
  ETX_TRY(order_buffers(module, &numbers));
  ETX_TRY(move_buffers(module, &numbers));
  ETX_TRY(init_renumbering(module->pool, module->constant_count, &numbers));
  order_constants(module, &numbers);
  return move_constants(module, &numbers);
}
