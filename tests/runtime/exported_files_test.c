// Programs of the stock exporter against the results of ExecuTorch's runtime
// (tests/data/exported), call by call.

#include <stdio.h>

#include "runtime/module/module.h"
#include "tests/support/assert_status.h"
#include "tests/support/optional_parts.h"

static etx_diag diag;

enum { MAX_ELEMENTS = 256 };

typedef struct exported_fixture {
  etx_module module;
  etx_module_shared shared;
  FILE* expected;
} exported_fixture;

static void start_with(exported_fixture* f, const char* name,
                       const etx_module_options* options) {
  char path[512];
  etx_format_text(path, sizeof path, "%s/exported/%s.pte", ETX_TEST_DATA, name);
  assert_ok(etx_module_open(&f->module, path, options, &diag));
  assert_ok(etx_module_shared_open(&f->shared, &f->module, &diag));
  etx_format_text(path, sizeof path, "%s/exported/%s.expected", ETX_TEST_DATA,
                  name);
  f->expected = fopen(path, "rb");
  assert_non_null(f->expected);
}

static void start(exported_fixture* f, const char* name) {
  start_with(f, name, NULL);
}

// Checks that all results of ExecuTorch's runtime were compared.
static void end(exported_fixture* f) {
  assert_int_equal(fgetc(f->expected), EOF);
  fclose(f->expected);
  etx_module_shared_close(&f->shared);
  etx_module_close(&f->module);
}

static void read_expected(exported_fixture* f, void* out, size_t bytes) {
  if (bytes > 0) assert_int_equal(fread(out, 1, bytes, f->expected), bytes);
}

// Sums of products may be added in another order.
static void assert_near(float found, float wanted) {
  const float difference = found > wanted ? found - wanted : wanted - found;
  const float size = wanted < 0 ? -wanted : wanted;
  if (difference > 1e-6f + 1e-6f * size) {
    fail_msg("%g, expected %g", (double)found, (double)wanted);
  }
}

// Element number `index` in row-major order, whatever the strides are.
static float element(const etx_tensor* tensor, size_t index) {
  size_t at = 0;
  for (size_t i = tensor->rank; i-- > 0;) {
    const size_t size = (size_t)tensor->sizes[i];
    at += index % size * (size_t)tensor->strides[i];
    index /= size;
  }
  return ((const float*)tensor->data)[at];
}

static void compare_output(exported_fixture* f, const etx_value* value) {
  int32_t rank = 0;
  int32_t size = 0;
  float wanted[MAX_ELEMENTS];
  assert_int_equal(value->kind, ETX_VALUE_TENSOR);
  const etx_tensor* tensor = &value->as.tensor;
  read_expected(f, &rank, sizeof rank);
  assert_int_equal(tensor->rank, rank);
  for (int32_t i = 0; i < rank; ++i) {
    read_expected(f, &size, sizeof size);
    assert_int_equal(tensor->sizes[i], size);
  }
  const size_t count = etx_tensor_numel(tensor);
  assert_true(count <= MAX_ELEMENTS);
  read_expected(f, wanted, count * sizeof(float));
  for (size_t i = 0; i < count; ++i) {
    assert_near(element(tensor, i), wanted[i]);
  }
}

static void call(exported_fixture* f, const char* method,
                 const etx_value* inputs, size_t count) {
  etx_planned_memory allocator;
  const etx_value* value = NULL;
  assert_ok(etx_module_shared_allocator(&f->shared, method, &allocator, &diag));
  assert_ok(etx_module_load_method(&f->module, method, &allocator, &diag));
  assert_ok(etx_module_execute(&f->module, method, inputs, count, &diag));
  const size_t outputs = etx_module_method(&f->module, method)->output_count;
  for (size_t i = 0; i < outputs; ++i) {
    assert_ok(etx_module_output(&f->module, method, i, &value, &diag));
    compare_output(f, value);
  }
}

// The same numbers as make.py's ramp: i / 8 - 1.
static etx_value ramp(float data[MAX_ELEMENTS], const int32_t* sizes,
                      uint8_t rank) {
  for (int i = 0; i < MAX_ELEMENTS; ++i) data[i] = (float)i / 8 - 1;
  return etx_module_tensor(data, ETX_DTYPE_FLOAT32, sizes, rank);
}

static void call_with_three(exported_fixture* f, const char* method) {
  static const int32_t sizes[1] = {3};
  float data[MAX_ELEMENTS];
  const etx_value x = ramp(data, sizes, 1);
  call(f, method, &x, 1);
}

static void a_buffer_in_arena_1_keeps_its_content(void** state) {
  (void)state;
  exported_fixture f;
  start(&f, "private_state");
  for (int i = 0; i < 3; ++i) call_with_three(&f, "forward");
  end(&f);
}

static void a_named_buffer_is_shared(void** state) {
  (void)state;
  exported_fixture f;
  start(&f, "shared_state");
  for (int i = 0; i < 2; ++i) {
    call_with_three(&f, "add");
    call_with_three(&f, "get");
  }
  etx_tensor tensor;
  etx_state_hold hold;
  assert_ok(etx_shared_memory_find(&f.shared.memory, etx_text_of("count"),
                                   &tensor, &hold, &diag));
  assert_int_equal(tensor.sizes[0], 3);
  assert_near(((const float*)tensor.data)[0], -2);
  end(&f);
}

static void call_with_rows(exported_fixture* f) {
  static const int32_t rows[] = {3, 10, 1, 5};
  float data[MAX_ELEMENTS];
  for (size_t i = 0; i < 4; ++i) {
    const int32_t sizes[2] = {rows[i], 4};
    const etx_value x = ramp(data, sizes, 2);
    call(f, "forward", &x, 1);
  }
}

static void a_batch_may_vary(void** state) {
  (void)state;
  exported_fixture f;
  start(&f, "dynamic_layers");
  call_with_rows(&f);
  end(&f);
}

static void sizes_may_be_computed(void** state) {
  (void)state;
  exported_fixture f;
  start(&f, "dynamic_sizes");
  call_with_rows(&f);
  end(&f);
}

static void a_branch_is_taken(void** state) {
  (void)state;
  exported_fixture f;
  static const int32_t three[1] = {3};
  float data[MAX_ELEMENTS];
  start(&f, "branch");
  for (uint8_t flag = 3; flag-- > 0;) {
    uint8_t is_true = flag != 1;
    const etx_value inputs[2] = {
        etx_module_tensor(&is_true, ETX_DTYPE_BOOL, NULL, 0),
        ramp(data, three, 1)};
    call(&f, "forward", inputs, 2);
  }
  end(&f);
}

static void a_loop_starts_at_zero_in_each_call(void** state) {
  (void)state;
  exported_fixture f;
  static const int32_t rows[2] = {4, 3};
  static const int32_t three[1] = {3};
  float xs[MAX_ELEMENTS];
  float y[MAX_ELEMENTS];
  const etx_value inputs[2] = {ramp(xs, rows, 2), ramp(y, three, 1)};
  start(&f, "loop");
  for (int i = 0; i < 2; ++i) call(&f, "forward", inputs, 2);
  end(&f);
}

static void a_mutable_input_changes_the_callers_data(void** state) {
  (void)state;
  exported_fixture f;
  static const int32_t three[1] = {3};
  float y[MAX_ELEMENTS];
  start(&f, "mutable_input");
  for (int i = 0; i < 2; ++i) {
    float x[MAX_ELEMENTS];
    const etx_value inputs[2] = {ramp(x, three, 1), ramp(y, three, 1)};
    call(&f, "forward", inputs, 2);
    assert_near(x[1], 2 * y[1]);
  }
  end(&f);
}

static void outputs_without_planned_memory_are_placed(void** state) {
  (void)state;
  exported_fixture f;
  start(&f, "unplanned");
  for (int i = 0; i < 2; ++i) call_with_three(&f, "forward");
  end(&f);
}

static void a_size_may_be_read_from_a_tensor(void** state) {
  (void)state;
  exported_fixture f;
  static const int32_t sizes[2] = {5, 2};
  static const int64_t counts[3] = {3, 5, 0};
  float x[MAX_ELEMENTS];
  start(&f, "item");
  for (size_t i = 0; i < 3; ++i) {
    int64_t count = counts[i];
    const etx_value inputs[2] = {
        ramp(x, sizes, 2), etx_module_tensor(&count, ETX_DTYPE_INT64, NULL, 0)};
    call(&f, "forward", inputs, 2);
  }
  end(&f);
}

static etx_status run_selected(exported_fixture* f, float* x,
                               int64_t* repeats) {
  static const int32_t sizes[2] = {3, 4};
  static const int32_t three[1] = {3};
  const etx_value inputs[2] = {
      etx_module_tensor(x, ETX_DTYPE_FLOAT32, sizes, 2),
      etx_module_tensor(repeats, ETX_DTYPE_INT64, three, 1)};
  return etx_module_execute(&f->module, "forward", inputs, 2, &diag);
}

static void a_size_may_depend_on_elements(void** state) {
  (void)state;
  exported_fixture f;
  static const int32_t sizes[2] = {3, 4};
  static const int32_t three[1] = {3};
  static const float shifts[3] = {0, 9, -9};
  int64_t repeats[3] = {2, 0, 3};
  start(&f, "selected");
  for (size_t i = 0; i < 3; ++i) {
    float x[MAX_ELEMENTS];
    const etx_value inputs[2] = {
        ramp(x, sizes, 2),
        etx_module_tensor(repeats, ETX_DTYPE_INT64, three, 1)};
    for (size_t k = 0; k < 12; ++k) x[k] -= shifts[i];
    call(&f, "forward", inputs, 2);
  }
  end(&f);
}

// The file has memory for 8 rows. After the refusal, the next call works as
// before.
static void more_elements_than_the_stated_bound_are_refused(void** state) {
  (void)state;
  exported_fixture f;
  float x[MAX_ELEMENTS];
  int64_t fitting[3] = {2, 0, 3}, many[3] = {4, 4, 1}, negative[3] = {1, -1, 0};
  start(&f, "selected");
  etx_planned_memory allocator;
  const etx_value* value = NULL;
  assert_ok(
      etx_module_shared_allocator(&f.shared, "forward", &allocator, &diag));
  assert_ok(etx_module_load_method(&f.module, "forward", &allocator, &diag));
  static const int32_t sizes[2] = {3, 4};
  (void)ramp(x, sizes, 2);
  assert_refused(run_selected(&f, x, many), ETX_OUT_OF_RANGE,
                 "has room for 8 elements, found 9");
  assert_refused(run_selected(&f, x, negative), ETX_BAD_ARGUMENT,
                 "index 1 repeats -1 times");
  assert_ok(run_selected(&f, x, fitting));
  assert_ok(etx_module_output(&f.module, "forward", 3, &value, &diag));
  assert_int_equal(value->as.tensor.sizes[0], 5);
  while (fgetc(f.expected) != EOF) continue;
  end(&f);
}

// Gives the cache one token after the other. Values are twice the keys.
static void call_with_tokens(exported_fixture* f) {
  static const int32_t query[4] = {1, 1, 2, 4}, row[4] = {1, 1, 1, 4};
  float q[MAX_ELEMENTS], k[MAX_ELEMENTS], v[MAX_ELEMENTS];
  for (int64_t at = 0; at < 3; ++at) {
    int64_t start = at;
    const etx_value inputs[4] = {
        ramp(q, query, 4), ramp(k, row, 4), ramp(v, row, 4),
        etx_module_tensor(&start, ETX_DTYPE_INT64, NULL, 0)};
    for (size_t i = 0; i < MAX_ELEMENTS; ++i) v[i] *= 2;
    call(f, "forward", inputs, 4);
  }
}

static void an_operator_may_change_an_argument_and_have_an_out(void** state) {
  (void)state;
  exported_fixture f;
  start(&f, "update_cache");
  call_with_tokens(&f);
  end(&f);
}

static void an_operator_may_change_two_arguments(void** state) {
  (void)state;
  exported_fixture f;
  start(&f, "kv_cache");
  call_with_tokens(&f);
  end(&f);
}

static void weights_may_lie_in_another_file(void** state) {
  (void)state;
  static const char* const path = ETX_TEST_DATA "/exported/external.ptd";
  static const int32_t sizes[2] = {2, 4};
  const etx_module_options options = {.data_paths = &path,
                                      .data_path_count = 1};
  exported_fixture f;
  float data[MAX_ELEMENTS];
  start_with(&f, "external", &options);
  const etx_value x = ramp(data, sizes, 2);
  call(&f, "forward", &x, 1);
  end(&f);
}

// The stock program computes in channels-last order, and its output has that
// order.
static void an_input_may_be_channels_last(void** state) {
  (void)state;
  static const int32_t sizes[4] = {1, 2, 2, 3};
  static const int32_t strides[4] = {12, 1, 6, 2};
  exported_fixture f;
  float data[MAX_ELEMENTS];
  float turned[12];
  start(&f, "channels_last");
  (void)ramp(data, sizes, 4);
  for (size_t i = 0; i < 12; ++i) turned[i % 6 * 2 + i / 6] = data[i];
  etx_value x = etx_module_tensor(turned, ETX_DTYPE_FLOAT32, sizes, 4);
  x.as.tensor.strides = strides;
  call(&f, "forward", &x, 1);
  assert_near(turned[1], 2 * data[6]);
  end(&f);
}

static void a_wrong_data_file_is_named(void** state) {
  (void)state;
  static const char* const path = ETX_TEST_DATA "/exported/external.pte";
  const etx_module_options options = {.data_paths = &path,
                                      .data_path_count = 1};
  etx_module module;
  assert_refused(etx_module_open(&module, path, &options, &diag), ETX_BAD_FILE,
                 "external.pte')");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_buffer_in_arena_1_keeps_its_content),
      cmocka_unit_test(a_named_buffer_is_shared),
      unit_test_with(ETX_DYNAMIC, a_batch_may_vary),
      unit_test_with(ETX_DYNAMIC, sizes_may_be_computed),
      unit_test_with(ETX_CONTROL_FLOW, a_branch_is_taken),
      unit_test_with(ETX_CONTROL_FLOW, a_loop_starts_at_zero_in_each_call),
      cmocka_unit_test(a_mutable_input_changes_the_callers_data),
      unit_test_with(ETX_DYNAMIC, outputs_without_planned_memory_are_placed),
      unit_test_with(ETX_CONTROL_FLOW, a_size_may_be_read_from_a_tensor),
      unit_test_with(ETX_CONTROL_FLOW, a_size_may_depend_on_elements),
      unit_test_with(ETX_CONTROL_FLOW,
                     more_elements_than_the_stated_bound_are_refused),
      unit_test_with(ETX_CONTROL_FLOW,
                     an_operator_may_change_an_argument_and_have_an_out),
      unit_test_with(ETX_CONTROL_FLOW, an_operator_may_change_two_arguments),
      cmocka_unit_test(weights_may_lie_in_another_file),
      cmocka_unit_test(an_input_may_be_channels_last),
      cmocka_unit_test(a_wrong_data_file_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
