// Out tensors that have the types and sizes of the operator's own rule, so that
// operators with outputs of many types and ranks reach their kernels, too.

#ifndef ETX_TESTS_HOSTILE_DRAWN_OUTPUTS_H
#define ETX_TESTS_HOSTILE_DRAWN_OUTPUTS_H

#include "tests/hostile/drawn_content.h"

// Gives the out tensors of a drawn instruction of `op` the types and sizes that
// the operator's rule finds. False if the rule refuses the arguments; the out
// tensors stay as they are then.
bool drawn_outputs_fit(drawn_program* program, const etx_op* op,
                       const int32_t* arguments);

#endif
