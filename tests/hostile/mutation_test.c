// Random damage: a few changes at random places, of kinds that files of this
// format are sensitive to. The seed is printed and can be given, so that a
// failure can be repeated.
//
//   mutation_test [COUNT [SEED]]

#include "tests/format/format_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/hostile/hostile_program.h"
#include "tests/hostile/hostile_random.h"
#include "tests/hostile/hostile_samples.h"

enum { MOST_BYTES = 1 << 14 };  // of a sample

static size_t mutation_count = 100000;
static uint64_t seed = 20260822;

static hostile_samples samples;

static const uint32_t numbers[] = {
    0,     1,     2,          3,          4,          5,         7,   8,
    16,    17,    64,         127,        128,        255,       256, 1000,
    65535, 65536, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};

typedef enum change_kind {
  FLIP,    // one bit
  BYTE,    // any byte
  NUMBER,  // an interesting number at an aligned place
  NUDGE,   // a small step up or down at an aligned place
  LONG,    // eight bytes of a number
  MOVE,    // some bytes, copied from elsewhere
  ZERO,    // a stretch of zeros
  CHANGE_COUNT
} change_kind;

static void change(uint8_t* bytes, size_t size, hostile_random* random) {
  const size_t word = hostile_below(random, size / 4) * 4;
  const size_t place = hostile_below(random, size);
  uint32_t number = numbers[hostile_below(random, COUNT(numbers))];
  switch ((change_kind)hostile_below(random, CHANGE_COUNT)) {
    case FLIP:
      bytes[place] ^= (uint8_t)(1u << hostile_below(random, 8));
      break;
    case BYTE:
      bytes[place] = (uint8_t)hostile_next(random);
      break;
    case NUMBER:
      memcpy(bytes + word, &number, sizeof number);
      break;
    case NUDGE:
      memcpy(&number, bytes + word, sizeof number);
      number += (uint32_t)hostile_below(random, 9) - 4;
      memcpy(bytes + word, &number, sizeof number);
      break;
    case LONG: {
      const uint64_t wide = (uint64_t)number << hostile_below(random, 33);
      if (word + 8 <= size) memcpy(bytes + word, &wide, sizeof wide);
      break;
    }
    case MOVE: {
      const size_t length =
          1 + hostile_below(random, size - place < 32 ? size - place : 32);
      memmove(bytes + place, bytes + hostile_below(random, size - length + 1),
              length);
      break;
    }
    case ZERO: {
      const size_t left = size - place;
      memset(bytes + place, 0,
             1 + hostile_below(random, left < 16 ? left : 16));
      break;
    }
    case CHANGE_COUNT:
      break;
  }
}

// Damages a copy of one sample; most changes hit the part before the data.
static void mutate(uint64_t number, hostile_counts* counts) {
  static uint8_t copy[MOST_BYTES];
  hostile_random random = hostile_random_of(seed, number);
  const hostile_sample* sample =
      &samples.items[hostile_below(&random, samples.count)];
  size_t size = sample->bytes.size;
  memcpy(copy, sample->bytes.data, size);
  const size_t change_count = 1 + hostile_below(&random, 4);
  for (size_t i = 0; i < change_count; ++i) change(copy, size, &random);
  if (hostile_below(&random, 32) == 0) size = hostile_below(&random, size);
  const etx_bytes bytes = {copy, size};
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
  // The damage must reach all stages, or the test says nothing.
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
