// Are two tensors equal, as far as they have to be? Types and sizes exactly,
// integers and booleans exactly, floats within absolute + relative *
// |expected|; infinities are equal to themselves, NaN to NaN.

#ifndef ETX_CLI_TENSORS_TENSOR_COMPARE_H
#define ETX_CLI_TENSORS_TENSOR_COMPARE_H

#include "cli/tensors/host_tensor.h"

typedef struct etx_tolerance {
  double absolute;
  double relative;
} etx_tolerance;

enum { ETX_TENSOR_COMPARE_TEXT_BYTES = 256 };

// True if `found` is as expected. If not, `out_why`
// (ETX_TENSOR_COMPARE_TEXT_BYTES) says how many elements differ and shows the
// worst one.
bool etx_tensor_compare(const etx_host_tensor* expected,
                        const etx_host_tensor* found, etx_tolerance tolerance,
                        char* out_why);

// The same for two numbers of floating point.
bool etx_tensor_compare_reals(double expected, double found,
                              etx_tolerance tolerance);

#endif
