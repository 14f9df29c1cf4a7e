// Loads methods of an open program into memory of exactly the stated sizes,
// each block before an inaccessible page.

#ifndef ETX_TESTS_SUPPORT_LOADED_METHOD_H
#define ETX_TESTS_SUPPORT_LOADED_METHOD_H

#include "runtime/method.h"
#include "tests/support/guarded_memory.h"

typedef struct test_loaded {
  etx_method method;
  test_block structures;
  test_block scratch;
  test_block temporary;
} test_loaded;

// Loads with the statuses of etx_method_needed and etx_method_init. After a
// failure nothing has to be ended.
etx_status test_load(test_loaded* loaded, const etx_program* program,
                     const char* name, const etx_planned_memory* state,
                     etx_diag* diag);
// Frees the memory. False if bytes behind a block were written.
bool test_unload(test_loaded* loaded);

// A contiguous tensor over the caller's data.
etx_tensor test_tensor(void* data, etx_dtype dtype, uint8_t rank,
                       const int32_t* sizes);
#define TEST_TENSOR(data, dtype, ...)                                        \
  test_tensor(data, dtype,                                                   \
              (uint8_t)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), \
              (int32_t[]){__VA_ARGS__})

// The tensor of an output; its data is what a test looks at.
const etx_tensor* test_output_tensor(const etx_method* method, size_t index);

#endif
