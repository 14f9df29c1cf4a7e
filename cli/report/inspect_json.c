#include <stdio.h>

#include "cli/report/inspect_report.h"
#include "cli/json/json_value.h"
#include "cli/program/port.h"

static void set(json_t* object, const char* key, json_t* value) {
  json_object_set_new(object, key, value);
}

static json_t* json_of_part(uint64_t offset, uint64_t size) {
  json_t* const object = json_object();
  set(object, "offset", etx_json_unsigned(offset));
  set(object, "bytes", etx_json_unsigned(size));
  return object;
}

static json_t* json_of_parts(const etx_pte* pte) {
  json_t* const object = json_object();
  json_t* const segments = json_array();
  json_t* const data = json_array();
  for (size_t i = 0; i < etx_pte_segment_count(pte); ++i) {
    uint64_t offset = 0;
    uint64_t size = 0;
    etx_pte_segment_at(pte, i, &offset, &size);
    json_array_append_new(segments, json_of_part(offset, size));
  }
  for (size_t i = 0; i < etx_pte_named_data_count(pte); ++i) {
    json_t* const row = json_object();
    set(row, "key", etx_json_text(etx_pte_named_data_key(pte, i)));
    set(row, "bytes", etx_json_unsigned(etx_pte_named_data_at(pte, i).size));
    json_array_append_new(data, row);
  }
  set(object, "program", json_of_part(0, pte->fb.size));
  set(object, "extended_header", json_boolean(pte->has_header));
  set(object, "segments", segments);
  set(object, "named_data", data);
  const size_t constants = etx_pte_constant_count(pte);
  set(object, "constants",
      etx_json_unsigned(constants == 0 ? 0 : constants - 1));
  return object;
}

// [{"dim": 0, "symbol": "b", "factor": 2, "offset": 0}, ...]
static json_t* json_of_dims(const etx_program* program, etx_text method,
                            const etx_port* port, int32_t rank) {
  json_t* const list = json_array();
  for (int32_t dim = -1; dim < rank; ++dim) {
    etx_blob_input_dim row;
    etx_blob_symbol symbol;
    if (!etx_port_dim(program, method, port, dim, &row, &symbol)) continue;
    json_t* const object = json_object();
    set(object, "dim", json_integer(dim));
    set(object, "symbol", etx_json_text(symbol.name));
    set(object, "factor", json_integer(row.factor));
    set(object, "offset", json_integer(row.offset));
    json_array_append_new(list, object);
  }
  return list;
}

static json_t* json_of_port(const etx_program* program, etx_text method,
                            const etx_port* port) {
  json_t* const object = json_object();
  set(object, "name", etx_json_text(etx_text_of(port->name)));
  set(object, "kind", json_string(etx_pte_kind_text(port->info.kind)));
  int32_t rank = 0;
  if (port->info.kind == ETX_PTE_TENSOR) {
    const etx_pte_tensor* const tensor = &port->info.value.as.tensor;
    rank = tensor->rank;
    set(object, "type", json_string(etx_dtype_name(tensor->dtype)));
    set(object, "largest", etx_json_sizes(tensor->sizes, tensor->rank));
  }
  if (port->is_input) {
    set(object, "mutable", json_boolean(port->info.is_mutable));
    set(object, "varies", json_boolean(port->info.varies));
    set(object, "dims", json_of_dims(program, method, port, rank));
  } else {
    set(object, "mutated_input", json_integer(port->info.mutated_input));
    if (port->info.sizes.size > 0) {
      set(object, "sizes", etx_json_text(port->info.sizes));
    }
  }
  return object;
}

static json_t* json_of_symbols(const etx_program* program, etx_text method) {
  json_t* const list = json_array();
  size_t at = 0;
  if (!program->has_blob ||
      !etx_blob_method_find(&program->blob, method, &at)) {
    return list;
  }
  for (size_t i = 0; i < etx_blob_symbol_count(&program->blob, at); ++i) {
    const etx_blob_symbol symbol = etx_blob_symbol_at(&program->blob, at, i);
    json_t* const object = json_object();
    set(object, "name", etx_json_text(symbol.name));
    set(object, "minimum", json_integer(symbol.minimum));
    set(object, "maximum", json_integer(symbol.maximum));
    json_array_append_new(list, object);
  }
  return list;
}

static json_t* json_of_arenas(const etx_pte* pte, etx_text method) {
  json_t* const list = json_array();
  etx_pte_plan plan;
  if (!etx_pte_plan_find(pte, method, &plan)) return list;
  for (size_t i = 1; i < etx_pte_buffer_size_count(&plan); ++i) {
    json_array_append_new(list, json_integer(etx_pte_buffer_size_at(&plan, i)));
  }
  return list;
}

// Tensors whose data is in a data file (.ptd).
static json_t* json_of_external(const etx_pte* pte, etx_text method) {
  json_t* const list = json_array();
  etx_pte_plan plan;
  if (!etx_pte_plan_find(pte, method, &plan)) return list;
  for (size_t i = 0; i < etx_pte_value_count(&plan); ++i) {
    if (etx_pte_value_kind(&plan, i) != ETX_PTE_TENSOR) continue;
    const etx_pte_tensor tensor = etx_pte_value_at(&plan, i).as.tensor;
    if (tensor.location != ETX_PTE_EXTERNAL) continue;
    json_t* const object = json_object();
    set(object, "name", etx_json_text(tensor.name));
    set(object, "type", json_string(etx_dtype_name(tensor.dtype)));
    set(object, "sizes", etx_json_sizes(tensor.sizes, tensor.rank));
    json_array_append_new(list, object);
  }
  return list;
}

static etx_status json_of_method(const etx_program* program,
                                 const etx_method_info* info, json_t* object,
                                 etx_diag* diag) {
  json_t* const inputs = json_array();
  json_t* const outputs = json_array();
  set(object, "name", etx_json_text(info->name));
  set(object, "constant", json_boolean(info->is_constant));
  set(object, "instructions", etx_json_unsigned(info->instruction_count));
  set(object, "scratch_bytes", etx_json_unsigned(info->scratch_bytes));
  set(object, "arenas", json_of_arenas(&program->pte, info->name));
  set(object, "inputs", inputs);
  set(object, "outputs", outputs);
  set(object, "symbols", json_of_symbols(program, info->name));
  set(object, "external", json_of_external(&program->pte, info->name));
  for (size_t i = 0; i < info->input_count; ++i) {
    etx_port port;
    ETX_TRY(etx_port_input(program, info->name, i, &port, diag));
    json_array_append_new(inputs, json_of_port(program, info->name, &port));
  }
  for (size_t i = 0; i < info->output_count; ++i) {
    etx_port port;
    ETX_TRY(etx_port_output(program, info->name, i, &port, diag));
    json_array_append_new(outputs, json_of_port(program, info->name, &port));
  }
  return ETX_OK;
}

static etx_status add_variants(const etx_program* program, etx_text method,
                               json_t* object, etx_diag* diag) {
  const size_t count = etx_program_variant_count(program, method);
  json_t* const list = json_array();
  set(object, "variants", list);
  for (size_t i = 0; i < count; ++i) {
    etx_method_info info;
    json_t* const row = json_object();
    json_array_append_new(list, row);
    ETX_TRY(etx_program_variant_at(program, method, i, &info));
    ETX_TRY(json_of_method(program, &info, row, diag));
  }
  return ETX_OK;
}

static json_t* json_of_cache(const etx_state_row* row) {
  json_t* const object = json_object();
  set(object, "dim", json_integer(row->cache_dim));
  set(object, "capacity", json_integer(row->sizes[row->cache_dim]));
  set(object, "length",
      row->counter.size == 0 ? json_null() : etx_json_text(row->counter));
  set(object, "overflow", json_string(row->overflow));
  return object;
}

static json_t* json_of_state(const etx_state_list* states) {
  json_t* const list = json_array();
  for (size_t i = 0; i < states->count; ++i) {
    const etx_state_row* const row = &states->rows[i];
    json_t* const object = json_object();
    set(object, "name", etx_json_text(row->name));
    set(object, "type", json_string(etx_dtype_name(row->dtype)));
    set(object, "sizes", etx_json_sizes(row->sizes, row->rank));
    set(object, "arena", json_integer(row->arena));
    set(object, "offset", etx_json_unsigned(row->offset));
    set(object, "initial", json_string(row->initial));
    set(object, "constant", json_integer(row->constant));
    if (row->is_cache) set(object, "cache", json_of_cache(row));
    json_array_append_new(list, object);
  }
  return list;
}

static json_t* json_of_operators(const etx_operator_uses* uses) {
  json_t* const list = json_array();
  for (size_t i = 0; i < uses->count; ++i) {
    const etx_operator_use* const use = &uses->items[i];
    char name[2 * ETX_MAX_OPERATOR_NAME];
    etx_format_text(name, sizeof name, "%t%s%t", use->op.name,
                    use->op.overload.size == 0 ? "" : ".", use->op.overload);
    json_t* const object = json_object();
    set(object, "name", etx_json_text(etx_text_of(name)));
    set(object, "instructions", etx_json_unsigned(use->count));
    set(object, "stock", json_boolean(use->library != ETX_EXECUTORCH_NONE));
    set(object, "known", json_boolean(use->is_known));
    if (use->is_own) set(object, "own", json_true());
    json_array_append_new(list, object);
  }
  return list;
}

static void set_origin(json_t* root, const etx_program* program) {
  set(root, "stock_file", json_boolean(!program->has_blob));
  if (!program->has_blob) return;
  uint8_t bytes[ETX_FINGERPRINT_BYTES];
  char text[2 * ETX_FINGERPRINT_BYTES + 1];
  etx_blob_fingerprint(&program->blob, bytes);
  for (size_t i = 0; i < ETX_FINGERPRINT_BYTES; ++i) {
    snprintf(text + 2 * i, 3, "%02x", bytes[i]);
  }
  set(root, "target", etx_json_text(etx_blob_target(&program->blob)));
  set(root, "options", etx_json_text(etx_blob_options(&program->blob)));
  set(root, "fingerprint", json_string(text));
}

// {"sizes": {"s0": 8}, "scratch_bytes": 57344, ...}
static json_t* json_of_memory(const etx_memory_at* memory) {
  json_t* const object = json_object();
  json_t* const sizes = json_object();
  set(object, "sizes", sizes);
  for (size_t i = 0; i < memory->size_count; ++i) {
    const etx_named_size* const named = &memory->sizes[i];
    json_object_setn_new(sizes, named->name.data, named->name.size,
                         json_integer(named->size));
  }
  set(object, "structure_bytes",
      etx_json_unsigned(memory->needed.structure_bytes));
  set(object, "scratch_bytes", etx_json_unsigned(memory->needed.scratch_bytes));
  set(object, "temporary_bytes",
      etx_json_unsigned(memory->needed.temporary_bytes));
  set(object, "state_bytes", etx_json_unsigned(memory->needed.state_bytes));
  set(object, "size_value_bytes", etx_json_unsigned(memory->size_value_bytes));
  return object;
}

etx_status etx_inspect_json(const etx_inspect_facts* facts, json_t** out_root,
                            etx_diag* diag) {
  const etx_program* const program = facts->program;
  const etx_operator_uses* const uses = facts->uses;
  json_t* const root = json_object();
  json_t* const methods = json_array();
  *out_root = root;
  set(root, "file", etx_json_text(etx_text_of(facts->path)));
  set(root, "bytes", etx_json_unsigned(program->pte.file.size));
  set_origin(root, program);
  set(root, "needs_etx", json_boolean(uses->needs_etx));
  set(root, "unknown_operators", etx_json_unsigned(uses->unknown_count));
  set(root, "delegates", etx_json_unsigned(uses->delegate_count));
  set(root, "parts", json_of_parts(&program->pte));
  set(root, "state_bytes", etx_json_unsigned(program->state_bytes));
  set(root, "shares_state", json_boolean(program->shares_state));
  set(root, "state", json_of_state(facts->states));
  set(root, "operators", json_of_operators(uses));
  set(root, "methods", methods);
  const size_t count = etx_program_method_count(program);
  for (size_t i = 0; i < count; ++i) {
    etx_method_info info;
    json_t* const object = json_object();
    json_array_append_new(methods, object);
    ETX_TRY(etx_program_method_at(program, i, &info));
    ETX_TRY(json_of_method(program, &info, object, diag));
    ETX_TRY(add_variants(program, info.name, object, diag));
    if (facts->memory != NULL && facts->memory[i].is_asked) {
      set(object, "memory", json_of_memory(&facts->memory[i]));
    }
  }
  return ETX_OK;
}
