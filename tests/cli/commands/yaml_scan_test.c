// Loops over rows in YAML: `scan` gives the bits of the graph in which the
// steps follow each other, a dump of it gives the same program, and malformed
// ones are refused with their place.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"

#define INPUTS                                \
  "inputs:\n"                                 \
  "  - {name: xs, type: \"float32[3, 2]\"}\n" \
  "  - {name: gains, type: \"float32[3]\"}\n" \
  "  - {name: start, type: \"float32[2]\"}\n" \
  "nodes:\n"

// A scan with two tensors and two kinds of results, a map and a sum.
static const char with_scans[] =
    "etx: 1\nmethod: steps\n" INPUTS
    "  - out: [last, rows, sums]\n"
    "    type: [\"float32[2]\", \"float32[3, 2]\", \"float32[3]\"]\n"
    "    scan: {x: xs, gain: gains}\n"
    "    carry: {h: start}\n"
    "    do:\n"
    "      nodes:\n"
    "        - {out: a, op: aten.add.Tensor, args: [h, x]}\n"
    "        - {out: b, op: aten.tanh.default, args: [a]}\n"
    "        - {out: c, op: aten.mul.Tensor, args: [b, gain]}\n"
    "        - {out: d, op: aten.sum.default, args: [c]}\n"
    "      outputs: [b, c, d]\n"
    "  - out: products\n"
    "    type: \"float32[3, 2]\"\n"
    "    scan: {y: xs}\n"
    "    do:\n"
    "      nodes: [{out: p, op: aten.mul.Tensor, args: [y, start]}]\n"
    "      outputs: [p]\n"
    "  - out: total\n"
    "    scan: {z: products}\n"
    "    steps: 3\n"
    "    carry: {t: start}\n"
    "    do:\n"
    "      nodes: [{out: u, op: aten.add.Tensor, args: [t, z]}]\n"
    "      outputs: [u]\n"
    "outputs: {last: last, rows: rows, sums: sums, products: products, "
    "total: total}\n";

#define STEP(i, before)                                             \
  "  - {out: x" #i ", op: aten.select.int, args: [xs, 0, " #i       \
  "]}\n"                                                            \
  "  - {out: g" #i ", op: aten.select.int, args: [gains, 0, " #i    \
  "]}\n"                                                            \
  "  - {out: a" #i ", op: aten.add.Tensor, args: [" before ", x" #i \
  "]}\n"                                                            \
  "  - {out: b" #i ", op: aten.tanh.default, args: [a" #i           \
  "]}\n"                                                            \
  "  - {out: c" #i ", op: aten.mul.Tensor, args: [b" #i ", g" #i    \
  "]}\n"                                                            \
  "  - {out: d" #i ", op: aten.sum.default, args: [c" #i            \
  "]}\n"                                                            \
  "  - {out: p" #i ", op: aten.mul.Tensor, args: [x" #i ", start]}\n"

static const char step_by_step[] =
    "etx: 1\nmethod: steps\n" INPUTS STEP(0, "start") STEP(1, "b0")
        STEP(2, "b1")
    "  - {out: rows, op: aten.stack.default, args: [[c0, c1, c2]]}\n"
    "  - {out: sums, op: aten.stack.default, args: [[d0, d1, d2]]}\n"
    "  - {out: products, op: aten.stack.default, args: [[p0, p1, p2]]}\n"
    "  - {out: t0, op: aten.add.Tensor, args: [start, p0]}\n"
    "  - {out: t1, op: aten.add.Tensor, args: [t0, p1]}\n"
    "  - {out: total, op: aten.add.Tensor, args: [t1, p2]}\n"
    "outputs: {last: b2, rows: rows, sums: sums, products: products, "
    "total: total}\n";

enum { PATH_BYTES = 256 };

// Writes `text` as the method of directory `name` and plans it.
static void plan(const char* name, const char* text) {
  char path[PATH_BYTES], program[PATH_BYTES];
  snprintf(path, sizeof path, "%s/%s", command_directory, name);
  (void)mkdir(path, 0700);  // of an earlier test
  snprintf(path, sizeof path, "%s/%s/steps.yaml", command_directory, name);
  command_write_file(path, text);
  snprintf(program, sizeof program, "%s/%s.pte", command_directory, name);
  command_expect(0, WORDS(ETX, "plan", path, "-o", program));
  command_expect(0, WORDS(ETX, "verify", program));
}

static void run(const char* name, const char* result) {
  char program[PATH_BYTES], out[PATH_BYTES];
  snprintf(program, sizeof program, "%s/%s.pte", command_directory, name);
  snprintf(out, sizeof out, "%s=%s/%s_%s.npy", result, command_directory, name,
           result);
  command_expect(
      0, WORDS(ETX, "run", program, "steps", "-i",
               "xs=[[0.3, -1.2], [0.7, 0.1], [-0.4, 2.5]]", "-i",
               "gains=[0.5, -2, 3]", "-i", "start=[0.2, -0.6]", "-o", out));
}

static void a_scan_has_the_bits_of_its_steps(void** state) {
  static const char* const results[] = {"last", "rows", "sums", "products",
                                        "total"};
  (void)state;
  plan("scans", with_scans);
  plan("steps", step_by_step);
  for (size_t i = 0; i < sizeof results / sizeof *results; ++i) {
    char a[PATH_BYTES], b[PATH_BYTES];
    run("scans", results[i]);
    run("steps", results[i]);
    snprintf(a, sizeof a, "%s/scans_%s.npy", command_directory, results[i]);
    snprintf(b, sizeof b, "%s/steps_%s.npy", command_directory, results[i]);
    command_expect_same_files(a, b);
  }
}

static void a_dump_of_a_scan_plans_the_same_program(void** state) {
  char methods[PATH_BYTES], dump[PATH_BYTES], a[PATH_BYTES], b[PATH_BYTES];
  (void)state;
  plan("scans", with_scans);
  snprintf(methods, sizeof methods, "%s/scans", command_directory);
  snprintf(dump, sizeof dump, "%s/dumped", command_directory);
  snprintf(a, sizeof a, "%s/scans_again.pte", command_directory);
  snprintf(b, sizeof b, "%s/dumped.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", methods, "-o", a));
  command_expect(0, WORDS(ETX, "dump", methods, "-o", dump));
  command_expect(0, WORDS(ETX, "plan", dump, "-o", b));
  command_expect_same_files(a, b);
}

static void refuse(const char* entry, const char* message) {
  char path[PATH_BYTES], text[2000];
  snprintf(path, sizeof path, "%s/steps.yaml", command_directory);
  snprintf(text, sizeof text, "etx: 1\nmethod: steps\n" INPUTS "  - %s\n%s",
           entry, "outputs: []\n");
  command_write_file(path, text);
  command_expect_err(2, WORDS(ETX, "check", path), message);
}

static void malformed_scans_are_refused_with_their_place(void** state) {
  (void)state;
  refuse("{out: a, scan: {x: xs}, do: {outputs: [x]}}",
         "steps.yaml:8:5: 'type' should state the type of the stacked result");
  refuse("{out: a, type: \"float32[]\", scan: {x: xs}, do: {outputs: [x]}}",
         "the stacked result 'a' should have a dimension for the rows");
  refuse("{out: a, type: \"float32[3, 2]\", scan: [x], do: {outputs: [x]}}",
         "'scan' should be a map");
  refuse("{out: a, type: \"float32[3, 2]\", scan: {x: xs}}",
         "steps.yaml:8:5: 'do' is missing");
  refuse("{out: a, type: \"float32[3, 2]\", scan: {x: xs}, do: {}}",
         "'outputs' is missing");
  refuse("{out: a, scan: {x: xs}, carry: {h: start}, do: {outputs: [h]}}",
         "'steps' should state the number of rows");
  refuse("{out: a, scan: {x: xs}, carry: {h: start}, do: {outputs: []}}",
         "'outputs' should start with a value for each name in 'carry' (1)");
  refuse(
      "{out: [a, b], type: [\"float32[3, 2]\", null], scan: {x: xs}, do: "
      "{outputs: [x]}}",
      "'outputs' should have one name for each name in 'out' (2), found 1");
  refuse("{out: a, type: \"float32[4, 2]\", scan: {x: xs}, do: {outputs: [x]}}",
         "'xs' should have as many rows as the results, which is '4'");
  refuse("{out: a, type: \"float32[3, 2]\", scan: {x: ys}, do: {outputs: [x]}}",
         "value 'ys' is not defined before its use");
  refuse("{out: a, type: \"float32[3, 2]\", scan: {x: xs}, do: {outputs: [z]}}",
         "value 'z' is not defined before its use");
  refuse(
      "{out: a, type: \"float32[3, 2]\", scan: {x: xs}, while: x, do: "
      "{outputs: [x]}}",
      "steps.yaml:8:");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_scan_has_the_bits_of_its_steps),
      cmocka_unit_test(a_dump_of_a_scan_plans_the_same_program),
      cmocka_unit_test(malformed_scans_are_refused_with_their_place),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
