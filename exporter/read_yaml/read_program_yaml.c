// The keys of program.yaml. All names in it must exist: otherwise a misspelled
// name would silently have no effect.

#include "exporter/read_yaml/read_program_yaml.h"

#include "exporter/arenas/concurrent_methods.h"
#include "exporter/arenas/memory_list.h"
#include "exporter/host/host_file.h"
#include "exporter/host/name_pattern.h"
#include "exporter/host/nearest_name.h"
#include "exporter/import/size_caps.h"
#include "exporter/read_yaml/program_caches.h"
#include "exporter/read_yaml/program_dims.h"
#include "exporter/import/cache_type.h"
#include "exporter/import/quantize_rules.h"
#include "format/base/checked_math.h"
#include "format/pte/reserved_names.h"

static etx_status report(etx_program_file* program, etx_status status,
                         const etx_yaml* node, const etx_diag* diag) {
  if (status == ETX_OK || status == ETX_OUT_OF_MEMORY) return status;
  etx_source_location place = program->place;
  if (diag->line == 0) {
    place.line = node->line;
    place.column = node->column;
  }
  etx_import_problem_of(program->import, &place, status, diag);
  return ETX_OK;
}

// ---------------------------------------------------------------- sections

// Reads one entry; `key` is NULL in lists.
typedef etx_status program_entry_reader(etx_program_file* program,
                                        const etx_yaml* key,
                                        const etx_yaml* node, etx_diag* diag);

static etx_status read_section(etx_program_file* program, const char* name,
                               etx_yaml_kind kind, program_entry_reader* read) {
  const etx_yaml* const section = etx_yaml_find(program->root, name);
  if (section == NULL) return ETX_OK;
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_status shape = etx_yaml_expect(section, kind, name, &diag);
  if (shape != ETX_OK) return report(program, shape, section, &diag);
  for (size_t i = 0; i < section->count; ++i) {
    etx_diag_init(&diag);
    const etx_yaml* const key = kind == ETX_YAML_MAP ? &section->keys[i] : NULL;
    const etx_status status = read(program, key, &section->items[i], &diag);
    ETX_TRY(
        report(program, status, key == NULL ? &section->items[i] : key, &diag));
  }
  return ETX_OK;
}

static etx_status weights_entry(etx_program_file* program, const etx_yaml* key,
                                const etx_yaml* node, etx_diag* diag) {
  (void)key;
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, "weights", diag));
  return etx_weight_files_search(program->weights, node->text, diag);
}

static etx_status check_head(etx_program_file* program, etx_diag* diag) {
  const etx_yaml* const version = etx_yaml_find(program->root, "etx");
  int64_t number = 0;
  ETX_TRY(etx_yaml_expect(program->root, ETX_YAML_MAP, "program", diag));
  ETX_TRY(etx_yaml_check_keys(program->root,
                              "etx shared_buffers weights constant_methods "
                              "initial caches dims outputs concurrent "
                              "memories quantize kv align",
                              diag));
  if (version == NULL) return ETX_OK;
  ETX_TRY(etx_yaml_int(version, "etx", &number, diag));
  if (number == 1) return ETX_OK;
  return etx_yaml_fail(
      version, diag, "format version %i is not supported, expected 1", number);
}

// Reads the file, if it is there; else the program has no keys.
static etx_status read_root(etx_program_file* program, etx_text path,
                            etx_pool* pool, etx_diag* diag) {
  etx_yaml* const root = etx_pool_take(pool, sizeof *root);
  if (root == NULL) return ETX_OUT_OF_MEMORY;
  root->kind = ETX_YAML_MAP;
  program->root = root;
  if (path.size == 0) return ETX_OK;
  etx_path_kind kind = ETX_PATH_MISSING;
  ETX_TRY(etx_path_kind_find(path.data, &kind, diag));
  if (kind != ETX_PATH_FILE) return ETX_OK;
  program->place.file = path;
  etx_bytes bytes = {NULL, 0};
  ETX_TRY(etx_file_read(pool, path.data, &bytes, diag));
  const etx_text text = {(const char*)bytes.data, bytes.size};
  ETX_TRY(etx_yaml_read(pool, text, root, diag));
  const etx_status status = check_head(program, diag);
  if (status != ETX_OK) root->count = 0;  // ignore all its keys
  return status;
}

// Without the key `weights`, weights.safetensors may be missing.
static etx_status search_default(etx_program_file* program, etx_pool* pool,
                                 etx_diag* diag) {
  const etx_text name = etx_text_of("weights.safetensors");
  const etx_text path = etx_path_join(pool, program->weights->directory, name);
  if (path.data == NULL) return ETX_OUT_OF_MEMORY;
  etx_path_kind kind = ETX_PATH_MISSING;
  ETX_TRY(etx_path_kind_find(path.data, &kind, diag));
  if (kind != ETX_PATH_FILE) return ETX_OK;
  return etx_weight_files_search(program->weights, name, diag);
}

etx_status etx_program_file_open(etx_program_file* program, etx_import* import,
                                 etx_weight_files* weights, etx_text path) {
  etx_pool* const pool = import->module->pool;
  etx_diag diag;
  etx_diag_init(&diag);
  memset(program, 0, sizeof *program);
  program->import = import;
  program->module = import->module;
  program->weights = weights;
  etx_status status = read_root(program, path, pool, &diag);
  if (status == ETX_OK && etx_yaml_find(program->root, "weights") == NULL) {
    status = search_default(program, pool, &diag);
  }
  ETX_TRY(report(program, status, program->root, &diag));
  return read_section(program, "weights", ETX_YAML_LIST, weights_entry);
}

// ---------------------------------------------------------------- buffers

static etx_status shared_buffer_entry(etx_program_file* program,
                                      const etx_yaml* key, const etx_yaml* node,
                                      etx_diag* diag) {
  etx_ir_module* const module = program->module;
  bool is_found = false;
  (void)key;
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, "shared_buffers", diag));
  etx_nearest_name nearest = etx_nearest_start(node->text);
  for (size_t i = 0; i < module->buffer_count; ++i) {
    etx_ir_buffer* const buffer = &module->buffers[i];
    etx_nearest_offer(&nearest, buffer->name);
    if (!etx_name_matches_pattern(node->text, buffer->name)) continue;
    buffer->is_state = true;
    is_found = true;
  }
  if (is_found) return ETX_OK;
  char hint[96];
  return etx_yaml_fail(node, diag, "no buffer is named '%t'%s", node->text,
                       etx_nearest_hint(&nearest, hint, sizeof hint));
}

// The type of a buffer in its first declaration.
static const etx_ir_constant* declared_type(const etx_import* import,
                                            uint32_t buffer) {
  for (size_t i = 0; i < import->declaration_count; ++i) {
    if (import->declarations[i].buffer == buffer)
      return &import->declarations[i].type;
  }
  return NULL;
}

static etx_status find_initial(etx_program_file* program, const etx_yaml* key,
                               const etx_yaml* node, uint32_t* overrides,
                               etx_diag* diag) {
  etx_ir_module* const module = program->module;
  etx_nearest_name nearest = etx_nearest_start(key->text);
  for (uint32_t i = 0; i < module->buffer_count; ++i) {
    const etx_ir_buffer* const buffer = &module->buffers[i];
    etx_nearest_offer(&nearest, buffer->name);
    if (!etx_text_equal(buffer->name, key->text)) continue;
    if (!buffer->is_state) {
      return etx_yaml_fail(
          key, diag,
          "'%t' is a constant: only state can have an initial value, so a "
          "method must write it or 'shared_buffers' must list it",
          key->text);
    }
    const etx_ir_constant* const type = declared_type(program->import, i);
    if (type == NULL) return ETX_INTERNAL;
    return etx_weight_files_value(program->weights, module, node, type,
                                  &overrides[i], diag);
  }
  char hint[96];
  return etx_yaml_fail(key, diag, "no buffer is named '%t'%s", key->text,
                       etx_nearest_hint(&nearest, hint, sizeof hint));
}

static etx_status read_initial(etx_program_file* program, uint32_t* overrides) {
  const etx_yaml* const section = etx_yaml_find(program->root, "initial");
  if (section == NULL) return ETX_OK;
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_status shape =
      etx_yaml_expect(section, ETX_YAML_MAP, "initial", &diag);
  if (shape != ETX_OK) return report(program, shape, section, &diag);
  for (size_t i = 0; i < section->count; ++i) {
    etx_diag_init(&diag);
    const etx_status status = find_initial(
        program, &section->keys[i], &section->items[i], overrides, &diag);
    ETX_TRY(report(program, status, &section->keys[i], &diag));
  }
  return ETX_OK;
}

etx_status etx_program_file_buffers(etx_program_file* program,
                                    uint32_t** out_overrides) {
  const size_t count = program->module->buffer_count;
  uint32_t* const overrides =
      etx_pool_take(program->module->pool, count * sizeof *overrides);
  if (overrides == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) overrides[i] = ETX_IR_NONE;
  ETX_TRY(read_section(program, "shared_buffers", ETX_YAML_LIST,
                       shared_buffer_entry));
  ETX_TRY(read_initial(program, overrides));
  *out_overrides = overrides;
  return ETX_OK;
}

// ---------------------------------------------------------------- outputs

// An output that is kept as state: each call writes its value to a new buffer
// that is named "method.output".
static etx_status make_state(etx_program_file* program, etx_ir_method* method,
                             const etx_ir_output* output, const etx_yaml* node,
                             etx_diag* diag) {
  etx_ir_module* const module = program->module;
  etx_ir_buffer buffer = {0};
  etx_ir_mutation mutation = {0};
  uint32_t taken = 0;
  if (output->arg.kind != ETX_IR_ARG_VALUE) {
    return etx_yaml_fail(node, diag, "output '%t' is not a tensor",
                         output->name);
  }
  const etx_ir_value* const value = &method->values[output->arg.as.value];
  if (!value->has_shape || !etx_ir_is_static(&value->shape)) {
    return etx_yaml_fail(node, diag,
                         "output '%t' cannot be state: its type must be stated "
                         "and its sizes must be fixed",
                         output->name);
  }
  buffer.name =
      etx_pool_format(module->pool, "%t.%t", method->name, output->name);
  if (buffer.name.data == NULL) return ETX_OUT_OF_MEMORY;
  if (etx_ir_find_buffer(module, buffer.name, &taken)) {
    return etx_yaml_fail(node, diag, "a buffer named '%t' already exists",
                         buffer.name);
  }
  buffer.dtype = value->shape.dtype;
  buffer.rank = value->shape.rank;
  for (size_t i = 0; i < buffer.rank; ++i) {
    buffer.sizes[i] = value->shape.dims[i];
  }
  buffer.initial = ETX_IR_NONE;
  buffer.is_state = true;
  buffer.place = program->place;
  ETX_TRY(etx_ir_add_buffer(module, &buffer, &mutation.target));
  ETX_TRY(etx_pool_grow(module->pool, &method->mutations,
                        method->mutation_count, &method->mutation_capacity,
                        sizeof *method->mutations));
  mutation.value = output->arg.as.value;
  mutation.place = program->place;
  method->mutations[method->mutation_count++] = mutation;
  return ETX_OK;
}

static etx_status set_lifetime(etx_program_file* program, etx_ir_method* method,
                               etx_ir_output* output, const etx_yaml* node,
                               etx_diag* diag) {
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, "outputs", diag));
  if (etx_text_is(node->text, "scratch")) {
    output->lifetime = ETX_IR_SCRATCH;
  } else if (etx_text_is(node->text, "stable")) {
    output->lifetime = ETX_IR_STABLE;
  } else if (etx_text_is(node->text, "state")) {
    return make_state(program, method, output, node, diag);
  } else {
    return etx_yaml_fail(node, diag,
                         "expected 'scratch', 'stable' or 'state', found '%t'",
                         node->text);
  }
  return ETX_OK;
}

static etx_status output_entry(etx_program_file* program, const etx_yaml* key,
                               const etx_yaml* node, etx_diag* diag) {
  etx_ir_method* method = NULL;
  etx_text name;
  ETX_TRY(etx_program_find_method(program, key, &method, &name, diag));
  etx_nearest_name nearest = etx_nearest_start(name);
  for (size_t i = 0; i < method->output_count; ++i) {
    etx_ir_output* const output = &method->outputs[i];
    etx_nearest_offer(&nearest, output->name);
    if (!etx_text_equal(output->name, name)) continue;
    return set_lifetime(program, method, output, node, diag);
  }
  char hint[96];
  return etx_yaml_fail(key, diag, "method '%t' has no output '%t'%s",
                       method->name, name,
                       etx_nearest_hint(&nearest, hint, sizeof hint));
}

// ---------------------------------------------------------------- constants

static etx_status check_method_name(const etx_program_file* program,
                                    const etx_yaml* key, etx_diag* diag) {
  uint32_t unused = 0;
  if (key->text.size == 0) {
    return etx_yaml_fail(key, diag, "a constant method needs a name");
  }
  if (etx_text_is(key->text, ETX_METHOD_INIT) ||
      etx_text_is(key->text, ETX_METHOD_BUFFER_NAMES) ||
      etx_text_is(key->text, ETX_METHOD_BUFFER_PLAN)) {
    return etx_yaml_fail(
        key, diag, "'%t' is reserved: etx generates a method of that name",
        key->text);
  }
  if (etx_ir_find_method(program->module, key->text, &unused)) {
    return etx_yaml_fail(key, diag, "a method named '%t' already exists",
                         key->text);
  }
  return ETX_OK;
}

static etx_status constant_scalar(const etx_yaml* node, etx_ir_arg* out,
                                  etx_diag* diag) {
  etx_yaml_value value;
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, "constant_methods", diag));
  ETX_TRY(etx_yaml_scalar(node, &value, diag));
  switch (value.type) {
    case ETX_YAML_NULL:
      return etx_yaml_fail(node, diag, "a constant method needs a value");
    case ETX_YAML_BOOL:
      out->kind = ETX_IR_ARG_BOOL;
      out->as.boolean = value.boolean;
      break;
    case ETX_YAML_INT:
      if (!etx_dim_is_number(value.integer)) {
        return etx_yaml_fail(node, diag,
                             "the integer '%t' is too small: expected at least "
                             "%i",
                             node->text, (int64_t)ETX_DIM_HANDLE + 1);
      }
      *out = etx_ir_int(value.integer);
      break;
    case ETX_YAML_DOUBLE:
      out->kind = ETX_IR_ARG_DOUBLE;
      out->as.real = value.real;
      break;
    case ETX_YAML_TEXT:
      out->kind = ETX_IR_ARG_STRING;
      out->as.string = value.text;
      break;
  }
  return ETX_OK;
}

// Several values, such as the tokens that end a text.
static etx_status constant_list(etx_program_file* program, const etx_yaml* node,
                                etx_ir_arg* out, etx_diag* diag) {
  if (node->count == 0) {
    return etx_yaml_fail(node, diag, "a constant method needs a value");
  }
  etx_ir_arg* const items =
      etx_pool_take(program->module->pool, node->count * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < node->count; ++i) {
    ETX_TRY(constant_scalar(&node->items[i], &items[i], diag));
  }
  out->kind = ETX_IR_ARG_LIST;
  out->as.list.items = items;
  out->as.list.count = node->count;
  return ETX_OK;
}

static etx_status constant_value(etx_program_file* program,
                                 const etx_yaml* node,
                                 etx_ir_constant_method* method,
                                 etx_diag* diag) {
  if (node->kind == ETX_YAML_LIST) {
    return constant_list(program, node, &method->arg, diag);
  }
  if (etx_yaml_find(node, "tensor") == NULL) {
    return constant_scalar(node, &method->arg, diag);
  }
  etx_ir_constant constant;
  etx_text reference;
  ETX_TRY(etx_yaml_check_keys(node, "tensor", diag));
  ETX_TRY(etx_yaml_text(node, "tensor", &reference, diag));
  ETX_TRY(
      etx_weight_files_reference(program->weights, reference, &constant, diag));
  return etx_ir_add_constant(program->module, &constant, &method->constant);
}

static etx_status constant_entry(etx_program_file* program, const etx_yaml* key,
                                 const etx_yaml* node, etx_diag* diag) {
  etx_ir_module* const module = program->module;
  etx_ir_constant_method method = {0};
  method.name = key->text;
  method.constant = ETX_IR_NONE;
  method.place = program->place;
  method.place.line = key->line;
  method.place.column = key->column;
  ETX_TRY(check_method_name(program, key, diag));
  ETX_TRY(constant_value(program, node, &method, diag));
  ETX_TRY(etx_pool_grow(
      module->pool, &module->constant_methods, module->constant_method_count,
      &module->constant_method_capacity, sizeof *module->constant_methods));
  module->constant_methods[module->constant_method_count++] = method;
  return ETX_OK;
}

// --------------------- align, concurrent, memories, quantize; all keys

static etx_status read_alignment(etx_program_file* program, etx_diag* diag) {
  enum { SMALLEST = 16, LARGEST = 65536 };
  const etx_yaml* const node = etx_yaml_find(program->root, "align");
  int64_t bytes = 0;
  if (node == NULL) return ETX_OK;
  ETX_TRY(etx_yaml_int(node, "align", &bytes, diag));
  if (bytes < SMALLEST || bytes > LARGEST ||
      !etx_is_power_of_two((uint64_t)bytes)) {
    return etx_yaml_fail(
        node, diag, "'align' should be a power of two from %i to %i, found %i",
        (int64_t)SMALLEST, (int64_t)LARGEST, bytes);
  }
  program->module->alignment = (uint64_t)bytes;
  return ETX_OK;
}

// A group of methods; any two of them may run at the same time.
static etx_status concurrent_entry(etx_program_file* program,
                                   const etx_yaml* key, const etx_yaml* node,
                                   etx_diag* diag) {
  etx_ir_module* const module = program->module;
  (void)key;
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_LIST, "concurrent", diag));
  etx_text* const names =
      etx_pool_take(module->pool, node->count * sizeof *names);
  if (names == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < node->count; ++i) {
    ETX_TRY(
        etx_yaml_expect(&node->items[i], ETX_YAML_SCALAR, "concurrent", diag));
    names[i] = node->items[i].text;
  }
  size_t at = 0;
  etx_diag reason;
  etx_diag_init(&reason);
  const etx_status status =
      etx_concurrent_methods_add(module, names, node->count, &at, &reason);
  if (status != ETX_BAD_ARGUMENT) return status;
  return etx_yaml_fail(at < node->count ? &node->items[at] : node, diag, "%s",
                       reason.text);
}

// An entry that is the text of an option of etx plan.
static etx_status option_entry(etx_program_file* program, const char* key,
                               const etx_yaml* node,
                               etx_status (*add)(etx_ir_module* module,
                                                 etx_text text, etx_diag* diag),
                               etx_diag* diag) {
  etx_diag reason;
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, key, diag));
  etx_diag_init(&reason);
  const etx_status status = add(program->module, node->text, &reason);
  if (status == ETX_OK || status == ETX_OUT_OF_MEMORY) return status;
  return etx_yaml_fail(node, diag, "%s", reason.text);
}

static etx_status memory_entry(etx_program_file* program, const etx_yaml* key,
                               const etx_yaml* node, etx_diag* diag) {
  (void)key;
  return option_entry(program, "memories", node, etx_memory_list_add, diag);
}

static etx_status quantize_entry(etx_program_file* program, const etx_yaml* key,
                                 const etx_yaml* node, etx_diag* diag) {
  (void)key;
  return option_entry(program, "quantize", node, etx_quantize_rule_add, diag);
}

static etx_status read_cache_type(etx_program_file* program, etx_diag* diag) {
  const etx_yaml* const node = etx_yaml_find(program->root, "kv");
  if (node == NULL) return ETX_OK;
  return option_entry(program, "kv", node, etx_cache_type_set, diag);
}

etx_status etx_program_file_apply(etx_program_file* program) {
  etx_diag diag;
  etx_diag_init(&diag);
  ETX_TRY(read_section(program, "dims", ETX_YAML_MAP, etx_program_dim));
  ETX_TRY(read_section(program, "outputs", ETX_YAML_MAP, output_entry));
  ETX_TRY(read_section(program, "caches", ETX_YAML_MAP, etx_program_caches));
  ETX_TRY(
      read_section(program, "constant_methods", ETX_YAML_MAP, constant_entry));
  etx_status status = read_alignment(program, &diag);
  ETX_TRY(report(program, status, program->root, &diag));
  status = read_cache_type(program, &diag);
  ETX_TRY(report(program, status, program->root, &diag));
  ETX_TRY(read_section(program, "concurrent", ETX_YAML_LIST, concurrent_entry));
  ETX_TRY(read_section(program, "memories", ETX_YAML_LIST, memory_entry));
  ETX_TRY(read_section(program, "quantize", ETX_YAML_LIST, quantize_entry));
  ETX_TRY(etx_size_caps_apply(program->import));
  etx_program_check_bounds(program);
  return ETX_OK;
}
