#include "cli/bench/synthetic_input.h"

#include <stdlib.h>
#include <string.h>

#include "cli/run/input_value.h"

typedef struct maker {
  const etx_program* program;
  etx_text name;
  etx_method* method;
  const etx_synthetic_input_options* wishes;
  etx_dim_overrides dims;
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

// Size of a dimension, or with -1 the value of an integer that varies.
static int64_t size_of(const maker* m, const etx_port* port, int32_t dim,
                       int64_t otherwise) {
  const char* word = NULL;
  return etx_dim_override_size(&m->dims, port, dim, otherwise, &word);
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

static etx_status make_tensor(maker* m, etx_synthetic_input* input) {
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
  ETX_TRY(etx_host_tensor_allocate(&input->tensor, m->pool, m->diag));
  fill(m, &input->tensor);
  return ETX_OK;
}

static etx_status copy_recorded(const etx_host_tensor* from, etx_pool* pool,
                                etx_host_tensor* out_tensor,
                                etx_value* out_value, etx_diag* diag) {
  *out_tensor = *from;
  ETX_TRY(etx_host_tensor_allocate(out_tensor, pool, diag));
  if (out_tensor->bytes > 0) {
    memcpy(out_tensor->data, from->data, out_tensor->bytes);
  }
  out_value->kind = ETX_VALUE_TENSOR;
  out_value->as.tensor = etx_host_tensor_view(out_tensor);
  return ETX_OK;
}

// The value that somebody gave or recorded. A tensor's is left in `tensor`.
static etx_status find_given(const etx_synthetic_input_options* wishes,
                             const etx_port* port, etx_pool* pool,
                             etx_host_tensor* tensor, etx_value* out_value,
                             bool* out_found, etx_diag* diag) {
  const char* given = find_word(wishes->values, etx_text_of(port->name));
  *out_found = true;
  if (given != NULL) {
    return etx_input_value_read(port, given, pool, tensor, out_value, diag);
  }
  const etx_case_call* call = wishes->call;
  if (call != NULL && port->index < call->input_count) {
    const etx_case_value* from = &call->inputs[port->index];
    if (from->kind == ETX_CASE_TENSOR) {
      return copy_recorded(from->tensor, pool, tensor, out_value, diag);
    }
    *out_value = etx_case_scalar(from);
    return ETX_OK;
  }
  *out_found = false;
  return ETX_OK;
}

// Makes the value; a tensor's is left in `input`.
static etx_status make(maker* m, etx_synthetic_input* input,
                       etx_value* out_value) {
  const etx_port* port = &input->port;
  bool is_given = false;
  ETX_TRY(find_given(m->wishes, port, m->pool, &input->tensor, out_value,
                     &is_given, m->diag));
  input->is_made = !is_given;
  if (is_given) return ETX_OK;
  if (port->info.kind == ETX_PTE_TENSOR) {
    out_value->kind = ETX_VALUE_TENSOR;
    return make_tensor(m, input);
  }
  *out_value = etx_port_fixed_value(port);
  if (out_value->kind == ETX_VALUE_INT) {
    out_value->as.integer = size_of(m, port, -1, out_value->as.integer);
  }
  return ETX_OK;
}

static etx_status keep(maker* m, etx_synthetic_input* input) {
  if (input->tensor.bytes == 0) return ETX_OK;
  input->kept = etx_pool_take(m->pool, input->tensor.bytes);
  if (input->kept == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(input->kept, input->given.data, input->tensor.bytes);
  return ETX_OK;
}

static etx_status set_input(maker* m, size_t index,
                            etx_synthetic_input* input) {
  etx_value value = {.kind = ETX_VALUE_NONE};
  ETX_TRY(etx_port_input(m->program, m->name, index, &input->port, m->diag));
  ETX_TRY(make(m, input, &value));
  input->value = value;
  if (value.kind != ETX_VALUE_TENSOR) {
    return etx_method_set_value(m->method, index, &value, m->diag);
  }
  ETX_TRY(etx_dim_order_input_set(m->method, index, &input->tensor, m->pool,
                                  &input->given, m->diag));
  return keep(m, input);
}

etx_status etx_synthetic_inputs_set(etx_run_session* session, const char* name,
                                    etx_method* method,
                                    const etx_synthetic_input_options* wishes,
                                    etx_pool* pool,
                                    etx_synthetic_inputs* out_inputs,
                                    etx_diag* diag) {
  maker m = {.program = &session->module.program,
             .name = etx_text_of(name),
             .method = method,
             .wishes = wishes,
             .pool = pool,
             .random = 1,
             .diag = diag};
  const size_t count = method->input_count;
  ETX_TRY(etx_dim_overrides_read(m.program, m.name, wishes->dims, pool, &m.dims,
                                 diag));
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

// ---- what was asked for ----

typedef struct checker {
  const etx_synthetic_input_options* wishes;
  etx_dim_overrides dims;
  etx_port* ports;
  const char** words;  // by input: the option that gives it, or NULL
  size_t count;
  etx_pool* pool;
  etx_diag* diag;
} checker;

static etx_status check_word(checker* c, const char* word) {
  const etx_text name = {word, strcspn(word, "=")};
  size_t at = 0;
  if (word[name.size] == '\0') {
    return etx_diag_fail(c->diag, ETX_BAD_ARGUMENT,
                         "'--in %s' is not of the form NAME=VALUE", word);
  }
  while (at < c->count && !etx_text_is(name, c->ports[at].name)) ++at;
  if (at == c->count) {
    return etx_diag_fail(c->diag, ETX_BAD_ARGUMENT,
                         "method '%t' has no input '%t'; etx inspect lists "
                         "them",
                         c->dims.method, name);
  }
  if (c->words[at] != NULL) {
    return etx_diag_fail(c->diag, ETX_BAD_ARGUMENT,
                         "input '%t' is given twice: '--in %s' and '--in %s'",
                         name, c->words[at], word);
  }
  c->words[at] = word;
  return ETX_OK;
}

static etx_status check_input(const checker* c, const etx_port* port) {
  etx_host_tensor tensor;
  etx_value value = {.kind = ETX_VALUE_NONE};
  bool is_given = false;
  ETX_TRY(find_given(c->wishes, port, c->pool, &tensor, &value, &is_given,
                     c->diag));
  return is_given ? etx_dim_overrides_agree(&c->dims, port, &value, c->diag)
                  : ETX_OK;
}

static etx_status find_ports(checker* c) {
  etx_pte_plan plan;
  ETX_TRY(
      etx_program_find_plan(c->dims.program, c->dims.method, &plan, c->diag));
  c->count = etx_pte_input_count(&plan);
  c->ports = etx_pool_take(c->pool, (c->count + 1) * sizeof *c->ports);
  c->words = etx_pool_take(c->pool, (c->count + 1) * sizeof *c->words);
  if (c->ports == NULL || c->words == NULL) {
    return etx_diag_fail(c->diag, ETX_OUT_OF_MEMORY, "no memory for inputs");
  }
  for (size_t i = 0; i < c->count; ++i) {
    ETX_TRY(etx_port_input(c->dims.program, c->dims.method, i, &c->ports[i],
                           c->diag));
  }
  return ETX_OK;
}

etx_status etx_synthetic_input_options_check(
    const etx_program* program, etx_text method,
    const etx_synthetic_input_options* wishes, etx_pool* pool, etx_diag* diag) {
  checker c = {.wishes = wishes, .pool = pool, .diag = diag};
  const etx_option_list* values = wishes->values;
  ETX_TRY(etx_dim_overrides_read(program, method, wishes->dims, pool, &c.dims,
                                 diag));
  ETX_TRY(find_ports(&c));
  for (size_t i = 0; values != NULL && i < values->count; ++i) {
    ETX_TRY(check_word(&c, values->items[i]));
  }
  for (size_t i = 0; i < c.count; ++i) ETX_TRY(check_input(&c, &c.ports[i]));
  return ETX_OK;
}

void etx_synthetic_inputs_restore(const etx_synthetic_inputs* inputs) {
  for (size_t i = 0; i < inputs->count; ++i) {
    const etx_synthetic_input* input = &inputs->items[i];
    if (input->kept == NULL) continue;
    memcpy(input->given.data, input->kept, input->tensor.bytes);
  }
}
