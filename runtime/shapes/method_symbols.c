// Solves the blob's symbols from the sizes of inputs: size = factor * symbol +
// offset. Every row has one symbol, so solving is a division without remainder,
// and all rows of a symbol must give the same value.

#include "runtime/shapes/method_symbols.h"

#include "format/base/checked_math.h"
#include "runtime/method/method_names.h"

void etx_method_read_symbols(etx_method* method) {
  const etx_blob* const blob = &method->program->blob;
  for (size_t i = 0; i < method->symbol_count; ++i) {
    method->symbols[i] = 0;
    method->symbol_bounds[i] = etx_blob_symbol_at(blob, method->blob_index, i);
  }
  for (size_t i = 0; i < method->input_dim_count; ++i) {
    method->input_dims[i] = etx_blob_input_dim_at(blob, method->blob_index, i);
  }
}

// Solves one row for its symbol and checks the bounds.
static etx_status solve(const etx_method* method, const etx_blob_input_dim* row,
                        int64_t size, int64_t* out_symbol, etx_diag* diag) {
  char name_buffer[ETX_INPUT_NAME_BYTES];
  const etx_blob_symbol* const symbol = &method->symbol_bounds[row->symbol];
  int64_t rest = 0;
  // Factors were verified to be positive when the file was opened.
  if (!etx_subtract_i64(size, row->offset, &rest) || rest % row->factor != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "input '%t' has size %i in dimension %i, expected %i "
                         "times '%t' plus %i",
                         etx_method_input_name(method, row->input, name_buffer),
                         size, (int64_t)row->dim, row->factor, symbol->name,
                         row->offset);
  }
  const int64_t value = rest / row->factor;
  if (value < symbol->minimum || value > symbol->maximum) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "input '%t' makes '%t' %i, its bounds are %i and %i",
                         etx_method_input_name(method, row->input, name_buffer),
                         symbol->name, value, symbol->minimum, symbol->maximum);
  }
  *out_symbol = value;
  return ETX_OK;
}

// A dimension without a row is fixed.
static etx_status check_fixed(const etx_method* method, size_t input,
                              size_t dim, int32_t size, int32_t expected,
                              etx_diag* diag) {
  char name_buffer[ETX_INPUT_NAME_BYTES];
  if (size == expected) return ETX_OK;
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "input '%t' has size %i in dimension %z, expected %i",
                       etx_method_input_name(method, input, name_buffer),
                       (int64_t)size, dim, (int64_t)expected);
}

// Checks only the number of elements, as ExecuTorch's runtime does.
static etx_status check_numel(const etx_method* method, size_t input,
                              const etx_method_tensor* tensor,
                              const int32_t* sizes, etx_diag* diag) {
  char name_buffer[ETX_INPUT_NAME_BYTES];
  uint64_t numel = 1;
  for (size_t i = 0; i < tensor->value->as.tensor.rank; ++i) {
    if (numel <= INT32_MAX || sizes[i] == 0) numel *= (uint64_t)sizes[i];
  }
  const size_t most = etx_method_bound_numel(tensor);
  if (numel <= most) return ETX_OK;
  return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                       "input '%t' has %u elements, the method takes up to %z",
                       etx_method_input_name(method, input, name_buffer), numel,
                       most);
}

static etx_status check_dim(const etx_method* method, size_t input, size_t dim,
                            int32_t size, int32_t bound, etx_diag* diag) {
  for (size_t i = 0; i < method->input_dim_count; ++i) {
    const etx_blob_input_dim* const row = &method->input_dims[i];
    if (row->input != input || row->dim != (int32_t)dim) continue;
    int64_t symbol = 0;
    return solve(method, row, size, &symbol, diag);
  }
  return check_fixed(method, input, dim, size, bound, diag);
}

etx_status etx_method_check_input_sizes(const etx_method* method, size_t input,
                                        const int32_t* sizes, etx_diag* diag) {
  const etx_method_tensor* tensor =
      &method->tensors[method->inputs[input].tensor];
  const bool has_symbols =
      etx_method_is_dynamic(tensor) && method->blob_index != SIZE_MAX;
  for (size_t i = 0; i < tensor->value->as.tensor.rank; ++i) {
    if (has_symbols) {
      ETX_TRY(check_dim(method, input, i, sizes[i], tensor->bounds[i], diag));
    } else if (!etx_method_is_dynamic(tensor)) {
      ETX_TRY(check_fixed(method, input, i, sizes[i], tensor->bounds[i], diag));
    }
  }
  return !etx_method_is_dynamic(tensor)
             ? ETX_OK
             : check_numel(method, input, tensor, sizes, diag);
}

etx_status etx_method_check_input_integer(const etx_method* method,
                                          size_t input, int64_t integer,
                                          etx_diag* diag) {
  for (size_t i = 0; i < method->input_dim_count; ++i) {
    const etx_blob_input_dim* const row = &method->input_dims[i];
    if (row->input != input) continue;
    int64_t symbol = 0;
    ETX_TRY(solve(method, row, integer, &symbol, diag));
  }
  return ETX_OK;
}

static int64_t present_size(const etx_method* method,
                            const etx_blob_input_dim* row) {
  const etx_method_input* input = &method->inputs[row->input];
  return row->dim < 0 ? input->integer : input->sizes[row->dim];
}

// The first row of each symbol sets its value; the others must give the same.
etx_status etx_method_solve_symbols(etx_method* method, etx_diag* diag) {
  const int64_t unknown = INT64_MIN;
  for (size_t i = 0; i < method->symbol_count; ++i) {
    method->symbols[i] = unknown;
  }
  for (size_t i = 0; i < method->input_dim_count; ++i) {
    const etx_blob_input_dim* const row = &method->input_dims[i];
    int64_t value = 0;
    ETX_TRY(solve(method, row, present_size(method, row), &value, diag));
    int64_t* symbol = &method->symbols[row->symbol];
    if (*symbol == unknown) *symbol = value;
    if (*symbol == value) continue;
    char name_buffer[ETX_INPUT_NAME_BYTES];
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "input '%t' makes '%t' %i, another input makes it %i",
                         etx_method_input_name(method, row->input, name_buffer),
                         method->symbol_bounds[row->symbol].name, value,
                         *symbol);
  }
  return ETX_OK;
}
