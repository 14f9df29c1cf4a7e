// Matrix products whose right operand is expanded over heads.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

// Two heads of keys for six of queries.
#define HEADS(keys)                                                       \
  "dims: {s: {min: 1, max: 8}}\n"                                         \
  "inputs: [{name: q, type: 'float32[6, s, 8]'}, {name: k, type: "        \
  "'float32[1, 2, 5, 8]'}, {name: v, type: 'float32[1, 2, 5, 4]'}]\n"     \
  "nodes:\n"                                                              \
  "  - {out: k1, op: aten.unsqueeze.default, args: [k, 2]}\n"             \
  "  - {out: k2, op: aten.expand.default, args: [k1, [1, 2, 3, 5, 8]]}\n" \
  "  - {out: k3, op: aten.view.default, args: [k2, [1, 6, 5, 8]]}\n" keys \
  "  - {out: kv, op: aten.view.default, args: [ks, [6, 8, 5]]}\n"         \
  "  - {out: w, op: aten.bmm.default, args: [q, kv]}\n"                   \
  "  - {out: v1, op: aten.unsqueeze.default, args: [v, 2]}\n"             \
  "  - {out: v2, op: aten.expand.default, args: [v1, [1, 2, 3, 5, 4]]}\n" \
  "  - {out: v3, op: aten.view.default, args: [v2, [6, 5, 4]]}\n"         \
  "  - {out: y, op: aten.bmm.default, args: [w, v3]}\n"                   \
  "outputs: [y]\n"

#define TRANSPOSED_AND_SCALED                                           \
  "  - {out: kt, op: aten.permute.default, args: [k3, [0, 1, 3, 2]]}\n" \
  "  - {out: ks, op: aten.mul.Scalar, args: [kt, 0.5]}\n"

#define SCALED_AND_TRANSPOSED                             \
  "  - {out: kt, op: aten.mul.Scalar, args: [k3, 0.5]}\n" \
  "  - {out: ks, op: aten.permute.default, args: [kt, [0, 1, 3, 2]]}\n"

static void query_heads_that_share_keys_are_rows_of_one_bmm(void** state) {
  (void)state;
  static const char* const graphs[] = {HEADS(TRANSPOSED_AND_SCALED),
                                       HEADS(SCALED_AND_TRANSPOSED)};
  for (size_t i = 0; i < 2; ++i) {
    expect_lowered(
        ETX_TARGET_ETX,
        "lower fold_expanded_operands fold_matmul_transposes simplify",
        graphs[i],
        "w.1: float32[2, 5, 8] = aten::view_copy.out(k, [2, 5, 8])\n"
        "w.3: float32[6, s, 8] = aten::mul.out(q, 0.5:float32)\n"
        "w.4: float32[2, 3*s, 8] = aten::view_copy.out(w.3, [2, 3*s, 8])\n"
        "w.5: float32[2, 3*s, 5] = etx::bmm_nt.out(w.4, w.1)\n"
        "y.1: float32[2, 5, 4] = aten::view_copy.out(v, [2, 5, 4])\n"
        "y.3: float32[2, 3*s, 4] = aten::bmm.out(w.5, y.1)\n"
        "y: float32[6, s, 4] = aten::view_copy.out(y.3, [6, s, 4])\n"
        "return y\n");
  }
}

static void other_expands_stay(void** state) {
  (void)state;
  // Each row is repeated, not each head.
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_expanded_operands",
      "inputs: [{name: q, type: 'float32[2, 3, 6]'}, {name: k, type: "
      "'float32[2, 6, 1]'}]\n"
      "nodes:\n"
      "  - {out: e, op: aten.expand.default, args: [k, [2, 6, 4]]}\n"
      "  - {out: y, op: aten.bmm.default, args: [q, e]}\n"
      "outputs: [y]\n",
      "e: float32[2, 6, 4] = aten::expand_copy.out(k, [2, 6, 4], False)\n"
      "y: float32[2, 3, 4] = aten::bmm.out(q, e)\n"
      "return y\n");
  // The heads are expanded one after the other.
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_expanded_operands",
      "inputs: [{name: q, type: 'float32[6, 3, 5]'}, {name: k, type: "
      "'float32[1, 2, 5, 8]'}]\n"
      "nodes:\n"
      "  - {out: e, op: aten.expand.default, args: [k, [3, 2, 5, 8]]}\n"
      "  - {out: f, op: aten.view.default, args: [e, [6, 5, 8]]}\n"
      "  - {out: y, op: aten.bmm.default, args: [q, f]}\n"
      "outputs: [y]\n",
      "e: float32[3, 2, 5, 8] = aten::expand_copy.out(k, [3, 2, 5, 8], "
      "False)\n"
      "f: float32[6, 5, 8] = aten::view_copy.out(e, [6, 5, 8])\n"
      "y: float32[6, 3, 8] = aten::bmm.out(q, f)\n"
      "return y\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(query_heads_that_share_keys_are_rows_of_one_bmm),
      cmocka_unit_test(other_expands_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
