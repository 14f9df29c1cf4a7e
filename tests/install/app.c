// The program of every project of these tests: runs methods of a program on
// generated inputs in one session, and prints a hash of all outputs and states.
// Two builds of the library agree if they print the same.
//
//   app MODEL.pte METHOD [METHOD ...]

#include ETX_HEADER
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_INPUTS = 8 };

static uint32_t digest(uint32_t sum, const void* data, size_t size) {
  const uint8_t* const bytes = data;
  for (size_t i = 0; i < size; ++i) sum = (sum ^ bytes[i]) * 16777619u;
  return sum;
}

// Integers are 0 or 1, which are valid indices; floats have fractions. Or all
// are 1, for methods that refuse the first: divisors, sizes.
static void fill(void* data, etx_dtype dtype, size_t count, bool are_ones) {
  for (size_t i = 0; i < count; ++i) {
    const float fraction = (float)(i % 17) / 7.0f - 1.0f;
    if (dtype == ETX_DTYPE_INT64) ((int64_t*)data)[i] = are_ones || i % 2 != 0;
    if (dtype == ETX_DTYPE_FLOAT32) {
      ((float*)data)[i] = are_ones ? 1.0f : fraction;
    }
    if (!are_ones) continue;
    if (dtype == ETX_DTYPE_INT32) ((int32_t*)data)[i] = 1;
    if (dtype == ETX_DTYPE_INT16) ((int16_t*)data)[i] = 1;
    if (dtype == ETX_DTYPE_INT8 || dtype == ETX_DTYPE_UINT8) {
      ((uint8_t*)data)[i] = 1;
    }
  }
}

// Makes an input of the method, a tensor with its largest sizes.
static etx_status make_input(const etx_program* program, const char* method,
                             size_t index, bool are_ones, etx_value* out,
                             etx_diag* diag) {
  etx_port_info port;
  ETX_TRY(
      etx_program_input_at(program, etx_text_of(method), index, &port, diag));
  *out = (etx_value){.kind = (etx_value_kind)(port.value.kind - 1)};
  if (out->kind == ETX_VALUE_DOUBLE) out->as.real = 1;
  if (out->kind == ETX_VALUE_INT) out->as.integer = 1;
  if (out->kind == ETX_VALUE_BOOL) out->as.boolean = true;
  if (out->kind != ETX_VALUE_TENSOR) return ETX_OK;
  const etx_pte_tensor* const shape = &port.value.as.tensor;
  size_t count = 1;
  int32_t* const sizes = calloc(ETX_MAX_RANK, sizeof *sizes);
  if (sizes == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < shape->rank; ++i) {
    sizes[i] = shape->sizes[i];
    count *= (size_t)sizes[i];
  }
  void* const data = calloc(count, etx_dtype_bytes(shape->dtype));
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  fill(data, shape->dtype, count, are_ones);
  *out = etx_module_tensor(data, shape->dtype, sizes, (uint8_t)shape->rank);
  return ETX_OK;
}

static void free_inputs(etx_value* inputs, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (inputs[i].kind != ETX_VALUE_TENSOR) continue;
    free(inputs[i].as.tensor.data);
    free((void*)inputs[i].as.tensor.sizes);
  }
}

static etx_status execute(etx_module* module, const char* name, bool are_ones,
                          etx_value* inputs, size_t count, etx_diag* diag) {
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(make_input(&module->program, name, i, are_ones, &inputs[i], diag));
  }
  return etx_module_execute(module, name, inputs, count, diag);
}

static etx_status run(etx_module* module, etx_module_shared* shared,
                      const char* name, uint32_t* sum, etx_diag* diag) {
  etx_planned_memory allocator;
  etx_value inputs[MOST_INPUTS] = {{.kind = ETX_VALUE_NONE}};
  ETX_TRY(etx_module_shared_allocator(shared, name, &allocator, diag));
  ETX_TRY(etx_module_load_method(module, name, &allocator, diag));
  const etx_method* const method = etx_module_method(module, name);
  const size_t count = method->input_count;
  if (count > MOST_INPUTS) return ETX_UNSUPPORTED;
  etx_status status = execute(module, name, false, inputs, count, diag);
  if (status == ETX_BAD_ARGUMENT) {
    free_inputs(inputs, count);
    etx_diag_init(diag);
    status = execute(module, name, true, inputs, count, diag);
  }
  ETX_TRY(status);
  for (size_t i = 0; i < method->output_count; ++i) {
    const etx_value* value = NULL;
    ETX_TRY(etx_module_output(module, name, i, &value, diag));
    if (value->kind != ETX_VALUE_TENSOR) continue;
    *sum = digest(*sum, value->as.tensor.data,
                  etx_tensor_bytes(&value->as.tensor));
  }
  for (size_t i = 0; i < count; ++i) {
    if (inputs[i].kind != ETX_VALUE_TENSOR) continue;
    *sum = digest(*sum, inputs[i].as.tensor.data,
                  etx_tensor_bytes(&inputs[i].as.tensor));
  }
  free_inputs(inputs, count);
  return ETX_OK;
}

static etx_status run_all(etx_module* module, char** names, etx_diag* diag) {
  etx_module_shared shared;
  uint32_t sum = 2166136261u;
  ETX_TRY(etx_module_shared_open(&shared, module, diag));
  etx_status status = ETX_OK;
  for (; *names != NULL && status == ETX_OK; ++names) {
    status = run(module, &shared, *names, &sum, diag);
    printf("%s: %08" PRIx32 "\n", *names, sum);
  }
  const etx_planned_memory* const state = &shared.memory.planned;
  printf("state: %08" PRIx32 "\n", digest(sum, state->data, state->size));
  etx_module_shared_close(&shared);
  return status;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  etx_diag diag;
  etx_module module;
  etx_diag_init(&diag);
  etx_status status = etx_module_open(&module, argv[1], NULL, &diag);
  if (status == ETX_OK) {
    status = run_all(&module, argv + 2, &diag);
    etx_module_close(&module);
  }
  if (status != ETX_OK) {
    fprintf(stderr, "app: %s: %s\n", etx_status_name(status), diag.text);
  }
  return status != ETX_OK;
}
