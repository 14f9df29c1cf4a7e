#include "cli/select/described_operators.h"

#include <string.h>

const etx_own_operator* etx_described_find(const etx_described_operators* set,
                                           etx_text name) {
  const etx_op_name exact = etx_op_name_of(name, (etx_text){NULL, 0});
  for (size_t i = 0; i < set->count; ++i) {
    const etx_own_operator* const row = &set->entries[i]->row;
    if (etx_op_is_named(&row->op, &exact)) return row;
  }
  return NULL;
}

static bool is_same(const etx_own_operator* a, const etx_own_operator* b) {
  return strcmp(a->op.arguments, b->op.arguments) == 0 &&
         a->op.result == b->op.result && a->op.in_place == b->op.in_place &&
         strcmp(a->sizes, b->sizes) == 0 && strcmp(a->dtypes, b->dtypes) == 0;
}

static const etx_own_operator* find_like(const etx_described_operators* set,
                                         const etx_op* op) {
  for (size_t i = 0; i < set->count; ++i) {
    const etx_own_operator* const row = &set->entries[i]->row;
    if (strcmp(row->op.name, op->name) == 0 &&
        strcmp(row->op.overload, op->overload) == 0) {
      return row;
    }
  }
  return NULL;
}

static etx_status add_entry(etx_described_operators* set, etx_pool* pool,
                            const etx_own_entry* entry, etx_diag* diag) {
  const etx_op* const op = &entry->row.op;
  const etx_own_operator* const old = find_like(set, op);
  if (old != NULL && is_same(old, &entry->row)) return ETX_OK;
  if (old != NULL) {
    return etx_diag_fail(
        diag, ETX_BAD_FILE,
        "operator '%s%s%s' is described as (%s), sizes %s, and elsewhere as "
        "(%s), sizes %s: plan the programs with the same description",
        op->name, op->overload[0] == '\0' ? "" : ".", op->overload,
        op->arguments, entry->row.sizes, old->op.arguments, old->sizes);
  }
  ETX_TRY(etx_pool_grow(pool, &set->entries, set->count, &set->capacity,
                        sizeof *set->entries));
  set->entries[set->count++] = entry;
  return ETX_OK;
}

etx_status etx_described_add(etx_described_operators* set, etx_pool* pool,
                             etx_text text, etx_diag* diag) {
  etx_own_list list;
  etx_arena arena;
  const size_t needed = etx_own_list_needed(text);
  void* const memory = etx_pool_take(pool, needed);
  if (memory == NULL) return ETX_OUT_OF_MEMORY;
  etx_arena_init(&arena, memory, needed);
  ETX_TRY(etx_own_list_read(text, &arena, &list, diag));
  for (size_t i = 0; i < list.count; ++i) {
    ETX_TRY(add_entry(set, pool, &list.entries[i], diag));
  }
  return ETX_OK;
}

etx_status etx_described_add_program(etx_described_operators* set,
                                     etx_pool* pool, const etx_pte* pte,
                                     etx_diag* diag) {
  etx_bytes data = {NULL, 0};
  if (!etx_pte_named_data_find(pte, ETX_OWN_OPERATORS_KEY, &data)) {
    return ETX_OK;
  }
  return etx_described_add(set, pool,
                           (etx_text){(const char*)data.data, data.size}, diag);
}
