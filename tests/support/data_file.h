// Data files (.ptd) built in memory for tests, valid or with one error.
//
//   const test_datum data[] = {{"w", ETX_DTYPE_FLOAT32, SIZES(2), w, sizeof
//   w}}; etx_bytes file = test_data_file(&block, data, 1);

#ifndef ETX_TESTS_SUPPORT_DATA_FILE_H
#define ETX_TESTS_SUPPORT_DATA_FILE_H

#include "tests/support/test_program.h"

typedef struct test_datum {
  const char* key;
  etx_dtype dtype;
  test_sizes sizes;
  const void* data;
  size_t bytes;
  bool has_no_layout;        // named bytes without a tensor layout
  const uint8_t* dim_order;  // rank entries; NULL: default
} test_datum;

enum { TEST_DATA_FILE_BYTES = 8192, TEST_DATA_ALIGNMENT = 128 };

typedef struct test_data_block {
  _Alignas(16) uint8_t bytes[TEST_DATA_FILE_BYTES];
} test_data_block;

// Writes the file into `block`: one segment for each datum, at a multiple of
// 128. A mistake in the test, such as too many bytes, aborts it.
etx_bytes_mut test_data_file(test_data_block* block, const test_datum* data,
                             size_t count);

#endif
