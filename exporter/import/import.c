// Declarations are kept in the order of reading, which is the order of the file
// names. The first declaration of a used buffer decides its type; messages
// point at the later one that contradicts it.

#include "exporter/import/import.h"

#include <stdarg.h>

#include "exporter/ir/aten_schema.h"
#include "exporter/lower/lowering_table.h"
#include "exporter/lower/nearest_operator.h"

void etx_import_init(etx_import* import, etx_ir_module* module,
                     etx_problems* problems, etx_diag* diag) {
  memset(import, 0, sizeof *import);
  import->module = module;
  import->problems = problems;
  import->diag = diag;
  import->status = ETX_OK;
}

static bool is_failed(const etx_import* import, etx_text file) {
  for (size_t i = 0; i < import->failed_count; ++i) {
    if (etx_text_equal(import->failed_files[i], file)) return true;
  }
  return false;
}

// If there is no memory for the list, the problem is still reported.
static void remember_file(etx_import* import, etx_text file) {
  if (file.size == 0 || is_failed(import, file) ||
      etx_pool_grow(import->module->pool, &import->failed_files,
                    import->failed_count, &import->failed_capacity,
                    sizeof *import->failed_files) != ETX_OK) {
    return;
  }
  import->failed_files[import->failed_count++] = file;
}

static void report_unsupported(etx_import* import, const etx_ir_node* node) {
  char hint[ETX_NEAREST_OPERATOR_BYTES];
  // An operator without a schema was reported when it was read.
  if (node->op != NULL || etx_aten_schema_find(node->aten) == NULL ||
      etx_lowering_find(node->aten) != NULL) {
    return;
  }
  etx_import_problem(import, ETX_UNSUPPORTED, &node->place,
                     "operator '%t' is not supported%s", node->aten,
                     etx_nearest_operator_hint(node->aten, hint, sizeof hint));
}

void etx_import_report_unsupported(etx_import* import) {
  for (size_t i = 0; i < import->module->method_count; ++i) {
    const etx_ir_method* const method = &import->module->methods[i];
    if (!is_failed(import, method->file)) continue;
    for (size_t n = 0; n < method->node_count; ++n) {
      report_unsupported(import, &method->nodes[n]);
    }
  }
}

void etx_import_drop_failed(etx_import* import) {
  etx_ir_module* const module = import->module;
  size_t kept = 0;
  for (size_t i = 0; i < module->method_count; ++i) {
    if (is_failed(import, module->methods[i].file)) continue;
    module->methods[kept++] = module->methods[i];
  }
  module->method_count = kept;
}

static void report(etx_import* import, etx_status status,
                   const etx_source_location* place, etx_text message) {
  ++import->problem_count;
  if (place != NULL) remember_file(import, place->file);
  // What the machine could not do comes before what it may have caused.
  if (import->status == ETX_OK ||
      (status == ETX_HOST_FAILED && import->status != ETX_HOST_FAILED)) {
    import->status = status;
    const etx_text file = place == NULL ? etx_text_of("") : place->file;
    if (file.size == 0) {
      (void)etx_diag_fail(import->diag, status, "%t", message);
    } else {
      (void)etx_diag_fail_line(import->diag, status, place->line, place->column,
                               "%t: %t", file, message);
    }
  }
  etx_problem(import->problems, place, "%t", message);
}

void etx_import_problem(etx_import* import, etx_status status,
                        const etx_source_location* place, const char* format,
                        ...) {
  char buffer[ETX_DIAG_TEXT_BYTES];
  va_list list;
  va_start(list, format);
  const size_t size = etx_format_text_list(buffer, sizeof buffer, format, list);
  va_end(list);
  const etx_text message = {buffer, size};
  report(import, status, place, message);
}

void etx_import_problem_of(etx_import* import, const etx_source_location* place,
                           etx_status status, const etx_diag* diag) {
  etx_source_location exact = *place;
  if (diag->line != 0) {
    exact.line = diag->line;
    exact.column = diag->column;
  }
  const etx_text message = {diag->text, diag->text_size};
  report(import, status, &exact,
         message.size != 0 ? message : etx_text_of(etx_status_text(status)));
}

etx_status etx_import_declare_buffer(etx_import* import, etx_text name,
                                     const etx_buffer_declaration* declaration,
                                     uint32_t* out_buffer) {
  etx_ir_module* const module = import->module;
  if (!etx_ir_find_buffer(module, name, out_buffer)) {
    etx_ir_buffer buffer = {0};
    buffer.name = name;
    buffer.dtype = declaration->type.dtype;
    buffer.rank = declaration->type.rank;
    memcpy(buffer.sizes, declaration->type.sizes, sizeof buffer.sizes);
    buffer.initial = ETX_IR_NONE;
    buffer.place = declaration->place;
    ETX_TRY(etx_ir_add_buffer(module, &buffer, out_buffer));
  }
  ETX_TRY(etx_pool_grow(
      module->pool, &import->declarations, import->declaration_count,
      &import->declaration_capacity, sizeof *import->declarations));
  etx_buffer_declaration* const slot =
      &import->declarations[import->declaration_count++];
  *slot = *declaration;
  slot->buffer = *out_buffer;
  slot->source.name = module->buffers[*out_buffer].name;
  return ETX_OK;
}

void etx_import_mark_mutated(etx_import* import) {
  etx_ir_module* const module = import->module;
  for (size_t i = 0; i < module->method_count; ++i) {
    const etx_ir_method* const method = &module->methods[i];
    for (size_t j = 0; j < method->mutation_count; ++j) {
      if (method->mutations[j].is_input) continue;
      module->buffers[method->mutations[j].target].is_state = true;
    }
  }
}

etx_text etx_import_type_text(etx_pool* pool, const etx_ir_constant* type) {
  char text[ETX_MAX_RANK * 22 + 32];
  size_t size =
      etx_format_text(text, sizeof text, "%s[", etx_dtype_name(type->dtype));
  for (size_t i = 0; i < type->rank; ++i) {
    size += etx_format_text(text + size, sizeof text - size, "%s%i",
                            i == 0 ? "" : ", ", type->sizes[i]);
  }
  etx_format_text(text + size, sizeof text - size, "]");
  return etx_pool_copy_text(pool, etx_text_of(text));
}

static bool types_equal(const etx_ir_constant* a, const etx_ir_constant* b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         memcmp(a->sizes, b->sizes, a->rank * sizeof a->sizes[0]) == 0;
}

static bool is_all_zero(etx_bytes data) {
  for (size_t i = 0; i < data.size; ++i) {
    if (data.data[i] != 0) return false;
  }
  return true;
}

// The declarations of one buffer, merged so far.
typedef struct merged_buffer {
  const etx_buffer_declaration*
      first;  // NULL: no declaration of a used buffer yet
  const etx_buffer_declaration* valued;  // the declaration that gave the value
  uint32_t constant;
  bool is_overridden;  // program.yaml states the value
} merged_buffer;

static etx_status load_declared(etx_import* import,
                                const etx_buffer_declaration* declaration,
                                uint32_t* out_constant) {
  etx_diag diag;
  etx_diag_init(&diag);
  *out_constant = ETX_IR_NONE;
  const etx_status status =
      declaration->source.load(&declaration->source, import->module,
                               &declaration->type, out_constant, &diag);
  if (status == ETX_OUT_OF_MEMORY) return status;
  if (status != ETX_OK) {
    etx_import_problem_of(import, &declaration->place, status, &diag);
  }
  return ETX_OK;
}

static etx_status merge_declaration(etx_import* import,
                                    const etx_ir_buffer* buffer,
                                    const etx_buffer_declaration* declaration,
                                    merged_buffer* so_far) {
  etx_pool* const pool = import->module->pool;
  if (so_far->first == NULL) {
    so_far->first = declaration;
  } else if (!types_equal(&so_far->first->type, &declaration->type)) {
    etx_import_problem(import, ETX_BAD_FILE, &declaration->place,
                       "buffer '%t' is %t here, but %t in '%t'", buffer->name,
                       etx_import_type_text(pool, &declaration->type),
                       etx_import_type_text(pool, &so_far->first->type),
                       so_far->first->place.file);
    return ETX_OK;
  }
  if (declaration->source.load == NULL || so_far->is_overridden) return ETX_OK;
  uint32_t constant = ETX_IR_NONE;
  ETX_TRY(load_declared(import, declaration, &constant));
  if (constant == ETX_IR_NONE) return ETX_OK;
  if (so_far->valued == NULL) {
    so_far->valued = declaration;
    so_far->constant = constant;
  } else if (so_far->constant != constant) {
    etx_import_problem(
        import, ETX_BAD_FILE, &declaration->place,
        buffer->is_state
            ? "the initial values of state '%t' differ between '%t' and '%t': "
              "state one under 'initial' in program.yaml"
            : "the values of '%t' differ between '%t' and '%t': export all "
              "methods from one model with the same weights",
        buffer->name, so_far->valued->place.file, declaration->place.file);
  }
  return ETX_OK;
}

// The declarations of each buffer, in the order of reading: those of buffer b
// are order[starts[b]] to order[starts[b + 1] - 1].
typedef struct declaration_lists {
  size_t* starts;
  size_t* order;
} declaration_lists;

static etx_status list_declarations(const etx_import* import, etx_pool* scratch,
                                    declaration_lists* out) {
  const size_t buffers = import->module->buffer_count;
  const size_t count = import->declaration_count;
  size_t* const starts =
      etx_pool_take(scratch, (buffers + 1) * sizeof *out->starts);
  size_t* const ends = etx_pool_take(scratch, buffers * sizeof *ends);
  size_t* const order = etx_pool_take(scratch, count * sizeof *out->order);
  if (starts == NULL || ends == NULL || order == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < count; ++i) {
    ++starts[import->declarations[i].buffer + 1];
  }
  for (size_t b = 0; b < buffers; ++b) {
    starts[b + 1] += starts[b];
    ends[b] = starts[b];
  }
  for (size_t i = 0; i < count; ++i) {
    order[ends[import->declarations[i].buffer]++] = i;
  }
  *out = (declaration_lists){starts, order};
  return ETX_OK;
}

static etx_status merge_buffer(etx_import* import,
                               const declaration_lists* lists, uint32_t index,
                               uint32_t override) {
  etx_ir_module* const module = import->module;
  etx_ir_buffer* const buffer = &module->buffers[index];
  merged_buffer so_far = {NULL, NULL, override, override != ETX_IR_NONE};
  const size_t problems = import->problem_count;
  for (size_t i = lists->starts[index]; i < lists->starts[index + 1]; ++i) {
    const etx_buffer_declaration* const declaration =
        &import->declarations[lists->order[i]];
    if (!declaration->is_used && !buffer->is_state) continue;
    ETX_TRY(merge_declaration(import, buffer, declaration, &so_far));
  }
  if (so_far.first == NULL) return ETX_OK;  // the buffer is not used
  buffer->dtype = so_far.first->type.dtype;
  buffer->rank = so_far.first->type.rank;
  memcpy(buffer->sizes, so_far.first->type.sizes, sizeof buffer->sizes);
  buffer->place = so_far.first->place;
  buffer->initial = so_far.constant;
  if (buffer->initial == ETX_IR_NONE && !buffer->is_state &&
      import->problem_count == problems) {
    etx_import_problem(
        import, ETX_NOT_FOUND, &buffer->place,
        "'%t' has no value: no weights file has it and no method writes it",
        buffer->name);
  }
  // State without an initial value starts as zeros, so explicit zeros are
  // dropped: there is one form for both.
  if (buffer->initial != ETX_IR_NONE && buffer->is_state &&
      is_all_zero(module->constants[buffer->initial].data)) {
    buffer->initial = ETX_IR_NONE;
  }
  return ETX_OK;
}

static etx_status merge_buffers(etx_import* import, const uint32_t* overrides,
                                etx_pool* scratch) {
  declaration_lists lists;
  ETX_TRY(list_declarations(import, scratch, &lists));
  for (uint32_t i = 0; i < import->module->buffer_count; ++i) {
    ETX_TRY(merge_buffer(import, &lists, i,
                         overrides == NULL ? ETX_IR_NONE : overrides[i]));
  }
  return ETX_OK;
}

etx_status etx_import_merge_buffers(etx_import* import,
                                    const uint32_t* overrides) {
  etx_pool scratch;
  etx_pool_init(&scratch);
  const etx_status status = merge_buffers(import, overrides, &scratch);
  etx_pool_close(&scratch);
  return status;
}
