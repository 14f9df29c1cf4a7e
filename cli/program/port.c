#include "cli/program/port.h"

#include <inttypes.h>

static void name_port(etx_port* port) {
  if (port->info.name.size != 0) {
    etx_format_text(port->name, sizeof port->name, "%t", port->info.name);
  } else {
    etx_format_text(port->name, sizeof port->name, "%s_%z",
                    port->is_input ? "input" : "output", port->index);
  }
}

etx_status etx_port_input(const etx_program* program, etx_text method,
                          size_t index, etx_port* out_port, etx_diag* diag) {
  etx_port port = {.index = index, .is_input = true};
  ETX_TRY(etx_program_input_at(program, method, index, &port.info, diag));
  name_port(&port);
  *out_port = port;
  return ETX_OK;
}

etx_status etx_port_output(const etx_program* program, etx_text method,
                           size_t index, etx_port* out_port, etx_diag* diag) {
  etx_port port = {.index = index, .is_input = false};
  ETX_TRY(etx_program_output_at(program, method, index, &port.info, diag));
  name_port(&port);
  *out_port = port;
  return ETX_OK;
}

bool etx_port_dim(const etx_program* program, etx_text method,
                  const etx_port* port, int32_t dim,
                  etx_blob_input_dim* out_dim, etx_blob_symbol* out_symbol) {
  size_t at = 0;
  if (!port->is_input || !program->has_blob ||
      !etx_blob_method_find(&program->blob, method, &at)) {
    return false;
  }
  const size_t count = etx_blob_input_dim_count(&program->blob, at);
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_input_dim row = etx_blob_input_dim_at(&program->blob, at, i);
    if (row.input == port->index && row.dim == dim) {
      *out_dim = row;
      *out_symbol = etx_blob_symbol_at(&program->blob, at, row.symbol);
      return true;
    }
  }
  return false;
}

etx_value etx_port_fixed_value(const etx_port* port) {
  const etx_pte_value* const stated = &port->info.value;
  etx_value value = {.kind = ETX_VALUE_NONE};
  switch (port->info.kind) {
    case ETX_PTE_INT:
      value.kind = ETX_VALUE_INT;
      value.as.integer = stated->as.integer;
      break;
    case ETX_PTE_BOOL:
      value.kind = ETX_VALUE_BOOL;
      value.as.boolean = stated->as.boolean;
      break;
    case ETX_PTE_DOUBLE:
      value.kind = ETX_VALUE_DOUBLE;
      value.as.real = stated->as.real;
      break;
    case ETX_PTE_STRING:
      value.kind = ETX_VALUE_STRING;
      value.as.string = stated->as.string;
      break;
    default:
      break;
  }
  return value;
}

const char* etx_pte_kind_text(etx_pte_kind kind) {
  static const char* const names[] = {
      [ETX_PTE_NULL] = "none",
      [ETX_PTE_INT] = "int",
      [ETX_PTE_BOOL] = "bool",
      [ETX_PTE_DOUBLE] = "float",
      [ETX_PTE_TENSOR] = "tensor",
      [ETX_PTE_STRING] = "string",
      [ETX_PTE_INT_LIST] = "int list",
      [ETX_PTE_DOUBLE_LIST] = "float list",
      [ETX_PTE_BOOL_LIST] = "bool list",
      [ETX_PTE_TENSOR_LIST] = "tensor list",
      [ETX_PTE_OPTIONAL_TENSOR_LIST] = "optional tensor list",
  };
  return names[kind];
}

// False if only the largest size is known.
static bool print_dim(const etx_program* program, etx_text method,
                      const etx_port* port, int32_t dim, FILE* out) {
  etx_blob_input_dim row;
  etx_blob_symbol symbol;
  if (!etx_port_dim(program, method, port, dim, &row, &symbol)) {
    fprintf(out, "%d", (int)port->info.value.as.tensor.sizes[dim]);
    return false;
  }
  if (row.factor != 1) fprintf(out, "%" PRId64 "*", row.factor);
  fprintf(out, "%.*s", (int)symbol.name.size, symbol.name.data);
  if (row.offset != 0) fprintf(out, " %+" PRId64, row.offset);
  return true;
}

void etx_port_print_type(const etx_program* program, etx_text method,
                         const etx_port* port, FILE* out) {
  if (port->info.kind != ETX_PTE_TENSOR) {
    fputs(etx_pte_kind_text(port->info.kind), out);
    return;
  }
  const etx_pte_tensor* const tensor = &port->info.value.as.tensor;
  const etx_text sizes = port->info.sizes;
  fprintf(out, "%s[", etx_dtype_name(tensor->dtype));
  if (sizes.size > 0) {
    fprintf(out, "%.*s]", (int)sizes.size, sizes.data);
    return;
  }
  bool has_symbol = false;
  for (size_t i = 0; i < tensor->rank; ++i) {
    if (i != 0) fputs(", ", out);
    if (print_dim(program, method, port, (int32_t)i, out)) has_symbol = true;
  }
  const bool is_bound = tensor->dynamism != ETX_PTE_STATIC && !has_symbol;
  fputs(is_bound ? "] at most" : "]", out);
}
