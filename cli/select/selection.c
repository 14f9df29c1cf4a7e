#include "cli/select/selection.h"

etx_status etx_selection_row(etx_selection* selection, etx_pool* pool,
                             etx_text name, etx_selected_operator** out_row) {
  size_t low = 0, high = selection->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (etx_text_compare(selection->operators[middle].name, name) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  etx_selected_operator* row = &selection->operators[low];
  if (low == selection->count || etx_text_compare(row->name, name) != 0) {
    ETX_TRY(etx_pool_grow(pool, &selection->operators, selection->count,
                          &selection->capacity, sizeof *selection->operators));
    row = &selection->operators[low];
    memmove(row + 1, row, (selection->count - low) * sizeof *row);
    *row = (etx_selected_operator){.name = name};
    ++selection->count;
  }
  *out_row = row;
  return ETX_OK;
}

static etx_status unite_row(etx_selection* selection, etx_pool* pool,
                            const etx_selected_operator* other) {
  etx_selected_operator* row = NULL;
  ETX_TRY(etx_selection_row(selection, pool, other->name, &row));
  row->is_listed |= other->is_listed;
  row->is_root |= other->is_root;
  row->is_training |= other->is_training;
  row->has_all_overloads |= other->has_all_overloads;
  row->has_kernels |= other->has_kernels;
  row->is_from_list |= other->is_from_list;
  row->dtypes |= other->dtypes;
  ETX_TRY(etx_text_set_unite(&row->debug_info, pool, &other->debug_info));
  return etx_text_set_unite(&row->kernels, pool, &other->kernels);
}

etx_status etx_selection_unite(etx_selection* selection, etx_pool* pool,
                               const etx_selection* other) {
  for (size_t i = 0; i < other->count; ++i) {
    ETX_TRY(unite_row(selection, pool, &other->operators[i]));
  }
  selection->has_all_non_op_selectives |= other->has_all_non_op_selectives;
  selection->has_all_operators |= other->has_all_operators;
  ETX_TRY(etx_text_set_unite(&selection->custom_classes, pool,
                             &other->custom_classes));
  ETX_TRY(etx_text_set_unite(&selection->build_features, pool,
                             &other->build_features));
  return etx_text_set_unite(&selection->debug_info, pool, &other->debug_info);
}
