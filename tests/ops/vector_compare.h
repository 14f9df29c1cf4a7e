// Results of a case against those that it states: tests/data/ops/README.md,
// "Comparison".

#ifndef ETX_TESTS_OPS_VECTOR_COMPARE_H
#define ETX_TESTS_OPS_VECTOR_COMPARE_H

#include "tests/ops/vector_call.h"

// NULL if all results are as stated, or what is not, in `text`.
const char* vector_compare(const vector_call* c, const vector_file* file,
                           json_t* one, char* text, size_t capacity);

// The type that a complex number consists of twice; any other is its own.
etx_dtype vector_component(etx_dtype dtype);

// An element of a type that is not complex, anywhere in memory.
double vector_real(etx_dtype dtype, const void* element);

#endif
