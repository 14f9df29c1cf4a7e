// Random damage to programs. The seed is printed and can be given, so that a
// failure can be repeated.
//
//   mutation_test [COUNT [SEED]]

#include "tests/format/fixtures/format_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/hostile/hostile_mutation.h"
#include "tests/hostile/hostile_program.h"
#include "tests/hostile/hostile_samples.h"
#include "tests/support/test_random.h"

enum { MOST_BYTES = 1 << 16 };  // size of the largest sample

static size_t mutation_count = TEST_ROUNDS(100000);
static uint64_t seed = 20260822;

static hostile_samples samples;

static void mutate(uint64_t number, hostile_counts* counts) {
  static uint8_t copy[MOST_BYTES];
  hostile_random random = hostile_random_of(seed, number);
  const hostile_sample* sample =
      &samples.items[hostile_below(&random, samples.count)];
  memcpy(copy, sample->bytes.data, sample->bytes.size);
  const etx_bytes bytes = {copy,
                           hostile_mutate(copy, sample->bytes.size, &random)};
  hostile_try(bytes, counts);
}

static void random_damage_is_refused_or_harmless(void** state) {
  hostile_counts counts = {0};
  (void)state;
  hostile_samples_open(&samples, MOST_BYTES);
  printf("seed %" PRIu64 ", %zu samples\n", seed, samples.count);
  for (size_t i = 0; i < mutation_count; ++i) mutate(i, &counts);
  hostile_print("mutations", &counts);
  hostile_samples_close(&samples);
  // If no damaged file reached a stage, the test would prove nothing about it.
  if (mutation_count >= 10000) {
    assert_true(counts.opened > mutation_count / 100);
    assert_true(counts.loaded > mutation_count / 200);
    assert_true(counts.ran > mutation_count / 200);
  }
}

int main(int count, char** arguments) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_damage_is_refused_or_harmless),
  };
  if (count > 1) mutation_count = (size_t)strtoull(arguments[1], NULL, 10);
  if (count > 2) seed = strtoull(arguments[2], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
