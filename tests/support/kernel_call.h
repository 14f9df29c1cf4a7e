// Calls a kernel by the name of its operator:
//
//   test_call c;
//   test_call_begin(&c, "aten::add.out");
//   test_call_floats(&c, 2, (int32_t[]){2, 3}, values);
//   test_call_floats(&c, 1, (int32_t[]){3}, more);
//   test_call_integer(&c, 1);
//   assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
//   ... test_call_result(&c, 0)->data ...
//   test_call_end(&c);
//
// Each tensor has a block of exactly its size. test_call_run makes the out
// tensors, with the sizes that the operator's shape rule finds.

#ifndef ETX_TESTS_SUPPORT_KERNEL_CALL_H
#define ETX_TESTS_SUPPORT_KERNEL_CALL_H

#include "runtime/kernel.h"

typedef struct test_call {
  const etx_op* op;
  etx_value values[ETX_MAX_ARGUMENTS + 1];
  const etx_value* arguments[ETX_MAX_ARGUMENTS + 1];
  size_t count;
  etx_value* outputs[8];
  size_t output_count;
  etx_dtype result_dtype;
  etx_call call;
  etx_random_stream random;
  etx_diag diag;
  size_t threads;  // that the call may use; 1 unless a test sets it
  etx_instruction_set instruction_set;  // the widest it may use; any
  void* blocks[64];
  size_t block_count;
} test_call;

// `name` is the operator with its overload; it must have a row.
void test_call_begin(test_call* c, const char* name);
void test_call_end(test_call* c);

// The next argument. A tensor's elements are copied; `strides` NULL: dense.
etx_tensor* test_call_tensor(test_call* c, etx_dtype dtype, size_t rank,
                             const int32_t* sizes, const int32_t* strides,
                             const void* elements);
etx_tensor* test_call_floats(test_call* c, size_t rank, const int32_t* sizes,
                             const float* elements);
void test_call_integer(test_call* c, int64_t integer);
void test_call_real(test_call* c, double real);
void test_call_boolean(test_call* c, bool boolean);
void test_call_string(test_call* c, const char* string);
void test_call_none(test_call* c);
void test_call_integers(test_call* c, size_t count, const int64_t* integers);
void test_call_reals(test_call* c, size_t count, const double* reals);
// The last `count` arguments, which are tensors or None, become one list.
void test_call_gather_list(test_call* c, size_t count);

// For test_call_run: the out tensors have the types that the shape rule finds.
#define TEST_CALL_RULE_DTYPE ETX_DTYPE_COUNT

// Makes the out tensors with the sizes that the shape rule finds and with type
// `dtype`, prepares and runs.
etx_status test_call_run(test_call* c, etx_dtype dtype);

const etx_tensor* test_call_result(const test_call* c, size_t index);
// The slot of a scalar operator.
const etx_value* test_call_scalar(const test_call* c);

#endif
