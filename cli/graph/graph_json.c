#include "cli/graph/graph_json.h"

#include <inttypes.h>

#include "cli/json/json_string.h"
#include "cli/tensors/host_tensor.h"

// The largest number of items of a list of numbers that are printed.
enum { MOST_ITEMS = 64 };

// ---- inputs and outputs

static void put_ports(const etx_pte_plan* plan, FILE* out) {
  fputs("\"inputs\":[", out);
  for (size_t i = 0; i < etx_pte_input_count(plan); ++i) {
    fprintf(out, "%s%d", i == 0 ? "" : ",", (int)etx_pte_input_at(plan, i));
  }
  fputs("],\"outputs\":[", out);
  for (size_t i = 0; i < etx_pte_output_count(plan); ++i) {
    fprintf(out, "%s%d", i == 0 ? "" : ",", (int)etx_pte_output_at(plan, i));
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
  fputc('"', out);
  const int whole = value->parent == ETX_VERIFY_NONE ? -1 : (int)value->parent;
  fprintf(out, ",%d,[", whole);
  for (uint32_t i = 0; i < value->part_count; ++i) {
    fprintf(out, "%s%u", i == 0 ? "" : ",",
            (unsigned)m->parts[value->first_part + i]);
  }
  fputs("]]", out);
}

static void put_value(const etx_graph_method* method, size_t index, FILE* out) {
  const etx_verify_method* const m = method->program;
  const int varies = method->varies[index] ? 1 : 0;
  const etx_pte_value value = etx_pte_value_at(&m->plan, index);
  switch (value.kind) {
    case ETX_PTE_NULL:
      fputs("[\"none\"]", out);
      break;
    case ETX_PTE_INT:
      fprintf(out, "[\"text\",\"%" PRId64 "\",%d]", value.as.integer, varies);
      break;
    case ETX_PTE_BOOL:
      fprintf(out, "[\"text\",\"%s\",%d]", value.as.boolean ? "true" : "false",
              varies);
      break;
    case ETX_PTE_DOUBLE:
      fprintf(out, "[\"text\",\"%.9g\",%d]", value.as.real, varies);
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

static void put_values(const etx_graph_method* method, FILE* out) {
  const etx_verify_method* const m = method->program;
  fputs(",\"values\":[", out);
  for (size_t i = 0; i < m->value_count; ++i) {
    fputs(i == 0 ? "\n" : ",\n", out);
    put_value(method, i, out);
  }
  fputc(']', out);
}

// The names of values that have one.
static void put_names(const etx_graph_method* method, FILE* out) {
  const char* comma = "";
  fputs(",\"names\":{", out);
  for (size_t i = 0; i < method->program->value_count; ++i) {
    if (method->names[i].size == 0) continue;
    fprintf(out, "%s\"%zu\":", comma, i);
    etx_json_string_write(out, method->names[i]);
    comma = ",";
  }
  fputc('}', out);
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

static void put_accesses(const uint32_t* values, size_t count, FILE* out) {
  fputs(",[", out);
  for (size_t i = 0; i < count; ++i) {
    fprintf(out, "%s%u", i == 0 ? "" : ",", (unsigned)values[i]);
  }
  fputc(']', out);
}

static void put_calls(etx_graph_method* method, FILE* out) {
  const etx_verify_method* const m = method->program;
  fputs(",\"calls\":[", out);
  for (size_t s = 0; s < m->step_count; ++s) {
    fputs(s == 0 ? "\n[" : ",\n[", out);
    put_call_arguments(&m->steps[s].instruction, out);
    etx_graph_step_read(method, s);
    put_accesses(method->written, method->written_count, out);
    put_accesses(method->read, method->read_count, out);
    fputc(']', out);
  }
  fputc(']', out);
}

void etx_graph_json_print(etx_graph_method* methods, size_t count, FILE* out) {
  fputc('[', out);
  for (size_t i = 0; i < count; ++i) {
    fputs(i == 0 ? "\n{" : ",\n{", out);
    put_ports(&methods[i].program->plan, out);
    put_names(&methods[i], out);
    put_arguments(&methods[i], out);
    put_values(&methods[i], out);
    put_calls(&methods[i], out);
    fputc('}', out);
  }
  fputs("]\n", out);
}
