// Fixture of the suites of `etx verify`: small programs, and checks that the
// proof accepts or refuses them.

#ifndef ETX_TESTS_CLI_VERIFY_VERIFY_FIXTURE_H
#define ETX_TESTS_CLI_VERIFY_VERIFY_FIXTURE_H

#include "tests/support/assert_status.h"

#include "cli/verify/verify_program.h"
#include "tests/support/test_program.h"

static const etx_dtype F32 = ETX_DTYPE_FLOAT32;

static etx_diag diag;

// ---- building programs ----

typedef struct small {
  test_program* p;
} small;

// A method of etx with `scratch` bytes of arena 1.
static inline small start(int64_t scratch) {
  const small s = {test_program_new()};
  test_method(s.p, "m");
  test_arenas(s.p, scratch, 0);
  test_blob(s.p);
  return s;
}

static inline small start_with_state(int64_t scratch, int64_t state) {
  const small s = {test_program_new()};
  test_method(s.p, "m");
  test_arenas(s.p, scratch, state);
  test_blob(s.p);
  return s;
}

// Four floats: 16 bytes.
static inline int four_at(test_program* p, uint64_t offset) {
  return test_scratch(p, F32, SIZES(4), offset);
}

static inline int varying_at(test_program* p, uint64_t offset) {
  return test_dynamic(p, four_at(p, offset));
}

// Its input has up to 4 floats.
static inline test_program* start_varying(int64_t state, int* out_x) {
  test_program* const p =
      state > 0 ? start_with_state(160, state).p : start(160).p;
  const uint32_t symbol = test_symbol(p, "s", 1, 4);
  *out_x = test_input(p, test_dynamic(p, test_borrowed(p, F32, SIZES(4))), "x");
  test_dim(p, 0, 0, symbol, 1, 0);
  return p;
}

static inline int borrowed_input(test_program* p) {
  return test_input(p, test_borrowed(p, F32, SIZES(4)), "x");
}

static inline void relu(test_program* p, int from, int to) {
  test_call(p, "aten::relu", "out", ARGS(from, to, to));
}

// The result has the smaller number.
static inline void relu_of_input(test_program* p, uint64_t offset) {
  const int y = four_at(p, offset);
  relu(p, borrowed_input(p), y);
}

static inline void copy_onto(test_program* p, int to, int from) {
  const int no = test_bool(p, false);
  test_call(p, "aten::copy_", "", ARGS(to, from, no, to));
}

static inline void add(test_program* p, int a, int b, int to) {
  const int alpha = test_int(p, 1);
  test_call(p, "aten::add", "out", ARGS(a, b, alpha, to, to));
}

static inline void matmul(test_program* p, int a, int b, int to) {
  test_call(p, "aten::mm", "out", ARGS(a, b, to, to));
}

static inline void accept(test_program* p) {
  etx_verify_report report;
  assert_ok(etx_verify_program(test_file(p), &report, &diag));
  assert_int_equal(report.level, ETX_VERIFY_LEVEL_PROVED);
  test_program_end(p);
}

static inline void refuse(test_program* p, const char* part) {
  etx_verify_report report;
  assert_refused(etx_verify_program(test_file(p), &report, &diag), ETX_BAD_PLAN,
                 part);
  assert_int_equal(report.level, ETX_VERIFY_LEVEL_ALLOCATION);
  test_program_end(p);
}

// The same with another status than that of a wrong plan.
static inline void refuse_as(test_program* p, etx_status status,
                             const char* part) {
  assert_refused(etx_verify_program(test_file(p), NULL, &diag), status, part);
  test_program_end(p);
}

// A stock file of one method.
static inline test_program* stock(int64_t scratch) {
  test_program* const p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, scratch, 0);
  return p;
}

#endif
