// Random numbers for tests: the same from the same seed everywhere. The seed
// is 1, so that a change is judged by the same inputs each time, or
// ETX_TEST_SEED from the environment, and is printed. scripts/fresh_seeds.sh
// runs the tests with seeds that nobody tried.

#ifndef ETX_TESTS_SUPPORT_TEST_RANDOM_H
#define ETX_TESTS_SUPPORT_TEST_RANDOM_H

#include <stddef.h>
#include <stdint.h>

// The rounds of a suite that draws its inputs: `count`; a fifth under an
// emulator, where each takes twenty times as long; a third under a sanitizer, or
// compiled for size.
#if defined ETX_TEST_EMULATED
#define TEST_ROUNDS(count) (((count) + 4) / 5)
#elif defined ETX_TEST_SANITIZED || defined __OPTIMIZE_SIZE__
#define TEST_ROUNDS(count) (((count) + 2) / 3)
#else
#define TEST_ROUNDS(count) (count)
#endif

// Starts the suite's numbers and prints the seed.
void test_random_start(void);

uint32_t test_random_bits(void);
// A whole number in low..high, both included.
int64_t test_random_integer(int64_t low, int64_t high);
// A float in [-scale, scale).
float test_random_float(float scale);
void test_random_floats(float* out, size_t count, float scale);

#endif
