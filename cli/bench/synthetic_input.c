#include "cli/bench/synthetic_input.h"

#include <stdlib.h>
#include <string.h>

#include "cli/run/input_value.h"

typedef struct input_generator {
  const etx_synthetic_input_options* options;
  etx_dim_overrides dims;
  etx_pool* pool;
  uint32_t random;  // state of the linear congruential generator
  etx_diag* diag;
} input_generator;

static uint32_t next_random(input_generator* g) {
  g->random = g->random * 1664525u + 1013904223u;
  return g->random >> 8;
}

// The text after "NAME=" in a list, or NULL.
static const char* find_option_value(const etx_option_list* list,
                                     etx_text name) {
  if (list == NULL) return NULL;
  for (size_t i = 0; i < list->count; ++i) {
    const char* item = list->items[i];
    if (strncmp(item, name.data, name.size) == 0 && item[name.size] == '=') {
      return item + name.size + 1;
    }
  }
  return NULL;
}

// The size of a dimension, or for dim -1 the value of a dynamic integer.
// Returns `otherwise` if the size or integer is fixed.
static int64_t size_of(const input_generator* g, const etx_port* port,
                       int32_t dim, int64_t otherwise) {
  const char* option = NULL;
  return etx_dim_override_size(&g->dims, port, dim, otherwise, &option);
}

static void fill_floats(input_generator* g, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    out[i] = (float)next_random(g) * 0x1p-23f - 1.0f;
  }
}

static void fill_doubles(input_generator* g, double* out, size_t count) {
  for (size_t i = 0; i < count; ++i)
    out[i] = (double)next_random(g) * 0x1p-23 - 1.0;
}

// 16-bit floats between 1/2 and 1 of either sign: `exponent` has the exponent
// bits of 1/2, `random_bits` masks the sign and the mantissa.
static void fill_halves(input_generator* g, uint16_t* out, size_t count,
                        uint16_t exponent, uint16_t random_bits) {
  for (size_t i = 0; i < count; ++i) {
    out[i] = (uint16_t)(((next_random(g) >> 4) & random_bits) | exponent);
  }
}

static void fill_integers(uint8_t* out, size_t count, size_t bytes,
                          int64_t value) {
  for (size_t i = 0; i < count; ++i) memcpy(out + i * bytes, &value, bytes);
}

static void fill(input_generator* g, etx_host_tensor* tensor) {
  const size_t count = etx_host_tensor_numel(tensor);
  switch (tensor->dtype) {
    case ETX_DTYPE_FLOAT32:
      fill_floats(g, tensor->data, count);
      return;
    case ETX_DTYPE_COMPLEX64:
      fill_floats(g, tensor->data, 2 * count);
      return;
    case ETX_DTYPE_FLOAT64:
      fill_doubles(g, tensor->data, count);
      return;
    case ETX_DTYPE_FLOAT16:
      fill_halves(g, tensor->data, count, 0x3800, 0x83ff);
      return;
    case ETX_DTYPE_BFLOAT16:
      fill_halves(g, tensor->data, count, 0x3f00, 0x807f);
      return;
    case ETX_DTYPE_BOOL:
      memset(tensor->data, 1, count);
      return;
    default:
      // Wider complex types stay 0. Integers are little-endian, so the first
      // bytes of an int64_t are a narrower integer.
      if (etx_dtype_bytes(tensor->dtype) <= sizeof(int64_t)) {
        fill_integers(tensor->data, count, etx_dtype_bytes(tensor->dtype),
                      g->options->integer);
      }
  }
}

static etx_status generate_tensor(input_generator* g,
                                  etx_synthetic_input* input) {
  const etx_pte_tensor* const type = &input->port.info.value.as.tensor;
  input->tensor.dtype = type->dtype;
  input->tensor.rank = type->rank;
  for (size_t i = 0; i < type->rank; ++i) {
    const int64_t size = size_of(g, &input->port, (int32_t)i, type->sizes[i]);
    if (size < 0 || size > INT32_MAX) {
      return etx_diag_fail(g->diag, ETX_OUT_OF_RANGE,
                           "dimension %z of input '%s' would have size %i", i,
                           input->port.name, size);
    }
    input->tensor.sizes[i] = (int32_t)size;
  }
  ETX_TRY(etx_host_tensor_allocate(&input->tensor, g->pool, g->diag));
  fill(g, &input->tensor);
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

// A value that the user or a recorded call gives to an input.
typedef struct given_value {
  bool is_given;  // false: there is none
  etx_value value;
  etx_host_tensor tensor;  // what a tensor value points to
} given_value;

// Looks in the options first, then in the recorded call.
static etx_status find_given(const etx_synthetic_input_options* options,
                             const etx_port* port, etx_pool* pool,
                             given_value* out, etx_diag* diag) {
  const char* text =
      find_option_value(options->values, etx_text_of(port->name));
  out->is_given = true;
  out->value = (etx_value){.kind = ETX_VALUE_NONE};
  if (text != NULL) {
    return etx_input_value_read(port, text, pool, &out->tensor, &out->value,
                                diag);
  }
  const etx_case_call* call = options->call;
  if (call != NULL && port->index < call->input_count) {
    const etx_case_value* from = &call->inputs[port->index];
    if (from->kind == ETX_CASE_TENSOR) {
      return copy_recorded(from->tensor, pool, &out->tensor, &out->value, diag);
    }
    out->value = etx_case_scalar(from);
    return ETX_OK;
  }
  out->is_given = false;
  return ETX_OK;
}

// Sets input->value and, for a tensor, input->tensor.
static etx_status make_value(input_generator* g, etx_synthetic_input* input) {
  const etx_port* port = &input->port;
  given_value given;
  ETX_TRY(find_given(g->options, port, g->pool, &given, g->diag));
  input->is_generated = !given.is_given;
  input->value = given.value;
  if (given.is_given) {
    if (given.value.kind != ETX_VALUE_TENSOR) return ETX_OK;
    input->tensor = given.tensor;
    input->value.as.tensor = etx_host_tensor_view(&input->tensor);
    return ETX_OK;
  }
  if (port->info.kind == ETX_PTE_TENSOR) {
    input->value.kind = ETX_VALUE_TENSOR;
    return generate_tensor(g, input);
  }
  input->value = etx_port_fixed_value(port);
  if (input->value.kind == ETX_VALUE_INT) {
    input->value.as.integer = size_of(g, port, -1, input->value.as.integer);
  }
  return ETX_OK;
}

static etx_status save_initial(const input_generator* g,
                               etx_synthetic_input* input) {
  if (input->tensor.bytes == 0) return ETX_OK;
  input->initial = etx_pool_take(g->pool, input->tensor.bytes);
  if (input->initial == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(input->initial, input->ordered.data, input->tensor.bytes);
  return ETX_OK;
}

static etx_status set_input(input_generator* g, etx_method* method,
                            size_t index, etx_synthetic_input* input) {
  ETX_TRY(etx_port_input(g->dims.program, g->dims.method, index, &input->port,
                         g->diag));
  ETX_TRY(make_value(g, input));
  if (input->value.kind != ETX_VALUE_TENSOR) {
    return etx_method_set_value(method, index, &input->value, g->diag);
  }
  ETX_TRY(etx_dim_order_input_set(method, index, &input->tensor, g->pool,
                                  &input->ordered, g->diag));
  return save_initial(g, input);
}

etx_status etx_synthetic_inputs_set(etx_method* method,
                                    const etx_synthetic_input_options* options,
                                    etx_pool* pool,
                                    etx_synthetic_inputs* out_inputs,
                                    etx_diag* diag) {
  input_generator g = {
      .options = options, .pool = pool, .random = 1, .diag = diag};
  const size_t count = method->input_count;
  const etx_dim_options dims = {"dim", options->dims};
  ETX_TRY(etx_dim_overrides_read(method->program,
                                 etx_pte_plan_name(&method->plan), &dims, pool,
                                 &g.dims, diag));
  out_inputs->count = count;
  out_inputs->items = etx_pool_take(pool, count * sizeof *out_inputs->items);
  if (out_inputs->items == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for inputs");
  }
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(set_input(&g, method, i, &out_inputs->items[i]));
  }
  return ETX_OK;
}

// ---- checking the options ----

typedef struct option_check {
  const etx_synthetic_input_options* options;
  etx_dim_overrides dims;
  etx_port* ports;
  const char** given;  // for each input, the --in option that sets it, or NULL
  size_t count;
  etx_pool* pool;
  etx_diag* diag;
} option_check;

static etx_status check_value_option(option_check* c, const char* option) {
  const etx_text name = {option, strcspn(option, "=")};
  size_t at = 0;
  if (option[name.size] == '\0') {
    return etx_diag_fail(c->diag, ETX_BAD_ARGUMENT,
                         "'--in %s' is not of the form NAME=VALUE", option);
  }
  while (at < c->count && !etx_text_is(name, c->ports[at].name)) ++at;
  if (at == c->count) {
    return etx_diag_fail(c->diag, ETX_BAD_ARGUMENT,
                         "method '%t' has no input '%t'; see etx inspect",
                         c->dims.method, name);
  }
  if (c->given[at] != NULL) {
    return etx_diag_fail(c->diag, ETX_BAD_ARGUMENT,
                         "input '%t' is given twice: '--in %s' and '--in %s'",
                         name, c->given[at], option);
  }
  c->given[at] = option;
  return ETX_OK;
}

static etx_status check_input(const option_check* c, const etx_port* port) {
  given_value given;
  ETX_TRY(find_given(c->options, port, c->pool, &given, c->diag));
  return given.is_given
             ? etx_dim_overrides_agree(&c->dims, port, &given.value, c->diag)
             : ETX_OK;
}

static etx_status find_ports(option_check* c) {
  etx_pte_plan plan;
  ETX_TRY(
      etx_program_find_plan(c->dims.program, c->dims.method, &plan, c->diag));
  c->count = etx_pte_input_count(&plan);
  c->ports = etx_pool_take(c->pool, (c->count + 1) * sizeof *c->ports);
  c->given = etx_pool_take(c->pool, (c->count + 1) * sizeof *c->given);
  if (c->ports == NULL || c->given == NULL) {
    return etx_diag_fail(c->diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for inputs");
  }
  for (size_t i = 0; i < c->count; ++i) {
    ETX_TRY(etx_port_input(c->dims.program, c->dims.method, i, &c->ports[i],
                           c->diag));
  }
  return ETX_OK;
}

etx_status etx_synthetic_input_options_check(
    const etx_program* program, etx_text method,
    const etx_synthetic_input_options* options, etx_pool* pool,
    etx_diag* diag) {
  option_check c = {.options = options, .pool = pool, .diag = diag};
  const etx_option_list* values = options->values;
  const etx_dim_options dims = {"dim", options->dims};
  ETX_TRY(etx_dim_overrides_read(program, method, &dims, pool, &c.dims, diag));
  ETX_TRY(find_ports(&c));
  for (size_t i = 0; values != NULL && i < values->count; ++i) {
    ETX_TRY(check_value_option(&c, values->items[i]));
  }
  for (size_t i = 0; i < c.count; ++i) ETX_TRY(check_input(&c, &c.ports[i]));
  return ETX_OK;
}

void etx_synthetic_inputs_restore(const etx_synthetic_inputs* inputs) {
  for (size_t i = 0; i < inputs->count; ++i) {
    const etx_synthetic_input* input = &inputs->items[i];
    if (input->initial == NULL) continue;
    memcpy(input->ordered.data, input->initial, input->tensor.bytes);
  }
}
