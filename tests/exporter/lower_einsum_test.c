// Products by letters after lowering.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static lowered l;

// Lowers `yaml`, runs `passes` and compares the lines.
static void expect(etx_target target, const char* passes, const char* yaml,
                   const char* wanted) {
  lowered_open(&l, target, yaml);
  lowered_run(&l, passes);
  assert_lines(&l, wanted);
  lowered_close(&l);
}

static void letters_in_all_three_are_batches(void** state) {
  (void)state;
  expect(ETX_TARGET_ETX, "lower simplify",
         "inputs: [{name: x, type: 'float32[2, 3, 4]'}, {name: y, type: "
         "'float32[2, 4, 5]'}]\n"
         "nodes:\n"
         "  - {out: z, op: aten.einsum.default, args: [{str: 'bij,bjk->bik'}, "
         "[x, y]]}\n"
         "outputs: [z]\n",
         "z: float32[2, 3, 5] = aten::bmm.out(x, y)\n"
         "return z\n");
}

static void attention_scores_read_keys_as_they_lie(void** state) {
  (void)state;
  expect(
      ETX_TARGET_ETX, "lower recompose_products simplify",
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

static void letters_that_are_gone_are_summed(void** state) {
  (void)state;
  expect(ETX_TARGET_ETX, "lower simplify",
         "inputs: [{name: x, type: 'float32[2, 3]'}]\n"
         "nodes:\n"
         "  - {out: z, op: aten.einsum.default, args: [{str: 'ij->j'}, [x]]}\n"
         "outputs: [z]\n",
         "z: float32[3] = aten::sum.IntList_out(x, [0], False, None)\n"
         "return z\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(letters_in_all_three_are_batches),
      cmocka_unit_test(attention_scores_read_keys_as_they_lie),
      cmocka_unit_test(letters_that_are_gone_are_summed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
