#include "cli/select/trace_read.h"

#include "cli/select/selection_yaml.h"
#include "exporter/host/yaml_tree.h"
#include "runtime/program/build_features.h"

// What a trace is compared with.
typedef struct trace_check {
  const etx_selection* selection;
  uint32_t features;
  etx_diag* diag;
} trace_check;

static const char other_program[] =
    "the trace was recorded with another program or another version of it";

// The row of an operator that the programs may call; NULL if there is none.
static const etx_selected_operator* row_of(const etx_selection* selection,
                                           etx_text name) {
  for (size_t i = 0; i < selection->count; ++i) {
    const etx_selected_operator* const row = &selection->operators[i];
    const etx_text base = row->name;
    const bool is_overload = row->has_all_overloads && name.size > base.size &&
                             name.data[base.size] == '.' &&
                             etx_text_starts_with(name, base);
    if (is_overload || etx_text_equal(base, name)) return row;
  }
  return NULL;
}

static etx_status check_operator(const trace_check* check,
                                 const etx_yaml* name) {
  if (check->selection->has_all_operators ||
      row_of(check->selection, name->text) != NULL) {
    return ETX_OK;
  }
  return etx_yaml_fail(name, check->diag,
                       "operator '%t' is not called by the programs: %s",
                       name->text, other_program);
}

static bool may_have_kernel(const etx_selected_operator* row, etx_text key) {
  return row == NULL || row->dtypes == UINT32_MAX ||
         etx_text_set_has(&row->kernels, key);
}

static etx_status check_kernels(const trace_check* check, const etx_yaml* name,
                                const etx_yaml* kernels) {
  const etx_selected_operator* const row = row_of(check->selection, name->text);
  ETX_TRY(check_operator(check, name));
  for (size_t i = 0; i < kernels->count; ++i) {
    const etx_yaml* const key = &kernels->items[i];
    if (etx_text_is(key->text, "default")) {
      return etx_yaml_fail(key, check->diag,
                           "kernel 'default' of operator '%t' says nothing, "
                           "expected the types of a call as in 'v1/6;0,1'",
                           name->text);
    }
    if (may_have_kernel(row, key->text)) continue;
    return etx_yaml_fail(key, check->diag,
                         "operator '%t' is not called with '%t' by the "
                         "programs: %s",
                         name->text, key->text, other_program);
  }
  return ETX_OK;
}

static etx_status check_feature(const trace_check* check,
                                const etx_yaml* node) {
  etx_build_feature feature;
  if (!etx_build_feature_find(node->text, &feature)) {
    return etx_yaml_fail(node, check->diag,
                         "'%t' is not a feature of a build; 'etx run "
                         "--trace-ops' writes those that a run uses",
                         node->text);
  }
  if ((check->features >> feature & 1) != 0) return ETX_OK;
  return etx_yaml_fail(node, check->diag,
                       "feature '%t' is not used by the programs: %s",
                       node->text, other_program);
}

// A list of operators may ask for more than its rows; a trace does not.
static etx_status check_is_trace(const etx_yaml* root,
                                 const etx_selection* selection,
                                 etx_diag* diag) {
  static const char key[] = "include_all_operators";
  if (selection->has_all_operators) {
    return etx_yaml_fail(etx_yaml_find(root, key), diag,
                         "'%s' is true, but a trace states what was used", key);
  }
  const etx_yaml* const rows = etx_yaml_find(root, "operators");
  for (size_t i = 0; rows != NULL && i < rows->count; ++i) {
    const etx_yaml* const kernels = etx_yaml_find(root, "et_kernel_metadata");
    bool has_kernels = false;
    for (size_t k = 0; kernels != NULL && k < kernels->count; ++k) {
      has_kernels |= etx_text_equal(kernels->keys[k].text, rows->keys[i].text);
    }
    if (has_kernels) continue;
    return etx_yaml_fail(&rows->keys[i], diag,
                         "operator '%t' has no row under et_kernel_metadata, "
                         "so this is a list of operators and no trace",
                         rows->keys[i].text);
  }
  return ETX_OK;
}

static etx_status check_trace(const trace_check* check, const etx_yaml* root) {
  const etx_yaml* const rows = etx_yaml_find(root, "operators");
  const etx_yaml* const kernels = etx_yaml_find(root, "et_kernel_metadata");
  const etx_yaml* const features = etx_yaml_find(root, "build_features");
  for (size_t i = 0; kernels != NULL && i < kernels->count; ++i) {
    ETX_TRY(check_kernels(check, &kernels->keys[i], &kernels->items[i]));
  }
  for (size_t i = 0; rows != NULL && i < rows->count; ++i) {
    ETX_TRY(check_operator(check, &rows->keys[i]));
  }
  for (size_t i = 0; features != NULL && i < features->count; ++i) {
    ETX_TRY(check_feature(check, &features->items[i]));
  }
  return ETX_OK;
}

etx_status etx_trace_read(etx_pool* pool, etx_text text,
                          const etx_selection* selection,
                          const etx_selected_facts* facts,
                          etx_traced* out_traced, etx_diag* diag) {
  etx_yaml root;
  etx_traced traced = {.features = 0};
  const trace_check check = {selection, facts->features, diag};
  ETX_TRY(etx_yaml_read(pool, text, &root, diag));
  ETX_TRY(etx_selection_yaml_take(pool, &root, &traced.selection, diag));
  ETX_TRY(check_is_trace(&root, &traced.selection, diag));
  ETX_TRY(check_trace(&check, &root));
  const etx_text_set* const features = &traced.selection.build_features;
  for (size_t i = 0; i < features->count; ++i) {
    etx_build_feature feature;
    if (etx_build_feature_find(features->items[i], &feature)) {
      traced.features |= UINT32_C(1) << feature;
    }
  }
  *out_traced = traced;
  return ETX_OK;
}

etx_status etx_traced_unite(etx_traced* traced, etx_pool* pool,
                            const etx_traced* other) {
  traced->features |= other->features;
  return etx_selection_unite(&traced->selection, pool, &other->selection);
}
