#include "cli/run/input_value.h"

#include "cli/tensors/element.h"
#include "cli/tensors/tensor_literal.h"
#include "cli/tensors/tensor_file.h"

// A number without brackets for a tensor of one element gets the tensor's rank:
// "5" for int64[1, 1] is [[5]].
static void take_single_sizes(const etx_port* port, etx_host_tensor* tensor) {
  const etx_pte_tensor* const stated = &port->info.value.as.tensor;
  if (tensor->rank != 0 || stated->rank == 0) return;
  for (size_t i = 0; i < stated->rank; ++i) {
    if (stated->sizes[i] != 1) return;
  }
  tensor->rank = stated->rank;
  for (size_t i = 0; i < stated->rank; ++i) tensor->sizes[i] = 1;
}

static etx_status read_content(const etx_port* port, const char* text,
                               etx_pool* pool, etx_host_tensor* out_tensor,
                               etx_diag* diag) {
  if (etx_tensor_file_is_path(text)) {
    return etx_tensor_file_read(text, pool, out_tensor, diag);
  }
  if (etx_tensor_file_has_known_suffix(
          text)) {  // a file without a tensor's name
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "'%s' may have several tensors; name one with "
                         "'%s#NAME'",
                         text, text);
  }
  ETX_TRY(etx_tensor_literal_read(etx_text_of(text),
                                  port->info.value.as.tensor.dtype, pool,
                                  out_tensor, diag));
  take_single_sizes(port, out_tensor);
  return ETX_OK;
}

static etx_status read_tensor(const etx_port* port, const char* text,
                              etx_pool* pool, etx_host_tensor* out_tensor,
                              etx_value* out_value, etx_diag* diag) {
  const etx_status status = read_content(port, text, pool, out_tensor, diag);
  if (status != ETX_OK) {
    etx_diag_append(diag, ", in input '%s'", port->name);
    return status;
  }
  out_value->kind = ETX_VALUE_TENSOR;
  out_value->as.tensor = etx_host_tensor_view(out_tensor);
  return ETX_OK;
}

static etx_status refuse(const etx_port* port, const char* text,
                         const char* wanted, etx_diag* diag) {
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "input '%s' expects %s, found '%s'", port->name, wanted,
                       text);
}

etx_status etx_input_value_read(const etx_port* port, const char* text,
                                etx_pool* pool, etx_host_tensor* out_tensor,
                                etx_value* out_value, etx_diag* diag) {
  const etx_text word = etx_text_of(text);
  etx_value value = {.kind = ETX_VALUE_NONE};
  uint8_t boolean = 0;
  switch (port->info.kind) {
    case ETX_PTE_TENSOR:
      ETX_TRY(read_tensor(port, text, pool, out_tensor, &value, diag));
      break;
    case ETX_PTE_INT:
      value.kind = ETX_VALUE_INT;
      if (!etx_element_parse(ETX_DTYPE_INT64, word, &value.as.integer, 0)) {
        return refuse(port, text, "an integer", diag);
      }
      break;
    case ETX_PTE_DOUBLE:
      value.kind = ETX_VALUE_DOUBLE;
      if (!etx_element_parse(ETX_DTYPE_FLOAT64, word, &value.as.real, 0)) {
        return refuse(port, text, "a number", diag);
      }
      break;
    case ETX_PTE_BOOL:
      value.kind = ETX_VALUE_BOOL;
      if (!etx_element_parse(ETX_DTYPE_BOOL, word, &boolean, 0)) {
        return refuse(port, text, "true or false", diag);
      }
      value.as.boolean = boolean != 0;
      break;
    case ETX_PTE_STRING:
      value.kind = ETX_VALUE_STRING;
      value.as.string = word;
      break;
    case ETX_PTE_NULL:
      if (!etx_text_is(word, "none") && !etx_text_is(word, "None")) {
        return refuse(port, text, "none", diag);
      }
      break;
    default:
      return etx_diag_fail(diag, ETX_UNSUPPORTED,
                           "input '%s' is a list, which the command line "
                           "cannot express",
                           port->name);
  }
  *out_value = value;
  return ETX_OK;
}
