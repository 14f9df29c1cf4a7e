#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/tensors/npy.h"

#include <string.h>

#include "cli/tensors/tensor_literal.h"

static etx_pool pool;

static int open_pool(void** state) {
  (void)state;
  etx_pool_init(&pool);
  return 0;
}

static int close_pool(void** state) {
  (void)state;
  etx_pool_close(&pool);
  return 0;
}

typedef struct buffer {
  uint8_t bytes[4096];
  size_t size;
} buffer;

static etx_status append(void* context, etx_bytes bytes) {
  buffer* const out = context;
  if (bytes.size > sizeof out->bytes - out->size) return ETX_HOST_FAILED;
  memcpy(out->bytes + out->size, bytes.data, bytes.size);
  out->size += bytes.size;
  return ETX_OK;
}

static buffer written(const char* text, etx_dtype dtype) {
  buffer out = {.size = 0};
  const etx_sink sink = {append, &out};
  etx_host_tensor tensor;
  assert_int_equal(
      etx_tensor_literal_read(etx_text_of(text), dtype, &pool, &tensor, NULL),
      ETX_OK);
  assert_int_equal(etx_npy_write(&tensor, &sink, NULL), ETX_OK);
  return out;
}

static etx_status read_back(const buffer* in, size_t size,
                            etx_host_tensor* out) {
  const etx_bytes bytes = {in->bytes, size};
  return etx_npy_read(bytes, &pool, out, NULL);
}

static void the_header_equals_that_of_numpy(void** state) {
  (void)state;
  const buffer out = written("[[1, 2, 3], [4, 5, 6]]", ETX_DTYPE_FLOAT32);
  static const char head[] =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  assert_memory_equal(out.bytes, "\x93NUMPY\x01\x00", 8);
  assert_memory_equal(out.bytes + 10, head, sizeof head - 1);
  assert_int_equal(out.size, 128 + 6 * 4);
  assert_int_equal(out.bytes[127], '\n');
}

static void written_arrays_are_read_back(void** state) {
  (void)state;
  static const struct {
    const char* text;
    etx_dtype dtype;
  } cases[] = {
      {"7", ETX_DTYPE_INT64},       {"[1.5]", ETX_DTYPE_FLOAT64},
      {"[]", ETX_DTYPE_FLOAT32},    {"[[true], [false]]", ETX_DTYPE_BOOL},
      {"[1, 2]", ETX_DTYPE_UINT8},  {"[-1]", ETX_DTYPE_INT8},
      {"[0.5]", ETX_DTYPE_FLOAT16}, {"[[[1]]]", ETX_DTYPE_INT32},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const buffer out = written(cases[i].text, cases[i].dtype);
    etx_host_tensor expected;
    etx_host_tensor found;
    assert_int_equal(
        etx_tensor_literal_read(etx_text_of(cases[i].text), cases[i].dtype,
                                &pool, &expected, NULL),
        ETX_OK);
    assert_int_equal(read_back(&out, out.size, &found), ETX_OK);
    assert_int_equal(found.dtype, expected.dtype);
    assert_int_equal(found.rank, expected.rank);
    assert_int_equal(found.bytes, expected.bytes);
    assert_memory_equal(found.sizes, expected.sizes,
                        expected.rank * sizeof *expected.sizes);
    assert_memory_equal(found.data, expected.data, expected.bytes);
  }
}

static void every_truncation_is_refused(void** state) {
  (void)state;
  const buffer out = written("[1, 2, 3]", ETX_DTYPE_FLOAT32);
  for (size_t size = 0; size < out.size; ++size) {
    etx_host_tensor found;
    assert_int_equal(read_back(&out, size, &found), ETX_BAD_FILE);
  }
}

static void a_file_with_more_data_than_its_shape_is_refused(void** state) {
  (void)state;
  buffer out = written("[1, 2, 3]", ETX_DTYPE_FLOAT32);
  etx_host_tensor found;
  assert_int_equal(read_back(&out, out.size + 4, &found), ETX_BAD_FILE);
}

static void damaged_headers_are_refused_or_read(void** state) {
  (void)state;
  const buffer out = written("[[1, 2], [3, 4]]", ETX_DTYPE_FLOAT32);
  // Every byte of the header with every value: an error or a tensor of the
  // file's own bytes, never more (the sanitizers watch).
  for (size_t at = 0; at < 128; ++at) {
    for (int value = 0; value < 256; ++value) {
      buffer damaged = out;
      etx_host_tensor found;
      damaged.bytes[at] = (uint8_t)value;
      if (read_back(&damaged, damaged.size, &found) == ETX_OK) {
        assert_true(found.bytes <= 16);
      }
    }
    etx_pool_close(&pool);
  }
}

static void fortran_order_is_refused_with_its_reason(void** state) {
  (void)state;
  buffer out = written("[[1, 2], [3, 4]]", ETX_DTYPE_FLOAT32);
  char* const at = strstr((char*)out.bytes + 10, "False");
  etx_host_tensor found;
  etx_diag diag;
  etx_diag_init(&diag);
  assert_non_null(at);
  memcpy(at, "True ", 5);
  const etx_bytes bytes = {out.bytes, out.size};
  assert_int_equal(etx_npy_read(bytes, &pool, &found, &diag), ETX_UNSUPPORTED);
  assert_non_null(strstr(diag.text, "Fortran"));
}

static void types_that_numpy_lacks_are_refused(void** state) {
  (void)state;
  buffer out = {.size = 0};
  const etx_sink sink = {append, &out};
  const etx_host_tensor tensor = {.dtype = ETX_DTYPE_BFLOAT16};
  assert_int_equal(etx_npy_write(&tensor, &sink, NULL), ETX_UNSUPPORTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_header_equals_that_of_numpy),
      cmocka_unit_test(written_arrays_are_read_back),
      cmocka_unit_test(every_truncation_is_refused),
      cmocka_unit_test(a_file_with_more_data_than_its_shape_is_refused),
      cmocka_unit_test(damaged_headers_are_refused_or_read),
      cmocka_unit_test(fortran_order_is_refused_with_its_reason),
      cmocka_unit_test(types_that_numpy_lacks_are_refused),
  };
  return cmocka_run_group_tests(tests, open_pool, close_pool);
}
