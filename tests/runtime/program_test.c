// What can be asked about the methods of a program before one is loaded.

#include "runtime/program.h"

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
      cmocka_unit_test(an_arena_2_with_an_input_is_not_shared_state),
      cmocka_unit_test(constant_methods_return_several_values),
      cmocka_unit_test(constant_methods_are_read_without_memory),
      cmocka_unit_test(arenas_of_different_size_are_not_shared),
      cmocka_unit_test(numbers_of_threads_without_sense_are_refused),
      unit_test_with(ETX_VERIFIER, limits_bound_a_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
