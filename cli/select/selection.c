#include "cli/select/selection.h"

// The position of an operator's row, or where it would be inserted.
static size_t place_of(const etx_selection* selection, etx_text name) {
  size_t low = 0, high = selection->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (etx_text_compare(selection->operators[middle].name, name) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool is_at(const etx_selection* selection, size_t at, etx_text name) {
  return at < selection->count &&
         etx_text_compare(selection->operators[at].name, name) == 0;
}

const etx_selected_operator* etx_selection_find(const etx_selection* selection,
                                                etx_text name) {
  const size_t at = place_of(selection, name);
  return is_at(selection, at, name) ? &selection->operators[at] : NULL;
}

etx_status etx_selection_row(etx_selection* selection, etx_pool* pool,
                             etx_text name, etx_selected_operator** out_row) {
  const size_t low = place_of(selection, name);
  etx_selected_operator* row = &selection->operators[low];
  if (!is_at(selection, low, name)) {
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
