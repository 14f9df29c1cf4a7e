// Writes a module as a directory: a YAML file for each method, program.yaml,
// and the tensors in weights.safetensors. All files are written as temporary
// files and renamed together at the end, so that an error, such as a full disk,
// leaves the directory as it was.

#include "exporter/arenas/memory_list.h"
#include "exporter/export.h"
#include "exporter/host/durable_file.h"
#include "exporter/host/host_file.h"
#include "exporter/ir/ir_print.h"
#include "exporter/ir/own_operators.h"
#include "exporter/import/safetensors.h"
#include "exporter/ir/uniform_value.h"

typedef struct dump_writer {
  const etx_ir_module* module;
  etx_pool* pool;  // scratch
  etx_diag* diag;
  etx_text directory;
  etx_text* tensor_names;   // by constant; empty: it is not written as a tensor
  bool* listed;             // by buffer: no method uses it; the first lists it
  etx_durable_file* files;  // what is written; they appear together
  size_t file_count;
} dump_writer;

static const char weights_name[] = "weights.safetensors";

// ---------------------------------------------------------------- names

static bool name_is_taken(const dump_writer* d, etx_text name) {
  uint32_t buffer = 0;
  if (etx_ir_find_buffer(d->module, name, &buffer)) return true;
  for (size_t i = 0; i < d->module->constant_count; ++i) {
    if (etx_text_equal(d->tensor_names[i], name)) return true;
  }
  return false;
}

// True if the constant is written as one number instead of a tensor.
static bool is_number(const dump_writer* d, uint32_t constant) {
  char text[48];
  return etx_uniform_text(&d->module->constants[constant], text, sizeof text);
}

// Names a constant "scope.name", with a suffix if that name is in use.
static etx_status name_constant(dump_writer* d, uint32_t constant,
                                etx_text scope, etx_text name) {
  if (d->tensor_names[constant].size != 0) return ETX_OK;
  const size_t size = scope.size + 1 + name.size;
  char* const text = etx_pool_take(d->pool, size + 24);
  if (text == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(text, scope.data, scope.size);
  text[scope.size] = '.';
  if (name.size != 0) memcpy(text + scope.size + 1, name.data, name.size);
  etx_text full = {text, size};
  for (size_t suffix = 1; name_is_taken(d, full); ++suffix) {
    full.size = size + etx_format_text(text + size, 24, "_%z", suffix);
  }
  d->tensor_names[constant] = full;
  return ETX_OK;
}

// Names all constants that are written as tensors: by the buffers that they
// initialise, then by the methods that use them.
static etx_status name_constants(dump_writer* d) {
  const etx_ir_module* const module = d->module;
  d->tensor_names =
      etx_pool_take(d->pool, module->constant_count * sizeof *d->tensor_names);
  if (d->tensor_names == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < module->buffer_count; ++i) {
    const uint32_t initial = module->buffers[i].initial;
    if (initial == ETX_IR_NONE || d->tensor_names[initial].size != 0 ||
        is_number(d, initial)) {
      continue;
    }
    d->tensor_names[initial] = module->buffers[i].name;
  }
  for (size_t i = 0; i < module->method_count; ++i) {
    const etx_ir_method* const method = &module->methods[i];
    for (size_t j = 0; j < method->value_count; ++j) {
      const etx_ir_value* const value = &method->values[j];
      if (value->origin != ETX_IR_FROM_CONSTANT || is_number(d, value->index)) {
        continue;
      }
      ETX_TRY(name_constant(d, value->index, method->name, value->name));
    }
  }
  for (size_t i = 0; i < module->constant_method_count; ++i) {
    const etx_ir_constant_method* const method = &module->constant_methods[i];
    if (method->constant == ETX_IR_NONE) continue;
    ETX_TRY(name_constant(d, method->constant, etx_text_of("constant"),
                          method->name));
  }
  return ETX_OK;
}

// Marks state that no method uses. It is listed in the first method.
static etx_status mark_unused_state(dump_writer* d) {
  const etx_ir_module* const module = d->module;
  d->listed = etx_pool_take(d->pool, module->buffer_count * sizeof *d->listed);
  if (d->listed == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < module->buffer_count; ++i) {
    d->listed[i] = true;
    for (size_t j = 0; j < module->method_count; ++j) {
      const etx_ir_method* const method = &module->methods[j];
      if (etx_ir_mutation_of_buffer(method, i) != ETX_IR_NONE) {
        d->listed[i] = false;
      }
      for (size_t k = 0; k < method->value_count; ++k) {
        if (method->values[k].origin == ETX_IR_FROM_BUFFER &&
            method->values[k].index == i) {
          d->listed[i] = false;
        }
      }
    }
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- files

// Ends the file that was opened last.
static etx_status finish_file(dump_writer* d) {
  if (d->file_count == 0) return ETX_OK;
  return etx_durable_file_finish(&d->files[d->file_count - 1]);
}

static etx_status open_file(dump_writer* d, etx_text name, const char* suffix,
                            etx_sink* out_sink) {
  const etx_text path = etx_path_join(
      d->pool, d->directory, etx_pool_format(d->pool, "%t%s", name, suffix));
  if (path.data == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(finish_file(d));
  etx_durable_file* const file = &d->files[d->file_count];
  ETX_TRY(etx_durable_file_open(file, path.data, d->diag));
  ++d->file_count;
  *out_sink = etx_durable_file_sink(file);
  return ETX_OK;
}

static etx_status write_method(dump_writer* d, size_t index) {
  const etx_ir_method* const method = &d->module->methods[index];
  const etx_ir_print_options options = {etx_text_of(weights_name),
                                        d->tensor_names,
                                        index == 0 ? d->listed : NULL};
  etx_text_buffer out;
  etx_sink sink;
  etx_text_buffer_init(&out, d->pool);
  if (etx_text_is(method->name, "program")) {
    return etx_diag_fail(d->diag, ETX_BAD_ARGUMENT,
                         "method 'program' cannot be dumped: 'program.yaml' is "
                         "the file of program settings");
  }
  ETX_TRY(etx_ir_print_method(d->module, method, &options, &out));
  ETX_TRY(open_file(d, method->name, ".yaml", &sink));
  return etx_sink_write(&sink, out.data, out.size);
}

static etx_status write_weights(dump_writer* d, bool* out_is_written) {
  const etx_ir_module* const module = d->module;
  etx_named_tensor* const tensors =
      etx_pool_take(d->pool, module->constant_count * sizeof *tensors);
  size_t count = 0;
  etx_sink sink;
  if (tensors == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < module->constant_count; ++i) {
    if (d->tensor_names[i].size == 0) continue;
    tensors[count].name = d->tensor_names[i];
    tensors[count++].tensor = &module->constants[i];
  }
  *out_is_written = count != 0;
  if (count == 0) return ETX_OK;
  ETX_TRY(open_file(d, etx_text_of(weights_name), "", &sink));
  const etx_status status =
      etx_safetensors_write(d->pool, tensors, count, &sink);
  if (status == ETX_UNSUPPORTED) {
    return etx_diag_fail(
        d->diag, status,
        "a constant has a dtype that safetensors files do not support");
  }
  return status;
}

// ---------------------------------------------------------------- program

static void put_shared(const etx_ir_module* module, etx_text_buffer* out) {
  const char* separator = "shared_buffers: [";
  for (uint32_t i = 0; i < module->buffer_count; ++i) {
    bool is_mutated = !module->buffers[i].is_state;
    for (size_t j = 0; j < module->method_count; ++j) {
      is_mutated = is_mutated || etx_ir_mutation_of_buffer(&module->methods[j],
                                                           i) != ETX_IR_NONE;
    }
    if (is_mutated) continue;
    etx_text_put_string(out, separator);
    etx_ir_print_literal(out, module->buffers[i].name);
    separator = ", ";
  }
  if (separator[0] == ',') etx_text_put_string(out, "]\n");
}

static void put_caches(const etx_ir_module* module, etx_text_buffer* out) {
  const char* heading = "caches:\n";
  for (size_t i = 0; i < module->buffer_count; ++i) {
    const etx_ir_cache* const cache = &module->buffers[i].cache;
    if (!cache->is_cache) continue;
    etx_text_put_string(out, heading);
    heading = "";
    etx_text_put_string(out, "  ");
    etx_ir_print_literal(out, module->buffers[i].name);
    etx_text_put_format(out, ": {dim: %u", (uint64_t)cache->dim);
    if (cache->counter != ETX_IR_NONE) {
      etx_text_put_string(out, ", length: ");
      etx_ir_print_literal(out, module->buffers[cache->counter].name);
    }
    etx_text_put_format(out, ", overflow: %s}\n",
                        etx_cache_overflow_name(cache->overflow));
  }
}

static void put_constant_scalar(const etx_ir_arg* arg, etx_text_buffer* out) {
  if (arg->kind == ETX_IR_ARG_STRING) {
    etx_ir_print_literal(out, arg->as.string);
  } else {
    etx_ir_print_fixed(out, arg);
  }
}

static void put_constant_value(const etx_ir_arg* arg, etx_text_buffer* out) {
  if (arg->kind != ETX_IR_ARG_LIST) {
    put_constant_scalar(arg, out);
    return;
  }
  etx_text_put_string(out, "[");
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    if (i != 0) etx_text_put_string(out, ", ");
    put_constant_scalar(&arg->as.list.items[i], out);
  }
  etx_text_put_string(out, "]");
}

static void put_constant_methods(const dump_writer* d, etx_text_buffer* out) {
  const etx_ir_module* const module = d->module;
  if (module->constant_method_count == 0) return;
  etx_text_put_string(out, "constant_methods:\n");
  for (size_t i = 0; i < module->constant_method_count; ++i) {
    const etx_ir_constant_method* const method = &module->constant_methods[i];
    etx_text_put_string(out, "  ");
    etx_ir_print_literal(out, method->name);
    etx_text_put_string(out, ": ");
    if (method->constant != ETX_IR_NONE) {
      etx_text_buffer reference;
      etx_text_buffer_init(&reference, d->pool);
      etx_text_put_string(&reference, weights_name);
      etx_text_put_string(&reference, "#");
      etx_text_put_text(&reference, d->tensor_names[method->constant]);
      if (reference.status != ETX_OK) out->status = reference.status;
      const etx_text text = {reference.data, reference.size};
      etx_text_put_string(out, "{tensor: ");
      etx_ir_print_literal(out, text);
      etx_text_put_string(out, "}");
    } else {
      put_constant_value(&method->arg, out);
    }
    etx_text_put_string(out, "\n");
  }
}

static void put_outputs(const etx_ir_module* module, etx_text_buffer* out) {
  const char* heading = "outputs:\n";
  for (size_t i = 0; i < module->method_count; ++i) {
    const etx_ir_method* const method = &module->methods[i];
    for (size_t j = 0; j < method->output_count; ++j) {
      if (method->outputs[j].lifetime != ETX_IR_STABLE) continue;
      etx_text_buffer key;
      etx_text_buffer_init(&key, out->pool);
      etx_text_put_text(&key, method->name);
      etx_text_put_string(&key, ".");
      etx_text_put_text(&key, method->outputs[j].name);
      if (key.status != ETX_OK) out->status = key.status;
      const etx_text text = {key.data, key.size};
      etx_text_put_string(out, heading);
      etx_text_put_string(out, "  ");
      etx_ir_print_literal(out, text);
      etx_text_put_string(out, ": stable\n");
      heading = "";
    }
  }
}

static void put_concurrent(const etx_ir_module* module, etx_text_buffer* out) {
  const char* separator = "concurrent: [[";
  for (size_t i = 0; i < module->concurrent_count; ++i) {
    etx_text_put_string(out, separator);
    etx_ir_print_literal(out, module->concurrent[i].first);
    etx_text_put_string(out, ", ");
    etx_ir_print_literal(out, module->concurrent[i].second);
    separator = "], [";
  }
  if (module->concurrent_count != 0) etx_text_put_string(out, "]]\n");
}

static void put_memories(const etx_ir_module* module, etx_text_buffer* out) {
  for (size_t i = 0; i < module->memory_count; ++i) {
    etx_text_buffer item;
    etx_text_buffer_init(&item, out->pool);
    etx_memory_list_put(&item, &module->memories[i]);
    if (item.status != ETX_OK) out->status = item.status;
    etx_text_put_string(out, i == 0 ? "memories: [" : ", ");
    etx_ir_print_literal(out, (etx_text){item.data, item.size});
  }
  if (module->memory_count != 0) etx_text_put_string(out, "]\n");
}

static void put_cache_type(const etx_ir_module* module, etx_text_buffer* out) {
  if (module->cache_type == ETX_DTYPE_FLOAT32) return;
  etx_text_put_string(out, "kv: ");
  etx_text_put_string(out, etx_dtype_name(module->cache_type));
  etx_text_put_string(out, "\n");
}

static void put_quantize(const etx_ir_module* module, etx_text_buffer* out) {
  for (size_t i = 0; i < module->quantize_count; ++i) {
    etx_text_put_string(out, i == 0 ? "quantize: [" : ", ");
    etx_ir_print_literal(out, module->quantize[i].text);
  }
  if (module->quantize_count != 0) etx_text_put_string(out, "]\n");
}

static etx_status write_program(dump_writer* d, bool has_weights) {
  etx_text_buffer out;
  etx_sink sink;
  etx_text_buffer_init(&out, d->pool);
  etx_text_put_string(&out, "etx: 1\n");
  put_shared(d->module, &out);
  put_caches(d->module, &out);
  etx_text_put_string(
      &out, has_weights ? "weights: [weights.safetensors]\n" : "weights: []\n");
  put_constant_methods(d, &out);
  put_outputs(d->module, &out);
  put_concurrent(d->module, &out);
  put_memories(d->module, &out);
  put_quantize(d->module, &out);
  put_cache_type(d->module, &out);
  etx_text_put_format(&out, "align: %u\n", d->module->alignment);
  ETX_TRY(out.status);
  ETX_TRY(open_file(d, etx_text_of("program"), ".yaml", &sink));
  return etx_sink_write(&sink, out.data, out.size);
}

static etx_status write_operators(dump_writer* d) {
  etx_text text = {NULL, 0};
  etx_sink sink;
  ETX_TRY(etx_own_operators_text(d->module, d->pool, &text));
  if (text.size == 0) return ETX_OK;
  ETX_TRY(open_file(d, etx_text_of(ETX_EXPORT_OPERATORS_NAME), "", &sink));
  return etx_sink_write(&sink, text.data, text.size);
}

// ---------------------------------------------------------------- directory

static bool ends_with(etx_text text, const char* suffix) {
  const etx_text end = etx_text_of(suffix);
  return text.size > end.size &&
         memcmp(text.data + text.size - end.size, end.data, end.size) == 0;
}

// True if the dump writes a file of this name.
static bool is_dumped_file(const dump_writer* d, etx_text name) {
  if (etx_text_is(name, "program.yaml")) return true;
  if (etx_text_is(name, ETX_EXPORT_OPERATORS_NAME)) {
    return d->module->own_count > 0;
  }
  const etx_text stem = {name.data, name.size < 5 ? 0 : name.size - 5};
  uint32_t unused = 0;
  return ends_with(name, ".yaml") &&
         etx_ir_find_method(d->module, stem, &unused);
}

// Refuses a directory with files of other methods: they would become part of
// the dumped program.
static etx_status check_directory(const dump_writer* d) {
  etx_text* names = NULL;
  size_t count = 0;
  ETX_TRY(
      etx_directory_list(d->pool, d->directory.data, &names, &count, d->diag));
  for (size_t i = 0; i < count; ++i) {
    if ((!ends_with(names[i], ".yaml") && !ends_with(names[i], ".pt2") &&
         !ends_with(names[i], ".ops")) ||
        names[i].data[0] == '.' || is_dumped_file(d, names[i])) {
      continue;
    }
    return etx_diag_fail(d->diag, ETX_BAD_ARGUMENT,
                         "'%t' has the file '%t', which is not part of this "
                         "dump: choose an empty directory",
                         d->directory, names[i]);
  }
  return ETX_OK;
}

static etx_status write_all(dump_writer* d) {
  bool has_weights = false;
  const size_t most = d->module->method_count + 3;
  d->files = etx_pool_take(d->pool, most * sizeof *d->files);
  if (d->files == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_directory_make(d->directory.data, d->diag));
  ETX_TRY(check_directory(d));
  ETX_TRY(name_constants(d));
  ETX_TRY(mark_unused_state(d));
  for (size_t i = 0; i < d->module->method_count; ++i) {
    ETX_TRY(write_method(d, i));
  }
  ETX_TRY(write_weights(d, &has_weights));
  ETX_TRY(write_operators(d));
  ETX_TRY(write_program(d, has_weights));
  return finish_file(d);
}

etx_status etx_export_dump(const etx_ir_module* module, const char* path,
                           etx_diag* diag) {
  etx_pool scratch;
  etx_pool_init(&scratch);
  dump_writer d = {0};
  d.module = module;
  d.pool = &scratch;
  d.diag = diag;
  d.directory = etx_text_of(path);
  etx_status status = write_all(&d);
  if (status == ETX_OK) status = etx_durable_files_keep(d.files, d.file_count);
  for (size_t i = 0; i < d.file_count; ++i) {
    etx_durable_file_discard(&d.files[i]);
  }
  etx_pool_close(&scratch);
  return status;
}
