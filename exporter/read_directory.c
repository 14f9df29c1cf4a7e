// Reads a directory of methods as one module. Each file is a method; the method
// has the name of the file without its extension. Files are read in byte order
// of their names and merged tables are sorted, so the result does not depend on
// the order in which the host lists files.

#include "exporter/export.h"
#include "exporter/host/host_file.h"
#include "exporter/import/import.h"
#include "exporter/read_gguf/gguf_weights.h"
#include "exporter/read_yaml/read_program_yaml.h"
#include "exporter/read_pt2/read_pt2.h"
#include "exporter/read_yaml/read_yaml.h"
#include "format/pte/reserved_names.h"
#include "format/pte/variant_name.h"

typedef struct source_file {
  etx_text path;
  etx_text method;
} source_file;

typedef struct directory_reader {
  etx_import import;
  etx_weight_files weights;
  etx_program_file program;
  etx_pool* pool;
  etx_text program_path;  // of program.yaml, empty for a single file
  source_file* files;
  size_t file_count, file_capacity;
  etx_pt2_archive* archives;  // of the .pt2 files, open until values are loaded
  size_t archive_count;
} directory_reader;

static bool ends_with(etx_text text, const char* suffix) {
  const etx_text end = etx_text_of(suffix);
  return text.size > end.size &&
         memcmp(text.data + text.size - end.size, end.data, end.size) == 0;
}

static etx_status add_file(directory_reader* r, etx_text path) {
  const etx_text name = etx_path_name(path);
  if (name.size == 0 || name.data[0] == '.' ||
      (!ends_with(name, ".pt2") && !ends_with(name, ".yaml")) ||
      etx_text_is(name, "program.yaml")) {
    return ETX_OK;
  }
  ETX_TRY(etx_pool_grow(r->pool, &r->files, r->file_count, &r->file_capacity,
                        sizeof *r->files));
  source_file* const file = &r->files[r->file_count++];
  file->path = path;
  file->method = name;
  file->method.size -= ends_with(name, ".pt2") ? 4 : 5;
  return ETX_OK;
}

static etx_status list_files(directory_reader* r, const char* path,
                             etx_diag* diag) {
  etx_text* names = NULL;
  size_t count = 0;
  ETX_TRY(etx_directory_list(r->pool, path, &names, &count, diag));
  for (size_t i = 0; i < count; ++i) {
    const etx_text full = etx_path_join(r->pool, etx_text_of(path), names[i]);
    if (full.data == NULL) return ETX_OUT_OF_MEMORY;
    etx_path_kind kind = ETX_PATH_MISSING;
    ETX_TRY(etx_path_kind_find(full.data, &kind, diag));
    if (kind == ETX_PATH_DIRECTORY) continue;
    ETX_TRY(add_file(r, full));
  }
  return ETX_OK;
}

static etx_status find_files(directory_reader* r, const char* path,
                             etx_diag* diag) {
  const etx_text text = etx_text_of(path);
  etx_weight_files_init(&r->weights, r->pool, etx_path_directory(text));
  etx_path_kind kind = ETX_PATH_MISSING;
  ETX_TRY(etx_path_kind_find(path, &kind, diag));
  switch (kind) {
    case ETX_PATH_MISSING:
      return etx_diag_fail(diag, ETX_NOT_FOUND, "'%s' does not exist", path);
    case ETX_PATH_DIRECTORY:
      r->weights.directory = text;
      r->program_path =
          etx_path_join(r->pool, text, etx_text_of("program.yaml"));
      if (r->program_path.data == NULL) return ETX_OUT_OF_MEMORY;
      ETX_TRY(list_files(r, path, diag));
      break;
    case ETX_PATH_FILE:
      ETX_TRY(add_file(r, etx_pool_copy_text(r->pool, text)));
      break;
  }
  if (r->file_count != 0) return ETX_OK;
  return etx_diag_fail(
      diag, ETX_NOT_FOUND,
      "'%s' has no method: expected files that end in .pt2 or .yaml", path);
}

static bool is_reserved(etx_text name) {
  return etx_text_is(name, ETX_METHOD_INIT) ||
         etx_text_is(name, ETX_METHOD_BUFFER_NAMES) ||
         etx_text_is(name, ETX_METHOD_BUFFER_PLAN) || etx_is_variant_name(name);
}

static etx_status read_file(directory_reader* r, const source_file* file) {
  etx_import* const import = &r->import;
  etx_source_location place = {0};
  uint32_t other = 0;
  place.file = file->path;
  if (is_reserved(file->method)) {
    etx_import_problem(import, ETX_BAD_ARGUMENT, &place,
                       "'%t' is reserved, since etx generates a method of that "
                       "name: rename the file",
                       file->method);
    return ETX_OK;
  }
  if (etx_ir_find_method(import->module, file->method, &other)) {
    etx_import_problem(import, ETX_BAD_ARGUMENT, &place,
                       "method '%t' is also defined by '%t'", file->method,
                       import->module->methods[other].file);
    return ETX_OK;
  }
  if (ends_with(file->path, ".yaml")) {
    return etx_yaml_method_read(import, &r->weights, file->path, file->method);
  }
  return etx_pt2_read(&r->archives[r->archive_count++], import, file->path,
                      file->method);
}

// Keeps the methods without problems, or no method if those are not a valid
// module.
static etx_status keep_valid_methods(etx_import* import) {
  etx_import_report_unsupported(import);
  etx_import_drop_failed(import);
  ETX_TRY(etx_import_compact(import->module));
  if (etx_ir_verify(import->module, false, NULL) != ETX_OK) {
    import->module->method_count = 0;
  }
  return ETX_OK;
}

// Merges the buffers of all methods and applies program.yaml.
static etx_status merge(directory_reader* r) {
  etx_import* const import = &r->import;
  uint32_t* overrides = NULL;
  etx_import_mark_mutated(import);
  ETX_TRY(etx_program_file_buffers(&r->program, &overrides));
  const size_t problems = import->problem_count;
  ETX_TRY(etx_gguf_weights_read(import, overrides));
  if (import->problem_count != problems) return keep_valid_methods(import);
  ETX_TRY(etx_import_merge_buffers(import, overrides));
  ETX_TRY(etx_program_file_apply(&r->program));
  if (import->status == ETX_OK) return etx_import_compact(import->module);
  return keep_valid_methods(import);
}

// Reads the operators of the application that stand beside the methods.
static etx_status read_operators(directory_reader* r, const char* path,
                                 etx_diag* diag) {
  const etx_text file = etx_path_join(r->pool, etx_text_of(path),
                                      etx_text_of(ETX_EXPORT_OPERATORS_NAME));
  if (file.data == NULL) return ETX_OUT_OF_MEMORY;
  etx_path_kind kind = ETX_PATH_MISSING;
  ETX_TRY(etx_path_kind_find(file.data, &kind, diag));
  return kind == ETX_PATH_FILE
             ? etx_export_operators(r->import.module, file.data, diag)
             : ETX_OK;
}

static etx_status read_all(directory_reader* r, const char* path,
                           etx_diag* diag) {
  ETX_TRY(find_files(r, path, diag));
  if (r->program_path.size != 0) ETX_TRY(read_operators(r, path, diag));
  r->archives = etx_pool_take(r->pool, r->file_count * sizeof *r->archives);
  if (r->archives == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_program_file_open(&r->program, &r->import, &r->weights,
                                r->program_path));
  for (size_t i = 0; i < r->file_count; ++i) {
    ETX_TRY(read_file(r, &r->files[i]));
  }
  return merge(r);
}

etx_status etx_export_read(etx_ir_module* module, const char* path,
                           etx_problems* problems, etx_diag* diag) {
  directory_reader r = {0};
  etx_diag own;
  etx_diag_init(&own);
  if (diag == NULL) diag = &own;
  r.pool = module->pool;
  etx_import_init(&r.import, module, problems, diag);
  const etx_status status = read_all(&r, path, diag);
  for (size_t i = 0; i < r.archive_count; ++i) etx_pt2_close(&r.archives[i]);
  if (status != ETX_OK && r.import.status == ETX_OK) {
    etx_source_location place = {0};
    place.file = etx_text_of(path);
    etx_problem(problems, &place, "%s",
                diag->text_size != 0 ? diag->text : etx_status_text(status));
  }
  return status != ETX_OK ? status : r.import.status;
}
