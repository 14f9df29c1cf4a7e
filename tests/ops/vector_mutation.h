// Random changes of the arguments of a case. The kinds of values remain those
// of the schema, as the runtime guarantees; everything else may change.

#ifndef ETX_TESTS_OPS_VECTOR_MUTATION_H
#define ETX_TESTS_OPS_VECTOR_MUTATION_H

#include "tests/hostile/hostile_random.h"
#include "tests/ops/vector_call.h"

// Changes some arguments of a call that is built and not yet sized.
void vector_mutation_arguments(vector_call* c, hostile_random* random);

// Gives some outputs of a sized call another dtype or dimension order, as a
// file may.
void vector_mutation_outputs(vector_call* c, hostile_random* random);

#endif
