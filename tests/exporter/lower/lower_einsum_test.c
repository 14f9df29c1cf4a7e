// Lowering of einsum.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static void letters_in_all_three_are_batches(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 3, 4]'}, {name: y, type: "
      "'float32[2, 4, 5]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.einsum.default, args: [{str: 'bij,bjk->bik'}, "
      "[x, y]]}\n"
      "outputs: [z]\n",
      "z: float32[2, 3, 5] = aten::bmm.out(x, y)\n"
      "return z\n");
}

static void attention_scores_need_no_transpose_of_keys(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_matmul_transposes simplify",
      "inputs: [{name: q, type: 'float32[1, 3, 2, 4]'}, {name: k, type: "
      "'float32[1, 5, 2, 4]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.einsum.default, args: [{str: 'bqhd,bkhd->bhqk'}, "
      "[q, k]]}\n"
      "outputs: [z]\n",
      "z.1: float32[1, 2, 3, 4] = aten::permute_copy.out(q, [0, 2, 1, 3])\n"
      "z.3: float32[2, 3, 4] = aten::view_copy.out(z.1, [2, 3, 4])\n"
      "z.5.1: float32[1, 2, 5, 4] = aten::permute_copy.out(k, [0, 2, 1, 3])\n"
      "z.5.2: float32[2, 5, 4] = aten::view_copy.out(z.5.1, [2, 5, 4])\n"
      "z.5: float32[2, 3, 5] = etx::bmm_nt.out(z.3, z.5.2)\n"
      "z: float32[1, 2, 3, 5] = aten::view_copy.out(z.5, [1, 2, 3, 5])\n"
      "return z\n");
}

static void letters_without_a_result_are_summed(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 3]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.einsum.default, args: [{str: 'ij->j'}, [x]]}\n"
      "outputs: [z]\n",
      "z: float32[3] = aten::sum.IntList_out(x, [0], False, None)\n"
      "return z\n");
}

static void ellipses_align_at_the_last_dimension(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 3, 4]'}, {name: y, type: "
      "'float32[6, 2, 4, 5]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.einsum.default, args: [{str: "
      "'...ij,...jk->...ik'}, [x, y]]}\n"
      "outputs: [z]\n",
      "z.1: float32[2, 4, 6, 5] = aten::permute_copy.out(y, [1, 2, 0, 3])\n"
      "z.2: float32[2, 4, 30] = aten::view_copy.out(z.1, [2, 4, 30])\n"
      "z.3: float32[2, 3, 30] = aten::bmm.out(x, z.2)\n"
      "z.4: float32[2, 3, 6, 5] = aten::view_copy.out(z.3, [2, 3, 6, 5])\n"
      "z: float32[6, 2, 3, 5] = aten::permute_copy.out(z.4, [2, 0, 1, 3])\n"
      "return z\n");
}

static void an_equation_without_result(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 3]'}, {name: y, type: "
      "'float32[3, 4]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.einsum.default, args: [{str: 'zj,ja'}, [x, "
      "y]]}\n"
      "outputs: [z]\n",
      "z.1: float32[1, 2, 3] = aten::view_copy.out(x, [1, 2, 3])\n"
      "z.2: float32[1, 3, 4] = aten::view_copy.out(y, [1, 3, 4])\n"
      "z.3: float32[1, 2, 4] = aten::bmm.out(z.1, z.2)\n"
      "z.4: float32[2, 4] = aten::view_copy.out(z.3, [2, 4])\n"
      "z: float32[4, 2] = aten::permute_copy.out(z.4, [1, 0])\n"
      "return z\n");
}

static void a_letter_twice_is_the_diagonal(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[3, 2, 3]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.einsum.default, args: [{str: 'iji->ji'}, [x]]}\n"
      "  - {out: z, op: aten.einsum.default, args: [{str: 'iji'}, [x]]}\n"
      "outputs: [y, z]\n",
      "y: float32[2, 3] = aten::diagonal_copy.out(x, 0, 0, 2)\n"
      "z: float32[2] = aten::sum.IntList_out(y, [1], False, None)\n"
      "return y\n"
      "return z\n");
}

static void a_size_of_one_is_broadcast(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[1, 3]'}, {name: y, type: "
      "'float32[4, 3]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.einsum.default, args: [{str: 'bi,bi->b'}, [x, "
      "y]]}\n"
      "outputs: [z]\n",
      "z.2: float32[3, 4] = aten::permute_copy.out(y, [1, 0])\n"
      "z.3: float32[1, 1, 3] = aten::view_copy.out(x, [1, 1, 3])\n"
      "z.4: float32[1, 3, 4] = aten::view_copy.out(z.2, [1, 3, 4])\n"
      "z.5: float32[1, 1, 4] = aten::bmm.out(z.3, z.4)\n"
      "z: float32[4] = aten::view_copy.out(z.5, [4])\n"
      "return z\n");
}

static void invalid_equations_are_refused(void** state) {
  (void)state;
  static const char* const equations[] = {"ij->ii",    "..ij->ij", "ij-ij",
                                          "ij,jk->ik", "ijk->ij",  "...i...->i",
                                          "ij->ijq"};
  for (size_t i = 0; i < sizeof(equations) / sizeof(equations[0]); ++i) {
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "inputs: [{name: x, type: 'float32[2, 3]'}]\n"
                   "nodes:\n"
                   "  - {out: z, op: aten.einsum.default, args: [{str: '%s'}, "
                   "[x]]}\n"
                   "outputs: [z]\n",
                   equations[i]);
    expect_refused(ETX_TARGET_ETX, "lower", text, "the equation");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(letters_in_all_three_are_batches),
      cmocka_unit_test(attention_scores_need_no_transpose_of_keys),
      cmocka_unit_test(letters_without_a_result_are_summed),
      cmocka_unit_test(invalid_equations_are_refused),
      cmocka_unit_test(a_size_of_one_is_broadcast),
      cmocka_unit_test(a_letter_twice_is_the_diagonal),
      cmocka_unit_test(an_equation_without_result),
      cmocka_unit_test(ellipses_align_at_the_last_dimension),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
