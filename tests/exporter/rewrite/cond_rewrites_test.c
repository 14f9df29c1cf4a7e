// Conditionals: reading, checking, simplifying and printing. Their placement is
// tested in branch_placement_test.c, their results in random_programs_test.c.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exporter/ir/ir_cond.h"
#include "tests/exporter/lowered.h"

static lowered l;

#define X "inputs: [{name: x, type: 'float32[4]'}, {name: c, type: 'bool[]'}]\n"

// ---------------------------------------------------------------- passes

static void nodes_keep_their_branches(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower",
                 X
                 "nodes:\n"
                 "  - out: [y]\n"
                 "    if: c\n"
                 "    then:\n"
                 "      nodes: [{out: a, op: aten.dot.default, args: [x, x]}]\n"
                 "      outputs: [a]\n"
                 "    else:\n"
                 "      nodes: [{out: b, op: aten.sum.default, args: [x]}]\n"
                 "      outputs: [b]\n"
                 "outputs: [y]\n",
                 "cond 1: bool[0] = etx::cond.(c)\n"
                 "  a.1: float32[1, 4] = aten::view_copy.out(x, [1, 4])\n"
                 "  a.2: float32[4, 1] = aten::view_copy.out(x, [4, 1])\n"
                 "  a.3: float32[1, 1] = aten::mm.out(a.1, a.2)\n"
                 "  a: float32[] = aten::view_copy.out(a.3, [])\n"
                 "  b: float32[] = aten::sum.IntList_out(x, [], False, None)\n"
                 "y: float32[] = etx::join.(cond 1, a, b)\n"
                 "return y\n");
}

static void equal_nodes_are_merged_only_if_the_first_has_run(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower simplify",
                 X
                 "nodes:\n"
                 "  - {out: o, op: aten.neg.default, args: [x]}\n"
                 "  - out: [y, z]\n"
                 "    if: c\n"
                 "    then:\n"
                 "      nodes:\n"
                 "        - {out: a, op: aten.neg.default, args: [x]}\n"
                 "        - {out: d, op: aten.exp.default, args: [x]}\n"
                 "        - {out: e, op: aten.exp.default, args: [x]}\n"
                 "        - {out: f, op: aten.add.Tensor, args: [d, e]}\n"
                 "      outputs: [a, f]\n"
                 "    else:\n"
                 "      nodes: [{out: b, op: aten.exp.default, args: [x]}]\n"
                 "      outputs: [x, b]\n"
                 "  - {out: g, op: aten.exp.default, args: [x]}\n"
                 "outputs: [y, z, o, g]\n",
                 "o: float32[4] = aten::neg.out(x)\n"
                 "cond 1: bool[0] = etx::cond.(c)\n"
                 "  d: float32[4] = aten::exp.out(x)\n"
                 "  f: float32[4] = aten::add.out(d, d, 1)\n"
                 "  b: float32[4] = aten::exp.out(x)\n"
                 "y: float32[4] = etx::join.(cond 1, o, x)\n"
                 "z: float32[4] = etx::join.(cond 1, f, b)\n"
                 "g: float32[4] = aten::exp.out(x)\n"
                 "return y\nreturn z\nreturn o\nreturn g\n");
}

static void unused_conditionals_are_removed(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower simplify",
                 X
                 "nodes:\n"
                 "  - {out: d, op: aten.logical_not.default, args: [c]}\n"
                 "  - out: [y]\n"
                 "    if: d\n"
                 "    then:\n"
                 "      nodes: [{out: a, op: aten.neg.default, args: [x]}]\n"
                 "      outputs: [a]\n"
                 "    else: {outputs: [x]}\n"
                 "outputs: [x]\n",
                 "return x\n");
}

#define NESTED                                                       \
  "    then:\n"                                                      \
  "      nodes:\n"                                                   \
  "        - {out: a, op: aten.neg.default, args: [x]}\n"            \
  "        - out: [i]\n"                                             \
  "          if: c\n"                                                \
  "          then: {outputs: [a]}\n"                                 \
  "          else:\n"                                                \
  "            nodes: [{out: j, op: aten.abs.default, args: [a]}]\n" \
  "            outputs: [j]\n"                                       \
  "      outputs: [i]\n"                                             \
  "    else:\n"                                                      \
  "      nodes: [{out: b, op: aten.exp.default, args: [x]}]\n"       \
  "      outputs: [b]\n"                                             \
  "outputs: [y]\n"

static void a_constant_condition_leaves_one_branch(void** state) {
  (void)state;
  static const char* const inner =
      "a: float32[4] = aten::neg.out(x)\n"
      "cond 2: bool[0] = etx::cond.(c)\n"
      "  j: float32[4] = aten::abs.out(a)\n"
      "i: float32[4] = etx::join.(cond 2, a, j)\n"
      "return i\n";
  expect_lowered(ETX_TARGET_ETX, "lower fold_constants fold_constant_branches",
                 X
                 "constants: [{name: k, type: 'bool[1]', init: 1}]\n"
                 "nodes:\n"
                 "  - {out: d, op: aten.logical_and.default, args: [k, k]}\n"
                 "  - out: [y]\n"
                 "    if: d\n" NESTED,
                 inner);
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_constant_branches",
      "dims: {n: {min: 1, max: 9}}\n"
      "inputs: [{name: x, type: 'float32[n]'}, {name: c, type: 'bool[]'}]\n"
      "nodes:\n"
      "  - out: [y]\n"
      "    if: {sym: 'max(0, n - 9)'}\n" NESTED,
      "b: float32[n] = aten::exp.out(x)\n"
      "return b\n");
}

static void a_join_of_equal_values_is_that_value(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower fold_constant_branches",
                 X
                 "nodes:\n"
                 "  - out: [y]\n"
                 "    if: c\n"
                 "    then: {outputs: [x]}\n"
                 "    else: {outputs: [x]}\n"
                 "  - {out: z, op: aten.neg.default, args: [y]}\n"
                 "outputs: [z]\n",
                 "z: float32[4] = aten::neg.out(x)\n"
                 "return z\n");
}

// ---------------------------------------------------------------- refusals

static void refuses(const char* yaml, const char* part) {
  scratch_directory directory;
  reading r;
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "m.yaml", yaml);
  reading_open(&r, directory.path);
  assert_problem(&r, part);
  reading_close(&r);
  scratch_directory_remove(&directory);
}

static void wrong_conditionals_are_refused(void** state) {
  (void)state;
  refuses(X "nodes: [{out: y, if: c, then: {outputs: [x]}}]\noutputs: [y]\n",
          "m.yaml:2:9: 'else' is missing");
  refuses(X
          "nodes: [{out: y, if: c, then: {outputs: [x]}, else: {nodes: []}}]\n",
          "m.yaml:2:53: 'outputs' is missing");
  refuses(X
          "nodes: [{out: y, if: c, then: {outputs: [x, x]}, else: {outputs: "
          "[x]}}]\n",
          "'outputs' should have one name for each name in 'out' (1), found 2");
  refuses(X
          "nodes: [{out: y, if: x, then: {outputs: [x]}, else: {outputs: "
          "[x]}}]\n",
          "'if' should name a bool tensor of one element");
  refuses(X
          "nodes: [{out: y, if: c, op: aten.neg.default, then: {outputs: "
          "[x]}, else: {outputs: [x]}}]\n",
          "unknown key 'op'");
  refuses(X "nodes: [{if: c, then: {outputs: [x]}, else: {outputs: [x]}}]\n",
          "'out' should be a name or a list");
  refuses(
      X
      "nodes:\n"
      "  - out: y\n"
      "    if: c\n"
      "    then:\n"
      "      nodes: [{out: a, op: aten.neg.default, args: [x]}]\n"
      "      outputs: [a]\n"
      "    else: {outputs: [x]}\n"
      "  - {out: z, op: aten.neg.default, args: [a]}\n"
      "outputs: [z]\n",
      "m.yaml:9:43: 'a' is defined in a branch or loop and not visible here");
  refuses(X
          "nodes:\n"
          "  - out: y\n"
          "    if: c\n"
          "    then: {nodes: [{out: a, op: aten.nag.default, args: [x]}], "
          "outputs: [a]}\n"
          "    else: {outputs: [a]}\n"
          "outputs: [y]\n",
          "operator 'aten.nag.default' is not supported");
}

static void malformed_loops_are_refused(void** state) {
  (void)state;
  refuses(X "nodes: [{out: y, while: k, do: {outputs: [x]}}]\n",
          "m.yaml:2:9: 'carry' is missing");
  refuses(X "nodes: [{out: y, while: k, carry: {k: c}}]\n",
          "m.yaml:2:9: 'do' is missing");
  refuses(X
          "nodes: [{out: y, while: k, carry: {i: x, k: c}, do: {outputs: "
          "[x]}}]\n",
          "'carry' should have one value for each name in 'out' (1), found 2");
  refuses(X "nodes: [{out: y, while: i, carry: {i: x}, do: {outputs: [i]}}]\n",
          "'while' should name a bool tensor of one element");
  refuses(X "nodes: [{out: y, while: c, carry: {k: c}, do: {outputs: [k]}}]\n",
          "'while' should name a value under 'carry', which 'c' is not");
  refuses(X "nodes: [{out: y, while: c, carry: {c: c}, do: {outputs: [c]}}]\n",
          "a carried value needs a name of its own, which 'c' is not");
  refuses(
      X
      "nodes:\n"
      "  - {out: y, while: k, carry: {k: c}, do: {outputs: [k]}}\n"
      "outputs: [k]\n",
      "m.yaml:4:11: 'k' is defined in a branch or loop and not visible here");
}

// Carried values with equal initial values are not merged, and the condition is
// not folded, although both start as constants. The counter has no reader after
// the loop and stays.
static void passes_conclude_nothing_from_initial_values(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX,
                 "lower fold_constants fold_constant_branches simplify",
                 X
                 "constants: [{name: o, type: 'float32[4]', init: 0},\n"
                 "            {name: t, type: 'bool[]', init: true}]\n"
                 "nodes:\n"
                 "  - out: [y, z, w]\n"
                 "    while: k\n"
                 "    carry: {a: o, b: o, k: t}\n"
                 "    do:\n"
                 "      nodes:\n"
                 "        - {out: d, op: aten.add.Tensor, args: [a, x]}\n"
                 "        - {out: e, op: aten.mul.Tensor, args: [b, d]}\n"
                 "      outputs: [d, e, c]\n"
                 "outputs: [z]\n",
                 "a: float32[4] = etx::carry.(const float32[4])\n"
                 "b: float32[4] = etx::carry.(const float32[4])\n"
                 "k: bool[] = etx::carry.(1:bool)\n"
                 "cond 1: bool[0] = etx::cond.(k)\n"
                 "  d: float32[4] = aten::add.out(a, x, 1)\n"
                 "  e: float32[4] = aten::mul.out(b, d)\n"
                 "y: float32[4] = etx::join.(cond 1, d, a)\n"
                 "z: float32[4] = etx::join.(cond 1, e, b)\n"
                 "w: bool[] = etx::join.(cond 1, c, k)\n"
                 "return z\n");
}

static void branches_of_different_types_are_refused(void** state) {
  (void)state;
  expect_refused(ETX_TARGET_ETX, "lower",
                 X
                 "nodes:\n"
                 "  - out: y\n"
                 "    if: c\n"
                 "    then:\n"
                 "      nodes: [{out: a, op: aten.sum.default, args: [x]}]\n"
                 "      outputs: [a]\n"
                 "    else: {outputs: [x]}\n"
                 "outputs: [y]\n",
                 "the two branches of torch.cond give 'y' different");
  expect_refused(ETX_TARGET_ETX, "lower",
                 X
                 "nodes:\n"
                 "  - {out: d, op: aten.neg.default, args: [x]}\n"
                 "  - out: y\n"
                 "    if: d\n"
                 "    then: {outputs: [x]}\n"
                 "    else: {outputs: [d]}\n"
                 "outputs: [y]\n",
                 "the condition of torch.cond must be a tensor of one bool");
}

// ---------------------------------------------------------------- invariants

static etx_ir_method* method(void) { return &l.reading.module.methods[0]; }

static void assert_broken(void) {
  assert_int_not_equal(etx_ir_verify(&l.reading.module, true, NULL), ETX_OK);
}

// The IR verifier accepts heads and joins only in the positions that ir_cond.h
// states.
static void misplaced_nodes_are_found(void** state) {
  (void)state;
  lowered_open(&l, ETX_TARGET_ETX,
               X
               "nodes:\n"
               "  - out: y\n"
               "    if: c\n"
               "    then:\n"
               "      nodes: [{out: a, op: aten.neg.default, args: [x]}]\n"
               "      outputs: [a]\n"
               "    else:\n"
               "      nodes: [{out: b, op: aten.exp.default, args: [x]}]\n"
               "      outputs: [b]\n"
               "  - {out: z, op: aten.neg.default, args: [y]}\n"
               "outputs: [z]\n");
  lowered_run(&l, "lower");
  etx_ir_node* const nodes = method()->nodes;
  assert_int_equal(etx_ir_find_head(method(), 1), 0);
  assert_int_equal(etx_ir_branch_end(method(), 0, etx_ir_then_branch(1)), 2);
  assert_int_equal(etx_ir_branch_end(method(), 0, etx_ir_else_branch(1)), 3);
  // Where a new node is inserted: in front of the conditional, after its joins,
  // or within a branch.
  assert_int_equal(etx_ir_outside_conds(method(), 0, 2), 0);
  assert_int_equal(etx_ir_outside_conds(method(), 0, 3), 4);
  assert_int_equal(etx_ir_outside_conds(method(), etx_ir_else_branch(1), 1), 0);
  assert_int_equal(etx_ir_outside_conds(method(), etx_ir_else_branch(1), 2), 2);

  nodes[1].branch = 0;  // a is read by the join all the same
  nodes[2].branch = etx_ir_then_branch(1);
  assert_broken();  // a branch without its head in front
  nodes[1].branch = etx_ir_else_branch(1);
  assert_broken();  // the second branch first
  nodes[1].branch = etx_ir_then_branch(1);
  nodes[2].branch = etx_ir_else_branch(1);
  assert_int_equal(etx_ir_verify(&l.reading.module, true, NULL), ETX_OK);
  nodes[4].branch = etx_ir_then_branch(1);
  assert_broken();  // a branch entered again
  nodes[4].branch = 77;
  assert_broken();
  nodes[4].branch = 0;
  nodes[4].args[0].as.value = nodes[1].outputs[0];
  assert_broken();  // a value of a branch read outside
  lowered_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nodes_keep_their_branches),
      cmocka_unit_test(equal_nodes_are_merged_only_if_the_first_has_run),
      cmocka_unit_test(unused_conditionals_are_removed),
      cmocka_unit_test(a_constant_condition_leaves_one_branch),
      cmocka_unit_test(a_join_of_equal_values_is_that_value),
      cmocka_unit_test(wrong_conditionals_are_refused),
      cmocka_unit_test(malformed_loops_are_refused),
      cmocka_unit_test(passes_conclude_nothing_from_initial_values),
      cmocka_unit_test(branches_of_different_types_are_refused),
      cmocka_unit_test(misplaced_nodes_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
