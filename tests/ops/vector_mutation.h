// Random changes of a case's arguments, within what the runtime lets a kernel
// see: kinds stay those of the schema, everything else may be anything.

#ifndef ETX_TESTS_OPS_VECTOR_MUTATION_H
#define ETX_TESTS_OPS_VECTOR_MUTATION_H

#include "tests/hostile/hostile_random.h"
#include "tests/ops/vector_call.h"

// Changes some arguments of a call that was built and not yet sized.
void vector_mutation_arguments(vector_call* c, hostile_random* random);

// Gives some outputs of a sized call another type or order of dimensions, as a
// file may.
void vector_mutation_outputs(vector_call* c, hostile_random* random);

#endif
