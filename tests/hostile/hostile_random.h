// Random numbers for hostile tests: splitmix64, the same on every machine.

#ifndef ETX_TESTS_HOSTILE_HOSTILE_RANDOM_H
#define ETX_TESTS_HOSTILE_HOSTILE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hostile_random {
  uint64_t state;
} hostile_random;

// The numbers of test `number` under `seed`, which do not depend on earlier
// draws.
static inline hostile_random hostile_random_of(uint64_t seed, uint64_t number) {
  const hostile_random random = {seed ^ number * UINT64_C(0xd1342543de82ef95)};
  return random;
}

static inline uint64_t hostile_next(hostile_random* random) {
  uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

// A number below `bound`, which is not 0.
static inline size_t hostile_below(hostile_random* random, size_t bound) {
  return (size_t)(hostile_next(random) % bound);
}

// True in `percent` of 100 cases.
static inline bool hostile_chance(hostile_random* random, size_t percent) {
  return hostile_below(random, 100) < percent;
}

#endif
