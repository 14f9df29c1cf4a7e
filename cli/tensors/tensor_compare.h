// Comparison of tensors within a tolerance. Types, sizes, integers and booleans
// must be equal; floats may differ by absolute + relative * |expected|. An
// infinity equals itself, and NaN equals NaN.

#ifndef ETX_CLI_TENSORS_TENSOR_COMPARE_H
#define ETX_CLI_TENSORS_TENSOR_COMPARE_H

#include "cli/tensors/host_tensor.h"

typedef struct etx_tolerance {
  double absolute;
  double relative;
} etx_tolerance;

enum { ETX_TENSOR_COMPARE_TEXT_BYTES = 256 };

// True if `found` equals `expected`. If not, `out_why`
// (ETX_TENSOR_COMPARE_TEXT_BYTES) says how many elements differ and gives the
// one with the largest difference.
bool etx_tensor_compare(const etx_host_tensor* expected,
                        const etx_host_tensor* found, etx_tolerance tolerance,
                        char* out_why);

// The same for two floating-point numbers.
bool etx_tensor_compare_reals(double expected, double found,
                              etx_tolerance tolerance);

#endif
