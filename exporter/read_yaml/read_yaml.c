// The sections of a method in YAML. They are always read in the order dims,
// inputs, buffers, constants, nodes, outputs, mutates. An error in one entry
// does not stop the reading, so that one run reports all errors.

#include "exporter/read_yaml/read_yaml.h"

#include "exporter/host/host_file.h"
#include "exporter/read_yaml/yaml_internal.h"

// ---------------------------------------------------------------- dims

static etx_status read_dim(etx_yaml_method* m, const etx_yaml* key,
                           const etx_yaml* bounds, etx_diag* diag) {
  int64_t low = 0, high = 0;
  uint32_t index = 0;
  if (!etx_symbols_is_name(key->text)) {
    return etx_yaml_fail(key, diag,
                         "'%t' cannot name a dimension: expected letters, "
                         "digits and '_', and neither 'min' nor 'max'",
                         key->text);
  }
  ETX_TRY(etx_yaml_expect(bounds, ETX_YAML_MAP, "dims", diag));
  ETX_TRY(etx_yaml_check_keys(bounds, "min max fallback", diag));
  const etx_yaml* const minimum = etx_yaml_find(bounds, "min");
  const etx_yaml* const maximum = etx_yaml_find(bounds, "max");
  const etx_yaml* const fallback = etx_yaml_find(bounds, "fallback");
  if (minimum != NULL) ETX_TRY(etx_yaml_int(minimum, "min", &low, diag));
  if (maximum == NULL) {
    return etx_yaml_fail(
        bounds, diag,
        "dimension '%t' has no 'max': every size needs an upper bound",
        key->text);
  }
  ETX_TRY(etx_yaml_int(maximum, "max", &high, diag));
  int64_t raised = low;
  if (fallback != NULL) {
    ETX_TRY(etx_yaml_int(fallback, "fallback", &raised, diag));
  }
  if (raised < low || high < raised || high == INT64_MAX ||
      !etx_dim_is_number(low)) {
    return etx_yaml_fail(bounds, diag,
                         "dimension '%t' has the impossible bounds %i..%i",
                         key->text, low, high);
  }
  if (etx_symbols_add(&m->method->symbols, key->text, low, high, &index) !=
      ETX_OK) {
    return etx_yaml_fail(key, diag, "more than %i dimensions under 'dims'",
                         (int64_t)ETX_SYMBOLS_MAX_COUNT);
  }
  m->method->symbols.symbols[index].fallback = raised;
  return ETX_OK;
}

// ---------------------------------------------------------------- inputs

static etx_status read_tensor_input(etx_yaml_method* m, const etx_yaml* node,
                                    etx_ir_input* input, etx_diag* diag) {
  etx_ir_value value = {0};
  uint32_t index = 0;
  const etx_yaml* const alias = etx_yaml_find(node, "value");
  const etx_yaml* const mutable_node = etx_yaml_find(node, "mutable");
  etx_yaml_value flag = {0};
  value.name = input->name;
  if (alias != NULL) ETX_TRY(etx_yaml_text(node, "value", &value.name, diag));
  if (mutable_node != NULL) {
    ETX_TRY(etx_yaml_expect(mutable_node, ETX_YAML_SCALAR, "mutable", diag));
    ETX_TRY(etx_yaml_scalar(mutable_node, &flag, diag));
    if (flag.type != ETX_YAML_BOOL) {
      return etx_yaml_fail(mutable_node, diag,
                           "'mutable' should be true or false, found '%t'",
                           mutable_node->text);
    }
  }
  ETX_TRY(etx_yaml_shape(m, etx_yaml_find(node, "type"), &value.shape, diag));
  value.has_shape = true;
  value.origin = ETX_IR_FROM_INPUT;
  value.index = (uint32_t)m->method->input_count;
  ETX_TRY(etx_yaml_add_value(m, node, &value, &index, diag));
  input->arg = etx_ir_value_arg(index);
  input->is_mutable = flag.boolean;
  return ETX_OK;
}

static etx_status read_input(etx_yaml_method* m, const etx_yaml* node,
                             etx_diag* diag) {
  etx_ir_method* const method = m->method;
  etx_ir_input input = {0};
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_MAP, "input", diag));
  ETX_TRY(etx_yaml_check_keys(node, "name type mutable value sym fixed", diag));
  ETX_TRY(etx_yaml_text(node, "name", &input.name, diag));
  input.place = m->place;
  input.place.line = node->line;
  input.place.column = node->column;
  for (size_t i = 0; i < method->input_count; ++i) {
    if (etx_text_equal(method->inputs[i].name, input.name)) {
      return etx_yaml_fail(node, diag, "two inputs are named '%t'", input.name);
    }
  }
  const etx_yaml* const size = etx_yaml_find(node, "sym");
  const etx_yaml* const fixed = etx_yaml_find(node, "fixed");
  const bool has_type = etx_yaml_find(node, "type") != NULL;
  if ((size != NULL) + (fixed != NULL) + has_type != 1) {
    return etx_yaml_fail(
        node, diag,
        "input '%t' should have exactly one of 'type', 'sym' and 'fixed'",
        input.name);
  }
  if (has_type) {
    ETX_TRY(read_tensor_input(m, node, &input, diag));
  } else if (fixed != NULL) {
    ETX_TRY(etx_yaml_literal(fixed, &input.arg, diag));
  } else {
    etx_dim dim = 0;
    ETX_TRY(etx_yaml_size(m, size, &dim, diag));
    input.arg = etx_ir_int(dim);
  }
  ETX_TRY(etx_pool_grow(m->pool, &method->inputs, method->input_count,
                        &method->input_capacity, sizeof *method->inputs));
  method->inputs[method->input_count++] = input;
  return ETX_OK;
}

// ---------------------------------------------------------------- sections

typedef etx_status yaml_entry_reader(etx_yaml_method* m, const etx_yaml* key,
                                     const etx_yaml* node, etx_diag* diag);

// Reads every entry of a list, or of a map if `may_be_map`. Errors of an entry
// are reported, and reading continues with the next one.
static etx_status read_section(etx_yaml_method* m, const char* name,
                               etx_yaml_kind kind, bool may_be_map,
                               yaml_entry_reader* read) {
  const etx_yaml* const section = etx_yaml_find(m->root, name);
  if (section == NULL) return ETX_OK;
  etx_diag diag;
  etx_diag_init(&diag);
  if (!(may_be_map && section->kind == ETX_YAML_MAP)) {
    const etx_status status = etx_yaml_expect(section, kind, name, &diag);
    if (status != ETX_OK) return etx_yaml_report(m, status, section, &diag);
  }
  for (size_t i = 0; i < section->count; ++i) {
    etx_diag_init(&diag);
    const etx_status status =
        read(m, section->kind == ETX_YAML_MAP ? &section->keys[i] : NULL,
             &section->items[i], &diag);
    ETX_TRY(etx_yaml_report(m, status, &section->items[i], &diag));
  }
  return ETX_OK;
}

static etx_status input_entry(etx_yaml_method* m, const etx_yaml* key,
                              const etx_yaml* node, etx_diag* diag) {
  (void)key;
  return etx_yaml_define_despite_error(m, node, read_input(m, node, diag));
}

static etx_status buffer_entry(etx_yaml_method* m, const etx_yaml* key,
                               const etx_yaml* node, etx_diag* diag) {
  (void)key;
  return etx_yaml_define_despite_error(
      m, node, etx_yaml_list_stored(m, node, false, diag));
}

static etx_status constant_entry(etx_yaml_method* m, const etx_yaml* key,
                                 const etx_yaml* node, etx_diag* diag) {
  (void)key;
  return etx_yaml_define_despite_error(
      m, node, etx_yaml_list_stored(m, node, true, diag));
}

static etx_status node_entry(etx_yaml_method* m, const etx_yaml* key,
                             const etx_yaml* node, etx_diag* diag) {
  (void)key;
  (void)diag;
  return etx_yaml_read_node(m, node);
}

static etx_status dim_entry(etx_yaml_method* m, const etx_yaml* key,
                            const etx_yaml* node, etx_diag* diag) {
  return read_dim(m, key, node, diag);
}

// An input is mutable if some mutation writes it. `mutable: true` is only a
// permission.
static void set_mutable(etx_ir_method* method) {
  for (size_t i = 0; i < method->input_count; ++i) {
    method->inputs[i].is_mutable = false;
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    if (!method->mutations[i].is_input) continue;
    method->inputs[method->mutations[i].target].is_mutable = true;
  }
}

static etx_status check_head(const etx_yaml_method* m, etx_diag* diag) {
  const etx_yaml* const version = etx_yaml_find(m->root, "etx");
  const etx_yaml* const method = etx_yaml_find(m->root, "method");
  int64_t number = 0;
  ETX_TRY(etx_yaml_expect(m->root, ETX_YAML_MAP, "method", diag));
  // A truncated file must not pass as a method that does nothing.
  if (m->root->count == 0) {
    return etx_yaml_fail(m->root, diag,
                         "the file is empty: a method needs at least 'etx: 1'");
  }
  ETX_TRY(etx_yaml_check_keys(
      m->root, "etx method dims inputs buffers constants nodes outputs mutates",
      diag));
  if (version != NULL) {
    ETX_TRY(etx_yaml_int(version, "etx", &number, diag));
    if (number != 1) {
      return etx_yaml_fail(version, diag,
                           "format version %i is not supported, expected 1",
                           number);
    }
  }
  if (method == NULL) return ETX_OK;
  ETX_TRY(etx_yaml_expect(method, ETX_YAML_SCALAR, "method", diag));
  if (etx_text_equal(method->text, m->method->name)) return ETX_OK;
  return etx_yaml_fail(method, diag,
                       "'method' is '%t', but the file is named '%t.yaml'",
                       method->text, m->method->name);
}

static etx_status read_sections(etx_yaml_method* m) {
  ETX_TRY(read_section(m, "dims", ETX_YAML_MAP, true, dim_entry));
  ETX_TRY(read_section(m, "inputs", ETX_YAML_LIST, false, input_entry));
  ETX_TRY(read_section(m, "buffers", ETX_YAML_LIST, false, buffer_entry));
  ETX_TRY(read_section(m, "constants", ETX_YAML_LIST, false, constant_entry));
  ETX_TRY(etx_yaml_read_stored(m));
  const etx_yaml* const nodes = etx_yaml_find(m->root, "nodes");
  if (nodes != NULL) {
    ETX_TRY(etx_ir_reserve(m->module, m->method,
                           m->method->value_count + nodes->count,
                           m->method->node_count + nodes->count));
  }
  ETX_TRY(read_section(m, "nodes", ETX_YAML_LIST, false, node_entry));
  ETX_TRY(
      read_section(m, "outputs", ETX_YAML_LIST, true, etx_yaml_read_output));
  ETX_TRY(
      read_section(m, "mutates", ETX_YAML_MAP, true, etx_yaml_read_mutation));
  set_mutable(m->method);
  return ETX_OK;
}

static etx_status read_file(etx_yaml_method* m, etx_diag* diag) {
  etx_bytes bytes = {NULL, 0};
  etx_yaml* const root = etx_pool_take(&m->tree, sizeof *root);
  if (root == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_file_read(&m->tree, m->place.file.data, &bytes, diag));
  const etx_text text = {(const char*)bytes.data, bytes.size};
  ETX_TRY(etx_yaml_read_apart(&m->tree, m->pool, text, root, diag));
  m->root = root;
  return check_head(m, diag);
}

etx_status etx_yaml_method_read(etx_import* import, etx_weight_files* weights,
                                etx_text path, etx_text name) {
  etx_yaml_method m = {0};
  etx_diag diag;
  etx_diag_init(&diag);
  m.import = import;
  m.weights = weights;
  m.module = import->module;
  m.pool = import->module->pool;
  m.place.file = etx_pool_copy_text(m.pool, path);
  if (m.place.file.data == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_ir_add_method(m.module, name, &m.method_index));
  m.method = &m.module->methods[m.method_index];
  m.method->file = m.place.file;
  etx_pool_init(&m.tree);
  etx_status status = read_file(&m, &diag);
  if (status == ETX_OK) {
    status = read_sections(&m);
  } else if (status != ETX_OUT_OF_MEMORY) {
    etx_import_problem_of(import, &m.place, status, &diag);
    status = ETX_OK;
  }
  etx_pool_close(&m.tree);
  return status;
}
