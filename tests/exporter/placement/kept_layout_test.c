// State layouts of earlier programs that cannot be kept are refused.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "exporter/placement/shared_state.h"
#include "tests/support/test_program.h"

static etx_diag diag;

// A module of two states "a" and "b" of 16 bytes keeps the layout of a file.
static etx_status keep(test_program* p) {
  etx_pool pool;
  etx_ir_module module;
  etx_state_layout layout = {0};
  uint32_t unused = 0;
  etx_diag_init(&diag);
  etx_pool_init(&pool);
  etx_ir_module_init(&module, &pool);
  for (size_t i = 0; i < 2; ++i) {
    etx_ir_buffer buffer = {.name = etx_text_of(i == 0 ? "a" : "b"),
                            .dtype = ETX_DTYPE_FLOAT32,
                            .rank = 1,
                            .initial = ETX_IR_NONE,
                            .is_state = true};
    buffer.sizes[0] = 4;
    assert_int_equal(etx_ir_add_buffer(&module, &buffer, &unused), ETX_OK);
  }
  const etx_status status =
      etx_shared_state_layout(&module, test_file(p), &layout, &diag);
  etx_pool_close(&pool);
  test_program_end(p);
  return status;
}

static test_program* two_states_at(uint64_t first, uint64_t second) {
  test_program* const p = test_program_new();
  test_method(p, "m");
  test_arenas(p, 0, 64);
  const int a = test_state(p, "a", ETX_DTYPE_FLOAT32, SIZES(4), first);
  const int b = test_state(p, "b", ETX_DTYPE_FLOAT32, SIZES(4), second);
  test_call(p, "aten::relu", "out", ARGS(a, b, b));
  test_state_row(p, "a", ETX_DTYPE_FLOAT32, SIZES(4), first, 0);
  test_state_row(p, "b", ETX_DTYPE_FLOAT32, SIZES(4), second, 0);
  return p;
}

static void disjoint_states_are_kept(void** state) {
  (void)state;
  test_program* const p = two_states_at(32, 0);
  test_blob(p);
  assert_int_equal(keep(p), ETX_OK);
}

static void overlapping_states_are_refused(void** state) {
  (void)state;
  test_program* const p = two_states_at(16, 16);
  test_blob(p);
  assert_int_equal(keep(p), ETX_BAD_ARGUMENT);
  assert_non_null(strstr(diag.text, "states 'a' and 'b' overlap"));
}

static void states_between_multiples_of_the_alignment_are_refused(
    void** state) {
  (void)state;
  test_program* const p = two_states_at(0, 24);
  test_blob(p);
  assert_int_equal(keep(p), ETX_BAD_ARGUMENT);
  assert_non_null(
      strstr(diag.text, "'b' is at offset 24 in the layout to keep"));
}

static void a_stock_file_is_refused(void** state) {
  (void)state;
  assert_int_equal(keep(two_states_at(0, 16)), ETX_BAD_FILE);
  assert_non_null(strstr(diag.text, "was not written by etx"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(disjoint_states_are_kept),
      cmocka_unit_test(overlapping_states_are_refused),
      cmocka_unit_test(states_between_multiples_of_the_alignment_are_refused),
      cmocka_unit_test(a_stock_file_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
