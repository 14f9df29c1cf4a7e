// Reads an archive: checks the versions, finds the program and its JSON, and
// calls the readers of its parts in order.

#include "exporter/read_pt2/read_pt2.h"

#include "exporter/host/host_file.h"
#include "exporter/read_pt2/pt2_internal.h"

// ---------------------------------------------------------------- versions

// The content of a small member without trailing white space; empty if there is
// no such member.
static etx_status read_small(etx_pt2_archive* archive, const char* name,
                             etx_text* out_text, etx_diag* diag) {
  etx_bytes bytes = {NULL, 0};
  out_text->size = 0;
  const etx_status status =
      etx_pt2_member_find(archive, etx_text_of(name), &bytes, diag);
  if (status == ETX_NOT_FOUND) return ETX_OK;
  ETX_TRY(status);
  while (bytes.size > 0 && (bytes.data[bytes.size - 1] == '\n' ||
                            bytes.data[bytes.size - 1] == '\r' ||
                            bytes.data[bytes.size - 1] == ' ')) {
    --bytes.size;
  }
  out_text->data = (const char*)bytes.data;
  out_text->size = bytes.size;
  return ETX_OK;
}

static etx_status check_versions(etx_pt2_archive* archive, etx_diag* diag) {
  etx_text format, version, order;
  if (etx_pt2_has_member(archive, "data/weights/model.pt") ||
      etx_pt2_has_member(archive, "data/constants/model.pt")) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "the archive was saved by an older PyTorch: export "
                         "and save it again with PyTorch 2.13 or later");
  }
  ETX_TRY(read_small(archive, "archive_format", &format, diag));
  ETX_TRY(read_small(archive, "archive_version", &version, diag));
  ETX_TRY(read_small(archive, "byteorder", &order, diag));
  if (!etx_text_is(format, "pt2")) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "member 'archive_format' should be 'pt2', found '%t'",
                         format);
  }
  if (!etx_text_is(version, "0")) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "member 'archive_version' should be '0', found '%t'",
                         version);
  }
  if (order.size != 0 && !etx_text_is(order, "little")) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "byte order '%t' is not supported, expected 'little'",
                         order);
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- program

static etx_status read_json_member(etx_pt2_graph* graph, const char* format,
                                   etx_text model, const etx_json** out_json) {
  etx_bytes bytes = {NULL, 0};
  const etx_text name = etx_pool_format(graph->pool, format, model);
  etx_json* const json = etx_pool_take(graph->pool, sizeof *json);
  if (name.data == NULL || json == NULL) return ETX_OUT_OF_MEMORY;
  etx_status status =
      etx_pt2_member_find(graph->archive, name, &bytes, graph->diag);
  if (status == ETX_NOT_FOUND) {
    status = etx_diag_fail(graph->diag, ETX_BAD_FILE,
                           "the archive has no member '%t'", name);
  }
  if (status == ETX_OK) {
    etx_diag diag;
    etx_diag_init(&diag);
    const etx_text text = {(const char*)bytes.data, bytes.size};
    status = etx_json_read(graph->pool, text, json, &diag);
    if (status != ETX_OK) {
      (void)etx_diag_fail(graph->diag, status, "member '%t': %s", name,
                          diag.text);
    }
  }
  *out_json = json;
  return status;
}

static etx_status find_parts(etx_pt2_graph* graph) {
  const etx_json *version = NULL, *major = NULL, *module = NULL,
                 *signature = NULL;
  etx_pt2_set_context(graph, "models");
  ETX_TRY(etx_pt2_field(graph, graph->program, "schema_version",
                        ETX_JSON_OBJECT, &version));
  ETX_TRY(etx_pt2_field(graph, version, "major", ETX_JSON_INT, &major));
  if (major->integer != 8) {
    return etx_pt2_fail_unsupported(
        graph, "schema version %i is not supported, expected 8",
        major->integer);
  }
  ETX_TRY(etx_pt2_field(graph, graph->program, "range_constraints",
                        ETX_JSON_OBJECT, &graph->ranges));
  ETX_TRY(etx_pt2_field(graph, graph->program, "graph_module", ETX_JSON_OBJECT,
                        &module));
  ETX_TRY(
      etx_pt2_field(graph, module, "graph", ETX_JSON_OBJECT, &graph->graph));
  ETX_TRY(
      etx_pt2_field(graph, module, "signature", ETX_JSON_OBJECT, &signature));
  ETX_TRY(etx_pt2_field(graph, signature, "input_specs", ETX_JSON_ARRAY,
                        &graph->input_specs));
  ETX_TRY(etx_pt2_field(graph, signature, "output_specs", ETX_JSON_ARRAY,
                        &graph->output_specs));
  ETX_TRY(etx_pt2_field(graph, graph->graph, "nodes", ETX_JSON_ARRAY,
                        &graph->nodes));
  ETX_TRY(etx_pt2_field(graph, graph->graph, "tensor_values", ETX_JSON_OBJECT,
                        &graph->tensor_values));
  ETX_TRY(etx_pt2_field(graph, graph->graph, "sym_int_values", ETX_JSON_OBJECT,
                        &graph->sym_ints));
  ETX_TRY(etx_pt2_field(graph, graph->graph, "sym_bool_values", ETX_JSON_OBJECT,
                        &graph->sym_bools));
  graph->sym_floats = etx_json_member(graph->graph, "sym_float_values");
  return ETX_OK;
}

static etx_status find_configs(etx_pt2_graph* graph, etx_text model) {
  const etx_json *weights = NULL, *constants = NULL;
  ETX_TRY(read_json_member(graph, "data/weights/%t_weights_config.json", model,
                           &weights));
  ETX_TRY(read_json_member(graph, "data/constants/%t_constants_config.json",
                           model, &constants));
  etx_pt2_set_context(graph, "weights config");
  ETX_TRY(etx_pt2_field(graph, weights, "config", ETX_JSON_OBJECT,
                        &graph->weights));
  etx_pt2_set_context(graph, "constants config");
  return etx_pt2_field(graph, constants, "config", ETX_JSON_OBJECT,
                       &graph->constants);
}

static etx_status read_graph(etx_pt2_graph* graph) {
  ETX_TRY(etx_pt2_unwrap_effects(graph));
  ETX_TRY(etx_pt2_inline_wrappers(graph));
  ETX_TRY(etx_pt2_group_vmaps(graph));
  ETX_TRY(etx_pt2_replace_associative_scans(graph));
  ETX_TRY(etx_pt2_replace_functionalized(graph));
  ETX_TRY(etx_pt2_alloc_names(graph));
  ETX_TRY(etx_pt2_mark_uses(graph));
  ETX_TRY(etx_pt2_read_inputs(graph));
  ETX_TRY(etx_pt2_apply_guards(graph));
  ETX_TRY(etx_pt2_unite_late(graph));
  ETX_TRY(etx_pt2_read_nodes(graph));
  return etx_pt2_read_outputs(graph);
}

// The name of the program in models/; torch.export.save writes exactly one.
static etx_status find_model(const etx_pt2_archive* archive,
                             etx_text* out_model, etx_diag* diag) {
  const etx_text prefix = etx_text_of("models/"), suffix = etx_text_of(".json");
  size_t count = 0;
  for (size_t i = 0; i < archive->member_count; ++i) {
    const etx_text name = archive->members[i].name;
    if (!etx_text_starts_with(name, prefix) ||
        name.size <= prefix.size + suffix.size ||
        memcmp(name.data + name.size - suffix.size, suffix.data, suffix.size) !=
            0) {
      continue;
    }
    out_model->data = name.data + prefix.size;
    out_model->size = name.size - prefix.size - suffix.size;
    ++count;
  }
  if (count == 1) return ETX_OK;
  if (count == 0) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "the archive has no program under 'models/': save it "
                         "again with torch.export.save");
  }
  return etx_diag_fail(diag, ETX_UNSUPPORTED,
                       "the archive has %z programs, expected 1: save each "
                       "method in a file of its own with torch.export.save",
                       count);
}

static etx_status read_program(etx_pt2_archive* archive, etx_import* import,
                               etx_text name, etx_diag* diag) {
  etx_text model;
  ETX_TRY(check_versions(archive, diag));
  ETX_TRY(find_model(archive, &model, diag));
  // From the pool, since the declarations of buffers refer to it after this
  // call.
  etx_pt2_graph* const graph = etx_pool_take(archive->pool, sizeof *graph);
  if (graph == NULL) return ETX_OUT_OF_MEMORY;
  graph->import = import;
  graph->archive = archive;
  graph->pool = archive->pool;
  graph->diag = diag;
  graph->place.file = archive->path;
  ETX_TRY(read_json_member(graph, "models/%t.json", model, &graph->program));
  ETX_TRY(find_configs(graph, model));
  ETX_TRY(find_parts(graph));
  ETX_TRY(etx_ir_add_method(import->module, name, &graph->method_index));
  graph->method = &import->module->methods[graph->method_index];
  graph->method->file = archive->path;
  const etx_status status = read_graph(graph);
  graph->diag = NULL;
  graph->method = NULL;  // adding the next method may move the table
  return status;
}

etx_status etx_pt2_read(etx_pt2_archive* archive, etx_import* import,
                        etx_text path, etx_text name) {
  etx_diag diag;
  etx_diag_init(&diag);
  memset(archive, 0, sizeof *archive);
  archive->pool = import->module->pool;
  archive->path = etx_pool_copy_text(archive->pool, path);
  if (archive->path.data == NULL) return ETX_OUT_OF_MEMORY;
  etx_status status = etx_pt2_archive_open(archive, &diag);
  if (status == ETX_OK) status = read_program(archive, import, name, &diag);
  if (status == ETX_OK || status == ETX_OUT_OF_MEMORY) return status;
  etx_source_location place = {0};
  place.file = archive->path;
  etx_import_problem_of(import, &place, status, &diag);
  return ETX_OK;
}
