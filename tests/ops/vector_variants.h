// Runs a case in other ways than the plain one: the results must be the same.

#ifndef ETX_TESTS_OPS_VECTOR_VARIANTS_H
#define ETX_TESTS_OPS_VECTOR_VARIANTS_H

#include "tests/ops/vector_call.h"

// Runs the case prepared twice, on several threads whose tasks come in the
// opposite order, and with the narrowest loops: the bits must be those of
// `plain`, which has run. Then each tensor in turn with gaps between its
// elements and with its dimensions in the opposite order: the kernel may refuse
// that as ETX_UNSUPPORTED, otherwise the results are compared with the expected
// ones. NULL if all is as it must be, otherwise a message, which may be in
// `text`.
const char* vector_variants_check(const vector_call* plain,
                                  const vector_file* file, json_t* test_case,
                                  char* text, size_t capacity);

#endif
