// A call as a program of one instruction, for the whole way through the
// runtime: reading, sizing, memory that tensors share, sizes that change.

#ifndef ETX_TESTS_OPS_VECTOR_PROGRAM_H
#define ETX_TESTS_OPS_VECTOR_PROGRAM_H

#include "tests/hostile/hostile_random.h"
#include "tests/ops/vector_call.h"

// Writes the program of a sized call; tensors are constants, inputs or memory
// that nobody wrote, and now and then lie over each other. To be released with
// sample_release. No data if the call is too large for one.
etx_bytes_mut vector_program_write(const vector_call* c,
                                   hostile_random* random);

#endif
