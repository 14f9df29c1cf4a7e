#include "exporter/read_gguf/gguf_weights.h"

#include "exporter/host/host_file.h"
#include "exporter/host/nearest_name.h"
#include "exporter/read_gguf/gguf_convert.h"
#include "exporter/read_gguf/gguf_parts.h"
#include "exporter/read_gguf/gguf_pairs.h"

// What is known of a buffer of the graph.
typedef struct graph_weight {
  const etx_buffer_declaration* used;  // that decides its type; NULL: not used
  bool is_parameter;
  const etx_gguf_tensor* tensor;  // its value, or NULL
  etx_gguf_change change;         // to undo
  const etx_gguf_name* name;      // row that named it, or NULL
} graph_weight;

typedef struct weights_reader {
  etx_import* import;
  etx_ir_module* module;
  etx_pool* pool;
  uint32_t* overrides;
  graph_weight* weights;  // by buffer
  etx_gguf_file file;
  etx_text model;         // general.architecture, or empty
  uint32_t architecture;  // its bit, or 0
  etx_gguf_name_pairs pairs;
  bool has_nameless;  // a tensor or weight without the other was reported
  etx_source_location place;  // the GGUF file
  etx_source_location names;  // the file of names
} weights_reader;

// ---------------------------------------------------------------- the graph

static etx_status list_weights(weights_reader* r) {
  const etx_import* const import = r->import;
  const size_t count = r->module->buffer_count;
  r->weights = etx_pool_take(r->pool, count * sizeof *r->weights);
  if (r->weights == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < import->declaration_count; ++i) {
    const etx_buffer_declaration* const d = &import->declarations[i];
    graph_weight* const weight = &r->weights[d->buffer];
    weight->is_parameter = weight->is_parameter || d->is_parameter;
    if (weight->used == NULL &&
        (d->is_used || r->module->buffers[d->buffer].is_state)) {
      weight->used = d;
    }
  }
  return ETX_OK;
}

// True if the weight must have a tensor.
static bool is_needed(const weights_reader* r, uint32_t buffer) {
  const graph_weight* const weight = &r->weights[buffer];
  const etx_text name = r->module->buffers[buffer].name;
  if (weight->used == NULL || r->module->buffers[buffer].is_state ||
      etx_dtype_category_of(weight->used->type.dtype) !=
          ETX_CATEGORY_FLOATING) {
    return false;
  }
  return weight->is_parameter ||
         etx_gguf_name_ends(name, etx_text_of("weight")) ||
         etx_gguf_name_ends(name, etx_text_of("bias"));
}

// ---------------------------------------------------------------- names

static void assign(weights_reader* r, uint32_t buffer,
                   const etx_gguf_tensor* tensor, const etx_gguf_name* name) {
  graph_weight* const weight = &r->weights[buffer];
  if (weight->tensor != NULL) {
    etx_import_problem(
        r->import, ETX_BAD_FILE, &r->place,
        "'%t' would be the value of tensor '%t' and of tensor '%t'",
        r->module->buffers[buffer].name, weight->tensor->name, tensor->name);
    return;
  }
  weight->tensor = tensor;
  weight->name = name;
  weight->change = name == NULL ? ETX_GGUF_NONE : name->change;
}

// Assigns a tensor to the weight whose name ends with `end`.
static bool assign_by_end(weights_reader* r, const etx_gguf_tensor* tensor,
                          const etx_gguf_name* name, etx_text end) {
  uint32_t first = ETX_IR_NONE;
  for (uint32_t i = 0; i < r->module->buffer_count; ++i) {
    if (!etx_gguf_name_ends(r->module->buffers[i].name, end)) continue;
    if (first != ETX_IR_NONE) {
      etx_import_problem(
          r->import, ETX_BAD_FILE, &r->place,
          "tensor '%t' may be '%t' or '%t': state which in a file of names "
          "(--weights-names)",
          tensor->name, r->module->buffers[first].name,
          r->module->buffers[i].name);
      return true;
    }
    first = i;
  }
  if (first != ETX_IR_NONE) assign(r, first, tensor, name);
  return first != ETX_IR_NONE;
}

static etx_status assign_by_table(weights_reader* r,
                                  const etx_gguf_tensor* tensor,
                                  bool* out_found) {
  const etx_gguf_name* const name =
      etx_gguf_name_find(r->architecture, tensor->name);
  *out_found = etx_gguf_name_is_computed(tensor->name);
  if (name == NULL) return ETX_OK;
  const etx_text end = etx_gguf_name_in_pytorch(r->pool, name, tensor->name);
  if (end.data == NULL) return ETX_OUT_OF_MEMORY;
  *out_found = assign_by_end(r, tensor, name, end);
  // The table of a model that ties it to its output layer.
  const bool is_tied =
      etx_gguf_find(&r->file, etx_text_of("output.weight")) == NULL;
  if (etx_text_is(tensor->name, "token_embd.weight") && is_tied) {
    const bool is_output =
        assign_by_end(r, tensor, name, etx_text_of("lm_head.weight"));
    *out_found = *out_found || is_output;
  }
  return ETX_OK;
}

// Assigns a tensor as the file of names states; false if it states nothing.
static bool assign_by_pairs(weights_reader* r, const etx_gguf_tensor* tensor) {
  bool is_found = false;
  for (size_t i = 0; i < r->pairs.count; ++i) {
    const etx_gguf_name_pair* const pair = &r->pairs.items[i];
    uint32_t buffer = 0;
    if (!etx_text_equal(pair->gguf, tensor->name)) continue;
    is_found = true;
    // check_pairs reports names that are not there.
    if (pair->pytorch.size != 0 &&
        etx_ir_find_buffer(r->module, pair->pytorch, &buffer)) {
      assign(r, buffer, tensor,
             etx_gguf_name_find(r->architecture, tensor->name));
    }
  }
  return is_found;
}

static void report_unused(weights_reader* r, const etx_gguf_tensor* tensor) {
  const etx_gguf_name* const name =
      etx_gguf_name_find(r->architecture, tensor->name);
  r->has_nameless = true;
  if (name == NULL) {
    etx_import_problem(
        r->import, ETX_NOT_FOUND, &r->place,
        "tensor '%t' is not used: state its weight in a file of names "
        "(--weights-names)",
        tensor->name);
    return;
  }
  etx_import_problem(
      r->import, ETX_NOT_FOUND, &r->place,
      "tensor '%t' is not used: the graph has no weight named '..%t'",
      tensor->name, etx_gguf_name_in_pytorch(r->pool, name, tensor->name));
}

static etx_status assign_tensors(weights_reader* r) {
  for (size_t i = 0; i < r->file.tensor_count; ++i) {
    const etx_gguf_tensor* const tensor = &r->file.tensors[i];
    uint32_t buffer = 0;
    bool is_found = assign_by_pairs(r, tensor);
    if (!is_found && etx_ir_find_buffer(r->module, tensor->name, &buffer)) {
      assign(r, buffer, tensor, NULL);
      is_found = true;
    }
    if (!is_found) ETX_TRY(assign_by_table(r, tensor, &is_found));
    if (!is_found) report_unused(r, tensor);
  }
  return ETX_OK;
}

// Reports the lines of the file of names that name nothing.
static void check_pairs(weights_reader* r) {
  char hint[96];
  for (size_t i = 0; i < r->pairs.count; ++i) {
    const etx_gguf_name_pair* const pair = &r->pairs.items[i];
    uint32_t buffer = 0;
    r->names.line = pair->line;
    r->names.column = 1;
    if (etx_gguf_find(&r->file, pair->gguf) == NULL) {
      etx_nearest_name nearest = etx_nearest_start(pair->gguf);
      for (size_t t = 0; t < r->file.tensor_count; ++t) {
        etx_nearest_offer(&nearest, r->file.tensors[t].name);
      }
      etx_import_problem(r->import, ETX_NOT_FOUND, &r->names,
                         "'%t' has no tensor '%t'%s", r->file.path, pair->gguf,
                         etx_nearest_hint(&nearest, hint, sizeof hint));
    }
    if (pair->pytorch.size == 0 ||
        etx_ir_find_buffer(r->module, pair->pytorch, &buffer)) {
      continue;
    }
    etx_nearest_name nearest = etx_nearest_start(pair->pytorch);
    for (size_t b = 0; b < r->module->buffer_count; ++b) {
      etx_nearest_offer(&nearest, r->module->buffers[b].name);
    }
    etx_import_problem(r->import, ETX_NOT_FOUND, &r->names,
                       "the graph has no weight '%t'%s", pair->pytorch,
                       etx_nearest_hint(&nearest, hint, sizeof hint));
  }
}

// ---------------------------------------------------------------- values

// Reads a number of heads; false if there is none that makes sense.
static bool read_heads(const weights_reader* r, etx_text key,
                       uint64_t* out_heads) {
  return etx_gguf_number(&r->file, key, out_heads) && *out_heads != 0 &&
         *out_heads <= INT32_MAX;
}

// The heads of a tensor whose rows were reordered: those of keys if the file
// states them, else all. False, after a report, if it states neither.
static bool find_heads(weights_reader* r, const graph_weight* weight,
                       uint64_t* out_heads) {
  *out_heads = 1;
  if (weight->change != ETX_GGUF_PAIRS) return true;
  const etx_text all =
      etx_pool_format(r->pool, "%t.attention.head_count", r->model);
  const etx_text keys = etx_pool_format(r->pool, "%t_kv", all);
  const bool is_key = strcmp(weight->name->gguf, "blk.#.attn_k") == 0;
  if ((is_key && read_heads(r, keys, out_heads)) ||
      read_heads(r, all, out_heads)) {
    return true;
  }
  etx_import_problem(
      r->import, ETX_BAD_FILE, &r->place,
      "the metadata should have '%t', one number above 0: it is needed for the "
      "order of the rows of '%t'",
      all, weight->tensor->name);
  return false;
}

// Compares sizes without leading ones: converters drop them or add them.
static bool sizes_equal(const int64_t* a, size_t a_rank, const int64_t* b,
                        size_t b_rank) {
  for (; a_rank > 0 && *a == 1; --a_rank) ++a;
  for (; b_rank > 0 && *b == 1; --b_rank) ++b;
  return a_rank == b_rank && memcmp(a, b, a_rank * sizeof *a) == 0;
}

static bool has_type(weights_reader* r, const graph_weight* weight,
                     const etx_gguf_conversion* from) {
  const etx_ir_constant* const type = &weight->used->type;
  etx_ir_constant stored = {.dtype = ETX_DTYPE_FLOAT32};
  stored.rank = etx_gguf_convert_sizes(from, stored.sizes);
  if (!sizes_equal(stored.sizes, stored.rank, type->sizes, type->rank)) {
    const etx_text sizes = etx_import_type_text(r->pool, &stored);
    const size_t word = strlen(etx_dtype_name(stored.dtype));
    etx_import_problem(r->import, ETX_BAD_FILE, &r->place,
                       "tensor '%t' is %s%t, expected %t for '%t'",
                       from->tensor->name, from->tensor->type->name,
                       (etx_text){sizes.data + word, sizes.size - word},
                       etx_import_type_text(r->pool, type),
                       weight->used->source.name);
    return false;
  }
  if (type->dtype == ETX_DTYPE_FLOAT32 || type->dtype == ETX_DTYPE_FLOAT64 ||
      etx_dtype_is_half(type->dtype)) {
    return true;
  }
  etx_import_problem(
      r->import, ETX_UNSUPPORTED, &r->place,
      "tensor '%t' cannot be the value of '%t', which is %t: expected "
      "float32, float64, float16 or bfloat16",
      from->tensor->name, weight->used->source.name,
      etx_import_type_text(r->pool, type));
  return false;
}

// A buffer with the same tensor and type that has its constant already.
static uint32_t same_value(const weights_reader* r, uint32_t buffer) {
  const graph_weight* const weight = &r->weights[buffer];
  for (uint32_t i = 0; i < buffer; ++i) {
    const graph_weight* const other = &r->weights[i];
    if (other->tensor == weight->tensor && other->used != NULL &&
        other->change == weight->change &&
        other->used->type.dtype == weight->used->type.dtype &&
        other->used->type.rank == weight->used->type.rank) {
      return r->overrides[i];
    }
  }
  return ETX_IR_NONE;
}

static etx_status read_value(weights_reader* r, uint32_t buffer) {
  const graph_weight* const weight = &r->weights[buffer];
  etx_gguf_conversion from = {weight->tensor, weight->change, 1};
  if (!has_type(r, weight, &from) || !find_heads(r, weight, &from.heads)) {
    return ETX_OK;
  }
  r->overrides[buffer] = same_value(r, buffer);
  if (r->overrides[buffer] != ETX_IR_NONE) return ETX_OK;
  etx_ir_constant constant = weight->used->type;
  bool is_rounded = false;
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_status status =
      etx_gguf_convert(r->pool, &from, &constant, &is_rounded, &diag);
  if (status == ETX_OUT_OF_MEMORY) return status;
  if (status != ETX_OK) {
    etx_import_problem_of(r->import, &r->place, status, &diag);
    return ETX_OK;
  }
  if (is_rounded) ++r->module->weights.rounded_count;
  return etx_ir_add_constant(r->module, &constant, &r->overrides[buffer]);
}

static etx_status report_missing(weights_reader* r, uint32_t buffer) {
  const etx_text name = r->module->buffers[buffer].name;
  const etx_text wanted =
      etx_gguf_name_of_pytorch(r->pool, r->architecture, name);
  const etx_text type =
      etx_import_type_text(r->pool, &r->weights[buffer].used->type);
  if (wanted.data == NULL || type.data == NULL) return ETX_OUT_OF_MEMORY;
  r->has_nameless = true;
  etx_import_problem(r->import, ETX_NOT_FOUND, &r->place,
                     wanted.size == 0
                         ? "no tensor is the value of '%t', %t"
                         : "no tensor is the value of '%t', %t: expected "
                           "'%t'",
                     name, type, wanted);
  return ETX_OK;
}

static etx_status read_values(weights_reader* r) {
  for (uint32_t i = 0; i < r->module->buffer_count; ++i) {
    if (r->weights[i].tensor == NULL) {
      if (is_needed(r, i)) ETX_TRY(report_missing(r, i));
    } else if (r->weights[i].used != NULL) {
      ETX_TRY(read_value(r, i));
    }
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- files

// Counts the tensors of each type, for the report.
static etx_status count_types(weights_reader* r) {
  enum { MOST_TYPES = 64 };
  etx_ir_weights* const out = &r->module->weights;
  out->tensor_count = r->file.tensor_count;
  out->types = etx_text_of("");
  for (uint32_t number = 0; number < MOST_TYPES; ++number) {
    const etx_gguf_type* const type = etx_gguf_type_find(number);
    size_t count = 0;
    for (size_t i = 0; i < r->file.tensor_count; ++i) {
      count += r->file.tensors[i].type == type;
    }
    if (count == 0 || type == NULL) continue;
    out->types =
        etx_pool_format(r->pool, "%t%s%z %s", out->types,
                        out->types.size == 0 ? "" : ", ", count, type->name);
    if (out->types.data == NULL) return ETX_OUT_OF_MEMORY;
  }
  return ETX_OK;
}

static void read_architecture(weights_reader* r) {
  if (etx_gguf_text(&r->file, etx_text_of("general.architecture"), &r->model)) {
    r->architecture = etx_gguf_architecture(r->model);
  }
}

// Explains why tables of names did not help.
static void explain_architecture(weights_reader* r) {
  if (r->architecture != 0 || !r->has_nameless) return;
  etx_import_problem(
      r->import, ETX_UNSUPPORTED, &r->place,
      "the architecture is '%t', whose names of tensors etx does not know: "
      "state them in a file of names (--weights-names), or use one of %s",
      r->model, etx_gguf_architecture_list());
}

static etx_status read_tensors(weights_reader* r) {
  read_architecture(r);
  check_pairs(r);
  ETX_TRY(list_weights(r));
  ETX_TRY(assign_tensors(r));
  ETX_TRY(read_values(r));
  explain_architecture(r);
  return count_types(r);
}

// Reads the file of names; its text stays in the pool.
static etx_status read_names(weights_reader* r, etx_diag* diag) {
  etx_bytes bytes = {NULL, 0};
  if (r->names.file.size == 0) return ETX_OK;
  ETX_TRY(etx_file_read(r->pool, r->names.file.data, &bytes, diag));
  const etx_text text = {(const char*)bytes.data, bytes.size};
  return etx_gguf_name_pairs_read(&r->pairs, r->pool, text, diag);
}

static etx_status read_file(weights_reader* r, etx_diag* diag) {
  ETX_TRY(etx_gguf_open_parts(&r->file, r->pool, r->place.file, diag));
  return read_tensors(r);
}

etx_status etx_gguf_weights_read(etx_import* import, uint32_t* overrides) {
  etx_ir_module* const module = import->module;
  const etx_ir_weights* const files = &module->weights;
  weights_reader r = {.import = import,
                      .module = module,
                      .pool = module->pool,
                      .overrides = overrides,
                      .place = {.file = files->path},
                      .names = {.file = files->names}};
  etx_diag diag;
  if (files->path.size == 0) return ETX_OK;
  etx_diag_init(&diag);
  etx_status status = read_names(&r, &diag);
  if (status != ETX_OK && status != ETX_OUT_OF_MEMORY) {
    etx_import_problem_of(import, &r.names, status, &diag);
    return ETX_OK;
  }
  if (status == ETX_OK) status = read_file(&r, &diag);
  if (status == ETX_OK || status == ETX_OUT_OF_MEMORY) return status;
  etx_import_problem_of(import, &r.place, status, &diag);
  return ETX_OK;
}
