// The zip around a program. libzip checks the directory against itself and the
// members' CRCs; names, root folder, versions and storage are checked here.
// Members must be stored as they are: torch.export.save never compresses, and
// refusing the rest closes the door to small files with huge contents.

#include "exporter/read_pt2.h"

#include <errno.h>
#include <stdlib.h>
#include <zip.h>

#include "exporter/host_file.h"
#include "exporter/pt2_internal.h"

enum { MAX_MEMBERS = 200000, MAX_ROOT = 1024 };

// ---------------------------------------------------------------- members

static etx_status refuse_member(etx_diag* diag, etx_text member,
                                const char* problem) {
  return etx_diag_fail(diag, ETX_BAD_FILE, "member '%t': %s", member, problem);
}

// Whose fault it is that libzip failed: the machine's, or the archive's. For
// want of memory it may call an archive inconsistent, but the allocator has
// left its mark; `errno` was 0 before.
static etx_status zip_status(int code) {
  if (errno == ENOMEM) return ETX_OUT_OF_MEMORY;
  switch (code) {
    case ZIP_ER_MEMORY:
      return ETX_OUT_OF_MEMORY;
    case ZIP_ER_OPEN:
    case ZIP_ER_NOENT:
      return errno == 0 ? ETX_NOT_FOUND : etx_host_status(errno);
    case ZIP_ER_READ:
    case ZIP_ER_SEEK:
    case ZIP_ER_TELL:
      return ETX_HOST_FAILED;
    default:
      return ETX_BAD_FILE;
  }
}

static etx_status refuse_zip(etx_diag* diag, etx_text member, int code,
                             const char* problem) {
  return etx_diag_fail(diag, zip_status(code), "member '%t': %s", member,
                       problem);
}

static int by_member_name(const void* a, const void* b) {
  const etx_pt2_member* const x = a;
  const etx_pt2_member* const y = b;
  return etx_text_compare(x->name, y->name);
}

// A relative path of plain parts.
static bool is_plain_path(etx_text name) {
  size_t start = 0;
  for (size_t i = 0; i <= name.size; ++i) {
    if (i < name.size && name.data[i] != '/') {
      if (name.data[i] == '\\' || name.data[i] == '\0') return false;
      continue;
    }
    const etx_text part = {name.data + start, i - start};
    if (part.size == 0 || etx_text_is(part, ".") || etx_text_is(part, "..")) {
      return false;
    }
    start = i + 1;
  }
  return true;
}

// Splits "root/rest" and holds every member to the root of the first.
static etx_status take_root(etx_text full, etx_text* root, etx_text* out_rest,
                            etx_diag* diag) {
  const char* const slash = memchr(full.data, '/', full.size);
  if (slash == NULL || slash == full.data || !is_plain_path(full)) {
    return refuse_member(diag, full, "expected a path under one root folder");
  }
  const etx_text own_root = {full.data, (size_t)(slash - full.data) + 1};
  if (root->size == 0) *root = own_root;
  if (!etx_text_equal(*root, own_root)) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "member '%t' is not under the root folder '%t'", full,
                         *root);
  }
  out_rest->data = slash + 1;
  out_rest->size = full.size - own_root.size;
  return ETX_OK;
}

static etx_status list_member(etx_pt2_archive* archive, zip_uint64_t index,
                              etx_text* root, etx_diag* diag) {
  zip_stat_t info;
  if (zip_stat_index(archive->zip, index, ZIP_FL_ENC_RAW, &info) != 0) {
    return etx_diag_fail(diag, ETX_BAD_FILE, "member %u cannot be read", index);
  }
  const etx_text full =
      etx_pool_copy_text(archive->pool, etx_text_of(info.name));
  if (full.data == NULL) return ETX_OUT_OF_MEMORY;
  const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                              ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if ((info.valid & needed) != needed) {
    return refuse_member(diag, full, "its record is not complete");
  }
  if (info.encryption_method != ZIP_EM_NONE) {
    return refuse_member(diag, full, "it is encrypted");
  }
  if (info.comp_method != ZIP_CM_STORE || info.size != info.comp_size) {
    return refuse_member(
        diag, full,
        "it is compressed; load the archive in PyTorch and save "
        "it again");
  }
  etx_pt2_member* const member = &archive->members[archive->member_count];
  ETX_TRY(take_root(full, root, &member->name, diag));
  member->index = index;
  member->bytes = info.size;
  ++archive->member_count;
  return ETX_OK;
}

static etx_status list_members(etx_pt2_archive* archive, etx_diag* diag) {
  const zip_int64_t count = zip_get_num_entries(archive->zip, 0);
  if (count <= 0 || count > MAX_MEMBERS) {
    return etx_diag_fail(diag, ETX_BAD_FILE, "the archive has %i members",
                         (int64_t)count);
  }
  archive->members =
      etx_pool_take(archive->pool, (size_t)count * sizeof *archive->members);
  if (archive->members == NULL) return ETX_OUT_OF_MEMORY;
  etx_text root = {NULL, 0};
  for (zip_uint64_t i = 0; i < (zip_uint64_t)count; ++i) {
    ETX_TRY(list_member(archive, i, &root, diag));
  }
  qsort(archive->members, archive->member_count, sizeof *archive->members,
        by_member_name);
  for (size_t i = 1; i < archive->member_count; ++i) {
    if (!etx_text_equal(archive->members[i - 1].name,
                        archive->members[i].name)) {
      continue;
    }
    return refuse_member(diag, archive->members[i].name, "it is there twice");
  }
  return ETX_OK;
}

static const etx_pt2_member* find_member(const etx_pt2_archive* archive,
                                         etx_text name) {
  const etx_pt2_member key = {name, 0, 0};
  return bsearch(&key, archive->members, archive->member_count,
                 sizeof *archive->members, by_member_name);
}

// libzip compares the CRC when the last byte has been read, so one more is
// asked for.
static etx_status read_bytes(const etx_pt2_archive* archive,
                             const etx_pt2_member* member, uint8_t* out,
                             etx_diag* diag) {
  errno = 0;
  zip_file_t* const file = zip_fopen_index(archive->zip, member->index, 0);
  if (file == NULL) {
    const int code = zip_error_code_zip(zip_get_error(archive->zip));
    return refuse_zip(diag, member->name, code, zip_strerror(archive->zip));
  }
  uint64_t done = 0;
  zip_int64_t got = 0;
  do {
    uint8_t extra = 0;
    got = done < member->bytes
              ? zip_fread(file, out + done, member->bytes - done)
              : zip_fread(file, &extra, 1);
    if (got > 0) done += (uint64_t)got;
  } while (got > 0 && done <= member->bytes);
  etx_status status = ETX_OK;
  if (got < 0) {
    const int code = zip_error_code_zip(zip_file_get_error(file));
    status = refuse_zip(diag, member->name, code, zip_file_strerror(file));
  } else if (done != member->bytes) {
    status = etx_diag_fail(diag, ETX_BAD_FILE,
                           "member '%t' has %u bytes, its record says %u",
                           member->name, done, member->bytes);
  }
  (void)zip_fclose(file);
  return status;
}

etx_status etx_pt2_member_read(etx_pt2_archive* archive, etx_text name,
                               etx_pool* pool, etx_bytes* out_bytes,
                               etx_diag* diag) {
  const etx_pt2_member* const member = find_member(archive, name);
  if (member == NULL) return ETX_NOT_FOUND;
  if (member->bytes > SIZE_MAX - 1) return ETX_OUT_OF_MEMORY;
  uint8_t* const bytes = etx_pool_take(pool, (size_t)member->bytes + 1);
  if (bytes == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for the %u bytes of member '%t'",
                         member->bytes, name);
  }
  ETX_TRY(read_bytes(archive, member, bytes, diag));
  out_bytes->data = bytes;
  out_bytes->size = (size_t)member->bytes;
  return ETX_OK;
}

// ---------------------------------------------------------------- versions

// Content of a small member without surrounding white space; empty if there
// is none.
static etx_status read_small(etx_pt2_archive* archive, const char* name,
                             etx_text* out_text, etx_diag* diag) {
  etx_bytes bytes = {NULL, 0};
  out_text->size = 0;
  const etx_status status = etx_pt2_member_read(archive, etx_text_of(name),
                                                archive->pool, &bytes, diag);
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

static bool has_member(const etx_pt2_archive* archive, const char* name) {
  return find_member(archive, etx_text_of(name)) != NULL;
}

static etx_status check_versions(etx_pt2_archive* archive, etx_diag* diag) {
  etx_text format, version, order;
  if (has_member(archive, "data/weights/model.pt") ||
      has_member(archive, "data/constants/model.pt")) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "saved by an older PyTorch: load it and save it again "
                         "with PyTorch 2.13 or later");
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
                         "byte order '%t' is not supported, only 'little'",
                         order);
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- program

static etx_status read_json_member(etx_pt2_graph* graph, const char* format,
                                   etx_text model, const etx_json** out_json) {
  etx_pool scratch;
  etx_bytes bytes = {NULL, 0};
  const etx_text name = etx_pool_format(graph->pool, format, model);
  etx_json* const json = etx_pool_take(graph->pool, sizeof *json);
  if (name.data == NULL || json == NULL) return ETX_OUT_OF_MEMORY;
  etx_pool_init(&scratch);
  etx_status status =
      etx_pt2_member_read(graph->archive, name, &scratch, &bytes, graph->diag);
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
  etx_pool_close(&scratch);
  *out_json = json;
  return status;
}

static etx_status find_parts(etx_pt2_graph* graph) {
  const etx_json *version = NULL, *major = NULL, *module = NULL,
                 *signature = NULL;
  etx_pt2_set_place(graph, "models");
  ETX_TRY(etx_pt2_field(graph, graph->program, "schema_version",
                        ETX_JSON_OBJECT, &version));
  ETX_TRY(etx_pt2_field(graph, version, "major", ETX_JSON_INT, &major));
  if (major->integer != 8) {
    return etx_pt2_decline(graph, "schema version %i is not supported, only 8",
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
  etx_pt2_set_place(graph, "weights config");
  ETX_TRY(etx_pt2_field(graph, weights, "config", ETX_JSON_OBJECT,
                        &graph->weights));
  etx_pt2_set_place(graph, "constants config");
  return etx_pt2_field(graph, constants, "config", ETX_JSON_OBJECT,
                       &graph->constants);
}

static etx_status read_graph(etx_pt2_graph* graph) {
  ETX_TRY(etx_pt2_unwrap(graph));
  ETX_TRY(etx_pt2_take_names(graph));
  ETX_TRY(etx_pt2_mark_uses(graph));
  ETX_TRY(etx_pt2_read_inputs(graph));
  ETX_TRY(etx_pt2_read_nodes(graph));
  return etx_pt2_read_outputs(graph);
}

// The first program in models/; torch.export.save writes exactly one.
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
                         "the archive has no program under 'models/': was the "
                         "save interrupted");
  }
  return etx_diag_fail(diag, ETX_UNSUPPORTED,
                       "the archive holds %z programs: save each method with "
                       "torch.export.save",
                       count);
}

static etx_status read_program(etx_pt2_archive* archive, etx_import* import,
                               etx_text name, etx_diag* diag) {
  etx_text model;
  ETX_TRY(list_members(archive, diag));
  ETX_TRY(check_versions(archive, diag));
  ETX_TRY(find_model(archive, &model, diag));
  // Outlives this call: claims on weights refer to it.
  etx_pt2_graph* const graph = etx_pool_take(archive->pool, sizeof *graph);
  if (graph == NULL) return ETX_OUT_OF_MEMORY;
  graph->import = import;
  graph->archive = archive;
  graph->pool = archive->pool;
  graph->diag = diag;
  graph->where.file = archive->path;
  ETX_TRY(read_json_member(graph, "models/%t.json", model, &graph->program));
  ETX_TRY(find_configs(graph, model));
  ETX_TRY(find_parts(graph));
  ETX_TRY(etx_ir_add_method(import->module, name, &graph->method_index));
  graph->method = &import->module->methods[graph->method_index];
  graph->method->file = archive->path;
  const etx_status status = read_graph(graph);
  graph->diag = NULL;
  graph->method = NULL;  // the table of methods may move
  return status;
}

static bool looks_like_old_layout(zip_t* zip) {
  return zip_name_locate(zip, "serialized_exported_program.json", 0) >= 0;
}

static etx_status open_zip(etx_pt2_archive* archive, etx_diag* diag) {
  int code = 0;
  errno = 0;
  archive->zip =
      zip_open(archive->path.data, ZIP_RDONLY | ZIP_CHECKCONS, &code);
  if (archive->zip != NULL) {
    if (!looks_like_old_layout(archive->zip)) return ETX_OK;
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "saved by an older PyTorch: load it and save it again "
                         "with PyTorch 2.13 or later");
  }
  const etx_status status = zip_status(code);
  if (status == ETX_OUT_OF_MEMORY) return status;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  (void)etx_diag_fail(diag, status, "%s%s",
                      status == ETX_BAD_FILE ? "not a sound zip archive: " : "",
                      zip_error_strerror(&error));
  zip_error_fini(&error);
  return status;
}

etx_status etx_pt2_read(etx_pt2_archive* archive, etx_import* import,
                        etx_text path, etx_text name) {
  etx_diag diag;
  etx_diag_init(&diag);
  memset(archive, 0, sizeof *archive);
  etx_pool_init(&archive->payloads);
  archive->pool = import->module->pool;
  archive->path = etx_pool_copy_text(archive->pool, path);
  if (archive->path.data == NULL) return ETX_OUT_OF_MEMORY;
  etx_status status = open_zip(archive, &diag);
  if (status == ETX_OK) status = read_program(archive, import, name, &diag);
  if (status == ETX_OK || status == ETX_OUT_OF_MEMORY) return status;
  etx_ir_place place = {0};
  place.file = archive->path;
  etx_import_problem_of(import, &place, status, &diag);
  return ETX_OK;
}

void etx_pt2_close(etx_pt2_archive* archive) {
  if (archive->zip != NULL) zip_discard(archive->zip);
  archive->zip = NULL;
  etx_pool_close(&archive->payloads);
}
