// Graphs written in YAML, rewritten by passes, and compared as text:
//
//   lowered_open(&l, ETX_TARGET_ETX,
//                "inputs: [{name: x, type: 'float32[4]'}]\n"
//                "nodes: [{out: y, op: aten.neg.default, args: [x]}]\n"
//                "outputs: [y]\n");
//   lowered_run(&l, "lower simplify");
//   assert_lines(&l, "y: float32[4] = aten::neg.out(x)\n"
//                    "return y\n");
//
// Constants of one element are shown as their number, other constants as
// "const dtype[sizes]".

#ifndef ETX_TESTS_EXPORTER_LOWERED_H
#define ETX_TESTS_EXPORTER_LOWERED_H

#include "exporter/pass_list.h"
#include "tests/exporter/reading.h"

typedef struct lowered {
  reading reading;
  etx_export_options options;
  etx_pass_context context;
  etx_diag diag;
  char lines[32768];
  size_t line_bytes;
} lowered;

// Reads a method named "m"; the first two keys are added.
void lowered_open(lowered* l, etx_target target, const char* yaml);
void lowered_close(lowered* l);

// Runs passes by name, separated by spaces, and verifies the graph. Fails the
// test if a pass reports a problem.
void lowered_run(lowered* l, const char* passes);
// Runs a pass and expects a problem that contains `part`.
void assert_pass_refuses(lowered* l, const char* pass, const char* part);

// The method as lines.
const char* lowered_lines(lowered* l);
void assert_lines(lowered* l, const char* wanted);

// A complete test: reads `yaml`, runs `passes` as lowered_run does and compares
// the lines with `wanted`.
void expect_lowered(etx_target target, const char* passes, const char* yaml,
                    const char* wanted);
// The same, but expects that `pass` reports a problem that contains `part`.
void expect_refused(etx_target target, const char* pass, const char* yaml,
                    const char* part);

// The constant that is output `output` of the method.
const etx_ir_constant* lowered_constant(const lowered* l, size_t output);

#endif
