// The largest number that a type holds.

#ifndef ETX_FORMAT_TENSOR_DTYPE_LIMITS_H
#define ETX_FORMAT_TENSOR_DTYPE_LIMITS_H

#include "format/tensor/dtype.h"

// The largest finite number of a real type; 1 for bool.
double etx_dtype_max(etx_dtype dtype);

#endif
