// The sums with instructions of this processor have the bits of those in C.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "exporter/quantize/rounding/group_sums.h"

enum { MOST = ETX_GROUP_SUM_LARGEST, FACTORS = 19 };

// From -1 to 1 times a power of two.
static float next_number(uint32_t* seed, int exponent) {
  *seed = *seed * 1664525u + 1013904223u;
  return ldexpf((float)(*seed >> 8) / 8388608.0f - 1.0f, exponent);
}

static void instructions_have_the_bits_of_c(void** state) {
  (void)state;
  etx_group_sums_function* const instructions = etx_group_sums_instructions();
  if (instructions == NULL) skip();
  for (uint32_t round = 0; round < 2000; ++round) {
    float group[MOST], factors[FACTORS];
    etx_group_sums found[FACTORS], wanted[FACTORS];
    uint32_t seed = round;
    const int exponent = (int)(round % 90) - 45;
    const size_t count = ETX_GROUP_SUM_LANES * (1 + round % 16);
    const size_t factor_count = round % (FACTORS + 1);
    for (size_t i = 0; i < count; ++i) group[i] = next_number(&seed, exponent);
    for (size_t i = 0; i < factor_count; ++i) {
      factors[i] = i % 7 == 6 ? 0 : next_number(&seed, 4 - exponent);
    }
    memset(found, 0, sizeof found);
    memset(wanted, 0, sizeof wanted);
    instructions(group, count, factors, factor_count, found);
    etx_group_sums_plain(group, count, factors, factor_count, wanted);
    assert_memory_equal(found, wanted, sizeof found);
  }
}

// Against sums in double of integers that rint of the C library gives. Products
// of a number and a small integer are exact in double.
static void sums_are_those_of_double(void** state) {
  (void)state;
  for (uint32_t round = 0; round < 500; ++round) {
    float group[MOST];
    uint32_t seed = round;
    const size_t count = 1 + round % MOST;
    double cross = 0, square = 0, size = 0;
    etx_group_sums found = {0, 0};
    for (size_t i = 0; i < count; ++i) group[i] = next_number(&seed, 0);
    const float factor = next_number(&seed, 4);
    for (size_t i = 0; i < count; ++i) {
      const double q =
          fmax(-8, fmin(7, rint((double)(float)(group[i] * factor))));
      cross += (double)group[i] * q;
      square += q * q;
      size += fabs((double)group[i] * q);
    }
    etx_group_sums_find(group, count, &factor, 1, &found);
    assert_true(fabs((double)found.cross - cross) <= 1e-6 * size);
    assert_true((double)found.square == square);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(instructions_have_the_bits_of_c),
      cmocka_unit_test(sums_are_those_of_double),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
