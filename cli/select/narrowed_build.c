#include "cli/select/narrowed_build.h"

#include "format/ops/op_schema.h"
#include "format/pte/reserved_names.h"

etx_status etx_narrowed_find(const etx_selected_programs* programs,
                             const etx_traced* traced, etx_pool* pool,
                             etx_narrowed* out_narrowed, etx_diag* diag) {
  etx_selected_facts own = {.features = 0};
  *out_narrowed = (etx_narrowed){.facts.features = traced->features};
  for (size_t i = 0; i < programs->count; ++i) {
    const etx_program* const program = &programs->programs[i];
    const etx_selecting to = {programs->paths[i], &traced->selection,
                              &out_narrowed->selection, &own, pool};
    for (size_t k = 0; k < etx_pte_plan_count(&program->pte); ++k) {
      const etx_pte_plan plan = etx_pte_plan_at(&program->pte, k);
      ETX_TRY(etx_select_method(program, &plan, &to, diag));
    }
  }
  out_narrowed->facts.changes_used_values = own.changes_used_values;
  out_narrowed->facts.has_views = own.has_views;
  return ETX_OK;
}

// The runtime itself makes views, so they are no cells.
static bool is_view(etx_text name) {
  const etx_op_name full = etx_op_name_of(name, (etx_text){NULL, 0});
  return etx_op_find_view(&full) != NULL;
}

// The cells of a row that the build does not have; false if there is none.
static bool find_missing(const etx_selection* has,
                         const etx_selected_operator* wanted,
                         etx_missing_cell* out_cell) {
  const etx_selected_operator* const row =
      etx_selection_find(has, wanted->name);
  // An operator that a program lists and does not call.
  if (!wanted->has_kernels && !wanted->is_from_list) return false;
  if (is_view(wanted->name)) return false;
  *out_cell = (etx_missing_cell){wanted, 0, 0};
  if (row == NULL) return true;
  out_cell->dtypes = wanted->dtypes & ~row->dtypes;
  return out_cell->dtypes != 0;
}

// Reports all cells of `wanted` and `features` that are missing; returns their
// number.
static size_t report_missing(const etx_narrowed* narrowed,
                             const etx_selection* wanted, uint32_t features,
                             const etx_text names[2],
                             const etx_missing_cells* missing) {
  etx_missing_cell cell = {NULL, 0, features & ~narrowed->facts.features};
  size_t count = 0;
  if (cell.features != 0) {
    missing->report(missing->context, names[0], names[1], &cell);
    ++count;
  }
  for (size_t i = 0; i < wanted->count; ++i) {
    if (!find_missing(&narrowed->selection, &wanted->operators[i], &cell)) {
      continue;
    }
    missing->report(missing->context, names[0], names[1], &cell);
    ++count;
  }
  return count;
}

void etx_narrowed_compare(const etx_narrowed* narrowed,
                          const etx_selection* selection,
                          const etx_selected_facts* facts,
                          const etx_missing_cells* missing) {
  const etx_text none[2] = {{NULL, 0}, {NULL, 0}};
  (void)report_missing(narrowed, selection, facts->features, none, missing);
}

static etx_status check_method(etx_narrowed* narrowed,
                               const etx_program* program, etx_text path,
                               const etx_pte_plan* plan, etx_pool* pool,
                               const etx_missing_cells* missing) {
  etx_selection own = {.count = 0};
  etx_selected_facts facts = {.features = 0};
  const etx_selecting to = {path, NULL, &own, &facts, pool};
  const etx_text names[2] = {path, etx_pte_plan_name(plan)};
  ETX_TRY(etx_select_method(program, plan, &to, NULL));
  if (report_missing(narrowed, &own, facts.features, names, missing) > 0) {
    return ETX_OK;
  }
  const etx_selecting bytes = {path, NULL, &own, &narrowed->facts, pool};
  return etx_select_bytes(program, plan, &bytes, NULL);
}

etx_status etx_narrowed_check_methods(etx_narrowed* narrowed,
                                      const etx_selected_programs* programs,
                                      etx_pool* pool,
                                      const etx_missing_cells* missing,
                                      etx_diag* diag) {
  for (size_t i = 0; i < programs->count; ++i) {
    const etx_program* const program = &programs->programs[i];
    for (size_t k = 0; k < etx_pte_plan_count(&program->pte); ++k) {
      const etx_pte_plan plan = etx_pte_plan_at(&program->pte, k);
      // Sets initial values for other runtimes; etx never runs it.
      if (etx_text_is(etx_pte_plan_name(&plan), ETX_METHOD_INIT)) continue;
      const etx_status status = check_method(
          narrowed, program, programs->paths[i], &plan, pool, missing);
      if (status != ETX_OK) {
        return etx_diag_fail(diag, status, "the cells of method '%t' of '%t'",
                             etx_pte_plan_name(&plan), programs->paths[i]);
      }
    }
  }
  return ETX_OK;
}
