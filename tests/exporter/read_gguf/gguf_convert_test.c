// Tests of tensors as constants of a graph: order of elements and limits of
// dtypes. tests/data/gguf has the values of all types.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "exporter/read_gguf/gguf_convert.h"
#include "tests/exporter/pool_and_diag.h"

enum { F32 = 0, Q8_0 = 8 };

// A tensor [rows, inner] over floats; [inner] if `rows` is 0.
static etx_gguf_tensor tensor_of(const float* floats, int64_t rows,
                                 int64_t inner) {
  etx_gguf_tensor tensor = {.name = etx_text_of("t"),
                            .type = etx_gguf_type_find(F32),
                            .rank = rows == 0 ? 1 : 2,
                            .sizes = {rows, inner}};
  if (rows == 0) tensor.sizes[0] = inner;
  const size_t count = (size_t)(rows == 0 ? inner : rows * inner);
  tensor.data = (etx_bytes){(const uint8_t*)floats, count * sizeof *floats};
  return tensor;
}

static etx_status convert(const etx_gguf_tensor* tensor, etx_gguf_change change,
                          uint64_t heads, etx_dtype dtype, etx_ir_constant* out,
                          bool* rounded) {
  const etx_gguf_conversion from = {tensor, change, heads};
  *out = (etx_ir_constant){.dtype = dtype};
  out->rank = etx_gguf_convert_sizes(&from, out->sizes);
  return etx_gguf_convert(&pool, &from, out, rounded, &diag);
}

static void rows_of_each_head_are_put_back(void** state) {
  // Two heads of four rows: first numbers of pairs at 0 and 2.
  static const float rows[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  static const float wanted[8] = {0, 2, 1, 3, 4, 6, 5, 7};
  (void)state;
  etx_ir_constant out;
  bool rounded = false;
  const etx_gguf_tensor matrix = tensor_of(rows, 8, 1);
  const etx_gguf_tensor bias = tensor_of(rows, 0, 8);
  assert_int_equal(
      convert(&matrix, ETX_GGUF_PAIRS, 2, ETX_DTYPE_FLOAT32, &out, &rounded),
      ETX_OK);
  assert_memory_equal(out.data.data, wanted, sizeof wanted);
  assert_int_equal(
      convert(&bias, ETX_GGUF_PAIRS, 2, ETX_DTYPE_FLOAT32, &out, &rounded),
      ETX_OK);
  assert_memory_equal(out.data.data, wanted, sizeof wanted);
  assert_int_equal(
      convert(&matrix, ETX_GGUF_PAIRS, 3, ETX_DTYPE_FLOAT32, &out, &rounded),
      ETX_BAD_FILE);
  assert_string_equal(
      diag.text,
      "tensor 't' has 8 rows, expected a multiple of 6: pairs of "
      "rows for each of 3 heads");
}

static void matrices_are_transposed_and_vectors_not(void** state) {
  static const float numbers[6] = {1, 2, 3, 4, 5, 6};
  static const double wanted[6] = {1, 4, 2, 5, 3, 6};
  (void)state;
  etx_ir_constant out;
  bool rounded = true;
  const etx_gguf_tensor matrix = tensor_of(numbers, 2, 3);
  const etx_gguf_tensor vector = tensor_of(numbers, 0, 6);
  assert_int_equal(convert(&matrix, ETX_GGUF_TRANSPOSE, 1, ETX_DTYPE_FLOAT64,
                           &out, &rounded),
                   ETX_OK);
  assert_false(rounded);
  assert_int_equal(out.sizes[0], 3);
  assert_int_equal(out.sizes[1], 2);
  assert_memory_equal(out.data.data, wanted, sizeof wanted);
  assert_int_equal(convert(&vector, ETX_GGUF_TRANSPOSE, 1, ETX_DTYPE_FLOAT32,
                           &out, &rounded),
                   ETX_OK);
  assert_memory_equal(out.data.data, numbers, sizeof numbers);
}

static void numbers_too_large_for_halves_are_refused(void** state) {
  (void)state;
  etx_ir_constant out;
  bool rounded = true;
  const float fits[4] = {65504, -65519, INFINITY, -65504};
  const float large[1] = {65520};
  const float largest[1] = {3.4e38f};
  const etx_gguf_tensor a = tensor_of(fits, 0, 4);
  const etx_gguf_tensor b = tensor_of(large, 0, 1);
  const etx_gguf_tensor c = tensor_of(largest, 0, 1);
  static const uint16_t wanted[4] = {0x7BFF, 0xFBFF, 0x7C00, 0xFBFF};
  assert_int_equal(
      convert(&a, ETX_GGUF_NONE, 1, ETX_DTYPE_FLOAT16, &out, &rounded), ETX_OK);
  assert_memory_equal(out.data.data, wanted, sizeof wanted);
  assert_true(rounded);
  assert_int_equal(
      convert(&b, ETX_GGUF_NONE, 1, ETX_DTYPE_FLOAT16, &out, &rounded),
      ETX_OUT_OF_RANGE);
  assert_string_equal(diag.text,
                      "tensor 't' has numbers too large for float16, the type "
                      "in the graph");
  assert_int_equal(
      convert(&c, ETX_GGUF_NONE, 1, ETX_DTYPE_BFLOAT16, &out, &rounded),
      ETX_OUT_OF_RANGE);
}

static void nan_stays_nan(void** state) {
  (void)state;
  etx_ir_constant out;
  bool rounded = true;
  const uint32_t bits = 0x7F800001u;  // its upper half alone is infinity
  float number;
  memcpy(&number, &bits, sizeof number);
  const etx_gguf_tensor tensor = tensor_of(&number, 0, 1);
  assert_int_equal(
      convert(&tensor, ETX_GGUF_NONE, 1, ETX_DTYPE_BFLOAT16, &out, &rounded),
      ETX_OK);
  assert_true((out.data.data[0] & 0x7F) != 0);
  assert_false(rounded);
  assert_int_equal(
      convert(&tensor, ETX_GGUF_NONE, 1, ETX_DTYPE_FLOAT16, &out, &rounded),
      ETX_OK);
  assert_true((out.data.data[1] & 0x7F) == 0x7E);
}

static void tensors_without_elements_are_empty(void** state) {
  (void)state;
  etx_ir_constant out;
  bool rounded = true;
  etx_gguf_tensor tensor = tensor_of(NULL, 0, 0);
  tensor.type = etx_gguf_type_find(Q8_0);
  tensor.rank = 2;
  tensor.sizes[0] = INT64_MAX;
  tensor.sizes[1] = 0;
  assert_int_equal(
      convert(&tensor, ETX_GGUF_NONE, 1, ETX_DTYPE_FLOAT32, &out, &rounded),
      ETX_OK);
  assert_int_equal(out.data.size, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(rows_of_each_head_are_put_back),
      TEST(matrices_are_transposed_and_vectors_not),
      TEST(numbers_too_large_for_halves_are_refused),
      TEST(nan_stays_nan),
      TEST(tensors_without_elements_are_empty),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
