// Inputs: which ones a method accepts, and how their memory is used.

#include <math.h>

#include "tests/support/assert_status.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

typedef struct inputs_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
} inputs_fixture;

static void load(inputs_fixture* f, const char* name) {
  assert_ok(etx_program_open(&f->program, test_file(f->p), &test_few_kernels,
                             NULL, &diag));
  assert_ok(test_load(&f->loaded, &f->program, name, NULL, &diag));
}

static void end(inputs_fixture* f) {
  assert_true(test_unload(&f->loaded));
  test_program_end(f->p);
}

// y[s, 2] = x[s, 2] + z[2 * s + 1 of another input decides nothing but s].
static void start_dynamic(inputs_fixture* f) {
  test_program* p = f->p = test_program_new();
  test_blob(p);
  test_method(p, "add");
  test_arenas(p, 64, 0);
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(6, 2))),
      "x");
  const int z = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(13))), "z");
  const int y =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(6, 2), 0));
  const int alpha = test_int(p, 1);
  (void)z;
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, y, y));
  test_output(p, y, "y");
  const uint32_t s = test_symbol(p, "s", 2, 6);
  test_dim(p, 0, 0, s, 1, 0);
  test_dim(p, 1, 0, s, 2, 1);
  load(f, "add");
}

static void wrong_types_ranks_and_sizes_are_refused(void** state) {
  (void)state;
  inputs_fixture f;
  start_dynamic(&f);
  etx_method* m = &f.loaded.method;
  double data[32] = {0};
  etx_tensor t = TEST_TENSOR(data, ETX_DTYPE_FLOAT64, 3, 2);
  assert_refused(etx_method_set_input(m, 0, &t, &diag), ETX_BAD_ARGUMENT,
                 "input 'x' is float64, expected float32");
  t = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 6);
  assert_refused(etx_method_set_input(m, 0, &t, &diag), ETX_BAD_ARGUMENT,
                 "rank 1, expected 2");
  t = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 3, 3);
  assert_refused(etx_method_set_input(m, 0, &t, &diag), ETX_BAD_ARGUMENT,
                 "size 3 in dimension 1, expected 2");
  t = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, -3, 2);
  assert_refused(etx_method_set_input(m, 0, &t, &diag), ETX_BAD_ARGUMENT,
                 "size -3");
  t = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 7, 2);
  assert_refused(etx_method_set_input(m, 0, &t, &diag), ETX_OUT_OF_RANGE,
                 "makes 's' 7, its bounds are 2 and 6");
  t = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 1, 2);
  assert_refused(etx_method_set_input(m, 0, &t, &diag), ETX_OUT_OF_RANGE,
                 "makes 's' 1");
  t = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 8);
  assert_refused(etx_method_set_input(m, 1, &t, &diag), ETX_BAD_ARGUMENT,
                 "expected 2 times 's' plus 1");
  t = TEST_TENSOR(NULL, ETX_DTYPE_FLOAT32, 3, 2);
  assert_refused(etx_method_set_input(m, 0, &t, &diag), ETX_BAD_ARGUMENT,
                 "no data");
  t = TEST_TENSOR((uint8_t*)data + 2, ETX_DTYPE_FLOAT32, 3, 2);
  assert_refused(etx_method_set_input(m, 0, &t, &diag), ETX_BAD_ARGUMENT,
                 "not aligned");
  t = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 3, 2);
  const int32_t transposed[2] = {1, 3};
  t.strides = transposed;
  assert_refused(etx_method_set_input(m, 0, &t, &diag), ETX_BAD_ARGUMENT,
                 "stride");
  const int32_t apart[2] = {2, 5};
  t.strides = apart;
  assert_refused(etx_method_set_input(m, 0, &t, &diag), ETX_BAD_ARGUMENT,
                 "stride 5 in dimension 1, expected 1");
  assert_refused(etx_method_set_input(m, 5, &t, &diag), ETX_OUT_OF_RANGE,
                 "there is no input 5");
  end(&f);
}

static void inputs_must_agree_about_a_symbol(void** state) {
  (void)state;
  inputs_fixture f;
  start_dynamic(&f);
  etx_method* m = &f.loaded.method;
  float data[16] = {1, 2, 3, 4, 5, 6};
  etx_tensor x = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 3, 2);
  etx_tensor z = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 9);
  assert_refused(etx_method_run(m, &diag), ETX_BAD_STATE,
                 "input 'x' of method 'add' was never set");
  assert_ok(etx_method_set_input(m, 0, &x, &diag));
  assert_refused(etx_method_run(m, &diag), ETX_BAD_STATE, "'z'");
  assert_ok(etx_method_set_input(m, 1, &z, &diag));
  assert_refused(etx_method_run(m, &diag), ETX_BAD_ARGUMENT,
                 "input 'z' makes 's' 4, another input makes it 3");
  z = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 7);
  assert_ok(etx_method_set_input(m, 1, &z, &diag));
  assert_ok(etx_method_run(m, &diag));
  const etx_tensor* y = test_output_tensor(m, 0);
  assert_int_equal(y->sizes[0], 3);
  const float wanted[6] = {2, 4, 6, 8, 10, 12};
  assert_memory_equal(y->data, wanted, sizeof wanted);
  end(&f);
}

static void a_refused_input_keeps_the_earlier_one(void** state) {
  (void)state;
  inputs_fixture f;
  start_dynamic(&f);
  etx_method* m = &f.loaded.method;
  float data[16] = {1, 2, 3, 4};
  etx_tensor x = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 2, 2);
  etx_tensor z = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 5);
  assert_ok(etx_method_set_input(m, 0, &x, &diag));
  assert_ok(etx_method_set_input(m, 1, &z, &diag));
  etx_tensor bad = TEST_TENSOR(NULL, ETX_DTYPE_FLOAT32, 3, 2);
  assert_status(etx_method_set_input(m, 0, &bad, &diag), ETX_BAD_ARGUMENT);
  assert_ok(etx_method_run(m, &diag));
  assert_int_equal(test_output_tensor(m, 0)->sizes[0], 2);
  end(&f);
}

static void inputs_persist_and_are_read_in_place(void** state) {
  (void)state;
  inputs_fixture f;
  start_dynamic(&f);
  etx_method* m = &f.loaded.method;
  float data[16] = {1, 2, 3, 4};
  etx_tensor x = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 2, 2);
  etx_tensor z = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 5);
  assert_ok(etx_method_set_input(m, 0, &x, &diag));
  assert_ok(etx_method_set_input(m, 1, &z, &diag));
  assert_ok(etx_method_run(m, &diag));
  data[0] = 10;
  assert_ok(etx_method_run(m, &diag));
  const float wanted[4] = {20, 4, 6, 8};
  assert_memory_equal(test_output_tensor(m, 0)->data, wanted, sizeof wanted);
  float other[4] = {5, 5, 5, 5};
  x.data = other;
  assert_ok(etx_method_set_input(m, 0, &x, &diag));
  assert_ok(etx_method_run(m, &diag));
  const float then[4] = {10, 10, 10, 10};
  assert_memory_equal(test_output_tensor(m, 0)->data, then, sizeof then);
  end(&f);
}

static void names_find_inputs_and_outputs(void** state) {
  (void)state;
  inputs_fixture f;
  start_dynamic(&f);
  size_t index = 9;
  const etx_method* m = &f.loaded.method;
  assert_int_equal(etx_method_find_input(m, etx_text_of("z"), &index), ETX_OK);
  assert_int_equal(index, 1);
  assert_int_equal(etx_method_find_output(m, etx_text_of("y"), &index), ETX_OK);
  assert_int_equal(index, 0);
  assert_int_equal(etx_method_find_input(m, etx_text_of("input_0"), &index),
                   ETX_NOT_FOUND);
  end(&f);
}

// A stock file: inputs are planned in scratch, there are no names, and only the
// number of elements is bounded.
static void start_planned(inputs_fixture* f) {
  test_program* p = f->p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 48, 0);
  const int x = test_input(
      p, test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 0)),
      "");
  const int two = test_input(p, test_int(p, 2), "");
  const int third = test_input(p, test_double(p, 1.0 / 3), "");
  const int none = test_input(p, test_none(p), "");
  const int text = test_input(p, test_string(p, "mean"), "");
  (void)two, (void)third, (void)none, (void)text;
  const int y =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 16));
  const int one = test_int(p, 1);
  test_call(p, "aten::add", "out", ARGS(x, x, one, y, y));
  // The planned memory of the input is reused by other values.
  const int again =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 0));
  test_call(p, "aten::add", "out", ARGS(y, y, one, again, again));
  test_output(p, again, "");
  load(f, "forward");
}

static void planned_inputs_are_copied_at_each_run(void** state) {
  (void)state;
  inputs_fixture f;
  start_planned(&f);
  etx_method* m = &f.loaded.method;
  float data[4] = {1, 2, 3, 4};
  const etx_tensor x = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 2, 2);
  assert_ok(etx_method_set_input(m, 0, &x, &diag));
  for (int i = 0; i < 3; ++i) {
    assert_ok(etx_method_run(m, &diag));
    const float wanted[4] = {4, 8, 12, 16};
    assert_memory_equal(test_output_tensor(m, 0)->data, wanted, sizeof wanted);
  }
  assert_true(data[0] == 1 && data[3] == 4);
  end(&f);
}

// Numbers and texts that the file fixes are part of the method.
static void fixed_inputs_are_not_forgotten(void** state) {
  (void)state;
  inputs_fixture f;
  start_planned(&f);
  etx_method* m = &f.loaded.method;
  float data[4] = {1, 2, 3, 4};
  const etx_tensor x = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 2, 2);
  assert_ok(etx_method_set_input(m, 0, &x, &diag));
  assert_ok(etx_method_run(m, &diag));
  assert_ok(etx_method_forget(m, &diag));
  assert_refused(etx_method_run(m, &diag), ETX_BAD_STATE,
                 "input 'input_0' of method 'forward' was never set");
  assert_ok(etx_method_set_input(m, 0, &x, &diag));
  assert_ok(etx_method_run(m, &diag));
  end(&f);
}

static void one_byte_is_copied_too(void** state) {
  (void)state;
  inputs_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int flag =
      test_input(p, test_scratch(p, ETX_DTYPE_BOOL, SIZES(1), 0), "");
  const int y = test_scratch(p, ETX_DTYPE_BOOL, SIZES(1), 16);
  test_call(p, "aten::copy_", "", ARGS(y, flag, test_bool(p, false), y));
  test_output(p, y, "");
  load(&f, "forward");
  for (uint8_t value = 0; value < 4; ++value) {
    uint8_t bit = value % 2;
    const etx_tensor x = TEST_TENSOR(&bit, ETX_DTYPE_BOOL, 1);
    assert_ok(etx_method_set_input(&f.loaded.method, 0, &x, &diag));
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    const uint8_t* const found = test_output_tensor(&f.loaded.method, 0)->data;
    assert_int_equal(*found, bit);
  }
  end(&f);
}

static void without_symbols_only_the_number_of_elements_is_bounded(
    void** state) {
  (void)state;
  inputs_fixture f;
  start_planned(&f);
  etx_method* m = &f.loaded.method;
  float data[8] = {1, 2, 3, 4, 5};
  etx_tensor x = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 1, 4);
  const int32_t any[2] = {77, 1};  // no element is 77 behind another
  x.strides = any;
  assert_ok(etx_method_set_input(m, 0, &x, &diag));
  assert_ok(etx_method_run(m, &diag));
  assert_int_equal(test_output_tensor(m, 0)->sizes[1], 4);
  x = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 5, 1);
  assert_refused(etx_method_set_input(m, 0, &x, &diag), ETX_OUT_OF_RANGE,
                 "input 'input_0' has 5 elements, the method takes up to 4");
  end(&f);
}

// The bounds in a stock file need not agree: y of at most 2 elements is x + x,
// which may have 4.
static void bounds_of_a_stock_file_need_not_agree(void** state) {
  (void)state;
  inputs_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 48, 0);
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4))), "");
  test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "");
  const int y =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0));
  test_call(p, "aten::add", "out", ARGS(x, x, test_int(p, 1), y, y));
  test_output(p, y, "");
  load(&f, "forward");
  etx_method* m = &f.loaded.method;
  float data[4] = {1, 2, 3, 4};
  const float wanted[2] = {2, 4};
  etx_tensor t = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 4);
  assert_ok(etx_method_set_input(m, 1, &t, &diag));
  t = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 3);
  assert_ok(etx_method_set_input(m, 0, &t, &diag));
  assert_true(etx_method_run(m, &diag) != ETX_OK);
  t = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 2);
  assert_ok(etx_method_set_input(m, 0, &t, &diag));
  assert_ok(etx_method_run(m, &diag));
  assert_memory_equal(test_output_tensor(m, 0)->data, wanted, sizeof wanted);
  end(&f);
}

static etx_value number(int64_t integer) {
  etx_value value;
  memset(&value, 0, sizeof value);
  value.kind = ETX_VALUE_INT;
  value.as.integer = integer;
  return value;
}

static void fixed_values_must_be_given_as_they_were_exported(void** state) {
  (void)state;
  inputs_fixture f;
  start_planned(&f);
  etx_method* m = &f.loaded.method;
  etx_value value = number(2);
  assert_ok(etx_method_set_value(m, 1, &value, &diag));
  value = number(3);
  assert_refused(etx_method_set_value(m, 1, &value, &diag), ETX_BAD_ARGUMENT,
                 "input 'input_1' was fixed");
  value.kind = ETX_VALUE_DOUBLE;
  value.as.real = 0.33334;
  assert_ok(etx_method_set_value(m, 2, &value, &diag));
  value.as.real = 0.34;
  assert_status(etx_method_set_value(m, 2, &value, &diag), ETX_BAD_ARGUMENT);
  assert_refused(etx_method_set_value(m, 3, &value, &diag), ETX_BAD_ARGUMENT,
                 "another kind");
  value.kind = ETX_VALUE_NONE;
  assert_ok(etx_method_set_value(m, 3, &value, &diag));
  value.kind = ETX_VALUE_STRING;
  value.as.string = etx_text_of("mean");
  assert_ok(etx_method_set_value(m, 4, &value, &diag));
  value.as.string = etx_text_of("sum");
  assert_status(etx_method_set_value(m, 4, &value, &diag), ETX_BAD_ARGUMENT);
  const etx_tensor t = TEST_TENSOR(&value, ETX_DTYPE_FLOAT32, 1);
  assert_refused(etx_method_set_input(m, 1, &t, &diag), ETX_BAD_ARGUMENT,
                 "is not a tensor");
  end(&f);
}

static void a_fixed_flag_must_be_given_as_it_was_exported(void** state) {
  (void)state;
  inputs_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_output(p, test_input(p, test_bool(p, true), ""), "");
  test_output(p, test_input(p, test_bool(p, false), ""), "");
  load(&f, "forward");
  etx_method* m = &f.loaded.method;
  etx_value value = {.kind = ETX_VALUE_BOOL, .as.boolean = true};
  assert_ok(etx_method_set_value(m, 0, &value, &diag));
  assert_refused(etx_method_set_value(m, 1, &value, &diag), ETX_BAD_ARGUMENT,
                 "input 'input_1' was fixed");
  value.as.boolean = false;
  assert_ok(etx_method_set_value(m, 1, &value, &diag));
  assert_refused(etx_method_set_value(m, 0, &value, &diag), ETX_BAD_ARGUMENT,
                 "input 'input_0' was fixed");
  end(&f);
}

// One element needs data, and strides that fit: also in the first dimension.
static void the_smallest_inputs_are_checked(void** state) {
  (void)state;
  inputs_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_output(
      p, test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(1)), ""), "");
  test_output(
      p, test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), ""), "");
  test_output(
      p, test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(0)), ""), "");
  load(&f, "forward");
  etx_method* m = &f.loaded.method;
  float data[4] = {1, 2, 3, 4};
  etx_tensor t = TEST_TENSOR(NULL, ETX_DTYPE_FLOAT32, 1);
  assert_refused(etx_method_set_input(m, 0, &t, &diag), ETX_BAD_ARGUMENT,
                 "input 'input_0' has no data");
  t.data = data;
  assert_ok(etx_method_set_input(m, 0, &t, &diag));
  t = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 2);
  const int32_t apart[1] = {2};
  t.strides = apart;
  assert_refused(etx_method_set_input(m, 1, &t, &diag), ETX_BAD_ARGUMENT,
                 "stride 2 in dimension 0, expected 1");
  t = TEST_TENSOR(NULL, ETX_DTYPE_FLOAT32, 0);
  assert_ok(etx_method_set_input(m, 2, &t, &diag));
  end(&f);
}

// An integer input that varies decides a size: y = x.view(n) with n = numel.
static void an_integer_may_vary_within_its_symbol(void** state) {
  (void)state;
  inputs_fixture f;
  test_program* p = f.p = test_program_new();
  test_blob(p);
  test_method(p, "add");
  test_arenas(p, 64, 0);
  const int n = test_input(p, test_int(p, 0), "n");
  const int sum = test_int(p, 0);
  const int five = test_int(p, 5);
  test_call(p, "executorch_prim::add", "Scalar", ARGS(n, five, sum));
  test_output(p, sum, "sum");
  const uint32_t s = test_symbol(p, "s", 1, 9);
  test_dim(p, 0, -1, s, 1, 0);
  load(&f, "add");
  etx_method* m = &f.loaded.method;
  assert_refused(etx_method_run(m, &diag), ETX_BAD_STATE, "never set");
  etx_value value = number(10);
  assert_status(etx_method_set_value(m, 0, &value, &diag), ETX_OUT_OF_RANGE);
  for (int64_t i = 1; i < 10; i += 4) {
    value = number(i);
    assert_ok(etx_method_set_value(m, 0, &value, &diag));
    assert_ok(etx_method_run(m, &diag));
    const etx_value* output = NULL;
    assert_int_equal(etx_method_output(m, 0, &output), ETX_OK);
    assert_int_equal(output->as.integer, i + 5);
  }
  end(&f);
}

// x += 1 is written into the caller's memory in place.
static void a_mutable_input_is_written_in_place(void** state) {
  (void)state;
  inputs_fixture f;
  test_program* p = f.p = test_program_new();
  const float one = 1;
  const uint32_t data_index = test_data(p, &one, sizeof one);
  test_blob(p);
  test_method(p, "increment");
  test_arenas(p, 16, 0);
  const int x =
      test_mutable_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(3)), "x");
  const int c = test_constant(p, ETX_DTYPE_FLOAT32, SCALAR_SIZES, data_index);
  const int alpha = test_int(p, 1);
  test_call(p, "aten::add", "out", ARGS(x, c, alpha, x, x));
  load(&f, "increment");
  float data[3] = {1, 2, 3};
  const etx_tensor input = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 3);
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &input, &diag));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  const float wanted[3] = {3, 4, 5};
  assert_memory_equal(data, wanted, sizeof wanted);
  end(&f);
}

// The same in a stock file: the input is planned, and the result is copied
// back.
static void a_planned_mutable_input_is_copied_back(void** state) {
  (void)state;
  inputs_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 48, 0);
  const int x =
      test_input(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(3), 0), "");
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(3), 16);
  const int alpha = test_int(p, 1);
  const int blocking = test_bool(p, false);
  const int blank = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(3));
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, y, y));
  test_call(p, "aten::copy_", "", ARGS(x, y, blocking, blank));
  test_output(p, blank, "");
  load(&f, "forward");
  float data[3] = {1, 2, 3};
  const etx_tensor input = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 3);
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &input, &diag));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  const float wanted[3] = {2, 4, 6};
  assert_memory_equal(data, wanted, sizeof wanted);
  // The empty slot of copy_ becomes a view of the same bytes.
  assert_memory_equal(test_output_tensor(&f.loaded.method, 0)->data, wanted,
                      sizeof wanted);
  etx_port_info info;
  assert_ok(etx_program_input_at(&f.program, etx_text_of("forward"), 0, &info,
                                 &diag));
  assert_true(info.is_mutable);
  end(&f);
}

// An output that shows the new content of an input is elsewhere in scratch.
static void a_mutable_input_gets_the_content_of_its_output(void** state) {
  (void)state;
  inputs_fixture f;
  test_program* p = f.p = test_program_new();
  test_blob(p);
  test_method(p, "twice");
  test_arenas(p, 48, 0);
  const int x = test_mutable_input(
      p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(3), 0), "x");
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(3), 16);
  const int alpha = test_int(p, 1);
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, y, y));
  test_shown(p, y, "x", 0);
  load(&f, "twice");
  float data[3] = {1, 2, 3};
  const etx_tensor input = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 3);
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &input, &diag));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  const float wanted[3] = {2, 4, 6};
  assert_memory_equal(data, wanted, sizeof wanted);
  end(&f);
}

// Strides that do not fit in 32 bits, of tensors without elements, in two
// orders of dimensions.
static void strides_beyond_32_bits_are_refused(void** state) {
  (void)state;
  static const uint8_t reversed[3] = {2, 1, 0};
  static const int32_t rows[][3] = {
      {0, 65536, 65536}, {65536, 65536, 0}, {0, 2, 2}};
  for (size_t i = 0; i < 2; ++i) {
    inputs_fixture f;
    f.p = test_program_new();
    test_method(f.p, "forward");
    const int x = test_dynamic(
        f.p, test_borrowed(f.p, ETX_DTYPE_FLOAT32, SIZES(2, 2, 2)));
    if (i == 1) test_tensor_of(f.p, x)->dim_order = reversed;
    test_input(f.p, x, "");
    load(&f, "forward");
    for (size_t r = 0; r < 3; ++r) {
      const etx_tensor value = test_tensor(NULL, ETX_DTYPE_FLOAT32, 3, rows[r]);
      if (r < 1 + i) {
        assert_refused(etx_method_set_input(&f.loaded.method, 0, &value, &diag),
                       ETX_OUT_OF_RANGE,
                       "strides of input 'input_0' do not fit");
      } else {
        assert_ok(etx_method_set_input(&f.loaded.method, 0, &value, &diag));
      }
    }
    end(&f);
  }
}

static void unknown_types_and_missing_inputs_are_refused(void** state) {
  (void)state;
  inputs_fixture f;
  float data[3] = {1, 2, 3};
  f.p = test_program_new();
  test_method(f.p, "forward");
  test_input(f.p, test_borrowed(f.p, ETX_DTYPE_FLOAT32, SIZES(3)), "");
  load(&f, "forward");
  etx_tensor value = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 3);
  value.dtype = (etx_dtype)99;
  assert_refused(etx_method_set_input(&f.loaded.method, 0, &value, &diag),
                 ETX_BAD_ARGUMENT, "is of unknown type, expected float32");
  value.dtype = ETX_DTYPE_FLOAT32;
  value.data = NULL;
  assert_refused(etx_method_set_input(&f.loaded.method, 0, &value, &diag),
                 ETX_BAD_ARGUMENT, "has no data");
  const etx_value number = {.kind = ETX_VALUE_INT, .as.integer = 1};
  assert_status(etx_method_set_value(&f.loaded.method, 1, &number, &diag),
                ETX_OUT_OF_RANGE);
  end(&f);
}

// Elements are counted without an overflow. An integer is solved for its symbol
// without one.
static void numbers_beyond_all_bounds_are_refused(void** state) {
  (void)state;
  static const int32_t many[3] = {65536, 65536, 65536};
  inputs_fixture f;
  f.p = test_program_new();
  test_method(f.p, "forward");
  test_input(
      f.p,
      test_dynamic(f.p, test_borrowed(f.p, ETX_DTYPE_FLOAT32, SIZES(2, 2, 2))),
      "");
  load(&f, "forward");
  const etx_tensor value = test_tensor(NULL, ETX_DTYPE_FLOAT32, 3, many);
  assert_refused(etx_method_set_input(&f.loaded.method, 0, &value, &diag),
                 ETX_OUT_OF_RANGE, "the method takes up to 8");
  end(&f);

  f.p = test_program_new();
  test_blob(f.p);
  test_method(f.p, "forward");
  test_arenas(f.p, 16, 0);
  const int a = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  test_input(f.p, test_int(f.p, 3), "n");
  test_dim(f.p, 0, -1, test_symbol(f.p, "s", 4, 8), 1, -3);
  test_call(f.p, "aten::relu", "out", ARGS(a, a, a));
  load(&f, "forward");
  static const struct {
    int64_t value;
    etx_status status;
  } rows[] = {{1, ETX_OK},
              {5, ETX_OK},
              {0, ETX_OUT_OF_RANGE},
              {6, ETX_OUT_OF_RANGE},
              {INT64_MAX, ETX_BAD_ARGUMENT}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const etx_value n = {.kind = ETX_VALUE_INT, .as.integer = rows[i].value};
    assert_status(etx_method_set_value(&f.loaded.method, 0, &n, &diag),
                  rows[i].status);
  }
  end(&f);
}

// A fixed float must be given nearly as it was exported.
static void fixed_floats_are_compared_with_a_tolerance(void** state) {
  (void)state;
  const double nan = (double)NAN, infinity = (double)INFINITY;
  const struct {
    double fixed, given;
    bool is_same;
  } rows[] = {{0, 1e-4, true},        {0, 1.0001e-4, false},
              {1, 1.00005, true},     {1, 0.99995, true},
              {0.5, 0.5001, true},    {0.5, 0.50011, false},
              {-0.5, -0.5001, true},  {1, 1.001, false},
              {1, 0.999, false},      {-1, -1.00005, true},
              {-1e6, -1e6 - 5, true}, {-1e6, -1e6 + 50, false},
              {nan, nan, true},       {nan, 1, false},
              {1, nan, false},        {infinity, infinity, true},
              {infinity, 1, false},   {-infinity, 1, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    inputs_fixture f;
    f.p = test_program_new();
    test_method(f.p, "forward");
    test_input(f.p, test_double(f.p, rows[i].fixed), "");
    load(&f, "forward");
    const etx_value value = {.kind = ETX_VALUE_DOUBLE,
                             .as.real = rows[i].given};
    assert_status(etx_method_set_value(&f.loaded.method, 0, &value, &diag),
                  rows[i].is_same ? ETX_OK : ETX_BAD_ARGUMENT);
    end(&f);
  }
}

// Inputs and outputs of stock files are numbered.
static void numbers_name_the_ports_of_stock_files(void** state) {
  (void)state;
  inputs_fixture f;
  size_t index = 0;
  f.p = test_program_new();
  test_method(f.p, "forward");
  for (int i = 0; i < 12; ++i) {
    test_output(f.p, test_input(f.p, test_int(f.p, i), ""), "");
  }
  load(&f, "forward");
  const etx_method* const method = &f.loaded.method;
  assert_int_equal(
      etx_method_find_input(method, etx_text_of("input_11"), &index), ETX_OK);
  assert_int_equal(index, 11);
  assert_int_equal(
      etx_method_find_output(method, etx_text_of("output_10"), &index), ETX_OK);
  assert_int_equal(index, 10);
  assert_int_equal(
      etx_method_find_output(method, etx_text_of("output_12"), &index),
      ETX_NOT_FOUND);
  assert_int_equal(index, 10);
  end(&f);
}

// The new content of an input has its type and size, and memory.
static void new_content_unlike_its_input_is_refused(void** state) {
  (void)state;
  static const struct {
    etx_dtype dtype;
    test_sizes sizes;
    bool is_planned;
    const char* message;  // NULL: it is accepted
  } rows[] = {{ETX_DTYPE_FLOAT32, {{3}, 1}, true, NULL},
              {ETX_DTYPE_INT32, {{3}, 1}, true, "has another type or size"},
              {ETX_DTYPE_FLOAT32, {{2}, 1}, true, "has another type or size"},
              {ETX_DTYPE_FLOAT32, {{3}, 1}, false, "needs 12 bytes and has 0"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    etx_program program;
    test_loaded loaded;
    test_program* const p = test_program_new();
    test_blob(p);
    test_method(p, "forward");
    test_arenas(p, 64, 0);
    const int x =
        test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(3)), "x");
    const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(3), 0);
    test_call(p, "aten::relu", "out", ARGS(x, y, y));
    test_shown(p,
               rows[i].is_planned
                   ? test_scratch(p, rows[i].dtype, rows[i].sizes, 32)
                   : test_borrowed(p, rows[i].dtype, rows[i].sizes),
               "x", 0);
    assert_ok(etx_program_open(&program, test_file(p), &test_few_kernels, NULL,
                               &diag));
    etx_diag_init(&diag);
    const etx_status status =
        test_load(&loaded, &program, "forward", NULL, &diag);
    assert_int_equal(status, rows[i].message == NULL ? ETX_OK : ETX_BAD_FILE);
    if (status == ETX_OK) {
      assert_true(test_unload(&loaded));
    } else {
      assert_true(test_message_has(&diag, rows[i].message));
    }
    test_program_end(p);
  }
}

// Numbers and tensors without elements may be mutable; nothing is copied.
static void mutable_inputs_without_bytes_stay(void** state) {
  (void)state;
  inputs_fixture f;
  test_program* p = f.p = test_program_new();
  test_blob(p);
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  test_mutable_input(p, test_int(p, 3), "n");
  const int empty = test_mutable_input(
      p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(0), 0), "empty");
  const int shown = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(0), 16);
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(3), 32);
  test_call(p, "aten::relu", "out", ARGS(empty, shown, shown));
  test_call(p, "aten::relu", "out", ARGS(y, y, y));
  test_shown(p, shown, "empty", 1);
  load(&f, "forward");
  float data[1] = {7};
  const etx_tensor input = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 0);
  assert_ok(etx_method_set_input(&f.loaded.method, 1, &input, &diag));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_true(data[0] == 7);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_DYNAMIC, wrong_types_ranks_and_sizes_are_refused),
      unit_test_with(ETX_DYNAMIC, inputs_must_agree_about_a_symbol),
      unit_test_with(ETX_DYNAMIC, a_refused_input_keeps_the_earlier_one),
      unit_test_with(ETX_DYNAMIC, inputs_persist_and_are_read_in_place),
      unit_test_with(ETX_DYNAMIC, names_find_inputs_and_outputs),
      unit_test_with(ETX_DYNAMIC, planned_inputs_are_copied_at_each_run),
      unit_test_with(ETX_DYNAMIC, fixed_inputs_are_not_forgotten),
      cmocka_unit_test(one_byte_is_copied_too),
      unit_test_with(ETX_DYNAMIC,
                     without_symbols_only_the_number_of_elements_is_bounded),
      unit_test_with(ETX_DYNAMIC,
                     fixed_values_must_be_given_as_they_were_exported),
      unit_test_with(ETX_DYNAMIC, bounds_of_a_stock_file_need_not_agree),
      cmocka_unit_test(a_fixed_flag_must_be_given_as_it_was_exported),
      cmocka_unit_test(the_smallest_inputs_are_checked),
      unit_test_with(ETX_DYNAMIC, an_integer_may_vary_within_its_symbol),
      unit_test_with(ETX_DYNAMIC, strides_beyond_32_bits_are_refused),
      cmocka_unit_test(unknown_types_and_missing_inputs_are_refused),
      unit_test_with(ETX_DYNAMIC, numbers_beyond_all_bounds_are_refused),
      cmocka_unit_test(fixed_floats_are_compared_with_a_tolerance),
      cmocka_unit_test(numbers_name_the_ports_of_stock_files),
      cmocka_unit_test(a_mutable_input_is_written_in_place),
      cmocka_unit_test(a_planned_mutable_input_is_copied_back),
      cmocka_unit_test(a_mutable_input_gets_the_content_of_its_output),
      unit_test_with(ETX_VERIFIER || ETX_DYNAMIC,
                     new_content_unlike_its_input_is_refused),
      cmocka_unit_test(mutable_inputs_without_bytes_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
