// A program with three states that several methods share, for tests of
// sessions:
//
//   model.count    float32[2]   initial value 1 (uniform)    offset 0
//   model.table    float32[3]   initial value 10, 20, 30     offset 16
//   modest         float32[1]   zeros                        offset 32
//
//   add(x)         model.count += x;  modest += x[0:1];  returns model.count
//   read()         returns model.count and model.table, writes nothing
//   put(at, value) model.table[at] = value, refuses an index outside

#ifndef ETX_TESTS_SUPPORT_COUNTER_PROGRAM_H
#define ETX_TESTS_SUPPORT_COUNTER_PROGRAM_H

#include "tests/support/test_program.h"

enum { COUNTER_STATE_BYTES = 48 };

// Either with a blob, as etx writes files, or as a stock file, whose initial
// data is in the tensors of method `add` (and with `read_disagrees` a different
// one in `read`).
test_program* counter_program(bool has_blob, bool read_disagrees);

#endif
