#include "cli/program/program_yaml.h"

#include <inttypes.h>

#include "cli/tensors/host_tensor.h"
#include "format/tensor/layout.h"

// The largest number of list items that are printed.
enum { MOST_ITEMS = 64 };

// Prints a double-quoted YAML string; control characters become \xNN.
static void print_quoted(etx_text text, FILE* out) {
  fputc('"', out);
  for (size_t i = 0; i < text.size; ++i) {
    const unsigned char byte = (unsigned char)text.data[i];
    if (byte == '"' || byte == '\\') {
      fprintf(out, "\\%c", byte);
    } else if (byte < 0x20 || byte == 0x7f) {
      fprintf(out, "\\x%02x", byte);
    } else {
      fputc(byte, out);
    }
  }
  fputc('"', out);
}

static void print_tensor(const etx_pte_tensor* tensor, FILE* out) {
  fputs("tensor: \"", out);
  etx_host_tensor_print_type(tensor->dtype, tensor->rank, tensor->sizes, out);
  fputc('"', out);
  if (tensor->dynamism != ETX_PTE_STATIC) fputs(", dynamic: true", out);
  if (!etx_layout_is_default(tensor->dim_order, tensor->rank)) {
    fputs(", order: [", out);
    for (size_t i = 0; i < tensor->rank; ++i) {
      fprintf(out, "%s%u", i == 0 ? "" : ", ", (unsigned)tensor->dim_order[i]);
    }
    fputc(']', out);
  }
  if (tensor->has_allocation) {
    fprintf(out, ", arena: %u, offset: %" PRIu64, (unsigned)tensor->memory_id,
            tensor->memory_offset);
  }
  if (tensor->location == ETX_PTE_EXTERNAL) {
    fputs(", external: true", out);
  } else if (tensor->data_buffer_index != 0) {
    fprintf(out, ", constant: %u", (unsigned)tensor->data_buffer_index);
  }
  if (tensor->name.size != 0) {
    fputs(", name: ", out);
    print_quoted(tensor->name, out);
  }
}

static void print_more(size_t count, FILE* out) {
  if (count > MOST_ITEMS) fputs(", ...", out);
  fputc(']', out);
}

static void print_indices(const int32_t* items, size_t count, FILE* out) {
  fputc('[', out);
  for (size_t i = 0; i < count && i < MOST_ITEMS; ++i) {
    fprintf(out, "%s%d", i == 0 ? "" : ", ", (int)items[i]);
  }
  print_more(count, out);
}

static void print_list(const etx_pte_value* value, FILE* out) {
  size_t count = 0;
  fputc('[', out);
  if (value->kind == ETX_PTE_INT_LIST) {
    count = value->as.integers.count;
    for (size_t i = 0; i < count && i < MOST_ITEMS; ++i) {
      fprintf(out, "%s%" PRId64, i == 0 ? "" : ", ",
              value->as.integers.items[i]);
    }
  } else if (value->kind == ETX_PTE_DOUBLE_LIST) {
    count = value->as.reals.count;
    for (size_t i = 0; i < count && i < MOST_ITEMS; ++i) {
      fprintf(out, "%s%.17g", i == 0 ? "" : ", ", value->as.reals.items[i]);
    }
  } else {
    count = value->as.booleans.count;
    for (size_t i = 0; i < count && i < MOST_ITEMS; ++i) {
      fprintf(out, "%s%s", i == 0 ? "" : ", ",
              value->as.booleans.items[i] != 0 ? "true" : "false");
    }
  }
  print_more(count, out);
}

static void print_value(const etx_pte_value* value, FILE* out) {
  switch (value->kind) {
    case ETX_PTE_NULL:
      fputs("none: true", out);
      break;
    case ETX_PTE_INT:
      fprintf(out, "int: %" PRId64, value->as.integer);
      break;
    case ETX_PTE_BOOL:
      fprintf(out, "bool: %s", value->as.boolean ? "true" : "false");
      break;
    case ETX_PTE_DOUBLE:
      fprintf(out, "float: %.17g", value->as.real);
      break;
    case ETX_PTE_TENSOR:
      print_tensor(&value->as.tensor, out);
      break;
    case ETX_PTE_STRING:
      fputs("string: ", out);
      print_quoted(value->as.string, out);
      break;
    case ETX_PTE_INT_LIST:
      fputs("values of ints: ", out);
      print_list(value, out);
      break;
    case ETX_PTE_DOUBLE_LIST:
      fputs("floats: ", out);
      print_list(value, out);
      break;
    case ETX_PTE_BOOL_LIST:
      fputs("bools: ", out);
      print_list(value, out);
      break;
    case ETX_PTE_TENSOR_LIST:
    case ETX_PTE_OPTIONAL_TENSOR_LIST:
      fputs("values of tensors: ", out);
      print_indices(value->as.tensors.items, value->as.tensors.count, out);
      break;
  }
}

static void print_instruction(const etx_pte_plan* plan,
                              const etx_pte_instruction* instruction,
                              FILE* out) {
  etx_pte_operator op;
  switch (instruction->kind) {
    case ETX_PTE_KERNEL_CALL:
      op = etx_pte_operator_at(plan, (size_t)instruction->index);
      fprintf(out, "op: \"%.*s%s%.*s\", args: ", (int)op.name.size,
              op.name.data, op.overload.size == 0 ? "" : ".",
              (int)op.overload.size, op.overload.data);
      print_indices(instruction->arguments, instruction->argument_count, out);
      break;
    case ETX_PTE_DELEGATE_CALL:
      fprintf(out, "delegate: %d, args: ", (int)instruction->index);
      print_indices(instruction->arguments, instruction->argument_count, out);
      break;
    case ETX_PTE_MOVE_CALL:
      fprintf(out, "move: %d, to: %d", (int)instruction->index,
              (int)instruction->target);
      break;
    case ETX_PTE_JUMP_FALSE_CALL:
      fprintf(out, "jump if false: %d, to instruction: %d",
              (int)instruction->index, (int)instruction->target);
      break;
    case ETX_PTE_FREE_CALL:
      fprintf(out, "free: %d", (int)instruction->index);
      break;
  }
}

static void print_ports(const etx_pte_plan* plan, FILE* out) {
  const size_t inputs = etx_pte_input_count(plan);
  const size_t outputs = etx_pte_output_count(plan);
  fputs("    inputs: [", out);
  for (size_t i = 0; i < inputs; ++i) {
    fprintf(out, "%s%d", i == 0 ? "" : ", ", (int)etx_pte_input_at(plan, i));
  }
  fputs("]\n    outputs: [", out);
  for (size_t i = 0; i < outputs; ++i) {
    fprintf(out, "%s%d", i == 0 ? "" : ", ", (int)etx_pte_output_at(plan, i));
  }
  fputs("]\n    arenas: [", out);
  for (size_t i = 1; i < etx_pte_buffer_size_count(plan); ++i) {
    fprintf(out, "%s%" PRId64, i == 1 ? "" : ", ",
            etx_pte_buffer_size_at(plan, i));
  }
  fputs("]\n", out);
}

// The view rows of a tensor: its parents and its parts.
static void print_views(const etx_blob* blob, size_t method, size_t index,
                        FILE* out) {
  size_t found = 0;
  for (size_t i = 0; i < etx_blob_view_count(blob, method); ++i) {
    const etx_blob_view row = etx_blob_view_at(blob, method, i);
    if (row.value != index) continue;
    fprintf(out, "%s{value: %u, byte: %" PRIu64 "}",
            found == 0 ? ", shares: [" : ", ", (unsigned)row.base, row.offset);
    ++found;
  }
  if (found != 0) fputc(']', out);
}

static void print_values(const etx_pte_plan* plan, const etx_blob* blob,
                         FILE* out) {
  const size_t count = etx_pte_value_count(plan);
  size_t method = 0;
  const bool has_views =
      blob != NULL &&
      etx_blob_method_find(blob, etx_pte_plan_name(plan), &method);
  fputs("    values:\n", out);
  for (size_t i = 0; i < count; ++i) {
    const etx_pte_value value = etx_pte_value_at(plan, i);
    fprintf(out, "      - {index: %zu, ", i);
    print_value(&value, out);
    if (has_views) print_views(blob, method, i, out);
    fputs("}\n", out);
  }
}

static void print_chains(const etx_pte_plan* plan, FILE* out) {
  for (size_t chain = 0; chain < etx_pte_chain_count(plan); ++chain) {
    const size_t count = etx_pte_instruction_count(plan, chain);
    fputs(chain == 0 ? "    chains:\n" : "", out);
    fputs("      - instructions:\n", out);
    for (size_t i = 0; i < count; ++i) {
      const etx_pte_instruction instruction =
          etx_pte_instruction_at(plan, chain, i);
      fputs("          - {", out);
      print_instruction(plan, &instruction, out);
      fputs("}\n", out);
    }
  }
}

void etx_program_yaml_print(const etx_pte* pte, const etx_blob* blob,
                            FILE* out) {
  fputs(
      "# a program file in readable form; not an input of etx plan\n"
      "methods:\n",
      out);
  for (size_t i = 0; i < etx_pte_plan_count(pte); ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(pte, i);
    fputs("  - method: ", out);
    print_quoted(etx_pte_plan_name(&plan), out);
    fputc('\n', out);
    print_ports(&plan, out);
    print_values(&plan, blob, out);
    print_chains(&plan, out);
  }
}
