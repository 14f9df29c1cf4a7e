// Compares the results of a case with the expected ones, by the rules of
// tests/data/ops/README.md, "Comparison".

#ifndef ETX_TESTS_OPS_VECTOR_COMPARE_H
#define ETX_TESTS_OPS_VECTOR_COMPARE_H

#include "tests/ops/vector_call.h"

// NULL if all results are as expected; otherwise a message, which may be in
// `text`.
const char* vector_compare(const vector_call* c, const vector_file* file,
                           json_t* test_case, char* text, size_t capacity);

// The dtype of the two parts of a complex dtype; any other dtype itself.
etx_dtype vector_component(etx_dtype dtype);

// Reads one element of a dtype that is not complex.
double vector_real(etx_dtype dtype, const void* element);

#endif
