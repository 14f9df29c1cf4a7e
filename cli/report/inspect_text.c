#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/tensors/host_tensor.h"
#include "cli/report/inspect_report.h"
#include "cli/base/plural.h"
#include "cli/program/port.h"

// Elements that are printed of the tensor of a constant method.
enum { MAX_ELEMENTS = 16 };

static int text_width(etx_text text) {
  return text.size > 200 ? 200 : (int)text.size;
}

static void print_libraries(const etx_operator_uses* uses) {
  static const char* const names[] = {"", ", optimised", ", quantised",
                                      ", language model"};
  printf("ExecuTorch with its portable");
  for (int i = ETX_EXECUTORCH_OPTIMIZED; i < ETX_EXECUTORCH_NONE; ++i) {
    if (uses->needs[i]) fputs(names[i], stdout);
  }
  printf(" operators\n");
}

static void print_runtimes(const etx_operator_uses* uses) {
  if (uses->delegate_count != 0) {
    printf(
        "runs in: ExecuTorch's runtime with its %zu delegate%s; not in etx\n",
        uses->delegate_count, etx_plural(uses->delegate_count));
  } else if (uses->unknown_count != 0) {
    printf(
        "runs in: a runtime with %zu operator%s that this build does not "
        "have\n",
        uses->unknown_count, etx_plural(uses->unknown_count));
  } else if (uses->own_count != 0) {
    printf("runs in: %s with kernels for %zu operator%s of the application\n",
           uses->needs_etx ? "etx" : "etx, or ExecuTorch,", uses->own_count,
           etx_plural(uses->own_count));
  } else if (uses->needs_etx) {
    printf("runs in: etx\n");
  } else {
    printf("runs in: etx, and ");
    print_libraries(uses);
  }
}

static void print_origin(const etx_program* program) {
  if (!program->has_blob) {
    printf("origin: the stock exporter (no names of inputs, no bounds)\n");
    return;
  }
  uint8_t fingerprint[ETX_FINGERPRINT_BYTES];
  etx_blob_fingerprint(&program->blob, fingerprint);
  const etx_text target = etx_blob_target(&program->blob);
  const etx_text options = etx_blob_options(&program->blob);
  printf("origin: etx plan --target %.*s\n", text_width(target), target.data);
  if (options.size != 0) {
    printf("options: %.*s\n", text_width(options), options.data);
  }
  printf("fingerprint: ");
  for (size_t i = 0; i < ETX_FINGERPRINT_BYTES; ++i) {
    printf("%02x", fingerprint[i]);
  }
  putchar('\n');
}

static void print_parts(const etx_program* program) {
  const etx_pte* const pte = &program->pte;
  printf("\nparts:\n");
  printf("  program    %10d %12" PRIu32 " bytes%s\n", 0, pte->fb.size,
         pte->has_header ? ", extended header" : ", no extended header");
  for (size_t i = 0; i < etx_pte_segment_count(pte); ++i) {
    uint64_t offset = 0;
    uint64_t size = 0;
    etx_pte_segment_at(pte, i, &offset, &size);
    printf("  segment %-2zu %10" PRIu64 " %12" PRIu64 " bytes\n", i, offset,
           size);
  }
  const size_t constants = etx_pte_constant_count(pte);
  printf("  constants  %zu\n", constants == 0 ? 0 : constants - 1);
  for (size_t i = 0; i < etx_pte_named_data_count(pte); ++i) {
    const etx_text key = etx_pte_named_data_key(pte, i);
    printf("  data '%.*s', %zu bytes\n", text_width(key), key.data,
           etx_pte_named_data_at(pte, i).size);
  }
}

static void print_symbols(const etx_program* program, etx_text method,
                          const char* indent) {
  size_t at = 0;
  if (!program->has_blob ||
      !etx_blob_method_find(&program->blob, method, &at)) {
    return;
  }
  for (size_t i = 0; i < etx_blob_symbol_count(&program->blob, at); ++i) {
    const etx_blob_symbol symbol = etx_blob_symbol_at(&program->blob, at, i);
    printf("%ssize %.*s: %" PRId64 " to %" PRId64 "\n", indent,
           text_width(symbol.name), symbol.name.data, symbol.minimum,
           symbol.maximum);
  }
}

static const char* lifetime_of(const etx_program* program, etx_text method,
                               size_t output) {
  static const char* const texts[] = {
      "", ", kept until this method's next call", ", in state or constants"};
  size_t at = 0;
  if (!program->has_blob ||
      !etx_blob_method_find(&program->blob, method, &at) ||
      output >= etx_blob_output_count(&program->blob, at)) {
    return "";
  }
  return texts[etx_blob_output_at(&program->blob, at, output).lifetime];
}

static void print_port(const etx_program* program, etx_text method,
                       const etx_port* port) {
  printf("    %s %s: ", port->is_input ? "in " : "out", port->name);
  etx_port_print_type(program, method, port, stdout);
  if (port->is_input && port->info.is_mutable) printf(", changed by the call");
  if (port->is_input && port->info.varies) printf(", dynamic");
  if (!port->is_input && port->info.mutated_input >= 0) {
    printf(", new content of input %d", (int)port->info.mutated_input);
  }
  if (!port->is_input) {
    fputs(lifetime_of(program, method, port->index), stdout);
  }
  putchar('\n');
}

static etx_status print_constant_tensor(const etx_tensor* from,
                                        etx_diag* diag) {
  etx_pool pool;
  etx_host_tensor tensor;
  etx_pool_init(&pool);
  const etx_status status = etx_host_tensor_copy(from, &pool, &tensor, diag);
  if (status == ETX_OK) {
    etx_host_tensor_print_type(tensor.dtype, tensor.rank, tensor.sizes, stdout);
    putchar(' ');
    etx_host_tensor_print(&tensor, MAX_ELEMENTS, stdout);
  }
  etx_pool_close(&pool);
  return status;
}

static etx_status print_constant_value(const etx_value* value, etx_diag* diag) {
  switch (value->kind) {
    case ETX_VALUE_INT:
      printf("%" PRId64, value->as.integer);
      return ETX_OK;
    case ETX_VALUE_DOUBLE:
      printf("%.17g", value->as.real);
      return ETX_OK;
    case ETX_VALUE_BOOL:
      fputs(value->as.boolean ? "true" : "false", stdout);
      return ETX_OK;
    case ETX_VALUE_STRING:
      printf("'%.*s'", text_width(value->as.string), value->as.string.data);
      return ETX_OK;
    case ETX_VALUE_TENSOR:
      return print_constant_tensor(&value->as.tensor, diag);
    default:
      fputs("none", stdout);
      return ETX_OK;
  }
}

// Usually one value; a method of a stock file may have several.
static etx_status print_constant(const etx_program* program,
                                 const etx_method_info* info, etx_diag* diag) {
  printf("  %.*s = ", text_width(info->name), info->name.data);
  for (size_t i = 0; i < info->output_count; ++i) {
    etx_value value;
    etx_constant_hold hold;
    const etx_status status =
        etx_program_constant_at(program, info->name, i, &value, &hold, NULL);
    if (i > 0) fputs(", ", stdout);
    if (status == ETX_OK) {
      ETX_TRY(print_constant_value(&value, diag));
    } else {
      fputs("a list", stdout);
    }
  }
  putchar('\n');
  return ETX_OK;
}

// A stock file may have any number of arenas.
static void print_arenas(const etx_program* program, etx_text name) {
  etx_pte_plan plan;
  if (program->has_blob || !etx_pte_plan_find(&program->pte, name, &plan)) {
    return;
  }
  for (size_t i = 1; i < etx_pte_buffer_size_count(&plan); ++i) {
    printf("    arena %zu: %" PRId64 " bytes\n", i,
           etx_pte_buffer_size_at(&plan, i));
  }
}

// Tensors whose data is in a data file (.ptd).
static void print_external(const etx_program* program, etx_text name) {
  etx_pte_plan plan;
  if (!etx_pte_plan_find(&program->pte, name, &plan)) return;
  for (size_t i = 0; i < etx_pte_value_count(&plan); ++i) {
    if (etx_pte_value_kind(&plan, i) != ETX_PTE_TENSOR) continue;
    const etx_pte_tensor tensor = etx_pte_value_at(&plan, i).as.tensor;
    if (tensor.location != ETX_PTE_EXTERNAL) continue;
    printf("    from a data file: %.*s: ", text_width(tensor.name),
           tensor.name.data);
    etx_host_tensor_print_type(tensor.dtype, tensor.rank, tensor.sizes, stdout);
    putchar('\n');
  }
}

static etx_status print_method(const etx_program* program,
                               const etx_method_info* info, etx_diag* diag) {
  printf("  %.*s: %zu instruction%s, %" PRIu64 " byte%s of scratch\n",
         text_width(info->name), info->name.data, info->instruction_count,
         etx_plural(info->instruction_count), info->scratch_bytes,
         etx_plural(info->scratch_bytes));
  for (size_t i = 0; i < info->input_count; ++i) {
    etx_port port;
    ETX_TRY(etx_port_input(program, info->name, i, &port, diag));
    print_port(program, info->name, &port);
  }
  for (size_t i = 0; i < info->output_count; ++i) {
    etx_port port;
    ETX_TRY(etx_port_output(program, info->name, i, &port, diag));
    print_port(program, info->name, &port);
  }
  print_symbols(program, info->name, "    ");
  print_arenas(program, info->name);
  print_external(program, info->name);
  return ETX_OK;
}

// The sizes of its inputs are those that a variant is for.
static etx_status print_variants(const etx_program* program, etx_text method,
                                 etx_diag* diag) {
  const size_t count = etx_program_variant_count(program, method);
  for (size_t i = 0; i < count; ++i) {
    etx_method_info info;
    ETX_TRY(etx_program_variant_at(program, method, i, &info));
    printf("    variant %.*s: %zu instruction%s, %" PRIu64
           " byte%s of scratch, for\n",
           text_width(info.name), info.name.data, info.instruction_count,
           etx_plural(info.instruction_count), info.scratch_bytes,
           etx_plural(info.scratch_bytes));
    for (size_t k = 0; k < info.input_count; ++k) {
      etx_port port;
      ETX_TRY(etx_port_input(program, info.name, k, &port, diag));
      fputs("  ", stdout);
      print_port(program, info.name, &port);
    }
    print_symbols(program, info.name, "      ");
  }
  return ETX_OK;
}

static void print_memory(const etx_memory_at* memory) {
  const etx_memory_needed* const needed = &memory->needed;
  fputs("    memory", stdout);
  for (size_t i = 0; i < memory->size_count; ++i) {
    const etx_named_size* const named = &memory->sizes[i];
    printf("%s%.*s = %" PRId64, i == 0 ? " at " : ", ", text_width(named->name),
           named->name.data, named->size);
  }
  printf(": %zu byte%s of scratch, %zu of temporary memory\n",
         needed->scratch_bytes, etx_plural(needed->scratch_bytes),
         needed->temporary_bytes);
  if (memory->size_value_bytes == 0) return;
  printf(
      "      %zu byte%s of values that depend on sizes alone, which are kept\n",
      memory->size_value_bytes, etx_plural(memory->size_value_bytes));
}

static etx_status print_methods(const etx_inspect_facts* facts, bool constants,
                                etx_diag* diag) {
  const etx_program* const program = facts->program;
  const size_t count = etx_program_method_count(program);
  bool is_first = true;
  for (size_t i = 0; i < count; ++i) {
    etx_method_info info;
    ETX_TRY(etx_program_method_at(program, i, &info));
    if (info.is_constant != constants) continue;
    if (is_first) {
      printf(constants ? "\nconstant methods, which are read without running:\n"
                       : "\nmethods:\n");
    }
    is_first = false;
    ETX_TRY(constants ? print_constant(program, &info, diag)
                      : print_method(program, &info, diag));
    if (facts->memory != NULL && facts->memory[i].is_asked) {
      print_memory(&facts->memory[i]);
    }
    ETX_TRY(print_variants(program, info.name, diag));
  }
  return ETX_OK;
}

static void print_cache(const etx_state_row* row) {
  if (!row->is_cache) return;
  printf(", cache of %d rows along dimension %u, overflow: %s",
         (int)row->sizes[row->cache_dim], (unsigned)row->cache_dim,
         row->overflow);
  if (row->counter.size == 0) return;
  printf(", length: %.*s", text_width(row->counter), row->counter.data);
}

static void print_state(const etx_program* program,
                        const etx_state_list* states) {
  if (program->state_bytes == 0 && states->count == 0) return;
  printf("\nstate: arena 2, %" PRIu64 " bytes%s\n", program->state_bytes,
         program->shares_state ? ", shared by all methods"
                               : ", private to each method");
  for (size_t i = 0; i < states->count; ++i) {
    const etx_state_row* const row = &states->rows[i];
    printf("  %8" PRIu64 "  %.*s: ", row->offset, text_width(row->name),
           row->name.data);
    etx_host_tensor_print_type(row->dtype, row->rank, row->sizes, stdout);
    if (row->arena != 2) printf(", in arena %u", (unsigned)row->arena);
    printf(", initial: %s", row->initial);
    if (row->constant != 0) printf(" (constant %u)", (unsigned)row->constant);
    print_cache(row);
    putchar('\n');
  }
}

// Files of etx use operators that only set sizes, such as aten::empty, for
// views.
static const char* purpose_of(const etx_program* program,
                              const etx_operator_use* use) {
  const etx_op* const op = etx_op_find(use->op.name, use->op.overload);
  return program->has_blob && op != NULL && etx_op_only_sizes(op)
             ? ", sets sizes of views"
             : "";
}

static void print_operators(const etx_program* program,
                            const etx_operator_uses* uses) {
  printf("\noperators:\n");
  for (size_t i = 0; i < uses->count; ++i) {
    const etx_operator_use* const use = &uses->items[i];
    printf("  %6zu  %.*s%s%.*s%s%s%s\n", use->count, text_width(use->op.name),
           use->op.name.data, use->op.overload.size == 0 ? "" : ".",
           text_width(use->op.overload), use->op.overload.data,
           purpose_of(program, use),
           use->library != ETX_EXECUTORCH_NONE || !use->is_known ? ""
                                                                 : ", etx only",
           use->is_own     ? ", of the application"
           : use->is_known ? ""
                           : ", not in this build");
  }
}

etx_status etx_inspect_print(const etx_inspect_facts* facts, etx_diag* diag) {
  const etx_program* const program = facts->program;
  printf("%s: %zu bytes\n", facts->path, program->pte.file.size);
  print_runtimes(facts->uses);
  print_origin(program);
  print_parts(program);
  ETX_TRY(print_methods(facts, false, diag));
  ETX_TRY(print_methods(facts, true, diag));
  print_state(program, facts->states);
  print_operators(program, facts->uses);
  return ETX_OK;
}
