// Reads selected_operators.yaml.

#include "cli/select/selection_yaml.h"
#include "exporter/host/yaml_tree.h"
#include "format/tensor/dtype.h"

// Reads digits; false if there is none, or if the number is above 255.
static bool read_number(etx_text key, size_t* at, unsigned* out_number) {
  const size_t start = *at;
  unsigned number = 0;
  for (; *at < key.size && key.data[*at] >= '0' && key.data[*at] <= '9';
       ++*at) {
    number = number * 10 + (unsigned)(key.data[*at] - '0');
    if (number > UINT8_MAX) return false;
  }
  *out_number = number;
  return *at > start;
}

// Reads "6;0,1" or "6;": a type and a dimension order.
static bool read_tensor(etx_text key, size_t* at, uint32_t* dtypes) {
  unsigned number = 0;
  if (!read_number(key, at, &number) || number >= ETX_DTYPE_COUNT) return false;
  *dtypes |= UINT32_C(1) << number;
  if (*at == key.size || key.data[*at] != ';') return false;
  ++*at;
  if (*at == key.size || key.data[*at] == '|') return true;
  for (;;) {
    if (!read_number(key, at, &number)) return false;
    if (*at == key.size || key.data[*at] != ',') return true;
    ++*at;
  }
}

bool etx_kernel_key_dtypes(etx_text key, uint32_t* out_dtypes) {
  *out_dtypes = 0;
  if (etx_text_is(key, "default")) {
    *out_dtypes = UINT32_MAX;
    return true;
  }
  if (etx_text_is(key, "v1")) return true;  // a call without tensors
  if (!etx_text_starts_with(key, etx_text_of("v1/"))) return false;
  for (size_t at = 3;;) {
    if (!read_tensor(key, &at, out_dtypes)) return false;
    if (at == key.size) return true;
    if (key.data[at] != '|') return false;
    ++at;
  }
}

static etx_status read_flag(const etx_yaml* map, const char* key,
                            bool* out_flag, etx_diag* diag) {
  const etx_yaml* const node = etx_yaml_find(map, key);
  if (node == NULL) return ETX_OK;
  etx_yaml_value value;
  ETX_TRY(etx_yaml_scalar(node, &value, diag));
  if (value.type != ETX_YAML_BOOL) {
    return etx_yaml_fail(node, diag, "'%s' is '%t', expected true or false",
                         key, node->text);
  }
  *out_flag = value.boolean;
  return ETX_OK;
}

static etx_status read_texts(etx_pool* pool, const etx_yaml* node,
                             const char* what, etx_text_set* out_set,
                             etx_diag* diag) {
  if (node == NULL) return ETX_OK;
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_LIST, what, diag));
  for (size_t i = 0; i < node->count; ++i) {
    ETX_TRY(etx_yaml_expect(&node->items[i], ETX_YAML_SCALAR, what, diag));
    ETX_TRY(etx_text_set_add(out_set, pool, node->items[i].text));
  }
  return ETX_OK;
}

static etx_status read_operator(etx_pool* pool, const etx_yaml* name,
                                const etx_yaml* node, etx_selection* selection,
                                etx_diag* diag) {
  etx_selected_operator* row = NULL;
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_MAP, "an operator", diag));
  ETX_TRY(etx_yaml_check_keys(
      node,
      "is_root_operator is_used_for_training include_all_overloads debug_info",
      diag));
  ETX_TRY(etx_selection_row(selection, pool, name->text, &row));
  row->is_listed = true;
  row->is_from_list = true;
  // What ExecuTorch's reader takes for keys that are not there.
  row->is_root = true;
  row->is_training = true;
  row->has_all_overloads = true;
  ETX_TRY(read_flag(node, "is_root_operator", &row->is_root, diag));
  ETX_TRY(read_flag(node, "is_used_for_training", &row->is_training, diag));
  ETX_TRY(
      read_flag(node, "include_all_overloads", &row->has_all_overloads, diag));
  return read_texts(pool, etx_yaml_find(node, "debug_info"), "debug_info",
                    &row->debug_info, diag);
}

static etx_status read_kernels(etx_pool* pool, const etx_yaml* name,
                               const etx_yaml* node, etx_selection* selection,
                               etx_diag* diag) {
  etx_selected_operator* row = NULL;
  ETX_TRY(
      etx_yaml_expect(node, ETX_YAML_LIST, "the kernels of an operator", diag));
  ETX_TRY(etx_selection_row(selection, pool, name->text, &row));
  row->has_kernels = true;
  row->is_from_list = true;
  for (size_t i = 0; i < node->count; ++i) {
    const etx_yaml* const key = &node->items[i];
    uint32_t dtypes;
    ETX_TRY(etx_yaml_expect(key, ETX_YAML_SCALAR, "a kernel", diag));
    if (!etx_kernel_key_dtypes(key->text, &dtypes)) {
      return etx_yaml_fail(key, diag,
                           "kernel '%t' is not 'default' and not of the form "
                           "'v1/<type>;<dimension order>|...'",
                           key->text);
    }
    ETX_TRY(etx_text_set_add(&row->kernels, pool, key->text));
    row->dtypes |= dtypes;
  }
  return ETX_OK;
}

typedef etx_status (*row_reader)(etx_pool* pool, const etx_yaml* name,
                                 const etx_yaml* node, etx_selection* selection,
                                 etx_diag* diag);

// Calls `read` for each row of the map under `key`, which may be missing.
static etx_status read_rows(etx_pool* pool, const etx_yaml* root,
                            const char* key, row_reader read,
                            etx_selection* selection, etx_diag* diag) {
  const etx_yaml* const map = etx_yaml_find(root, key);
  if (map == NULL) return ETX_OK;
  ETX_TRY(etx_yaml_expect(map, ETX_YAML_MAP, key, diag));
  for (size_t i = 0; i < map->count; ++i) {
    ETX_TRY(read(pool, &map->keys[i], &map->items[i], selection, diag));
  }
  return ETX_OK;
}

static etx_status refuse_row(etx_pool* pool, const etx_yaml* name,
                             const etx_yaml* node, etx_selection* selection,
                             etx_diag* diag) {
  (void)pool, (void)node, (void)selection;
  return etx_yaml_fail(name, diag,
                       "'kernel_metadata' has a row '%t', expected none: it is "
                       "for PyTorch's own kernels",
                       name->text);
}

// Operators whose kernels the file does not state may be called with any type.
static void allow_all_dtypes(etx_selection* selection) {
  for (size_t i = 0; i < selection->count; ++i) {
    etx_selected_operator* const row = &selection->operators[i];
    if (!row->has_kernels) row->dtypes = UINT32_MAX;
  }
}

etx_status etx_selection_yaml_read(etx_pool* pool, etx_text text,
                                   etx_selection* out_selection,
                                   etx_diag* diag) {
  etx_yaml root;
  ETX_TRY(etx_yaml_read(pool, text, &root, diag));
  return etx_selection_yaml_take(pool, &root, out_selection, diag);
}

etx_status etx_selection_yaml_take(etx_pool* pool, const etx_yaml* root,
                                   etx_selection* out_selection,
                                   etx_diag* diag) {
  etx_selection selection = {.count = 0};
  ETX_TRY(etx_yaml_expect(root, ETX_YAML_MAP, "the file", diag));
  ETX_TRY(etx_yaml_check_keys(
      root,
      "operators custom_classes build_features include_all_non_op_selectives "
      "include_all_operators kernel_metadata et_kernel_metadata debug_info",
      diag));
  ETX_TRY(read_rows(pool, root, "operators", read_operator, &selection, diag));
  ETX_TRY(read_rows(pool, root, "et_kernel_metadata", read_kernels, &selection,
                    diag));
  ETX_TRY(
      read_rows(pool, root, "kernel_metadata", refuse_row, &selection, diag));
  ETX_TRY(read_texts(pool, etx_yaml_find(root, "custom_classes"),
                     "custom_classes", &selection.custom_classes, diag));
  ETX_TRY(read_texts(pool, etx_yaml_find(root, "build_features"),
                     "build_features", &selection.build_features, diag));
  ETX_TRY(read_texts(pool, etx_yaml_find(root, "debug_info"), "debug_info",
                     &selection.debug_info, diag));
  ETX_TRY(read_flag(root, "include_all_non_op_selectives",
                    &selection.has_all_non_op_selectives, diag));
  ETX_TRY(read_flag(root, "include_all_operators", &selection.has_all_operators,
                    diag));
  allow_all_dtypes(&selection);
  *out_selection = selection;
  return ETX_OK;
}
