// Random operators over random values.
//
//   drawn_program_test [COUNT [SEED]]
//   drawn_program_test write NUMBER SEED FILE   one of them, for the corpus

#include "tests/format/fixtures/format_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/format/fixtures/sample_program.h"
#include "tests/hostile/hostile_program.h"
#include "tests/hostile/drawn_program.h"
#include "tests/support/test_random.h"

// Enough for each operator that most of them run.
enum { PROGRAMS = 200 * ETX_OP_COUNT };

static size_t program_count = TEST_ROUNDS(PROGRAMS);
static uint64_t seed = 20260822;

static void random_operators_are_refused_or_harmless(void** state) {
  static drawn_program program;
  static size_t runs[ETX_OP_COUNT];
  hostile_counts counts = {0};
  size_t ran = 0;
  (void)state;
  printf("seed %" PRIu64 "\n", seed);
  for (size_t i = 0; i < program_count; ++i) {
    const etx_op_id op = (etx_op_id)(i % ETX_OP_COUNT);
    const size_t before = counts.ran;
    drawn_program_draw(&program, seed, i, op);
    const etx_bytes_mut file = sample_write(&program.content);
    hostile_try(sample_view(file), &counts);
    sample_release(file);
    runs[op] += counts.ran - before;
  }
  hostile_print("random programs", &counts);
  for (size_t op = 0; op < ETX_OP_COUNT; ++op) {
    if (runs[op] > 0) {
      ++ran;
    } else {
      printf("never ran: %s.%s\n", etx_op_at((etx_op_id)op)->name,
             etx_op_at((etx_op_id)op)->overload);
    }
  }
  // If no program reached the kernels, the test would prove nothing.
  // Fewer programs leave out operators that run for few of them.
  if (ETX_DYNAMIC && program_count >= PROGRAMS) {
    assert_true(ran * 10 >= ETX_OP_COUNT * 9);
  }
}

static int write_program(const char* number_text, const char* seed_text,
                         const char* path) {
  static drawn_program program;
  const uint64_t number = strtoull(number_text, NULL, 10);
  drawn_program_draw(&program, strtoull(seed_text, NULL, 10), number,
                     (etx_op_id)(number % ETX_OP_COUNT));
  const etx_bytes_mut bytes = sample_write(&program.content);
  FILE* file = fopen(path, "wb");
  const bool good = file != NULL &&
                    fwrite(bytes.data, 1, bytes.size, file) == bytes.size &&
                    fclose(file) == 0;
  sample_release(bytes);
  if (!good) perror(path);
  return good ? 0 : 1;
}

int main(int count, char** arguments) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_operators_are_refused_or_harmless),
  };
  if (count == 5 && strcmp(arguments[1], "write") == 0) {
    return write_program(arguments[2], arguments[3], arguments[4]);
  }
  if (count > 1) program_count = (size_t)strtoull(arguments[1], NULL, 10);
  if (count > 2) seed = strtoull(arguments[2], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
