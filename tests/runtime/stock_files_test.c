// Files of the stock exporter, run with all kernels. The expected results were
// computed by ExecuTorch's runtime (tests/data/pte).

#include "runtime/module/module.h"
#include "tests/support/assert_status.h"

static etx_diag diag;

static void open_file(etx_module* module, const char* name) {
  char path[512];
  etx_format_text(path, sizeof path, "%s/pte/%s", ETX_TEST_DATA, name);
  assert_ok(etx_module_open(module, path, NULL, &diag));
}

static const etx_tensor* output(etx_module* module) {
  const etx_value* value = NULL;
  assert_ok(etx_module_output(module, "forward", 0, &value, &diag));
  assert_int_equal(value->kind, ETX_VALUE_TENSOR);
  return &value->as.tensor;
}

static void a_number_is_added_to_a_tensor(void** state) {
  (void)state;
  etx_module module;
  open_file(&module, "arduino_AddModel.pte");
  float x[3] = {1, 2, 3};
  const int32_t sizes[1] = {3};
  const etx_value input = etx_module_tensor(x, ETX_DTYPE_FLOAT32, sizes, 1);
  assert_ok(etx_module_execute(&module, "forward", &input, 1, &diag));
  const float wanted[3] = {2, 3, 4};
  assert_memory_equal(output(&module)->data, wanted, sizeof wanted);
  etx_module_close(&module);
}

static void a_file_without_header_adds(void** state) {
  (void)state;
  etx_module module;
  open_file(&module, "apple_add.pte");
  float a[1] = {1};
  float b[1] = {2};
  const int32_t sizes[1] = {1};
  const etx_value inputs[2] = {
      etx_module_tensor(a, ETX_DTYPE_FLOAT32, sizes, 1),
      etx_module_tensor(b, ETX_DTYPE_FLOAT32, sizes, 1)};
  assert_ok(etx_module_execute(&module, "forward", inputs, 2, &diag));
  assert_true(*(const float*)output(&module)->data == 3);
  etx_module_close(&module);
}

static void constants_inside_the_program_are_read(void** state) {
  (void)state;
  etx_module module;
  open_file(&module, "deprecated_ModuleLinear-no-constant-segment.pte");
  float x[4] = {1, 2, 3, 4};
  const int32_t sizes[2] = {2, 2};
  const etx_value input = etx_module_tensor(x, ETX_DTYPE_FLOAT32, sizes, 2);
  const float wanted[4] = {5, 8, 11, 14};
  // The output has the memory of the input, so each run copies the input again.
  for (int i = 0; i < 2; ++i) {
    assert_ok(etx_module_execute(&module, "forward", &input, 1, &diag));
    assert_memory_equal(output(&module)->data, wanted, sizeof wanted);
  }
  etx_module_close(&module);
}

static void the_program_of_a_bundle_multiplies_integers(void** state) {
  (void)state;
  etx_module module;
  open_file(&module, "bundled_add_mul.pte");
  int32_t a[4] = {0, 1, 2, 3};
  int32_t b[4] = {0, 0, 5, -1};
  const int32_t sizes[2] = {2, 2};
  const etx_value inputs[2] = {etx_module_tensor(a, ETX_DTYPE_INT32, sizes, 2),
                               etx_module_tensor(b, ETX_DTYPE_INT32, sizes, 2)};
  assert_ok(etx_module_execute(&module, "forward", inputs, 2, &diag));
  const int32_t wanted[4] = {2, 5, 13, 10};
  assert_memory_equal(output(&module)->data, wanted, sizeof wanted);
  etx_module_close(&module);
}

typedef struct missing_in_stock {
  size_t count;
  char names[16][64];
} missing_in_stock;

static void note(void* context, etx_text name, etx_text overload,
                 size_t instruction) {
  missing_in_stock* list = context;
  (void)instruction;
  etx_format_text(list->names[list->count++], 64, "%t.%t", name, overload);
}

static bool lists(const missing_in_stock* list, const char* name) {
  for (size_t i = 0; i < list->count; ++i) {
    if (strcmp(list->names[i], name) == 0) return true;
  }
  return false;
}

static void all_unknown_operators_are_reported(void** state) {
  (void)state;
  static const char* const missing[] = {
      "cortex_m::quantize_per_tensor.out",
      "cortex_m::quantized_depthwise_conv2d.out",
      "cortex_m::quantized_conv2d.out",
      "cortex_m::pad.out",
      "cortex_m::quantized_avg_pool2d.out",
      "cortex_m::quantized_linear.out",
      "cortex_m::dequantize_per_tensor.out"};
  etx_module module;
  missing_in_stock list = {0};
  const etx_missing_sink sink = {note, &list, NULL};
  open_file(&module, "arduino_KeywordSpotting.pte");
  assert_refused(
      etx_module_load_method_telling(&module, "forward", NULL, &sink, &diag),
      ETX_MISSING_OPERATOR, "of method 'forward' is missing");
  assert_int_equal(list.count, sizeof missing / sizeof missing[0]);
  for (size_t i = 0; i < list.count; ++i) {
    assert_true(lists(&list, missing[i]));
  }
  // It is refused each time.
  assert_status(etx_module_execute(&module, "forward", NULL, 0, &diag),
                ETX_MISSING_OPERATOR);
  etx_module_close(&module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_number_is_added_to_a_tensor),
      cmocka_unit_test(a_file_without_header_adds),
      cmocka_unit_test(constants_inside_the_program_are_read),
      cmocka_unit_test(the_program_of_a_bundle_multiplies_integers),
      cmocka_unit_test(all_unknown_operators_are_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
