// Random changes of test vectors through the public kernel table:
//
//   mutate_ops DIR [COUNT [SEED [NUMBER]]]
//
// changes the arguments of every case below DIR in COUNT ways and runs what
// comes out, some of it as a program: kernels refuse it or stay within their
// memory, which sanitizers watch. With NUMBER, only that run, and its operator
// is printed; with ASAN_OPTIONS=abort_on_error=1 a crash prints its number.
// Results are not looked at.

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/format/fixtures/sample_program.h"
#include "tests/hostile/hostile_program.h"
#include "tests/ops/vector_mutation.h"
#include "tests/ops/vector_program.h"
#include "tests/ops/vector_tree.h"

typedef struct mutation_run {
  uint64_t seed, number, only;
  size_t count, ran, refused;
  hostile_counts programs;
} mutation_run;

static volatile uint64_t current;

static void tell_number(int signal_number) {
  fprintf(stderr, "crashed in run %" PRIu64 "\n", current);
  signal(signal_number, SIG_DFL);
}

// A changed argument that may grow has no memory for that, so it is made again.
static void renew_growing(vector_call* c) {
  if (c->op->result != ETX_RESULT_NONE) return;
  for (size_t i = 0; i < c->count; ++i) c->is_unstated[i] |= c->is_written[i];
}

// Runs a third of the calls also as a program. A program that is refused needs
// no further check, because its call was refused, too.
static void run_as_program(mutation_run* t, const vector_call* c,
                           hostile_random* random) {
  if (!hostile_chance(random, 34)) return;
  const etx_bytes_mut file = vector_program_write(c, random);
  if (file.data == NULL) return;
  hostile_try(sample_view(file), &t->programs);
  sample_release(file);
}

static void run_changed(mutation_run* t, const vector_file* file,
                        json_t* test_case) {
  static vector_call c;
  hostile_random random = hostile_random_of(t->seed, t->number);
  current = t->number;
  const bool is_dense = hostile_chance(&random, 60);
  if (vector_call_build(&c, file, test_case,
                        is_dense ? VECTOR_DENSE : VECTOR_AS_STATED) == NULL) {
    vector_mutation_arguments(&c, &random);
    renew_growing(&c);
    etx_status status = vector_call_size(&c, true);
    if (status == ETX_OK) {
      vector_mutation_outputs(&c, &random);
      run_as_program(t, &c, &random);
    }
    if (status == ETX_OK) status = vector_call_run(&c);
    if (status == ETX_OK) {
      ++t->ran;
    } else {
      ++t->refused;
    }
    if (t->only != UINT64_MAX) {
      printf("%s: %s %s\n", json_string_value(json_object_get(test_case, "id")),
             etx_status_name(status), c.diag.text);
    }
  }
  vector_call_end(&c);
}

// The results are not given, so the outputs get the sizes of the shape rule.
static void change_case(void* context, const vector_file* file,
                        json_t* test_case) {
  mutation_run* t = context;
  json_object_del(test_case, "outs");
  for (size_t i = 0; i < t->count; ++i, ++t->number) {
    if (t->only == UINT64_MAX || t->only == t->number) {
      run_changed(t, file, test_case);
    }
  }
}

int main(int count, char** arguments) {
  mutation_run t = {.seed = 1, .only = UINT64_MAX, .count = 3};
  if (count < 2) {
    fprintf(stderr, "usage: mutate_ops DIR [COUNT [SEED [NUMBER]]]\n");
    return 2;
  }
  signal(SIGABRT, tell_number);
  if (count > 2) t.count = (size_t)strtoull(arguments[2], NULL, 10);
  if (count > 3) t.seed = strtoull(arguments[3], NULL, 10);
  if (count > 4) t.only = strtoull(arguments[4], NULL, 10);
  const size_t unread = vector_tree_walk(arguments[1], change_case, &t);
  printf("%" PRIu64 " calls, %zu ran, %zu refused\n", t.number, t.ran,
         t.refused);
  hostile_print("as programs", &t.programs);
  return unread == 0 && t.ran > 0 ? 0 : 6;
}
