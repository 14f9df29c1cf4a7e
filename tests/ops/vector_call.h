// A case of the vectors as a call of a kernel: values in memory of exactly
// their size (so that the address sanitizer sees one byte too many), the shape
// rule asked first, as the runtime does.

#ifndef ETX_TESTS_OPS_VECTOR_CALL_H
#define ETX_TESTS_OPS_VECTOR_CALL_H

#include "runtime/kernel.h"
#include "tests/ops/vector_file.h"

enum { VECTOR_LIST_MOST = 128 };

// How the argument tensors lie.
typedef enum vector_layout {
  VECTOR_AS_STATED,  // in the order and with the strides of the case
  VECTOR_DENSE,      // all in default order
} vector_layout;

typedef struct vector_call {
  const etx_op* op;
  size_t count;  // schema arguments, and the slot of a scalar result
  etx_value values[ETX_MAX_ARGUMENTS + 1];
  const etx_value* arguments[ETX_MAX_ARGUMENTS + 1];
  bool is_written[ETX_MAX_ARGUMENTS + 1];
  bool is_unstated[ETX_MAX_ARGUMENTS + 1];  // an out that the rule must size
  // Outputs in the order of the shape rule: out arguments, items of an out
  // list, or the changed first argument.
  etx_value* outputs[VECTOR_LIST_MOST];
  size_t output_count;
  bool expects_error;
  bool dtype_differs;  // the rule names another type than the case
  bool is_strided;     // some tensor does not lie densely
  etx_random_stream random;
  etx_call call;
  etx_diag diag;
  void** blocks;  // everything allocated, freed by vector_call_end
  size_t block_count, block_room;
} vector_call;

// Builds the values of a case. NULL, or why this case cannot be built.
const char* vector_call_build(vector_call* c, const vector_file* file,
                              json_t* one, vector_layout layout);

// Asks the shape rule and sizes the outputs; refuses a result that the case
// does not expect (unless `expects_error`).
etx_status vector_call_size(vector_call* c, bool expects_error);

// Prepares and runs the kernel.
etx_status vector_call_run(vector_call* c);

void vector_call_end(vector_call* c);

// For those who change a call: memory of exactly this size, zeros, until
// vector_call_end.
void* vector_call_take(vector_call* c, size_t bytes);

// Makes `value` a tensor of zeros that lies densely in `order` (NULL: default).
void vector_tensor_make(vector_call* c, etx_value* value, etx_dtype dtype,
                        const int32_t* sizes, size_t rank,
                        const uint8_t* order);

#endif
