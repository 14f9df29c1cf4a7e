#include "tests/support/kernel_call.h"

#include <stdlib.h>
#include <string.h>

#include "format/tensor/layout.h"
#include "runtime/shapes/call_shape.h"
#include "runtime/wide_registers.h"

static void* take(test_call* c, size_t bytes) {
  void* block = calloc(1, bytes == 0 ? 1 : bytes);
  if (c->block_count == sizeof(c->blocks) / sizeof(c->blocks[0])) abort();
  c->blocks[c->block_count++] = block;
  return block;
}

void test_call_begin(test_call* c, const char* name) {
  const etx_text none = {NULL, 0};
  memset(c, 0, sizeof(*c));
  c->op = etx_op_find(etx_text_of(name), none);
  c->threads = 1;
  if (c->op == NULL) abort();
}

void test_call_end(test_call* c) {
  for (size_t i = 0; i < c->block_count; ++i) free(c->blocks[i]);
  c->block_count = 0;
}

static size_t extent(const int32_t* sizes, const int32_t* strides,
                     size_t rank) {
  size_t numel = 0, last = 0;
  (void)etx_layout_numel(sizes, rank, &numel);
  if (numel == 0) return 0;
  for (size_t i = 0; i < rank; ++i) {
    last += (size_t)(sizes[i] - 1) * (size_t)strides[i];
  }
  return last + 1;
}

static void new_tensor(test_call* c, etx_value* value, etx_dtype dtype,
                       size_t rank, const int32_t* sizes,
                       const int32_t* strides) {
  int32_t* header = take(c, 2 * sizeof(int32_t) * ETX_MAX_RANK);
  if (rank > 0) memcpy(header, sizes, rank * sizeof(int32_t));
  if (strides == NULL) {
    (void)etx_layout_strides(sizes, NULL, rank, header + ETX_MAX_RANK);
  } else {
    memcpy(header + ETX_MAX_RANK, strides, rank * sizeof(int32_t));
  }
  const size_t elements = extent(header, header + ETX_MAX_RANK, rank);
  value->kind = ETX_VALUE_TENSOR;
  value->as.tensor =
      (etx_tensor){.data = take(c, elements * etx_dtype_bytes(dtype)),
                   .sizes = header,
                   .strides = header + ETX_MAX_RANK,
                   .rank = (uint8_t)rank,
                   .dtype = dtype};
}

static etx_value* next(test_call* c) { return &c->values[c->count++]; }

etx_tensor* test_call_tensor(test_call* c, etx_dtype dtype, size_t rank,
                             const int32_t* sizes, const int32_t* strides,
                             const void* elements) {
  etx_value* value = next(c);
  new_tensor(c, value, dtype, rank, sizes, strides);
  etx_tensor* tensor = &value->as.tensor;
  const size_t bytes =
      extent(sizes, tensor->strides, rank) * etx_dtype_bytes(dtype);
  if (elements != NULL && bytes > 0) memcpy(tensor->data, elements, bytes);
  return tensor;
}

etx_tensor* test_call_floats(test_call* c, size_t rank, const int32_t* sizes,
                             const float* elements) {
  return test_call_tensor(c, ETX_DTYPE_FLOAT32, rank, sizes, NULL, elements);
}

void test_call_integer(test_call* c, int64_t integer) {
  etx_value* value = next(c);
  value->kind = ETX_VALUE_INT;
  value->as.integer = integer;
}

void test_call_real(test_call* c, double real) {
  etx_value* value = next(c);
  value->kind = ETX_VALUE_DOUBLE;
  value->as.real = real;
}

void test_call_boolean(test_call* c, bool boolean) {
  etx_value* value = next(c);
  value->kind = ETX_VALUE_BOOL;
  value->as.boolean = boolean;
}

void test_call_string(test_call* c, const char* string) {
  etx_value* value = next(c);
  value->kind = ETX_VALUE_STRING;
  value->as.string = etx_text_of(string);
}

// None has no fields of a tensor. They hold a pattern here, so that kernels
// that read them fail.
void test_call_none(test_call* c) {
  etx_value* const none = next(c);
  memset(&none->as, 0xa5, sizeof none->as);
  none->as.tensor.rank = 4;
  none->kind = ETX_VALUE_NONE;
}

void test_call_integers(test_call* c, size_t count, const int64_t* integers) {
  etx_value* items = take(c, count * sizeof(etx_value));
  const etx_value** pointers = take(c, count * sizeof(*pointers));
  for (size_t i = 0; i < count; ++i) {
    items[i].kind = ETX_VALUE_INT;
    items[i].as.integer = integers[i];
    pointers[i] = &items[i];
  }
  etx_value* value = next(c);
  value->kind = ETX_VALUE_INTS;
  value->as.integers.items = pointers;
  value->as.integers.count = count;
}

void test_call_reals(test_call* c, size_t count, const double* reals) {
  double* items = take(c, count * sizeof *items);
  if (count > 0) memcpy(items, reals, count * sizeof *items);
  etx_value* value = next(c);
  value->kind = ETX_VALUE_DOUBLES;
  value->as.reals.items = items;
  value->as.reals.count = count;
}

void test_call_gather_list(test_call* c, size_t count) {
  etx_value* items = take(c, count * sizeof(etx_value));
  const etx_value** pointers = take(c, count * sizeof(*pointers));
  c->count -= count;
  memcpy(items, &c->values[c->count], count * sizeof(etx_value));
  for (size_t i = 0; i < count; ++i) {
    pointers[i] = items[i].kind == ETX_VALUE_NONE ? NULL : &items[i];
  }
  etx_value* value = next(c);
  value->kind = ETX_VALUE_TENSORS;
  value->as.tensors.items = pointers;
  value->as.tensors.count = count;
}

// True for an argument that the operator changes: it has its memory.
static bool is_changed(const test_call* c, const etx_value* value) {
  etx_argument_cursor cursor = etx_argument_first(c->op->arguments);
  etx_argument argument;
  for (size_t i = 0; etx_argument_next(&cursor, &argument); ++i) {
    if (value == &c->values[i]) return etx_argument_is_changed(&argument);
  }
  return false;
}

static etx_status size_output(void* context, const etx_value* output,
                              const etx_shape* shape, bool at_most) {
  test_call* c = context;
  (void)at_most;  // tests with outputs of bounded size know the actual size
  etx_value* value = (etx_value*)(uintptr_t)output;
  const bool is_own = is_changed(c, value);
  c->outputs[c->output_count++] = value;
  if (is_own) return ETX_OK;
  int32_t sizes[ETX_MAX_RANK];
  for (size_t i = 0; i < shape->rank; ++i) sizes[i] = (int32_t)shape->dims[i];
  etx_dtype dtype = c->result_dtype;
  if (dtype == TEST_CALL_RULE_DTYPE) dtype = shape->dtype;
  new_tensor(c, value, dtype, shape->rank, sizes, NULL);
  return ETX_OK;
}

// Runs the tasks one after the other, from the last to the first. A pool may
// take any order.
static void run_tasks(void* context, void (*task)(void*, size_t),
                      void* argument, size_t count) {
  (void)context;
  while (count > 0) task(argument, --count);
}

// Makes the out arguments that the test has not given.
static void add_outs(test_call* c) {
  etx_argument_cursor cursor = etx_argument_first(c->op->arguments);
  etx_argument argument;
  for (size_t i = 0; etx_argument_next(&cursor, &argument); ++i) {
    if (i < c->count || !argument.written) continue;
    new_tensor(c, next(c), ETX_DTYPE_FLOAT32, 0, NULL, NULL);
  }
  if (c->op->result == ETX_RESULT_SCALAR) next(c)->kind = ETX_VALUE_INT;
}

etx_status test_call_run(test_call* c, etx_dtype dtype) {
  const etx_parallel parallel = {.parallel_for = run_tasks,
                                 .thread_count = c->threads,
                                 .instruction_set = c->instruction_set};
  c->result_dtype = dtype;
  add_outs(c);
  for (size_t i = 0; i < c->count; ++i) c->arguments[i] = &c->values[i];
  c->call = (etx_call){.op = c->op,
                       .arguments = c->arguments,
                       .argument_count = c->count,
                       .parallel = &parallel,
                       .random = &c->random,
                       .diag = &c->diag};
  if (c->op->result != ETX_RESULT_SCALAR) {
    ETX_TRY(etx_call_size_outputs(&c->call, etx_op_written_arguments(c->op),
                                  size_output, c));
  }
  const etx_kernel* kernel = etx_kernel_find(&etx_all_kernels, c->op->id);
  size_t stated = 0;
  // As when a method is loaded: before anything is checked.
  if (kernel->temporary_bytes != NULL) {
    ETX_TRY(kernel->temporary_bytes(&c->call, &stated));
  }
  ETX_TRY(etx_kernel_prepare(kernel, &c->call));
  if (c->call.temporary_bytes > stated) return ETX_INTERNAL;
  c->call.temporary = take(c, c->call.temporary_bytes);
  const etx_status status = c->call.run(&c->call);
  etx_leave_wide_registers();
  return status;
}

const etx_tensor* test_call_result(const test_call* c, size_t index) {
  return &c->outputs[index]->as.tensor;
}

const etx_value* test_call_scalar(const test_call* c) {
  return &c->values[c->count - 1];
}
