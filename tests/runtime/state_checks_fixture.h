// A method that writes state, and then uses another index: what the suites of
// state checks share.

#ifndef ETX_TESTS_RUNTIME_STATE_CHECKS_FIXTURE_H
#define ETX_TESTS_RUNTIME_STATE_CHECKS_FIXTURE_H

#include "runtime/method/method_types.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

enum { ARENA = 64, ROWS = 4 };

// s[at] = value, and then an instruction that uses `later`.
typedef struct checks_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
  _Alignas(16) uint8_t arena[ARENA];
  uint32_t torn;
  int s, t, at, value, later;  // values
  int64_t at_data[2], later_data[2];
  float value_data[2];
} checks_fixture;

static inline void start(checks_fixture* f) {
  memset(f, 0, sizeof *f);
  test_program* p = f->p = test_program_new();
  test_blob(p);
  test_method(p, "put");
  test_arenas(p, 256, ARENA);
  f->at = test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(2)), "at");
  f->value =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "value");
  f->later =
      test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(2)), "later");
  f->s = test_state(p, "s", ETX_DTYPE_FLOAT32, SIZES(ROWS), 0);
  f->t = test_state(p, "t", ETX_DTYPE_FLOAT32, SIZES(ROWS), 16);
}

static inline void put_at(checks_fixture* f, int state, int index) {
  const int indices = test_optional_tensors(f->p, ARGS(index));
  test_call(
      f->p, "aten::index_put", "out",
      ARGS(state, indices, f->value, test_bool(f->p, false), state, state));
}

static inline void set_inputs(checks_fixture* f) {
  const etx_tensor at = TEST_TENSOR(f->at_data, ETX_DTYPE_INT64, 2);
  const etx_tensor value = TEST_TENSOR(f->value_data, ETX_DTYPE_FLOAT32, 2);
  const etx_tensor later = TEST_TENSOR(f->later_data, ETX_DTYPE_INT64, 2);
  assert_ok(etx_method_set_input(&f->loaded.method, 0, &at, &diag));
  assert_ok(etx_method_set_input(&f->loaded.method, 1, &value, &diag));
  assert_ok(etx_method_set_input(&f->loaded.method, 2, &later, &diag));
}

static inline void load(checks_fixture* f) {
  test_state_row(f->p, "s", ETX_DTYPE_FLOAT32, SIZES(ROWS), 0, 0);
  test_state_row(f->p, "t", ETX_DTYPE_FLOAT32, SIZES(ROWS), 16, 0);
  test_state_row(f->p, "u", ETX_DTYPE_INT64, SIZES(1), 48, 0);
  test_state_row(f->p, "x", ETX_DTYPE_FLOAT32, SIZES(2), 56, 0);
  const etx_planned_memory state = {f->arena, sizeof f->arena, &f->torn};
  assert_ok(etx_program_open(&f->program, test_file(f->p), &etx_all_kernels,
                             NULL, &diag));
  assert_ok(test_load(&f->loaded, &f->program, "put", &state, &diag));
  f->at_data[0] = f->later_data[0] = 1;
  f->at_data[1] = f->later_data[1] = 3;
  f->value_data[0] = 5;
  f->value_data[1] = 6;
  set_inputs(f);
}

static inline void end(checks_fixture* f) {
  assert_true(test_unload(&f->loaded));
  test_program_end(f->p);
}

static inline void assert_untouched(const checks_fixture* f) {
  assert_int_equal(f->torn, 0);
  for (size_t i = 0; i < sizeof f->arena; ++i) {
    assert_int_equal(f->arena[i], 0);
  }
}

// The run is refused at the instruction, and nothing was written.
#define refused_untouched(place)                                              \
  do {                                                                        \
    assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_BAD_ARGUMENT, \
                   place);                                                    \
    assert_untouched(&f);                                                     \
  } while (0)

static inline void assert_written(const checks_fixture* f) {
  const float wanted[ROWS] = {0, 5, 0, 6};
  assert_int_equal(f->torn, 0);
  assert_memory_equal(f->arena, wanted, sizeof wanted);
}

static inline size_t count_checks(const checks_fixture* f) {
  size_t count = 0;
  for (uint32_t at = f->loaded.method.first_check; at != UINT32_MAX;
       at = f->loaded.method.records[at].to) {
    ++count;
  }
  return count;
}

// t[later], read into `row`.
static inline void select_from(checks_fixture* f, int self, int row) {
  test_call(f->p, "aten::index_select", "out",
            ARGS(self, test_int(f->p, 0), f->later, row, row));
}

#endif
