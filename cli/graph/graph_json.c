#include "cli/graph/graph_json.h"

#include <inttypes.h>

#include "cli/json/json_string.h"
#include "cli/tensors/host_tensor.h"

// The largest number of items of a list of numbers that are printed.
enum { MOST_ITEMS = 64 };

// The steps know the operators, those of applications too.
static etx_status find_operators(etx_graph_method* method) {
  const etx_verify_method* const m = method->program;
  method->operators = etx_verify_arena_take(
      m->memory, etx_pte_operator_count(&m->plan), sizeof *method->operators);
  if (method->operators == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t s = 0; s < m->step_count; ++s) {
    const etx_pte_instruction* const at = &m->steps[s].instruction;
    if (at->kind != ETX_PTE_KERNEL_CALL) continue;
    method->operators[at->index] = m->steps[s].op;
  }
  return ETX_OK;
}

etx_status etx_graph_methods_init(const etx_memory_map* map,
                                  etx_graph_method** out_methods) {
  *out_methods = NULL;
  if (map->method_count == 0) return ETX_OK;
  etx_graph_method* const methods = etx_verify_arena_take(
      map->methods[0].program->memory, map->method_count, sizeof *methods);
  if (methods == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < map->method_count; ++i) {
    const etx_verify_method* const m = map->methods[i].program;
    methods[i].program = m;
    ETX_TRY(etx_verify_effects_init(&methods[i].effects, m));
    ETX_TRY(find_operators(&methods[i]));
  }
  *out_methods = methods;
  return ETX_OK;
}

// ---- inputs and outputs

static void put_port(size_t index, int32_t value, etx_text name, FILE* out) {
  fprintf(out, "%s[%d,", index == 0 ? "" : ",", (int)value);
  etx_json_string_write(out, name);
  fputc(']', out);
}

static void put_ports(const etx_verify_method* m, FILE* out) {
  const bool has_names = m->blob != NULL && m->blob_method != SIZE_MAX;
  fputs("\"inputs\":[", out);
  for (size_t i = 0; i < etx_pte_input_count(&m->plan); ++i) {
    const etx_text name =
        has_names ? etx_blob_input_at(m->blob, m->blob_method, i).name
                  : etx_text_of("");
    put_port(i, etx_pte_input_at(&m->plan, i), name, out);
  }
  fputs("],\"outputs\":[", out);
  for (size_t i = 0; i < etx_pte_output_count(&m->plan); ++i) {
    const etx_text name =
        has_names ? etx_blob_output_at(m->blob, m->blob_method, i).name
                  : etx_text_of("");
    put_port(i, etx_pte_output_at(&m->plan, i), name, out);
  }
  fputc(']', out);
}

// ---- operators

static void put_argument_names(const etx_op* op, FILE* out) {
  etx_argument_cursor cursor = etx_argument_first(op->arguments);
  etx_argument argument;
  const char* comma = "";
  while (etx_argument_next(&cursor, &argument)) {
    fputs(comma, out);
    etx_json_string_write(out, argument.name);
    comma = ",";
  }
}

static void put_arguments(const etx_graph_method* method, FILE* out) {
  const size_t count = etx_pte_operator_count(&method->program->plan);
  const char* comma = "";
  fputs(",\"arguments\":{", out);
  for (size_t i = 0; i < count; ++i) {
    if (method->operators[i] == NULL) continue;
    fprintf(out, "%s\"%zu\":[", comma, i);
    put_argument_names(method->operators[i], out);
    fputc(']', out);
    comma = ",";
  }
  fputc('}', out);
}

// ---- values

static void put_numbers(const etx_pte_value* value, FILE* out) {
  const bool is_real = value->kind == ETX_PTE_DOUBLE_LIST;
  const size_t count =
      is_real ? value->as.reals.count : value->as.booleans.count;
  fputs("[\"text\",\"[", out);
  for (size_t i = 0; i < count && i < MOST_ITEMS; ++i) {
    fputs(i == 0 ? "" : ", ", out);
    if (is_real) {
      fprintf(out, "%.9g", value->as.reals.items[i]);
    } else {
      fputs(value->as.booleans.items[i] != 0 ? "true" : "false", out);
    }
  }
  fputs(count > MOST_ITEMS ? ", ...]\"]" : "]\"]", out);
}

static void put_indices(const int32_t* items, size_t count, FILE* out) {
  fputc('[', out);
  for (size_t i = 0; i < count; ++i) {
    fprintf(out, "%s%d", i == 0 ? "" : ",", (int)items[i]);
  }
  fputc(']', out);
}

// A list of integers names the values that hold them.
static void put_integers(const etx_pte_value* value, FILE* out) {
  const size_t count = value->as.integers.count;
  fputs("[\"integers\",[", out);
  for (size_t i = 0; i < count; ++i) {
    fprintf(out, "%s%" PRId64, i == 0 ? "" : ",", value->as.integers.items[i]);
  }
  fputs("]]", out);
}

static void put_tensor(const etx_verify_method* m, size_t index,
                       const etx_pte_tensor* tensor, FILE* out) {
  const etx_verify_value* const value = &m->values[index];
  fputs("[\"tensor\",\"", out);
  etx_host_tensor_print_type(tensor->dtype, tensor->rank, tensor->sizes, out);
  fputs("\",", out);
  etx_json_string_write(out, tensor->name);
  const int whole = value->parent == ETX_VERIFY_NONE ? -1 : (int)value->parent;
  fprintf(out, ",%d,[", whole);
  for (uint32_t i = 0; i < value->part_count; ++i) {
    fprintf(out, "%s%u", i == 0 ? "" : ",",
            (unsigned)m->parts[value->first_part + i]);
  }
  fputs("]]", out);
}

static void put_value(const etx_verify_method* m, size_t index, FILE* out) {
  const etx_pte_value value = etx_pte_value_at(&m->plan, index);
  switch (value.kind) {
    case ETX_PTE_NULL:
      fputs("[\"none\"]", out);
      break;
    case ETX_PTE_INT:
      fprintf(out, "[\"text\",\"%" PRId64 "\"]", value.as.integer);
      break;
    case ETX_PTE_BOOL:
      fprintf(out, "[\"text\",\"%s\"]", value.as.boolean ? "true" : "false");
      break;
    case ETX_PTE_DOUBLE:
      fprintf(out, "[\"text\",\"%.9g\"]", value.as.real);
      break;
    case ETX_PTE_TENSOR:
      put_tensor(m, index, &value.as.tensor, out);
      break;
    case ETX_PTE_STRING:
      fputs("[\"text\",", out);
      etx_json_string_write(out, value.as.string);
      fputc(']', out);
      break;
    case ETX_PTE_INT_LIST:
      put_integers(&value, out);
      break;
    case ETX_PTE_DOUBLE_LIST:
    case ETX_PTE_BOOL_LIST:
      put_numbers(&value, out);
      break;
    case ETX_PTE_TENSOR_LIST:
    case ETX_PTE_OPTIONAL_TENSOR_LIST:
      fputs("[\"tensors\",", out);
      put_indices(value.as.tensors.items, value.as.tensors.count, out);
      fputc(']', out);
      break;
  }
}

static void put_values(const etx_verify_method* m, FILE* out) {
  fputs(",\"values\":[", out);
  for (size_t i = 0; i < m->value_count; ++i) {
    fputs(i == 0 ? "\n" : ",\n", out);
    put_value(m, i, out);
  }
  fputc(']', out);
}

// ---- steps

static void put_call_arguments(const etx_pte_instruction* at, FILE* out) {
  switch (at->kind) {
    case ETX_PTE_KERNEL_CALL:
    case ETX_PTE_DELEGATE_CALL:
      put_indices(at->arguments, at->argument_count, out);
      break;
    case ETX_PTE_MOVE_CALL:
      fprintf(out, "[%d,%d]", (int)at->index, (int)at->target);
      break;
    case ETX_PTE_JUMP_FALSE_CALL:
    case ETX_PTE_FREE_CALL:
      fprintf(out, "[%d]", (int)at->index);
      break;
  }
}

// A list of tensors, and one more value, which may be ETX_VERIFY_NONE.
static void put_accesses(const etx_verify_access* accesses, size_t count,
                         uint32_t more, FILE* out) {
  fputs(",[", out);
  for (size_t i = 0; i < count; ++i) {
    fprintf(out, "%s%u", i == 0 ? "" : ",", (unsigned)accesses[i].value);
  }
  if (more != ETX_VERIFY_NONE) {
    fprintf(out, "%s%u", count == 0 ? "" : ",", (unsigned)more);
  }
  fputc(']', out);
}

static void put_calls(etx_graph_method* method, FILE* out) {
  const etx_verify_method* const m = method->program;
  etx_verify_effects* const effects = &method->effects;
  fputs(",\"calls\":[", out);
  for (size_t s = 0; s < m->step_count; ++s) {
    fputs(s == 0 ? "\n[" : ",\n[", out);
    put_call_arguments(&m->steps[s].instruction, out);
    // The map was made from the effects of all steps, so there are some.
    if (etx_verify_effects_of(m, s, effects) == ETX_OK) {
      const uint32_t defined = effects->rebound != ETX_VERIFY_NONE
                                   ? effects->rebound
                                   : effects->sized;
      put_accesses(effects->writes, effects->write_count, defined, out);
      put_accesses(effects->reads, effects->read_count, effects->rebound_from,
                   out);
    }
    fputc(']', out);
  }
  fputc(']', out);
}

void etx_graph_json_print(etx_graph_method* methods, size_t count, FILE* out) {
  fputc('[', out);
  for (size_t i = 0; i < count; ++i) {
    fputs(i == 0 ? "\n{" : ",\n{", out);
    put_ports(methods[i].program, out);
    put_arguments(&methods[i], out);
    put_values(methods[i].program, out);
    put_calls(&methods[i], out);
    fputc('}', out);
  }
  fputs("]\n", out);
}
