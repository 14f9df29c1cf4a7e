// What a refused run reports: the message of the kernel, or of the status, and
// the instruction.

#include "format/shapes/op_shapes.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

static etx_status run_in_silence(etx_call* call) {
  (void)call;
  return ETX_BAD_ARGUMENT;
}

static etx_status prepare_silent(etx_call* call) {
  call->run = run_in_silence;
  return ETX_OK;
}

// Leaves a message whose status is not the one that it returns.
static etx_status run_and_tell(etx_call* call) {
  const etx_status status =
      etx_diag_fail(call->diag, ETX_OUT_OF_RANGE, "the sky is too low");
  return status == ETX_OUT_OF_RANGE ? ETX_BAD_ARGUMENT : status;
}

static etx_status prepare_telling(etx_call* call) {
  call->run = run_and_tell;
  return ETX_OK;
}

#define REFUSING_ROW(name, overload)                                         \
  {                                                                          \
    .id = ETX_OP_COUNT, ETX_OP_NAME(name, overload),                         \
    .arguments = "Tensor self, *, Tensor(a!) out", .result = ETX_RESULT_OUT, \
    .in_place = ETX_IN_PLACE_NEVER, .shape = etx_shape_same,                 \
  }
static const etx_op rows[] = {REFUSING_ROW("my::silent", ""),
                              REFUSING_ROW("my::silent", "x"),
                              REFUSING_ROW("my::telling", "out")};
static const etx_kernel kernels[] = {{&rows[0], prepare_silent, NULL, NULL},
                                     {&rows[1], prepare_silent, NULL, NULL},
                                     {&rows[2], prepare_telling, NULL, NULL}};
static const etx_kernel_table table = {kernels, 3, NULL};

// Runs y = name.overload(x), which is refused.
static etx_status run_refused(const char* name, const char* overload,
                              etx_diag* given) {
  test_program* const p = test_program_new();
  etx_program program;
  test_loaded loaded;
  float x[2] = {1, 2};
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int in =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  test_call(p, name, overload, ARGS(in, y, y));
  test_output(p, y, "");
  assert_ok(etx_program_open(&program, test_file(p), &table, NULL, &diag));
  assert_ok(test_load(&loaded, &program, "forward", NULL, &diag));
  const etx_tensor tensor = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, 2);
  assert_ok(etx_method_set_input(&loaded.method, 0, &tensor, &diag));
  const etx_status status = etx_method_run(&loaded.method, given);
  assert_true(test_unload(&loaded));
  test_program_end(p);
  return status;
}

static void assert_reported(const char* name, const char* overload,
                            const char* text) {
  etx_diag found;
  etx_diag_init(&found);
  assert_int_equal(run_refused(name, overload, &found), ETX_BAD_ARGUMENT);
  assert_int_equal(found.status, ETX_BAD_ARGUMENT);
  if (ETX_MESSAGES) {
    assert_string_equal(found.text, text);
  } else {
    assert_int_equal(found.line, 1);
  }
}

static void a_refusal_names_the_operator(void** state) {
  (void)state;
  char text[200];
  etx_format_text(text, sizeof text,
                  "%s (method 'forward', instruction 0, 'my::silent')",
                  etx_status_text(ETX_BAD_ARGUMENT));
  assert_reported("my::silent", "", text);
  etx_format_text(text, sizeof text,
                  "%s (method 'forward', instruction 0, 'my::silent.x')",
                  etx_status_text(ETX_BAD_ARGUMENT));
  assert_reported("my::silent", "x", text);
}

static void the_status_is_the_one_that_is_returned(void** state) {
  (void)state;
  assert_reported("my::telling", "out",
                  "the sky is too low (method 'forward', instruction 0, "
                  "'my::telling.out')");
}

static void a_refusal_needs_no_diag(void** state) {
  (void)state;
  assert_int_equal(run_refused("my::silent", "", NULL), ETX_BAD_ARGUMENT);
  assert_int_equal(run_refused("my::telling", "out", NULL), ETX_BAD_ARGUMENT);
}

static void the_first_message_is_kept(void** state) {
  (void)state;
  static const char before[] = "something else";
  etx_diag found;
  etx_diag_init(&found);
  (void)etx_diag_fail(&found, ETX_NOT_FOUND, before);
  assert_int_equal(run_refused("my::telling", "out", &found), ETX_BAD_ARGUMENT);
  assert_int_equal(found.status, ETX_NOT_FOUND);
  assert_memory_equal(found.text, before, sizeof before - 1);
  assert_null(strstr(found.text, "sky"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_refusal_names_the_operator),
      cmocka_unit_test(the_status_is_the_one_that_is_returned),
      cmocka_unit_test(a_refusal_needs_no_diag),
      unit_test_with(ETX_MESSAGES, the_first_message_is_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
