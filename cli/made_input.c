#include "cli/made_input.h"

#include <stdlib.h>
#include <string.h>

#include "cli/input_value.h"

typedef struct maker {
  const etx_program* program;
  etx_text name;
  etx_method* method;
  const etx_input_wishes* wishes;
  etx_pool* pool;
  uint32_t random;
  etx_diag* diag;
} maker;

static uint32_t next(maker* m) {
  m->random = m->random * 1664525u + 1013904223u;
  return m->random >> 8;
}

// What stands behind "NAME=" in a list, or NULL.
static const char* find_word(const etx_option_list* list, etx_text name) {
  if (list == NULL) return NULL;
  for (size_t i = 0; i < list->count; ++i) {
    const char* word = list->items[i];
    if (strncmp(word, name.data, name.size) == 0 && word[name.size] == '=') {
      return word + name.size + 1;
    }
  }
  return NULL;
}

// "ids[1]=16" as the symbol of that dimension and what it has to be. False if
// the method has no such input, or the dimension does not vary.
static bool read_dim(const maker* m, const char* word, etx_text* out_symbol,
                     int64_t* out_value) {
  const char* open = strchr(word, '[');
  if (open == NULL) return false;
  char* end = NULL;
  const long dim = strtol(open + 1, &end, 10);
  if (end == open + 1 || strncmp(end, "]=", 2) != 0 || dim > INT32_MAX) {
    return false;
  }
  for (size_t i = 0; i < m->method->input_count; ++i) {
    etx_port port;
    etx_blob_input_dim row;
    etx_blob_symbol symbol;
    if (etx_port_input(m->program, m->name, i, &port, NULL) != ETX_OK) continue;
    if (strlen(port.name) != (size_t)(open - word) ||
        strncmp(port.name, word, strlen(port.name)) != 0 ||
        !etx_port_dim(m->program, m->name, &port, (int32_t)dim, &row,
                      &symbol) ||
        row.factor == 0) {
      continue;
    }
    *out_symbol = symbol.name;
    *out_value = (strtoll(end + 2, NULL, 10) - row.offset) / row.factor;
    return true;
  }
  return false;
}

// The value that is wished for a symbol; its largest one otherwise.
static int64_t value_of(const maker* m, const etx_blob_symbol* symbol) {
  const etx_option_list* dims = m->wishes->dims;
  const char* wish = find_word(dims, symbol->name);
  if (wish != NULL) return strtoll(wish, NULL, 10);
  for (size_t i = 0; dims != NULL && i < dims->count; ++i) {
    etx_text name;
    int64_t value;
    if (read_dim(m, dims->items[i], &name, &value) &&
        etx_text_equal(name, symbol->name)) {
      return value;
    }
  }
  return symbol->maximum;
}

static bool is_symbol(const maker* m, const char* word) {
  size_t at = 0;
  const etx_blob* blob = &m->program->blob;
  const char* equals = strchr(word, '=');
  if (equals == NULL || !m->program->has_blob ||
      !etx_blob_method_find(blob, m->name, &at)) {
    return false;
  }
  const etx_text wanted = {word, (size_t)(equals - word)};
  for (size_t i = 0; i < etx_blob_symbol_count(blob, at); ++i) {
    const etx_blob_symbol symbol = etx_blob_symbol_at(blob, at, (uint32_t)i);
    if (etx_text_equal(symbol.name, wanted)) return true;
  }
  return false;
}

static etx_status check_dims(const maker* m) {
  const etx_option_list* dims = m->wishes->dims;
  for (size_t i = 0; dims != NULL && i < dims->count; ++i) {
    etx_text name;
    int64_t value;
    if (is_symbol(m, dims->items[i]) ||
        read_dim(m, dims->items[i], &name, &value)) {
      continue;
    }
    return etx_diag_fail(m->diag, ETX_BAD_ARGUMENT,
                         "'--dim %s' is no dimension of method '%t' that "
                         "varies; etx inspect lists them",
                         dims->items[i], m->name);
  }
  return ETX_OK;
}

// Size of a dimension, or with -1 the value of an integer that varies.
static int64_t size_of(const maker* m, const etx_port* port, int32_t dim,
                       int64_t otherwise) {
  etx_blob_input_dim row;
  etx_blob_symbol symbol;
  if (!etx_port_dim(m->program, m->name, port, dim, &row, &symbol)) {
    return otherwise;
  }
  return row.factor * value_of(m, &symbol) + row.offset;
}

static void fill_floats(maker* m, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    out[i] = (float)next(m) * 0x1p-23f - 1.0f;
  }
}

static void fill_doubles(maker* m, double* out, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = (double)next(m) * 0x1p-23 - 1.0;
}

// Halves between 1/2 and 1 of either sign: `exponent` of 1/2, and the bits that
// may be any.
static void fill_halves(maker* m, uint16_t* out, size_t count,
                        uint16_t exponent, uint16_t any) {
  for (size_t i = 0; i < count; ++i) {
    out[i] = (uint16_t)(((next(m) >> 4) & any) | exponent);
  }
}

static void fill_integers(uint8_t* out, size_t count, size_t bytes,
                          int64_t value) {
  for (size_t i = 0; i < count; ++i) memcpy(out + i * bytes, &value, bytes);
}

static void fill(maker* m, etx_host_tensor* tensor) {
  const size_t count = etx_host_tensor_numel(tensor);
  switch (tensor->dtype) {
    case ETX_DTYPE_FLOAT32:
      fill_floats(m, tensor->data, count);
      return;
    case ETX_DTYPE_COMPLEX64:
      fill_floats(m, tensor->data, 2 * count);
      return;
    case ETX_DTYPE_FLOAT64:
      fill_doubles(m, tensor->data, count);
      return;
    case ETX_DTYPE_FLOAT16:
      fill_halves(m, tensor->data, count, 0x3800, 0x83ff);
      return;
    case ETX_DTYPE_BFLOAT16:
      fill_halves(m, tensor->data, count, 0x3f00, 0x807f);
      return;
    case ETX_DTYPE_BOOL:
      memset(tensor->data, 1, count);
      return;
    default:
      // Other complex types stay 0; integers are little-endian.
      if (etx_dtype_bytes(tensor->dtype) <= sizeof(int64_t)) {
        fill_integers(tensor->data, count, etx_dtype_bytes(tensor->dtype),
                      m->wishes->whole);
      }
  }
}

static etx_status make_tensor(maker* m, etx_made_input* input) {
  const etx_pte_tensor* const stated = &input->port.info.value.as.tensor;
  input->tensor.dtype = stated->dtype;
  input->tensor.rank = stated->rank;
  for (size_t i = 0; i < stated->rank; ++i) {
    const int64_t size = size_of(m, &input->port, (int32_t)i, stated->sizes[i]);
    if (size < 0 || size > INT32_MAX) {
      return etx_diag_fail(m->diag, ETX_OUT_OF_RANGE,
                           "dimension %z of input '%s' would have size %i", i,
                           input->port.name, size);
    }
    input->tensor.sizes[i] = (int32_t)size;
  }
  ETX_TRY(etx_host_tensor_take(&input->tensor, m->pool, m->diag));
  fill(m, &input->tensor);
  return ETX_OK;
}

static etx_status copy_recorded(maker* m, const etx_case_value* from,
                                etx_made_input* input) {
  input->tensor = *from->tensor;
  ETX_TRY(etx_host_tensor_take(&input->tensor, m->pool, m->diag));
  if (input->tensor.bytes > 0) {
    memcpy(input->tensor.data, from->tensor->data, input->tensor.bytes);
  }
  return ETX_OK;
}

// Makes the value; a tensor's is left in `input`.
static etx_status make(maker* m, etx_made_input* input, etx_value* out_value) {
  const etx_port* port = &input->port;
  const size_t index = port->index;
  const char* given = find_word(m->wishes->values, etx_text_of(port->name));
  if (given != NULL) {
    return etx_input_value_read(port, given, m->pool, &input->tensor, out_value,
                                m->diag);
  }
  out_value->kind = ETX_VALUE_TENSOR;
  const etx_case_call* call = m->wishes->call;
  if (call != NULL && index < call->input_count) {
    const etx_case_value* from = &call->inputs[index];
    if (from->kind == ETX_CASE_TENSOR) return copy_recorded(m, from, input);
    *out_value = etx_case_scalar(from);
    return ETX_OK;
  }
  if (port->info.kind == ETX_PTE_TENSOR) return make_tensor(m, input);
  *out_value = etx_port_fixed_value(port);
  if (out_value->kind == ETX_VALUE_INT) {
    out_value->as.integer = size_of(m, port, -1, out_value->as.integer);
  }
  return ETX_OK;
}

static etx_status keep(maker* m, etx_made_input* input) {
  if (input->tensor.bytes == 0) return ETX_OK;
  input->kept = etx_pool_take(m->pool, input->tensor.bytes);
  if (input->kept == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(input->kept, input->given.data, input->tensor.bytes);
  return ETX_OK;
}

static etx_status set_input(maker* m, size_t index, etx_made_input* input) {
  etx_value value = {.kind = ETX_VALUE_NONE};
  ETX_TRY(etx_port_input(m->program, m->name, index, &input->port, m->diag));
  ETX_TRY(make(m, input, &value));
  if (value.kind != ETX_VALUE_TENSOR) {
    return etx_method_set_value(m->method, index, &value, m->diag);
  }
  ETX_TRY(etx_ordered_input_set(m->method, index, &input->tensor, m->pool,
                                &input->given, m->diag));
  return keep(m, input);
}

etx_status etx_made_inputs_set(etx_session* session, const char* name,
                               etx_method* method,
                               const etx_input_wishes* wishes, etx_pool* pool,
                               etx_made_inputs* out_inputs, etx_diag* diag) {
  maker m = {&session->module.program,
             etx_text_of(name),
             method,
             wishes,
             pool,
             1,
             diag};
  const size_t count = method->input_count;
  ETX_TRY(check_dims(&m));
  out_inputs->count = count;
  out_inputs->items = etx_pool_take(pool, count * sizeof *out_inputs->items);
  if (out_inputs->items == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY, "no memory for inputs");
  }
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(set_input(&m, i, &out_inputs->items[i]));
  }
  return ETX_OK;
}

void etx_made_inputs_restore(const etx_made_inputs* inputs) {
  for (size_t i = 0; i < inputs->count; ++i) {
    const etx_made_input* input = &inputs->items[i];
    if (input->kept == NULL) continue;
    memcpy(input->given.data, input->kept, input->tensor.bytes);
  }
}
