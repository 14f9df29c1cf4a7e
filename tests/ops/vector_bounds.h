// Asks a kernel for the temporary memory of a case with other sizes.

#ifndef ETX_TESTS_OPS_VECTOR_BOUNDS_H
#define ETX_TESTS_OPS_VECTOR_BOUNDS_H

#include "tests/ops/vector_call.h"

// Multiplies all sizes by ever larger numbers: the kernel states as many bytes
// as for the sizes before or more, or refuses them as ETX_OUT_OF_RANGE; so a
// product that overflows is found. Then each tensor in turn with every rank:
// the kernel is asked before the shape rule has looked at ranks. NULL if all is
// as it must be, otherwise a message, which may be in `text`.
const char* vector_bounds_check(const vector_file* file, json_t* test_case,
                                char* text, size_t capacity);

#endif
