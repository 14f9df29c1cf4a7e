// Runs a case with tensors of other types.

#ifndef ETX_TESTS_OPS_VECTOR_RETYPED_H
#define ETX_TESTS_OPS_VECTOR_RETYPED_H

#include "tests/ops/vector_call.h"

// Gives each tensor in turn other types, and all tensors of a type at once. The
// kernel may refuse that, in a message with the name of the operator. If it
// does not, and the types can hold the elements, then the results are compared
// with those of `plain`, which has run. NULL if all is as it must be, otherwise
// a message, which may be in `text`.
const char* vector_retyped_check(const vector_call* plain,
                                 const vector_file* file, json_t* test_case,
                                 char* text, size_t capacity);

#endif
