// What the loops of kernels_wide_vectors_test.c have in a file of its own.

#include <stddef.h>

#include "tests/runtime/wide_vectors.h"

#include "runtime/kernels/x86/panel_floats_avx512.c"
