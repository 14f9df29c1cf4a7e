// Graphs that were quantised before the export, as the tests of fuse_qdq
// write them down.

#ifndef ETX_TESTS_EXPORTER_QUANTIZE_FUSE_QDQ_GRAPHS_H
#define ETX_TESTS_EXPORTER_QUANTIZE_FUSE_QDQ_GRAPHS_H

#include <string.h>

#include "tests/exporter/lowered.h"

#define PASSES "lower fold_matmul_transposes fuse_qdq fold_constants simplify"

#define INPUTS                                                             \
  "inputs: [{name: x, type: 'float32[1, 4, 6, 6]'}, {name: q, type: "      \
  "'int8[1, 4, 6, 6]'}, {name: u, type: 'uint8[1, 4, 6, 6]'}, {name: v, "  \
  "type: 'uint8[1, 4, 6, 6]'}, {name: l, type: 'uint8[2, 8]'}]\n"          \
  "buffers: [{name: w, type: 'int8[16, 4, 3, 3]', init: 2}, {name: e, "    \
  "type: 'int8[4, 1, 3, 3]', init: 2}, {name: m, type: 'int8[3, 8]', "     \
  "init: 2}, {name: t, type: 'int8[4, 16, 2, 2]', init: 2}, {name: s, "    \
  "type: 'float32[16]', init: 0.5}, {name: s4, type: 'float32[4]', init: " \
  "0.5}, {name: z, type: 'int64[16]', init: 0}, {name: one, type: "        \
  "'int64[16]', init: 1}, {name: b, type: 'float32[16]', init: 1}, "       \
  "{name: pixel, type: 'int8[1, 16, 1, 1]', init: 2}, {name: i, type: "    \
  "'int32[3]', init: 4}]\n"                                                \
  "nodes:\n"

#define BYTES "0, 255, uint8]}\n"
#define DEQUANTIZE(out, in, numbers)                                     \
  "  - {out: " out                                                       \
  ", op: quantized_decomposed.dequantize_per_tensor.default, args: [" in \
  ", " numbers ", " BYTES
#define QUANTIZE(out, in, numbers)                                     \
  "  - {out: " out                                                     \
  ", op: quantized_decomposed.quantize_per_tensor.default, args: [" in \
  ", " numbers ", " BYTES
#define WEIGHT(out, zeros)                                                \
  "  - {out: " out                                                        \
  ", op: quantized_decomposed.dequantize_per_channel.default, args: [w, " \
  "s, " zeros ", 0, -127, 127, int8]}\n"
#define CONVOLUTION(out, in, weight)                                   \
  "  - {out: " out ", op: aten.conv2d.default, args: [" in ", " weight \
  ", b, [1, 1], [1, 1], [1, 1], 1]}\n"

#define PERMUTED(out, in)                                \
  out ": uint8[1, 6, 6, 4] = aten::permute_copy.out(" in \
      ", [0, 2, 3, "                                     \
      "1])\n"

static inline void expect(const char* yaml, const char* wanted) {
  expect_lowered(ETX_TARGET_ETX, PASSES, yaml, wanted);
}

// Checks that no node of the graph becomes an operator on bytes.
static inline void expect_floats(const char* yaml) {
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, yaml);
  lowered_run(&l, PASSES);
  assert_null(strstr(lowered_lines(&l), "_u8"));
  lowered_close(&l);
}

#endif
