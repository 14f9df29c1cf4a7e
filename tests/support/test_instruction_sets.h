// The instruction sets of this machine, one after the other.

#ifndef ETX_TESTS_SUPPORT_TEST_INSTRUCTION_SETS_H
#define ETX_TESTS_SUPPORT_TEST_INSTRUCTION_SETS_H

#include "runtime/instruction_set.h"

// The next instruction set that this processor has, or ETX_SET_COUNT.
static inline int test_next_instruction_set(int set) {
  do {
    ++set;
  } while (set < ETX_SET_COUNT &&
           (int)etx_instruction_set_within((etx_instruction_set)set) != set);
  return set;
}

#endif
