// Attention as models spell it, in parts, and what becomes of it.

#ifndef ETX_TESTS_EXPORTER_FUSE_ATTENTION_FUSE_ATTENTION_GRAPHS_H
#define ETX_TESTS_EXPORTER_FUSE_ATTENTION_FUSE_ATTENTION_GRAPHS_H

#include "tests/exporter/lowered.h"

#define PASSES                                                          \
  "lower fold_expanded_operands fold_matmul_transposes fold_constants " \
  "simplify "                                                           \
  "fuse_attention simplify"

// Rows of 8 are two heads of 4.
#define INPUTS                                                             \
  "inputs: [{name: q, type: 'float32[2, 3, 8]'}, {name: k, type: "         \
  "'float32[2, 5, 8]'}, {name: v, type: 'float32[2, 5, 8]'}, {name: m, "   \
  "type: 'float32[2, 1, 3, 5]'}, {name: b, type: 'bool[2, 1, 3, 5]'}, "    \
  "{name: p, type: 'int64[3]'}, {name: n, type: 'float32[2, 1, 5]'}, "     \
  "{name: bz, type: 'float32[4, 1, 5]'}, {name: hs, type: 'float32[2, 1, " \
  "1]'}, {name: c1, type: 'float32[1]'}]\n"                                \
  "nodes:\n"

#define HEADS                                                       \
  INPUTS                                                            \
  "  - {out: q4, op: aten.view.default, args: [q, [2, 3, 2, 4]]}\n" \
  "  - {out: k4, op: aten.view.default, args: [k, [2, 5, 2, 4]]}\n" \
  "  - {out: v4, op: aten.view.default, args: [v, [2, 5, 2, 4]]}\n" \
  "  - {out: qh, op: aten.transpose.int, args: [q4, 1, 2]}\n"       \
  "  - {out: kh, op: aten.transpose.int, args: [k4, 1, 2]}\n"       \
  "  - {out: vh, op: aten.transpose.int, args: [v4, 1, 2]}\n"

#define SCORES                                                \
  "  - {out: kt, op: aten.transpose.int, args: [kh, 2, 3]}\n" \
  "  - {out: s, op: aten.matmul.default, args: [qh, kt]}\n"

#define SOFTMAX(scores) \
  "  - {out: w, op: aten.softmax.int, args: [" scores ", -1]}\n"

#define JOINED                                                  \
  "  - {out: o, op: aten.matmul.default, args: [w, vh]}\n"      \
  "  - {out: t, op: aten.transpose.int, args: [o, 1, 2]}\n"     \
  "  - {out: c, op: aten.clone.default, args: [t]}\n"           \
  "  - {out: y, op: aten.view.default, args: [c, [2, 3, 8]]}\n" \
  "outputs: [y]\n"

#define FOUND(rest)                                                       \
  "q4: float32[2, 3, 2, 4] = aten::view_copy.out(q, [2, 3, 2, 4])\n"      \
  "k4: float32[2, 5, 2, 4] = aten::view_copy.out(k, [2, 5, 2, 4])\n"      \
  "v4: float32[2, 5, 2, 4] = aten::view_copy.out(v, [2, 5, 2, 4])\n" rest \
  "y: float32[2, 3, 8] = aten::view_copy.out(t, [2, 3, 8])\n"             \
  "return y\n"

#define POSITIONS "u: int64[3, 1] = aten::view_copy.out(p, [3, 1])\n"

#define ORDERS "[0, 2, 1, 3], [0, 2, 1, 3], [0, 2, 1, 3], [0, 2, 1, 3]"

#define LEAST "  - {out: l, op: aten.full.default, args: [[], -1.0e+38]}\n"

// The line of the operator with its mask, scale and what follows.
#define CALL(mask, numbers)                                                   \
  "t: float32[2, 3, 2, 4] = etx::attention.out(q4, k4, v4, " mask ", " ORDERS \
  ", " numbers ")\n"

static inline void expect(const char* yaml, const char* wanted) {
  expect_lowered(ETX_TARGET_ETX, PASSES, yaml, wanted);
}

#endif
