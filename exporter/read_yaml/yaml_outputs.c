// The sections `outputs` and `mutates` of a method.

#include "exporter/host/nearest_name.h"
#include "exporter/read_yaml/yaml_internal.h"

static etx_status read_output_map(etx_yaml_method* m, const etx_yaml* node,
                                  etx_ir_output* output, etx_diag* diag) {
  ETX_TRY(etx_yaml_check_keys(node, "name value number sym fixed", diag));
  const etx_yaml* const number = etx_yaml_find(node, "number");
  const etx_yaml* const value =
      number != NULL ? number : etx_yaml_find(node, "value");
  const etx_yaml* const size = etx_yaml_find(node, "sym");
  const etx_yaml* const fixed = etx_yaml_find(node, "fixed");
  if (etx_yaml_find(node, "name") != NULL) {
    ETX_TRY(etx_yaml_text(node, "name", &output->name, diag));
  }
  if ((value != NULL) + (size != NULL) + (fixed != NULL) != 1 ||
      (number != NULL && etx_yaml_find(node, "value") != NULL)) {
    return etx_yaml_fail(node, diag,
                         "an output should have exactly one of 'value', "
                         "'number', 'sym' and 'fixed'");
  }
  if (fixed != NULL) return etx_yaml_literal(fixed, &output->arg, diag);
  if (size != NULL) {
    etx_dim dim = 0;
    ETX_TRY(etx_yaml_size(m, size, &dim, diag));
    output->arg = etx_ir_int(dim);
    return ETX_OK;
  }
  uint32_t index = 0;
  ETX_TRY(etx_yaml_expect(value, ETX_YAML_SCALAR, "value", diag));
  ETX_TRY(etx_yaml_value_named(m, value, &index, diag));
  output->arg = etx_ir_value_arg(index);
  output->is_number = number != NULL;
  if (output->is_number && m->method->values[index].has_shape &&
      m->method->values[index].shape.rank != 0) {
    return etx_yaml_fail(value, diag,
                         "a 'number' should be a tensor of rank 0");
  }
  return ETX_OK;
}

// An output that is written as the name of a value, or as a number.
static etx_status read_output_scalar(etx_yaml_method* m, const etx_yaml* node,
                                     etx_ir_output* output, etx_diag* diag) {
  etx_yaml_value value;
  uint32_t index = 0;
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, "output", diag));
  ETX_TRY(etx_yaml_scalar(node, &value, diag));
  if (value.type != ETX_YAML_TEXT) {
    return etx_yaml_literal(node, &output->arg, diag);
  }
  ETX_TRY(etx_yaml_value_named(m, node, &index, diag));
  output->arg = etx_ir_value_arg(index);
  return ETX_OK;
}

static bool is_short_form(const etx_yaml* node) {
  return node->kind == ETX_YAML_MAP && node->count == 1 &&
         node->items[0].kind == ETX_YAML_SCALAR &&
         etx_yaml_find(node, "value") == NULL &&
         etx_yaml_find(node, "number") == NULL &&
         etx_yaml_find(node, "sym") == NULL &&
         etx_yaml_find(node, "fixed") == NULL &&
         etx_yaml_find(node, "name") == NULL;
}

etx_status etx_yaml_read_output(etx_yaml_method* m, const etx_yaml* name,
                                const etx_yaml* node, etx_diag* diag) {
  etx_ir_method* const method = m->method;
  etx_ir_output output = {0};
  if (is_short_form(node)) {  // {logits: add_3}
    name = &node->keys[0];
    node = &node->items[0];
  }
  if (node->kind == ETX_YAML_MAP) {
    ETX_TRY(read_output_map(m, node, &output, diag));
  } else {
    ETX_TRY(read_output_scalar(m, node, &output, diag));
  }
  if (name != NULL) output.name = name->text;
  if (output.name.size == 0) {
    output.name = etx_pool_format(m->pool, "output_%z", method->output_count);
    if (output.name.data == NULL) return ETX_OUT_OF_MEMORY;
  }
  etx_named_items named = {method->outputs, method->output_count,
                           sizeof *method->outputs};
  uint32_t index = 0;
  if (etx_name_index_find(&m->output_names, &named, output.name, &index)) {
    return etx_yaml_fail(node, diag, "two outputs are named '%t'", output.name);
  }
  ETX_TRY(etx_pool_grow(m->pool, &method->outputs, method->output_count,
                        &method->output_capacity, sizeof *method->outputs));
  index = (uint32_t)method->output_count;
  method->outputs[method->output_count++] = output;
  named.items = method->outputs;
  return etx_name_index_add(&m->output_names, &m->tree, &named, index);
}

// ---------------------------------------------------------------- mutations

// Finds the target of a mutation: the buffer or input whose value has the name
// of `key`.
static etx_status find_target(etx_yaml_method* m, const etx_yaml* key,
                              etx_ir_mutation* mutation, etx_shape* out_type,
                              etx_diag* diag) {
  etx_ir_method* const method = m->method;
  etx_nearest_name nearest = etx_nearest_start(key->text);
  for (size_t i = 0; i < m->stored_count; ++i) {
    const etx_yaml_stored* const stored = &m->stored[i];
    if (stored->is_constant || stored->buffer == ETX_IR_NONE) continue;
    etx_nearest_offer(&nearest, stored->value_name);
    if (!etx_text_equal(stored->value_name, key->text)) continue;
    mutation->target = stored->buffer;
    return etx_yaml_shape(m, etx_yaml_find(stored->node, "type"), out_type,
                          diag);
  }
  for (size_t i = 0; i < method->input_count; ++i) {
    etx_ir_input* const input = &method->inputs[i];
    if (input->arg.kind != ETX_IR_ARG_VALUE) continue;
    const etx_ir_value* const value = &method->values[input->arg.as.value];
    etx_nearest_offer(&nearest, value->name);
    if (!etx_text_equal(value->name, key->text)) continue;
    if (!input->is_mutable) {
      return etx_yaml_fail(key, diag,
                           "input '%t' is mutated but lacks 'mutable: true'",
                           input->name);
    }
    mutation->is_input = true;
    mutation->target = (uint32_t)i;
    *out_type = value->shape;
    return ETX_OK;
  }
  char hint[96];
  return etx_yaml_fail(
      key, diag, "'%t' is not a buffer or tensor input of this method%s",
      key->text, etx_nearest_hint(&nearest, hint, sizeof hint));
}

etx_status etx_yaml_read_mutation(etx_yaml_method* m, const etx_yaml* key,
                                  const etx_yaml* node, etx_diag* diag) {
  etx_ir_method* const method = m->method;
  etx_ir_mutation mutation = {0};
  etx_shape type;
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, "mutates", diag));
  ETX_TRY(find_target(m, key, &mutation, &type, diag));
  ETX_TRY(etx_yaml_value_named(m, node, &mutation.value, diag));
  const etx_ir_value* const value = &method->values[mutation.value];
  bool is_equal = !value->has_shape || (value->shape.dtype == type.dtype &&
                                        value->shape.rank == type.rank);
  for (size_t i = 0; is_equal && value->has_shape && i < type.rank; ++i) {
    is_equal =
        etx_symbols_equal(&method->symbols, value->shape.dims[i], type.dims[i]);
  }
  if (!is_equal) {
    return etx_yaml_fail(
        node, diag, "'%t' and '%t', which it replaces, have different types",
        node->text, key->text);
  }
  mutation.place = m->place;
  mutation.place.line = key->line;
  mutation.place.column = key->column;
  ETX_TRY(etx_pool_grow(m->pool, &method->mutations, method->mutation_count,
                        &method->mutation_capacity, sizeof *method->mutations));
  method->mutations[method->mutation_count++] = mutation;
  return ETX_OK;
}
