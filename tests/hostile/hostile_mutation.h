// Random damage to bytes: a few changes at random places, of kinds that binary
// files and texts are sensitive to.

#ifndef ETX_TESTS_HOSTILE_HOSTILE_MUTATION_H
#define ETX_TESTS_HOSTILE_HOSTILE_MUTATION_H

#include "tests/hostile/hostile_random.h"

// Changes `bytes` in one to four places; now and then cuts the end off.
// Returns the new size, at most `size`.
size_t hostile_mutate(uint8_t* bytes, size_t size, hostile_random* random);

#endif
