// Runs a case of the test vectors as a call of a kernel. Every value has memory
// of exactly its size, so that AddressSanitizer finds an access beyond it. The
// shape rule sizes the outputs first, as in the runtime.

#ifndef ETX_TESTS_OPS_VECTOR_CALL_H
#define ETX_TESTS_OPS_VECTOR_CALL_H

#include "runtime/kernel.h"
#include "tests/ops/vector_file.h"

enum { VECTOR_LIST_MOST = 128 };

// The layout of argument tensors.
typedef enum vector_layout {
  VECTOR_AS_STATED,  // the dimension order and strides of the case
  VECTOR_DENSE,      // row-major
} vector_layout;

typedef struct vector_call {
  const etx_op* op;
  size_t count;  // arguments of the schema, and the slot of a scalar result
  etx_value values[ETX_MAX_ARGUMENTS + 1];
  const etx_value* arguments[ETX_MAX_ARGUMENTS + 1];
  bool is_written[ETX_MAX_ARGUMENTS + 1];
  bool is_unstated[ETX_MAX_ARGUMENTS + 1];  // an output without expected sizes
  // Outputs in the order of the shape rule: out arguments, items of an out
  // list, or the changed first argument.
  etx_value* outputs[VECTOR_LIST_MOST];
  size_t output_count;
  bool expects_error;
  bool dtype_differs;      // the shape rule gives another dtype than the case
  bool is_strided;         // some tensor is not row-major
  bool is_prepared_twice;  // by vector_call_run, as for new sizes
  etx_random_stream random;
  etx_call call;
  etx_diag diag;
  void** blocks;  // everything allocated, freed by vector_call_end
  size_t block_count, block_room;
} vector_call;

// Builds the values of a case. Returns NULL, or why this case cannot be built.
const char* vector_call_build(vector_call* c, const vector_file* file,
                              json_t* test_case, vector_layout layout);

// Sizes the outputs by the shape rule. Unless `expects_error`, it fails if
// these sizes differ from the expected ones.
etx_status vector_call_size(vector_call* c, bool expects_error);

// Prepares and runs the kernel.
etx_status vector_call_run(vector_call* c);

void vector_call_end(vector_call* c);

// Allocates zeroed memory of exactly this size, which vector_call_end frees.
void* vector_call_take(vector_call* c, size_t bytes);

// Makes `value` a dense tensor of zeros with dimension order `order` (NULL:
// row-major).
void vector_tensor_make(vector_call* c, etx_value* value, etx_dtype dtype,
                        const int32_t* sizes, size_t rank,
                        const uint8_t* order);

// The tensor at place `index` among the arguments and the items of lists; NULL
// behind the last one.
etx_tensor* vector_tensor_at(vector_call* c, size_t index);

#endif
