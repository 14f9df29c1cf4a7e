// Factors of matrices after lowering: vectors that nothing reads are not
// computed.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static void singular_values_alone_have_no_vectors(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[2, 4, 3]'}]\n"
      "nodes:\n"
      "  - {out: [u, s, v], op: aten.linalg_svd.default, args: [x]}\n"
      "  - {out: t, op: aten.linalg_svdvals.default, args: [x]}\n"
      "outputs: [s, t]\n",
      "u.1: float32[0], s: float32[2, 3], u.3: float32[0] = "
      "etx::linalg_svd.out(x, False, False)\n"
      "t.1: float32[0], t: float32[2, 3], t.3: float32[0] = "
      "etx::linalg_svd.out(x, False, False)\n"
      "return s\nreturn t\n");
}

static void vectors_that_are_read_are_computed(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[4, 3]'}]\n"
      "nodes:\n"
      "  - {out: [u, s, v], op: aten.linalg_svd.default, args: [x]}\n"
      "  - {out: [q, r], op: aten.linalg_qr.default, args: [x, {str: "
      "complete}]}\n"
      "outputs: [u, q]\n",
      "u: float32[4, 4], s: float32[3], v: float32[3, 3] = "
      "etx::linalg_svd.out(x, True, True)\n"
      "q: float32[4, 4], r: float32[4, 3] = "
      "etx::linalg_qr.out(x, True, True)\n"
      "return u\nreturn q\n");
}

static void the_triangle_is_a_choice(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[3, 3]'}]\n"
      "nodes:\n"
      "  - {out: [w, v], op: aten.linalg_eigh.default, args: [x, {str: U}]}\n"
      "  - {out: z, op: aten.linalg_eigvalsh.default, args: [x]}\n"
      "outputs: [w, v, z]\n",
      "w: float32[3], v: float32[3, 3] = etx::linalg_eigh.out(x, True, True)\n"
      "z: float32[3], z.2: float32[0] = etx::linalg_eigh.out(x, False, False)\n"
      "return w\nreturn v\nreturn z\n");
}

static void a_default_tolerance_needs_fixed_sizes(void** state) {
  (void)state;
  expect_refused(ETX_TARGET_ETX, "lower",
                 "dims: {s: {min: 1, max: 8}}\n"
                 "inputs: [{name: x, type: 'float32[s, 3]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.linalg_pinv.atol_rtol_float, args: "
                 "[x]}\n"
                 "outputs: [y]\n",
                 "'aten.linalg_pinv.atol_rtol_float' needs 'rtol', or matrices "
                 "of fixed sizes");
}

static void factors_are_of_matrices(void** state) {
  (void)state;
  expect_refused(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[3]'}]\n"
                 "nodes:\n"
                 "  - {out: [q, r], op: aten.linalg_qr.default, args: [x]}\n"
                 "outputs: [q, r]\n",
                 "a rank is 1, expected at least 2");
  expect_refused(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[3]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.linalg_matrix_rank.default, args: [x, "
                 "0.1]}\n"
                 "outputs: [y]\n",
                 "expects a matrix, found a tensor of rank 1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(singular_values_alone_have_no_vectors),
      cmocka_unit_test(vectors_that_are_read_are_computed),
      cmocka_unit_test(the_triangle_is_a_choice),
      cmocka_unit_test(a_default_tolerance_needs_fixed_sizes),
      cmocka_unit_test(factors_are_of_matrices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
