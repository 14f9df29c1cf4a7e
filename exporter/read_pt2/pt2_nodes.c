// Reads nodes of an archive as nodes of the IR. Arithmetic on sizes is dropped:
// the archive states every result of it as an expression over the sizes of the
// inputs. Assertions are dropped: bounds are checked before a method runs.

#include "exporter/ir/aten_schema.h"
#include "exporter/lower/nearest_operator.h"
#include "exporter/read_pt2/pt2_internal.h"

static bool starts_with(etx_text text, const char* prefix) {
  return etx_text_starts_with(text, etx_text_of(prefix));
}

// ---------------------------------------------------------------- uses

// Marks the names that the arguments of all nodes read.
static etx_status mark_nodes(etx_pt2_graph* graph) {
  for (size_t i = 0; i < graph->nodes->count; ++i) {
    const etx_json* const node = &graph->nodes->items[i];
    const etx_json* inputs = NULL;
    etx_text target;
    graph->now = (uint32_t)i + 1;
    etx_pt2_set_context(graph, "node %z", i);
    ETX_TRY(etx_pt2_text(graph, node, "target", &target));
    ETX_TRY(etx_pt2_field(graph, node, "inputs", ETX_JSON_ARRAY, &inputs));
    if (etx_pt2_class_of(target) == ETX_PT2_NODE_DROPPED) continue;
    if (etx_pt2_is_cond(target)) {
      ETX_TRY(etx_pt2_mark_cond(graph, node, mark_nodes));
      continue;
    }
    if (etx_pt2_is_while(target)) {
      ETX_TRY(etx_pt2_mark_while(graph, node, mark_nodes));
      continue;
    }
    if (etx_pt2_is_scan(target)) {
      ETX_TRY(etx_pt2_mark_scan(graph, node, mark_nodes));
      continue;
    }
    for (size_t j = 0; j < inputs->count; ++j) {
      etx_pt2_mark_argument(graph, etx_json_member(&inputs->items[j], "arg"));
    }
  }
  return ETX_OK;
}

// Fills in last_reads of a sub-graph, unless an earlier step has done so.
static etx_status mark_subgraph(etx_pt2_graph* graph) {
  const etx_json* outputs = NULL;
  if (graph->has_last_reads) return ETX_OK;
  ETX_TRY(mark_nodes(graph));
  graph->now = ETX_PT2_END;
  ETX_TRY(
      etx_pt2_field(graph, graph->graph, "outputs", ETX_JSON_ARRAY, &outputs));
  for (size_t i = 0; i < outputs->count; ++i) {
    etx_pt2_mark_argument(graph, &outputs->items[i]);
  }
  graph->has_last_reads = true;
  return ETX_OK;
}

etx_status etx_pt2_mark_uses(etx_pt2_graph* graph) {
  ETX_TRY(mark_nodes(graph));
  graph->now = ETX_PT2_END;
  graph->has_last_reads = true;
  for (size_t i = 0; i < graph->output_specs->count; ++i) {
    const etx_json* const spec = &graph->output_specs->items[i];
    if (spec->kind != ETX_JSON_OBJECT || spec->count != 1) continue;
    const etx_json* const arg = etx_json_member(&spec->items[0], "arg");
    etx_pt2_mark_tensor(graph, arg);
    etx_pt2_mark_argument(graph, arg);
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- outputs

typedef struct output_list {
  uint32_t* values;
  size_t count, capacity;
} output_list;

static etx_status add_output(etx_pt2_graph* graph, output_list* list,
                             uint32_t value) {
  ETX_TRY(etx_pool_grow(graph->pool, &list->values, list->count,
                        &list->capacity, sizeof *list->values));
  list->values[list->count++] = value;
  return ETX_OK;
}

static etx_status read_output(etx_pt2_graph* graph, const etx_json* output,
                              uint32_t node, output_list* list) {
  etx_text tag;
  const etx_json* payload = NULL;
  uint32_t value = ETX_IR_NONE;
  ETX_TRY(etx_pt2_union(graph, output, &tag, &payload));
  if (etx_text_is(tag, "as_none")) return add_output(graph, list, ETX_IR_NONE);
  if (etx_text_is(tag, "as_tensor")) {
    ETX_TRY(etx_pt2_define_tensor(graph, payload, node, &value));
    return add_output(graph, list, value);
  }
  if (etx_text_is(tag, "as_tensors")) {
    ETX_TRY(etx_pt2_expect(graph, payload, ETX_JSON_ARRAY, "as_tensors"));
    for (size_t i = 0; i < payload->count; ++i) {
      ETX_TRY(etx_pt2_define_tensor(graph, &payload->items[i], node, &value));
      ETX_TRY(add_output(graph, list, value));
    }
    return ETX_OK;
  }
  etx_pt2_report_unsupported(graph, "a result of kind", tag);
  return ETX_OK;
}

// The tensors that a node computes, and the symbol that it sets from data.
static etx_status read_outputs(etx_pt2_graph* graph, const etx_json* outputs,
                               const etx_aten_schema* schema, output_list* list,
                               uint32_t* out_late) {
  const uint32_t index = (uint32_t)graph->method->node_count;
  etx_pt2_start_late(graph);
  for (size_t i = 0; i < outputs->count; ++i) {
    // Results of unsupported operators may be of any kind.
    const etx_json* const output = &outputs->items[i];
    if (schema == NULL && etx_json_member(output, "as_tensor") == NULL &&
        etx_json_member(output, "as_tensors") == NULL) {
      continue;
    }
    ETX_TRY(read_output(graph, output, index, list));
  }
  *out_late = etx_pt2_end_late(graph);
  return ETX_OK;
}

// ---------------------------------------------------------------- nodes

static etx_status read_argument(etx_pt2_graph* graph, const etx_json* node,
                                const etx_json* argument, etx_ir_arg* out) {
  const etx_json* const real = etx_json_member(argument, "as_sym_float");
  uint32_t number = ETX_IR_NONE;
  ETX_TRY(etx_pt2_use_number(graph, node, argument, &number));
  if (number != ETX_IR_NONE) {
    *out = etx_ir_value_arg(number);
    return ETX_OK;
  }
  if (real != NULL) {
    const etx_dtype dtype = etx_pt2_has_doubles(graph, node)
                                ? ETX_DTYPE_FLOAT64
                                : ETX_DTYPE_FLOAT32;
    const etx_status status = etx_pt2_sym_float(graph, real, dtype, out);
    if (status != ETX_UNSUPPORTED) return status;
  }
  return etx_pt2_argument(graph, argument, out);
}

// Reads the arguments of a node. If they do not match the schema, the error is
// reported and the node stays without arguments, so that later nodes can be
// read. The first argument of an in-place operator (`writes`) is passed by
// position, since it may have another keyword in the functional form.
static etx_status read_arguments(etx_pt2_graph* graph, const etx_json* json,
                                 const etx_aten_schema* schema, bool writes,
                                 etx_ir_node* node) {
  const etx_json* inputs = NULL;
  ETX_TRY(etx_pt2_field(graph, json, "inputs", ETX_JSON_ARRAY, &inputs));
  etx_ir_arg* const args =
      etx_pool_take(graph->pool, inputs->count * sizeof *args);
  etx_text* const names =
      etx_pool_take(graph->pool, inputs->count * sizeof *names);
  if (args == NULL || names == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < inputs->count; ++i) {
    ETX_TRY(etx_pt2_text(graph, &inputs->items[i], "name", &names[i]));
    ETX_TRY(read_argument(graph, json,
                          etx_json_member(&inputs->items[i], "arg"), &args[i]));
  }
  if (writes && inputs->count > 0) names[0].size = 0;
  if (schema == NULL) return ETX_OK;
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_aten_arguments given = {args, names, inputs->count};
  const etx_status status =
      etx_aten_complete(graph->pool, schema, &given, node, &diag);
  if (status == ETX_BAD_FILE) {
    etx_import_problem(graph->import, status, &graph->place, "%s: %s",
                       graph->context, diag.text);
    return ETX_OK;
  }
  return status;
}

// Reports an unsupported operator. The caller still defines its results, so
// that later nodes can be read.
static etx_status report_operator(etx_pt2_graph* graph, const etx_json* json,
                                  etx_text target, etx_text aten) {
  if (etx_pt2_is_functionalized(target) ||
      (etx_pt2_class_of(target) == ETX_PT2_NODE_UNSUPPORTED &&
       !starts_with(target, "torch.ops.higher_order."))) {
    return etx_pt2_report_own(graph, json, target);
  }
  if (starts_with(target, "torch.ops.higher_order.")) {
    etx_import_problem(
        graph->import, ETX_UNSUPPORTED, &graph->place,
        "%s: control flow operator '%t' is not supported: only cond, "
        "while_loop, scan, map and associative_scan are",
        graph->context, target);
    return ETX_OK;
  }
  if (etx_operator_is_in_place(aten)) {
    etx_import_problem(graph->import, ETX_UNSUPPORTED, &graph->place,
                       "%s: in-place operator '%t' is not supported: call "
                       ".run_decompositions({}) before torch.export.save",
                       graph->context, aten);
    return ETX_OK;
  }
  char hint[ETX_NEAREST_OPERATOR_BYTES];
  // Operators with a schema but without a lowering are reported by the pass
  // `lower`.
  etx_import_problem(graph->import, ETX_UNSUPPORTED, &graph->place,
                     "%s: operator '%t' is not supported%s%s", graph->context,
                     aten, etx_nearest_form_hint(aten, hint, sizeof hint),
                     starts_with(target, "torch.ops.aten.")
                         ? "; calling .run_decompositions() before "
                           "torch.export.save may replace it"
                         : "");
  return ETX_OK;
}

// True if the node has results and nothing reads them. PyTorch keeps such nodes
// if they draw random numbers.
static bool is_unread(const etx_pt2_graph* graph, const etx_json* outputs) {
  for (size_t i = 0; i < outputs->count; ++i) {
    const etx_json* const tensor =
        etx_json_member(&outputs->items[i], "as_tensor");
    const etx_json* const name = etx_json_member(tensor, "name");
    if (name == NULL || name->kind != ETX_JSON_STRING) return false;
    const etx_json* const meta =
        etx_json_find(graph->tensor_values, name->string);
    if (meta == NULL ||
        graph->last_reads[meta - graph->tensor_values->items] != 0) {
      return false;
    }
  }
  return outputs->count > 0;
}

static etx_status narrow_to_known(etx_pt2_graph* graph, const etx_json* outputs,
                                  etx_dim known) {
  etx_text name;
  size_t position = 0;
  ETX_TRY(etx_pt2_text(graph, etx_json_member(&outputs->items[0], "as_tensor"),
                       "name", &name));
  ETX_TRY(etx_pt2_find_tensor(graph, name, &position));
  return etx_pt2_narrow_to_known(graph, known, position);
}

static etx_status read_node(etx_pt2_graph* graph, const etx_json* json,
                            etx_text target) {
  const etx_json *inputs = NULL, *outputs = NULL;
  etx_ir_node node = {0};
  output_list list = {NULL, 0, 0};
  ETX_TRY(etx_pt2_field(graph, json, "inputs", ETX_JSON_ARRAY, &inputs));
  ETX_TRY(etx_pt2_field(graph, json, "outputs", ETX_JSON_ARRAY, &outputs));
  const size_t prefix = strlen("torch.ops.");
  node.aten.data = target.data + prefix;
  node.aten.size = target.size - prefix;
  const bool is_kept = etx_pt2_class_of(target) == ETX_PT2_NODE_KEPT;
  const etx_own_entry* const own =
      etx_own_operators_find(graph->import->module, node.aten);
  const etx_aten_schema* schema =
      is_kept || own != NULL
          ? etx_ir_schema_find(graph->import->module, node.aten)
          : NULL;
  const bool writes = is_kept && schema == NULL &&
                      (schema = etx_pt2_functional_form(node.aten)) != NULL;
  const etx_text aten = node.aten;
  bool is_read = false;
  ETX_TRY(etx_pt2_read_filled(graph, json, aten, &is_read));
  if (is_read) return ETX_OK;
  if (schema != NULL && etx_pt2_reads_number(graph, json)) {
    const etx_aten_schema* const form =
        etx_pt2_tensor_form(graph, etx_text_of(schema->name));
    if (form != NULL) schema = form;
  }
  if (schema != NULL) node.aten = etx_text_of(schema->name);
  if (!etx_operator_is_importable(node.aten) &&
      starts_with(target, "torch.ops.aten.") &&
      !etx_operator_is_in_place(aten) && is_unread(graph, outputs)) {
    return ETX_OK;
  }
  if (schema == NULL) {
    ETX_TRY(report_operator(graph, json, target, node.aten));
  } else {
    ETX_TRY(read_arguments(graph, json, schema, writes, &node));
  }
  ETX_TRY(etx_pt2_decide_slice(graph, &node, outputs));
  ETX_TRY(read_outputs(graph, outputs, schema, &list, &node.late));
  node.outputs = list.values;
  node.output_count = list.count;
  const bool changes =
      own != NULL && list.count == own->result_count && own->changed_count > 0;
  if (changes) ETX_TRY(etx_pt2_add_contents(graph, own, &node));
  if (schema != NULL && schema->results != ETX_ATEN_LIST &&
      node.output_count != (size_t)schema->results) {
    return etx_pt2_fail_malformed(
        graph, "'%t' should have %i results, found %z", node.aten,
        (int64_t)schema->results, node.output_count);
  }
  node.place = graph->place;
  node.branch = graph->branch;
  uint32_t unused = 0;
  etx_dim known = ETX_PT2_NO_SIZE;
  if (schema != NULL) ETX_TRY(etx_pt2_free_size(graph, &node, &known));
  ETX_TRY(
      etx_ir_add_node(graph->import->module, graph->method, &node, &unused));
  if (schema != NULL) ETX_TRY(etx_pt2_note_decided(graph, &node));
  if (known != ETX_PT2_NO_SIZE) {
    ETX_TRY(narrow_to_known(graph, outputs, known));
  }
  if (changes) return etx_pt2_write_contents(graph, own, inputs, &node);
  if (writes) return etx_pt2_write_in_place(graph, aten, inputs, outputs);
  etx_pt2_note_views(graph, inputs, outputs);
  return ETX_OK;
}

// item() of floats and truth values.
static etx_status read_number_item(etx_pt2_graph* graph, const etx_json* json,
                                   const etx_json* outputs, etx_text target) {
  etx_ir_node node = {0};
  bool is_read = false;
  ETX_TRY(read_arguments(graph, json,
                         etx_aten_schema_find(etx_text_of("aten.item.default")),
                         false, &node));
  if (outputs->count == 1 && node.arg_count == 1 &&
      node.args[0].kind == ETX_IR_ARG_VALUE) {
    ETX_TRY(etx_pt2_read_number_item(graph, node.args[0].as.value,
                                     &outputs->items[0], &is_read));
  }
  if (!is_read) {
    etx_pt2_report_unsupported(
        graph,
        "reading a number that is neither an integer, a float nor a truth "
        "value by",
        target);
  }
  return ETX_OK;
}

// item(): the node sets the symbol of the integer that it reads. Its result in
// the IR is a tensor without elements, which nothing reads.
static etx_status read_item(etx_pt2_graph* graph, const etx_json* json,
                            etx_text target) {
  const etx_json* outputs = NULL;
  ETX_TRY(etx_pt2_field(graph, json, "outputs", ETX_JSON_ARRAY, &outputs));
  const etx_json* const number =
      outputs->count == 1 ? etx_json_member(&outputs->items[0], "as_sym_int")
                          : NULL;
  const etx_json* const name = etx_json_member(number, "as_name");
  if (name == NULL || name->kind != ETX_JSON_STRING) {
    return read_number_item(graph, json, outputs, target);
  }
  etx_dim size = 0;
  etx_ir_node node = {0};
  bool is_decided = false;
  ETX_TRY(read_arguments(graph, json,
                         etx_aten_schema_find(etx_text_of("aten.item.default")),
                         false, &node));
  if (node.arg_count == 1) {
    ETX_TRY(
        etx_pt2_decide_item(graph, name->string, &node.args[0], &is_decided));
  }
  if (is_decided) return ETX_OK;
  etx_pt2_start_late(graph);
  ETX_TRY(etx_pt2_named_size(graph, name->string, &size));
  uint32_t late = etx_pt2_end_late(graph);
  const bool is_known = late == 0;
  if (is_known) {
    ETX_TRY(etx_pt2_known_item(graph, name->string, size, &late));
  }
  if (node.arg_count != 1) return ETX_OK;  // it was reported
  ETX_TRY(etx_pt2_add_item(graph, name->string, &node.args[0], late));
  return is_known ? etx_pt2_check_item(graph, late, size) : ETX_OK;
}

etx_status etx_pt2_read_nodes(etx_pt2_graph* graph) {
  ETX_TRY(mark_subgraph(graph));
  for (size_t i = 0; i < graph->nodes->count; ++i) {
    const etx_json* const json = &graph->nodes->items[i];
    etx_text target;
    graph->now = (uint32_t)i + 1;
    etx_pt2_set_context(graph, "node %z", i);
    ETX_TRY(etx_pt2_text(graph, json, "target", &target));
    const bool asserts = starts_with(target, "torch.ops.aten._assert_scalar.");
    if (!asserts && etx_pt2_is_dropped(target)) {
      if (etx_pt2_reads_number(graph, json)) {
        ETX_TRY(etx_pt2_compute_number(graph, json, target));
      }
      continue;
    }
    const etx_json* const name = etx_json_member(json, "name");
    if (name != NULL && name->kind == ETX_JSON_STRING) {
      graph->place.node = name->string;
      etx_pt2_set_context(graph, "node '%t'", name->string);
    }
    etx_pt2_read_source(graph, json);
    if (etx_pt2_is_item_call(target) && !etx_pt2_is_item_used(graph, json)) {
      continue;
    }
    if (asserts) {
      ETX_TRY(etx_pt2_read_assertion(graph, json));
      continue;
    }
    if (!starts_with(target, "torch.ops.")) {
      return etx_pt2_fail_unsupported(
          graph,
          "target '%t' is not supported; calling .run_decompositions({}) "
          "before torch.export.save may replace it",
          target);
    }
    if (etx_pt2_is_item_call(target)) {
      ETX_TRY(read_item(graph, json, target));
    } else if (etx_pt2_is_cond(target)) {
      ETX_TRY(etx_pt2_read_cond(graph, json, etx_pt2_read_nodes));
    } else if (etx_pt2_is_while(target)) {
      ETX_TRY(etx_pt2_read_while(graph, json, etx_pt2_read_nodes));
    } else if (etx_pt2_is_scan(target)) {
      ETX_TRY(etx_pt2_read_scan(graph, json, etx_pt2_read_nodes));
    } else {
      ETX_TRY(read_node(graph, json, target));
    }
  }
  graph->place.node.size = 0;
  etx_pt2_forget_source(graph);
  return ETX_OK;
}
