// Operators of an application, from the model of examples/custom_operator:
// planned with their description, run with the kernels of a shared library and
// with kernels that a program is linked with. The oracle is eager PyTorch
// (tests/data/custom_operator).

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define OPS ETX_SOURCE "/examples/custom_operator/my.ops"
#define SET ETX_TEST_DATA "/custom_operator/"

static char path[3][128];

// The path of a file in the directory of the suite.
static const char* at(size_t slot, const char* name) {
  snprintf(path[slot], sizeof path[slot], "%s/%s", command_directory, name);
  return path[slot];
}

static void methods_give_what_pytorch_gives(void** state) {
  (void)state;
  static const char* const forms[] = {SET "exported", SET "decomposed"};
  for (size_t i = 0; i < 2; ++i) {
    const char* const program = at(0, "meter.pte");
    command_expect(
        0, WORDS(ETX, "plan", forms[i], "-q", "-o", program, "--ops", OPS));
    command_expect_out(
        0,
        WORDS(ETX, "run", program, "--case", forms[i], "--kernels", MY_KERNELS),
        "24 calls, 0 differences");
    command_expect_out(0, WORDS(ETX, "verify", program), "is proved");
    command_expect_out(0, WORDS(ETX, "inspect", program),
                       "1  my::halves.out, of the application");
    command_expect_out(
        0, WORDS(ETX, "bench", program, "--method", "push", "--seconds", "0.1", "--kernels", MY_KERNELS),
        "my::halves");
  }
}

static void states_are_changed_in_place(void** state) {
  (void)state;
  command_expect_out(0,
                     WORDS(ETX, "plan", SET "exported", "-o",
                           at(0, "in_place.pte"), "--ops", OPS),
                     "copies that remain: none");
}

static void a_linked_program_runs_them(void** state) {
  (void)state;
  const char* const program = at(0, "linked.pte");
  command_expect(
      0, WORDS(ETX, "plan", SET "exported", "-q", "-o", program, "--ops", OPS));
  command_expect_out(0, WORDS(METER, program), "total = [11, 13, 15]");
}

static void a_dump_plans_to_the_same_program(void** state) {
  (void)state;
  const char* const program = at(0, "first.pte");
  const char* const again = at(1, "again.pte");
  const char* const dump = at(2, "dump");
  command_expect(
      0, WORDS(ETX, "plan", SET "exported", "-q", "-o", program, "--ops", OPS));
  command_expect(0,
                 WORDS(ETX, "dump", SET "exported", "-o", dump, "--ops", OPS));
  command_expect(0, WORDS(ETX, "plan", dump, "-q", "-o", again));
  command_expect_same_files(program, again);
}

static void undescribed_operators_are_refused_with_what_to_write(void** state) {
  (void)state;
  const char* const program = at(0, "refused.pte");
  command_expect_err(
      2, WORDS(ETX, "plan", SET "exported", "-o", program),
      "FILE has the line: my::scale(Tensor x, float factor) -> Tensor; sizes: "
      "x; dtypes: float32");
  command_expect_err(2, WORDS(ETX, "plan", SET "decomposed", "-o", program),
                     "my::track(Tensor(a!) peak, Tensor x) -> Tensor; sizes");
  command_expect_err(2, WORDS(ETX, "check", SET "exported"), "my::accumulate");
  command_expect_out(0, WORDS(ETX, "check", SET "exported", "--ops", OPS), "");
}

static void mistakes_in_a_description_have_a_place(void** state) {
  (void)state;
  const char* const ops = at(1, "wrong.ops");
  command_write_file(ops,
                     "my::scale(Tensor x, float factor) -> Tensor\n"
                     "    sizes: z\n");
  command_expect_err(2,
                     WORDS(ETX, "plan", SET "exported", "-o",
                           at(0, "refused.pte"), "--ops", ops),
                     "wrong.ops:2:13: expected a tensor argument");
}

static void missing_and_other_kernels_are_refused_by_name(void** state) {
  (void)state;
  const char* const program = at(0, "other.pte");
  const char* const ops = at(1, "other.ops");
  char* const text = command_read_file(OPS, &(size_t){0});
  command_expect(
      0, WORDS(ETX, "plan", SET "exported", "-q", "-o", program, "--ops", OPS));
  command_expect(0, WORDS(ETX, "run", program, "get"));  // calls none of them
  command_expect_err(2,
                     WORDS(ETX, "run", program, "peak", "--in", "x=[1, 2, 3]"),
                     "operator 'my::track.out' of instruction 0 is missing");
  // Another schema than that of the kernel.
  char* const end = strstr(text, " factor) ->");
  assert_non_null(end);
  const size_t before = (size_t)(end - text);
  char* const other = malloc(strlen(text) + 8);
  snprintf(other, strlen(text) + 8, "%.*s factor=1%s", (int)before, text,
           end + strlen(" factor"));
  command_write_file(ops, other);
  free(other);
  free(text);
  command_expect(
      0, WORDS(ETX, "plan", SET "exported", "-q", "-o", program, "--ops", ops));
  command_expect_err(
      2, WORDS(ETX, "run", program, "get", "--kernels", MY_KERNELS),
      "the kernel of operator 'my::scale.out' takes (Tensor x, float factor, "
      "*, Tensor(a!) out), but the program was planned for (Tensor x, float "
      "factor=1, *, Tensor(a!) out)");
}

static void other_libraries_are_refused(void** state) {
  (void)state;
  const char* const program = at(0, "libraries.pte");
  command_expect(
      0, WORDS(ETX, "plan", SET "exported", "-q", "-o", program, "--ops", OPS));
  command_expect_err(
      2, WORDS(ETX, "run", program, "get", "--kernels", "/nowhere/lib.so"),
      "cannot open the library of kernels");
  command_expect_err(2,
                     WORDS(ETX, "run", program, "get", "--kernels", MY_KERNELS,
                           "--kernels", MY_KERNELS),
                     "two kernels of operator 'my::scale.out'");
}

// The same operators in a graph that is written by hand.
static void graphs_in_yaml_may_name_them(void** state) {
  (void)state;
  const char* const graph = at(0, "double.yaml");
  const char* const program = at(1, "double.pte");
  command_write_file(graph,
                     "etx: 1\nmethod: double\ninputs:\n"
                     "  - {name: x, type: \"float32[2]\"}\n"
                     "nodes:\n"
                     "  - {out: y, op: my.scale.default, args: [x, 2.0]}\n"
                     "outputs: [y]\n");
  command_expect(0,
                 WORDS(ETX, "plan", graph, "-q", "-o", program, "--ops", OPS));
  command_expect_out(0,
                     WORDS(ETX, "run", program, "double", "--in", "x=[3, -4]",
                           "--kernels", MY_KERNELS),
                     "[6, -8]");
}

// `etx diff` and `etx bisect` call programs with the kernels of a library.
static void comparisons_take_kernels(void** state) {
  (void)state;
  static const char* const factors[] = {"2.0", "2.5"};
  static const char graph_text[] =
      "etx: 1\nmethod: times\ninputs:\n"
      "  - {name: x, type: \"float32[2]\"}\n"
      "nodes:\n"
      "  - {out: y, op: my.scale.default, args: [x, %s]}\n"
      "outputs: [y]\n";
  const char* const graph = at(0, "times.yaml");
  char programs[2][128];
  for (size_t i = 0; i < 2; ++i) {
    char text[256];
    snprintf(text, sizeof text, graph_text, factors[i]);
    command_write_file(graph, text);
    snprintf(programs[i], sizeof programs[i], "%s/times%zu.pte",
             command_directory, i);
    command_expect(
        0, WORDS(ETX, "plan", graph, "-q", "-o", programs[i], "--ops", OPS));
  }
  command_expect_out(6,
                     WORDS(ETX, "diff", programs[0], programs[1], "times",
                           "--kernels", MY_KERNELS),
                     "my::scale.out");
  command_expect(0, WORDS(ETX, "diff", programs[0], programs[0], "times",
                          "--kernels", MY_KERNELS));
  command_expect_err(2, WORDS(ETX, "diff", programs[0], programs[1], "times"),
                     "--kernels");
  command_expect_out(
      0,
      WORDS(ETX, "bisect", SET "exported", "push", "--case", SET "exported",
            "--ops", OPS, "--kernels", MY_KERNELS),
      "no result changes");
  command_expect_err(2,
                     WORDS(ETX, "bisect", SET "exported", "push", "--ops", OPS),
                     "--kernels");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(methods_give_what_pytorch_gives),
      cmocka_unit_test(states_are_changed_in_place),
      cmocka_unit_test(a_linked_program_runs_them),
      cmocka_unit_test(a_dump_plans_to_the_same_program),
      cmocka_unit_test(undescribed_operators_are_refused_with_what_to_write),
      cmocka_unit_test(mistakes_in_a_description_have_a_place),
      cmocka_unit_test(missing_and_other_kernels_are_refused_by_name),
      cmocka_unit_test(other_libraries_are_refused),
      cmocka_unit_test(graphs_in_yaml_may_name_them),
      cmocka_unit_test(comparisons_take_kernels),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
