#include "exporter/ir/own_operators.h"

#include "exporter/host/text_buffer.h"

static etx_status add_entry(etx_ir_module* module, const etx_own_entry* entry,
                            etx_diag* diag) {
  const etx_text name = etx_text_of(entry->name);
  if (etx_ir_schema_find(module, name) != NULL) {
    return etx_diag_fail_line(diag, ETX_BAD_FILE, entry->line, 1,
                              "operator '%t' is known already", name);
  }
  ETX_TRY(etx_pool_grow(module->pool, &module->own, module->own_count,
                        &module->own_capacity, sizeof *module->own));
  etx_aten_schema* const schema = etx_pool_take(module->pool, sizeof *schema);
  if (schema == NULL) return ETX_OUT_OF_MEMORY;
  schema->name = entry->name;
  schema->arguments = entry->arguments;
  schema->results = (int)(entry->result_count + entry->changed_count);
  module->own[module->own_count++] = (etx_ir_own){entry, schema};
  return ETX_OK;
}

etx_status etx_own_operators_add(etx_ir_module* module, etx_text text,
                                 etx_diag* diag) {
  const etx_text copy = etx_pool_copy_text(module->pool, text);
  const size_t needed = etx_own_list_needed(text);
  void* const memory = etx_pool_take(module->pool, needed);
  etx_arena arena;
  etx_own_list list;
  if (copy.data == NULL || memory == NULL) return ETX_OUT_OF_MEMORY;
  etx_arena_init(&arena, memory, needed);
  ETX_TRY(etx_own_list_read(copy, &arena, &list, diag));
  for (size_t i = 0; i < list.count; ++i) {
    ETX_TRY(add_entry(module, &list.entries[i], diag));
  }
  return ETX_OK;
}

static const etx_ir_own* find(const etx_ir_module* module, etx_text name) {
  for (size_t i = 0; i < module->own_count; ++i) {
    if (etx_text_is(name, module->own[i].entry->name)) return &module->own[i];
  }
  return NULL;
}

const etx_aten_schema* etx_ir_schema_find(const etx_ir_module* module,
                                          etx_text name) {
  const etx_ir_own* const own = find(module, name);
  return own == NULL ? etx_aten_schema_find(name) : own->schema;
}

const etx_own_entry* etx_own_operators_find(const etx_ir_module* module,
                                            etx_text name) {
  const etx_ir_own* const own = find(module, name);
  return own == NULL ? NULL : own->entry;
}

const etx_own_entry* etx_own_operators_of(const etx_ir_module* module,
                                          const etx_op* op) {
  for (size_t i = 0; i < module->own_count; ++i) {
    if (op == &module->own[i].entry->node.op) return module->own[i].entry;
  }
  return NULL;
}

// True if some node has the operator, lowered or not.
static bool is_used(const etx_ir_module* module, const etx_own_entry* entry) {
  for (size_t i = 0; i < module->method_count; ++i) {
    const etx_ir_method* const method = &module->methods[i];
    for (size_t n = 0; n < method->node_count; ++n) {
      const etx_ir_node* const node = &method->nodes[n];
      if (node->op == NULL ? etx_text_is(node->aten, entry->name)
                           : node->op == &entry->node.op) {
        return true;
      }
    }
  }
  return false;
}

// The used entry with the smallest name that is above `*after`; NULL at the
// end.
static const etx_own_entry* next_used(const etx_ir_module* module,
                                      const etx_own_entry* after) {
  const etx_own_entry* best = NULL;
  for (size_t i = 0; i < module->own_count; ++i) {
    const etx_own_entry* const entry = module->own[i].entry;
    if ((after == NULL || strcmp(entry->name, after->name) > 0) &&
        (best == NULL || strcmp(entry->name, best->name) < 0) &&
        is_used(module, entry)) {
      best = entry;
    }
  }
  return best;
}

etx_status etx_own_operators_text(const etx_ir_module* module, etx_pool* pool,
                                  etx_text* out_text) {
  etx_text_buffer out;
  etx_text_buffer_init(&out, pool);
  const etx_own_entry* entry = next_used(module, NULL);
  for (; entry != NULL; entry = next_used(module, entry)) {
    const etx_text source = entry->source;
    etx_text_put_text(&out, source);
    if (source.data[source.size - 1] != '\n') etx_text_put_string(&out, "\n");
  }
  *out_text = (etx_text){out.data, out.size};
  return out.status;
}
