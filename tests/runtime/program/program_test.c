// What can be asked about the methods of a program before one is loaded.

#include "runtime/program.h"

#include "format/pte/etx_blob.h"
#include "format/pte/variant_name.h"
#include "runtime/method.h"
#include "tests/support/assert_status.h"
#include "tests/support/counter_program.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/optional_parts.h"

static etx_diag diag;

static void open_program(etx_program* program, test_program* p) {
  assert_ok(
      etx_program_open(program, test_file(p), &test_few_kernels, NULL, &diag));
}

static void methods_are_described(void** state) {
  (void)state;
  test_program* p = counter_program(true, false);
  etx_program program;
  etx_method_info info;
  open_program(&program, p);
  assert_true(program.has_blob);
  assert_true(program.shares_state);
  assert_int_equal(program.state_bytes, COUNTER_STATE_BYTES);
  assert_int_equal(etx_program_method_count(&program), 3);
  assert_int_equal(etx_program_method_at(&program, 0, &info), ETX_OK);
  assert_true(etx_text_is(info.name, "add"));
  assert_int_equal(info.input_count, 1);
  assert_int_equal(info.output_count, 1);
  assert_int_equal(info.instruction_count, 2);
  assert_int_equal(info.scratch_bytes, 64);
  assert_false(info.is_constant);
  assert_int_equal(etx_program_method_at(&program, 3, &info), ETX_OUT_OF_RANGE);
  test_program_end(p);
}

static void ports_are_described(void** state) {
  (void)state;
  test_program* p = counter_program(true, false);
  etx_program program;
  etx_port_info port;
  open_program(&program, p);
  assert_ok(
      etx_program_input_at(&program, etx_text_of("put"), 1, &port, &diag));
  assert_true(etx_text_is(port.name, "value"));
  assert_int_equal(port.kind, ETX_PTE_TENSOR);
  assert_int_equal(port.value.as.tensor.sizes[0], 1);
  assert_false(port.is_mutable);
  assert_false(port.varies);
  assert_ok(
      etx_program_output_at(&program, etx_text_of("read"), 1, &port, &diag));
  assert_true(etx_text_is(port.name, "table"));
  assert_int_equal(port.mutated_input, -1);
  assert_refused(
      etx_program_input_at(&program, etx_text_of("put"), 2, &port, &diag),
      ETX_OUT_OF_RANGE, "method 'put' has 2");
  assert_refused(
      etx_program_output_at(&program, etx_text_of("pot"), 0, &port, &diag),
      ETX_NOT_FOUND, "no method 'pot'");
  test_program_end(p);
}

// Other exporters may use arena 2 for something else than state. An arena that
// holds an input is not state.
// An output that is the new content of the second input.
static void outputs_say_which_input_they_show(void** state) {
  (void)state;
  test_program* const p = test_program_new();
  etx_program program;
  etx_port_info port;
  test_blob(p);
  test_method(p, "f");
  test_arenas(p, 64, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "x");
  test_mutable_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "y");
  const int out = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  test_call(p, "aten::neg", "out", ARGS(x, out, out));
  test_shown(p, out, "y", 1);
  open_program(&program, p);
  assert_ok(etx_program_input_at(&program, etx_text_of("f"), 1, &port, &diag));
  assert_true(port.is_mutable);
  assert_ok(etx_program_output_at(&program, etx_text_of("f"), 0, &port, &diag));
  assert_int_equal(port.mutated_input, 1);
  test_program_end(p);
}

static void an_arena_2_with_an_input_is_not_shared_state(void** state) {
  (void)state;
  test_program* p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 16, 16);
  test_input(p, test_planned(p, ETX_DTYPE_FLOAT32, SIZES(4), 2, 0), "x");
  etx_program program;
  etx_memory_needed needed;
  open_program(&program, p);
  assert_false(program.shares_state);
  assert_int_equal(program.state_bytes, 0);
  assert_ok(
      etx_method_needed(&program, etx_text_of("forward"), &needed, &diag));
  assert_int_equal(needed.state_bytes, 0);
  assert_int_equal(needed.scratch_bytes, 32);
  test_program_end(p);
}

static void constant_methods_return_several_values(void** state) {
  (void)state;
  test_program* p = test_program_new();
  const int items[1] = {0};
  test_method(p, "several");
  test_output(p, test_int(p, 64), "");
  test_output(p, test_string(p, "etx"), "");
  test_output(p, test_ints(p, items, 1), "");
  const etx_text name = etx_text_of("several");
  etx_program program;
  etx_value value;
  etx_constant_hold hold;
  open_program(&program, p);
  assert_ok(etx_program_constant_at(&program, name, 1, &value, &hold, &diag));
  assert_true(etx_text_is(value.as.string, "etx"));
  assert_refused(
      etx_program_constant_at(&program, name, 2, &value, &hold, &diag),
      ETX_UNSUPPORTED, "returns a list");
  assert_refused(
      etx_program_constant_at(&program, name, 3, &value, &hold, &diag),
      ETX_OUT_OF_RANGE, "method 'several' has 3");
  assert_refused(etx_program_constant_at(&program, etx_text_of("other"), 0,
                                         &value, &hold, &diag),
                 ETX_NOT_FOUND, "no method 'other'");
  test_program_end(p);
}

static void constant_methods_are_read_without_memory(void** state) {
  (void)state;
  static const int64_t table[4] = {1, 2, 3, 4};
  test_program* p = test_program_new();
  const uint32_t data = test_data(p, table, sizeof table);
  test_method(p, "length");
  test_output(p, test_int(p, 64), "");
  test_method(p, "table");
  test_output(p, test_constant(p, ETX_DTYPE_INT64, SIZES(2, 2), data), "");
  test_method(p, "name");
  test_output(p, test_string(p, "marian"), "");
  test_method(p, "nothing");
  test_method(p, "planned");
  test_arenas(p, 16, 0);
  test_output(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0), "");
  etx_program program;
  etx_value value;
  etx_constant_hold hold;
  open_program(&program, p);
  assert_ok(etx_program_constant(&program, etx_text_of("length"), &value, &hold,
                                 &diag));
  assert_int_equal(value.kind, ETX_VALUE_INT);
  assert_int_equal(value.as.integer, 64);
  assert_ok(etx_program_constant(&program, etx_text_of("table"), &value, &hold,
                                 &diag));
  assert_int_equal(value.kind, ETX_VALUE_TENSOR);
  assert_memory_equal(value.as.tensor.data, table, sizeof table);
  assert_int_equal(value.as.tensor.strides[0], 2);
  const etx_bytes file = program.pte.file;
  const uint8_t* at = value.as.tensor.data;
  assert_true(at >= file.data && at < file.data + file.size);
  assert_ok(etx_program_constant(&program, etx_text_of("name"), &value, &hold,
                                 &diag));
  assert_true(etx_text_is(value.as.string, "marian"));
  assert_refused(etx_program_constant(&program, etx_text_of("nothing"), &value,
                                      &hold, &diag),
                 ETX_BAD_ARGUMENT, "is not a constant method");
  assert_refused(etx_program_constant(&program, etx_text_of("planned"), &value,
                                      &hold, &diag),
                 ETX_BAD_STATE, "not a constant of the file");
  test_program_end(p);
}

// A method is constant if it returns numbers and constants, and at least one.
static void constant_methods_are_known(void** state) {
  (void)state;
  static const int64_t table[2] = {1, 2};
  static const struct {
    const char* name;
    bool is_constant;
  } methods[] = {{"number", true},    {"empty", true},  {"unset", false},
                 {"planned", false},  {"input", false}, {"nothing", false},
                 {"external", false}, {"runs", false},  {"table", true}};
  test_program* p = test_program_new();
  const uint32_t data = test_data(p, table, sizeof table);
  test_method(p, "number");
  test_output(p, test_int(p, 64), "");
  test_method(p, "empty");
  test_output(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(0, 2)), "");
  test_method(p, "unset");
  test_output(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(2)), "");
  test_method(p, "planned");
  test_arenas(p, 16, 0);
  test_output(p, test_scratch(p, ETX_DTYPE_INT64, SIZES(2), 0), "");
  test_method(p, "input");
  test_input(p, test_int(p, 1), "");
  test_output(p, test_int(p, 64), "");
  test_method(p, "nothing");
  test_method(p, "external");
  const int w = test_borrowed(p, ETX_DTYPE_INT64, SIZES(0));
  test_tensor_of(p, w)->location = ETX_PTE_EXTERNAL;
  test_tensor_of(p, w)->name = etx_text_of("w");
  test_output(p, w, "");
  test_method(p, "runs");
  test_call(p, "aten::relu", "out",
            ARGS(test_output(p, test_int(p, 1), ""), 0, 0));
  test_method(p, "table");
  test_output(p, test_constant(p, ETX_DTYPE_INT64, SIZES(2), data), "");
  etx_program program;
  etx_method_info info;
  etx_value value;
  etx_constant_hold hold;
  open_program(&program, p);
  for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i) {
    const etx_text name = etx_text_of(methods[i].name);
    assert_int_equal(etx_program_method_at(&program, i, &info), ETX_OK);
    assert_true(etx_text_equal(info.name, name));
    assert_int_equal(info.is_constant, methods[i].is_constant);
    etx_diag_init(&diag);
    const etx_status status =
        etx_program_constant(&program, name, &value, &hold, &diag);
    assert_int_equal(status == ETX_OK, methods[i].is_constant);
  }
  assert_refused(etx_program_constant(&program, etx_text_of("external"), &value,
                                      &hold, &diag),
                 ETX_NOT_FOUND, "returns 'w' of a data file (.ptd)");
  assert_ok(etx_program_constant(&program, etx_text_of("empty"), &value, &hold,
                                 &diag));
  assert_null(value.as.tensor.data);
  assert_int_equal(value.as.tensor.sizes[0], 0);
  test_program_end(p);
}

static void constants_of_each_kind_are_returned(void** state) {
  (void)state;
  test_program* p = test_program_new();
  test_method(p, "kinds");
  test_output(p, test_none(p), "");
  test_output(p, test_bool(p, true), "");
  test_output(p, test_double(p, 0.5), "");
  const etx_text name = etx_text_of("kinds");
  etx_program program;
  etx_value values[3];
  etx_constant_hold hold;
  open_program(&program, p);
  for (size_t i = 0; i < 3; ++i) {
    assert_ok(
        etx_program_constant_at(&program, name, i, &values[i], &hold, &diag));
  }
  assert_int_equal(values[0].kind, ETX_VALUE_NONE);
  assert_int_equal(values[1].kind, ETX_VALUE_BOOL);
  assert_true(values[1].as.boolean);
  assert_int_equal(values[2].kind, ETX_VALUE_DOUBLE);
  assert_true(values[2].as.real == 0.5);
  test_program_end(p);
}

// Stock files have no names; an input is mutable if an instruction writes it.
static void ports_of_stock_files_are_described(void** state) {
  (void)state;
  test_program* p = test_program_new();
  test_method(p, "forward");
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int y =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  test_input(p, test_int(p, 3), "");
  test_call(p, "aten::relu", "out", ARGS(x, y, y));
  test_output(p, y, "");
  const etx_text name = etx_text_of("forward");
  etx_program program;
  etx_port_info port;
  open_program(&program, p);
  for (size_t i = 0; i < 3; ++i) {
    assert_ok(etx_program_input_at(&program, name, i, &port, &diag));
    assert_int_equal(port.name.size, 0);
    assert_int_equal(port.is_mutable, i == 1);
    assert_int_equal(port.kind, i == 2 ? ETX_PTE_INT : ETX_PTE_TENSOR);
  }
  assert_ok(etx_program_output_at(&program, name, 0, &port, &diag));
  assert_int_equal(port.name.size, 0);
  assert_int_equal(port.mutated_input, -1);
  assert_refused(etx_program_output_at(&program, name, 1, &port, &diag),
                 ETX_OUT_OF_RANGE,
                 "there is no output 1, method 'forward' has 1");
  assert_refused(
      etx_program_input_at(&program, etx_text_of("back"), 0, &port, &diag),
      ETX_NOT_FOUND, "no method 'back'");
  test_program_end(p);
}

// Inputs that depend on a symbol vary; a size that does is no value. A constant
// method has no description of its own.
static void inputs_that_vary_are_described(void** state) {
  (void)state;
  test_program* p = test_program_new();
  test_blob(p);
  test_method(p, "forward");
  test_arenas(p, 32, 0);
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(8))), "x");
  const int y =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(8), 0));
  test_input(p, test_int(p, 3), "n");
  const uint32_t symbol = test_symbol(p, "s", 1, 8);
  test_dim(p, 0, 0, symbol, 1, 0);
  test_dim(p, 1, -1, symbol, 1, 0);
  test_call(p, "aten::relu", "out", ARGS(x, y, y));
  test_output(p, y, "y");
  test_method(p, "length");
  test_output(p, test_int(p, 64), "length");
  const etx_text name = etx_text_of("forward");
  etx_program program;
  etx_port_info port;
  open_program(&program, p);
  assert_ok(etx_program_input_at(&program, name, 0, &port, &diag));
  assert_false(port.varies);
  assert_ok(etx_program_input_at(&program, name, 1, &port, &diag));
  assert_true(port.varies);
  assert_ok(
      etx_program_output_at(&program, etx_text_of("length"), 0, &port, &diag));
  assert_int_equal(port.name.size, 0);
  test_program_end(p);
}

// A method without arenas needs no scratch.
static void a_method_may_need_no_scratch(void** state) {
  (void)state;
  test_program* p = test_program_new();
  test_method(p, "length");
  test_output(p, test_int(p, 64), "");
  etx_program program;
  etx_method_info info;
  open_program(&program, p);
  assert_int_equal(etx_program_method_at(&program, 0, &info), ETX_OK);
  assert_int_equal(info.scratch_bytes, 0);
  assert_true(info.is_constant);
  test_program_end(p);
}

// A file whose description is damaged is no stock file.
static void a_damaged_description_is_refused(void** state) {
  (void)state;
  test_program* p = test_program_new();
  test_method(p, "length");
  test_output(p, test_int(p, 64), "");
  test_named(p, ETX_BLOB_KEY, "oops", 4);
  etx_program program, before;
  memset(&program, 0x5a, sizeof program);
  memcpy(&before, &program, sizeof before);
  assert_status(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag),
      ETX_BAD_FILE);
  assert_memory_equal(&program, &before, sizeof before);
  test_program_end(p);
}

// Names like those of variants mean nothing in a stock file, and a variant has
// no variants itself.
static void only_methods_of_programs_have_variants(void** state) {
  (void)state;
  for (int has_blob = 0; has_blob < 2; ++has_blob) {
    static const char* const names[] = {"f", "f@1", "f@1@1", "g@1"};
    test_program* p = test_program_new();
    if (has_blob) test_blob(p);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
      test_method(p, names[i]);
      test_output(p, test_int(p, 64), "");
    }
    etx_program program;
    etx_method_info info;
    open_program(&program, p);
    const size_t count = has_blob && ETX_DYNAMIC ? 1 : 0;
    assert_int_equal(etx_program_method_count(&program), 4 - count);
    assert_int_equal(etx_program_variant_count(&program, etx_text_of("f")),
                     count);
    assert_int_equal(etx_program_variant_count(&program, etx_text_of("f@1")),
                     0);
    assert_int_equal(etx_program_variant_count(&program, etx_text_of("g")), 0);
    assert_int_equal(
        etx_program_variant_at(&program, etx_text_of("f"), 0, &info),
        count == 0 ? ETX_OUT_OF_RANGE : ETX_OK);
    if (count > 0) assert_true(etx_text_is(info.name, "f@1"));
    assert_int_equal(
        etx_program_variant_at(&program, etx_text_of("f"), 1, &info),
        ETX_OUT_OF_RANGE);
    test_program_end(p);
  }
}

// A name that is too long to be that of a variant has none.
static void a_long_name_has_no_variants(void** state) {
  (void)state;
  char name[ETX_VARIANT_METHOD_BYTES + 2];
  memset(name, 'm', sizeof name);
  name[sizeof name - 1] = '\0';
  test_program* p = test_program_new();
  test_blob(p);
  test_method(p, name);
  test_output(p, test_int(p, 64), "");
  etx_program program;
  etx_method_info info;
  open_program(&program, p);
  assert_int_equal(etx_program_variant_count(&program, etx_text_of(name)), 0);
  assert_int_equal(
      etx_program_variant_at(&program, etx_text_of(name), 0, &info),
      ETX_OUT_OF_RANGE);
  test_program_end(p);
}

static void count_up(void* context, size_t index) {
  size_t* const next = context;
  assert_int_equal(index, *next);
  ++*next;
}

static void one_thread_does_the_tasks_in_order(void** state) {
  (void)state;
  size_t next = 0;
  etx_parallel_none.parallel_for(NULL, count_up, &next, 3);
  assert_int_equal(next, 3);
}

static void arenas_of_different_size_are_not_shared(void** state) {
  (void)state;
  test_program* p = test_program_new();
  test_method(p, "a");
  test_arenas(p, 0, 32);
  test_method(p, "b");
  test_arenas(p, 0, 48);
  test_method(p, "constant");
  etx_program program;
  open_program(&program, p);
  assert_false(program.shares_state);
  assert_int_equal(program.state_bytes, 0);
  test_program_end(p);
}

static void limits_bound_a_file(void** state) {
  (void)state;
  test_program* p = counter_program(true, false);
  etx_program program;
  etx_limits limits;
  memset(&limits, 0, sizeof limits);
  limits.file.max_instructions = 1;
  assert_refused(etx_program_open(&program, test_file(p), &test_few_kernels,
                                  &limits, &diag),
                 ETX_OUT_OF_RANGE, "2 instructions");
  test_program_end(p);
}

static void numbers_of_threads_without_sense_are_refused(void** state) {
  (void)state;
  test_program* p = counter_program(true, false);
  etx_program program;
  static const size_t counts[] = {0, ETX_MAX_THREADS + 1, SIZE_MAX};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    etx_parallel parallel = etx_parallel_none;
    parallel.thread_count = counts[i];
    const etx_limits limits = {.parallel = &parallel};
    assert_refused(etx_program_open(&program, test_file(p), &test_few_kernels,
                                    &limits, &diag),
                   ETX_BAD_ARGUMENT, "threads, expected 1 to 1024");
  }
  test_program_end(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(methods_are_described),
      cmocka_unit_test(ports_are_described),
      cmocka_unit_test(outputs_say_which_input_they_show),
      cmocka_unit_test(an_arena_2_with_an_input_is_not_shared_state),
      cmocka_unit_test(constant_methods_return_several_values),
      cmocka_unit_test(constant_methods_are_read_without_memory),
      cmocka_unit_test(constant_methods_are_known),
      cmocka_unit_test(constants_of_each_kind_are_returned),
      cmocka_unit_test(ports_of_stock_files_are_described),
      unit_test_with(ETX_DYNAMIC, inputs_that_vary_are_described),
      cmocka_unit_test(a_method_may_need_no_scratch),
      unit_test_with(ETX_VERIFIER, a_damaged_description_is_refused),
      cmocka_unit_test(only_methods_of_programs_have_variants),
      cmocka_unit_test(a_long_name_has_no_variants),
      cmocka_unit_test(one_thread_does_the_tasks_in_order),
      cmocka_unit_test(arenas_of_different_size_are_not_shared),
      cmocka_unit_test(numbers_of_threads_without_sense_are_refused),
      unit_test_with(ETX_VERIFIER, limits_bound_a_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
