// The sections `buffers` and `constants` of a method. Like the reader of .pt2
// archives, this makes values only for the buffers and constants that are used.

#include "exporter/read_yaml/yaml_internal.h"

etx_status etx_yaml_list_stored(etx_yaml_method* m, const etx_yaml* node,
                                bool is_constant, etx_diag* diag) {
  etx_yaml_stored stored = {0};
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_MAP,
                          is_constant ? "constant" : "buffer", diag));
  ETX_TRY(etx_yaml_check_keys(
      node, is_constant ? "name type init" : "name type init value", diag));
  const bool has_alias = etx_yaml_find(node, "value") != NULL;
  ETX_TRY(etx_yaml_text(node, "name", &stored.value_name, diag));
  if (has_alias)
    ETX_TRY(etx_yaml_text(node, "value", &stored.value_name, diag));
  if (etx_yaml_find(node, "type") == NULL) {
    return etx_yaml_fail(node, diag, "'type' is missing");
  }
  stored.node = node;
  stored.is_constant = is_constant;
  stored.buffer = ETX_IR_NONE;
  ETX_TRY(etx_pool_grow(&m->tree, &m->stored, m->stored_count,
                        &m->stored_capacity, sizeof *m->stored));
  m->stored[m->stored_count++] = stored;
  return ETX_OK;
}

static void mark_name(etx_yaml_method* m, etx_text name) {
  for (size_t i = 0; i < m->stored_count; ++i) {
    if (etx_text_equal(m->stored[i].value_name, name)) {
      m->stored[i].is_used = true;
    }
  }
}

// Marks every word below a node as a use. That is an overestimate, which only
// makes a value without a reader. The recursion is bounded by
// ETX_YAML_MAX_DEPTH.
static void mark_words(etx_yaml_method* m, const etx_yaml* node) {
  if (node == NULL) return;
  if (node->kind == ETX_YAML_SCALAR) {
    mark_name(m, node->text);
    return;
  }
  for (size_t i = 0; i < node->count; ++i) mark_words(m, &node->items[i]);
}

static void mark_uses(etx_yaml_method* m) {
  const etx_yaml* const nodes = etx_yaml_find(m->root, "nodes");
  for (size_t i = 0; nodes != NULL && i < nodes->count; ++i) {
    mark_words(m, etx_yaml_find(&nodes->items[i], "args"));
    mark_words(m, etx_yaml_find(&nodes->items[i], "kwargs"));
    mark_words(m, etx_yaml_find(&nodes->items[i], "if"));
    mark_words(m, etx_yaml_find(&nodes->items[i], "then"));
    mark_words(m, etx_yaml_find(&nodes->items[i], "else"));
    mark_words(m, etx_yaml_find(&nodes->items[i], "carry"));
    mark_words(m, etx_yaml_find(&nodes->items[i], "do"));
  }
  const etx_yaml* const outputs = etx_yaml_find(m->root, "outputs");
  for (size_t i = 0; outputs != NULL && i < outputs->count; ++i) {
    const etx_yaml* const entry = &outputs->items[i];
    const etx_yaml* const value = etx_yaml_find(entry, "value");
    if (value != NULL || etx_yaml_find(entry, "name") == NULL) {
      mark_words(m, value != NULL ? value : entry);
    }
  }
  mark_words(m, etx_yaml_find(m->root, "mutates"));
}

// etx_initial_load for a buffer: its `init`, else the tensor of that name in
// the weights files.
static etx_status load_buffer(const etx_initial_source* source,
                              etx_ir_module* module,
                              const etx_ir_constant* type,
                              uint32_t* out_constant, etx_diag* diag) {
  etx_weight_files* const weights = source->context;
  const etx_yaml* const node = source->item;
  const etx_yaml* const init = etx_yaml_find(node, "init");
  if (init != NULL) {
    return etx_weight_files_value(weights, module, init, type, out_constant,
                                  diag);
  }
  etx_ir_constant found = {0};
  const etx_status status =
      etx_weight_files_find(weights, source->name, &found);
  if (status == ETX_NOT_FOUND) {
    *out_constant = ETX_IR_NONE;
    return ETX_OK;
  }
  ETX_TRY(status);
  if (found.dtype != type->dtype || found.rank != type->rank ||
      memcmp(found.sizes, type->sizes, type->rank * sizeof type->sizes[0]) !=
          0) {
    return etx_yaml_fail(
        node, diag, "'%t' is %t in the weights file, expected %t", source->name,
        etx_import_type_text(weights->pool, &found),
        etx_import_type_text(weights->pool, type));
  }
  return etx_ir_add_constant(module, &found, out_constant);
}

static etx_status stored_type(etx_yaml_method* m, const etx_yaml* node,
                              etx_shape* out_shape, etx_ir_constant* out_type,
                              etx_diag* diag) {
  const etx_yaml* const type = etx_yaml_find(node, "type");
  ETX_TRY(etx_yaml_shape(m, type, out_shape, diag));
  if (!etx_ir_is_static(out_shape)) {
    return etx_yaml_fail(type, diag,
                         "buffers and constants need fixed sizes, found '%t'",
                         type->text);
  }
  memset(out_type, 0, sizeof *out_type);
  out_type->dtype = out_shape->dtype;
  out_type->rank = out_shape->rank;
  for (size_t i = 0; i < out_shape->rank; ++i) {
    out_type->sizes[i] = out_shape->dims[i];
  }
  return ETX_OK;
}

static etx_status read_constant(etx_yaml_method* m, etx_yaml_stored* stored,
                                etx_diag* diag) {
  etx_ir_value value = {0};
  etx_ir_constant type;
  uint32_t unused = 0;
  const etx_yaml* const init = etx_yaml_find(stored->node, "init");
  if (init == NULL) {
    return etx_yaml_fail(stored->node, diag, "'init' is missing");
  }
  ETX_TRY(stored_type(m, stored->node, &value.shape, &type, diag));
  ETX_TRY(etx_weight_files_value(m->weights, m->module, init, &type,
                                 &value.index, diag));
  if (!stored->is_used) return ETX_OK;
  value.name = stored->value_name;
  value.has_shape = true;
  value.origin = ETX_IR_FROM_CONSTANT;
  return etx_yaml_add_value(m, stored->node, &value, &unused, diag);
}

static etx_status read_buffer(etx_yaml_method* m, etx_yaml_stored* stored,
                              etx_diag* diag) {
  const etx_yaml* const node = stored->node;
  etx_buffer_declaration declaration = {0};
  etx_ir_value value = {0};
  etx_text name;
  uint32_t unused = 0;
  ETX_TRY(etx_yaml_text(node, "name", &name, diag));
  ETX_TRY(stored_type(m, node, &value.shape, &declaration.type, diag));
  for (size_t i = 0; &m->stored[i] < stored; ++i) {
    etx_text other;
    if (!m->stored[i].is_constant &&
        etx_yaml_text(m->stored[i].node, "name", &other, NULL) == ETX_OK &&
        etx_text_equal(other, name)) {
      return etx_yaml_fail(node, diag, "buffer '%t' is listed twice", name);
    }
  }
  // The value is loaded when all files were read, and with them their trees.
  etx_yaml* const kept = etx_pool_take(m->pool, sizeof *kept);
  if (kept == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_yaml_copy(m->pool, node, kept));
  declaration.method = m->method_index;
  declaration.is_used = stored->is_used;
  declaration.source.load = load_buffer;
  declaration.source.context = m->weights;
  declaration.source.item = kept;
  declaration.place = m->place;
  declaration.place.line = node->line;
  declaration.place.column = node->column;
  ETX_TRY(etx_import_declare_buffer(m->import, name, &declaration,
                                    &stored->buffer));
  if (!stored->is_used) return ETX_OK;
  value.name = stored->value_name;
  value.has_shape = true;
  value.origin = ETX_IR_FROM_BUFFER;
  value.index = stored->buffer;
  return etx_yaml_add_value(m, node, &value, &unused, diag);
}

etx_status etx_yaml_read_stored(etx_yaml_method* m) {
  mark_uses(m);
  for (size_t i = 0; i < m->stored_count; ++i) {
    etx_yaml_stored* const stored = &m->stored[i];
    etx_diag diag;
    etx_diag_init(&diag);
    const etx_status status = stored->is_constant
                                  ? read_constant(m, stored, &diag)
                                  : read_buffer(m, stored, &diag);
    ETX_TRY(etx_yaml_report(
        m, etx_yaml_define_despite_error(m, stored->node, status), stored->node,
        &diag));
  }
  return ETX_OK;
}
