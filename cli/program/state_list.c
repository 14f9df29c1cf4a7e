#include "cli/program/state_list.h"

#include "format/cache_table/cache_table.h"

static etx_state_row row_of_blob(const etx_blob_state* state) {
  const etx_state_row row = {.name = state->name,
                             .dtype = state->dtype,
                             .sizes = state->sizes,
                             .rank = state->rank,
                             .arena = 2,
                             .offset = state->offset,
                             .initial = state->data_buffer_index == 0 ? "zeros"
                                        : state->is_uniform ? "uniform"
                                                            : "constant",
                             .constant = state->data_buffer_index};
  return row;
}

static bool has_name(const etx_state_list* list, etx_text name) {
  for (size_t i = 0; i < list->count; ++i) {
    if (etx_text_equal(list->rows[i].name, name)) return true;
  }
  return false;
}

// Planned tensors with a name are states. Constants may have names too.
static void add_named_tensors(const etx_pte_plan* plan, etx_state_list* list) {
  for (size_t i = 0; i < etx_pte_value_count(plan); ++i) {
    if (etx_pte_value_kind(plan, i) != ETX_PTE_TENSOR) continue;
    const etx_pte_value value = etx_pte_value_at(plan, i);
    const etx_pte_tensor* const tensor = &value.as.tensor;
    if (!tensor->has_allocation || tensor->name.size == 0) continue;
    if (has_name(list, tensor->name)) continue;
    const etx_state_row row = {
        .name = tensor->name,
        .dtype = tensor->dtype,
        .sizes = tensor->sizes,
        .rank = tensor->rank,
        .arena = tensor->memory_id,
        .offset = tensor->memory_offset,
        .initial = tensor->data_buffer_index == 0 ? "unknown" : "constant",
        .constant = tensor->data_buffer_index};
    list->rows[list->count++] = row;
  }
}

static size_t most_rows(const etx_program* program) {
  if (program->has_blob) return etx_blob_state_count(&program->blob);
  size_t most = 0;
  for (size_t i = 0; i < etx_pte_plan_count(&program->pte); ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(&program->pte, i);
    most += etx_pte_value_count(&plan);
  }
  return most;
}

// The caches among the states of a blob; their rows are in the blob's order.
static etx_status mark_caches(const etx_program* program, etx_state_list* list,
                              etx_diag* diag) {
  etx_cache_table table;
  const etx_status status =
      etx_cache_table_open(&table, &program->pte, &program->blob, diag);
  if (status == ETX_NOT_FOUND) return ETX_OK;
  ETX_TRY(status);
  for (size_t i = 0; i < table.count; ++i) {
    const etx_cache cache = etx_cache_table_at(&table, i);
    etx_state_row* const row = &list->rows[cache.state];
    row->is_cache = true;
    row->cache_dim = (uint32_t)cache.dim;
    row->overflow = etx_cache_overflow_name((etx_cache_overflow)cache.overflow);
    if (cache.counter == ETX_CACHE_NO_COUNTER) continue;
    row->counter = list->rows[cache.counter].name;
  }
  return ETX_OK;
}

etx_status etx_state_list_read(const etx_program* program, etx_pool* pool,
                               etx_state_list* out_list, etx_diag* diag) {
  etx_state_list list = {NULL, 0};
  list.rows = etx_pool_take(pool, most_rows(program) * sizeof *list.rows);
  if (list.rows == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for states");
  }
  if (program->has_blob) {
    for (size_t i = 0; i < etx_blob_state_count(&program->blob); ++i) {
      const etx_blob_state state = etx_blob_state_at(&program->blob, i);
      list.rows[list.count++] = row_of_blob(&state);
    }
    ETX_TRY(mark_caches(program, &list, diag));
  } else {
    for (size_t i = 0; i < etx_pte_plan_count(&program->pte); ++i) {
      const etx_pte_plan plan = etx_pte_plan_at(&program->pte, i);
      add_named_tensors(&plan, &list);
    }
  }
  *out_list = list;
  return ETX_OK;
}
