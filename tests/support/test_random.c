#include "tests/support/test_random.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 1;

void test_random_start(void) {
  const char* given = getenv("ETX_TEST_SEED");
  state = given != NULL ? strtoull(given, NULL, 10) : 1;
  printf("seed %llu (ETX_TEST_SEED sets another)\n", (unsigned long long)state);
}

uint32_t test_random_bits(void) {
  state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t z = state;
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (uint32_t)((z ^ (z >> 31)) >> 32);
}

int64_t test_random_integer(int64_t low, int64_t high) {
  return low + (int64_t)(test_random_bits() % (uint64_t)(high - low + 1));
}

float test_random_float(float scale) {
  return scale * ((float)(test_random_bits() >> 8) / 8388608.0f - 1.0f);
}

void test_random_floats(float* out, size_t count, float scale) {
  for (size_t i = 0; i < count; ++i) out[i] = test_random_float(scale);
}
