// One method, loaded twice: with a size program (runtime/shapes/size_program.h)
// and with shape functions alone, which need no program. Both must accept the
// same sizes and give the same outputs.

#ifndef ETX_TESTS_RUNTIME_SHAPES_SIZED_PAIR_H
#define ETX_TESTS_RUNTIME_SHAPES_SIZED_PAIR_H

#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/test_program.h"

enum { PAIR_SCRATCH_BYTES = 4096, PAIR_STATE_BYTES = 256 };

typedef struct sized_pair {
  test_program* p;
  etx_program programs[2];  // the second one calls shape functions
  test_loaded loaded[2];
  etx_planned_memory state[2];  // of PAIR_STATE_BYTES
  uint32_t inputs;              // of sized_pair_input, which come first
  int64_t number;               // first element of inputs that are integers
  uint8_t truth;                // elements of inputs that are bools
} sized_pair;

// Starts the method 'forward', described by a blob.
void sized_pair_start(sized_pair* pair);
// Adds an input of dynamic sizes, the first of which is a symbol.
int sized_pair_input(sized_pair* pair, etx_dtype dtype, test_sizes bounds,
                     uint32_t symbol);
// Writes the file and loads the method twice.
void sized_pair_load(sized_pair* pair, const etx_kernel_table* kernels);
// Runs both at these values of the symbols. The elements of inputs are 1, 2, 3
// and so on; those of integers begin with `number`, which is 1 at first, and
// those of bools are `truth`, which is 1 at first. Returns the
// status, which is that of both.
etx_status sized_pair_run(sized_pair* pair, const int64_t* symbols,
                          etx_diag* diag);
// An output of the method with a size program.
const etx_tensor* sized_pair_output(const sized_pair* pair, size_t index);
// True if the sizes of the latest run came from a size program.
bool sized_pair_is_used(const sized_pair* pair);
void sized_pair_end(sized_pair* pair);

#endif
