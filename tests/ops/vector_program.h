// A call as a program of one instruction. It tests the whole runtime: opening,
// sizing, tensors that share memory, dynamic sizes.

#ifndef ETX_TESTS_OPS_VECTOR_PROGRAM_H
#define ETX_TESTS_OPS_VECTOR_PROGRAM_H

#include "tests/hostile/hostile_random.h"
#include "tests/ops/vector_call.h"

// Writes the program of a sized call. Its tensors are constants, inputs or
// uninitialised memory, and sometimes overlap. Free it with sample_release. The
// data is NULL if the call is too large for a program.
etx_bytes_mut vector_program_write(const vector_call* c,
                                   hostile_random* random);

#endif
