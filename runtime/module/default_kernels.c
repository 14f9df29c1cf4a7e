// The table that a module uses unless its options name another one: all
// kernels. An application that defines etx_default_kernels itself does not link
// this file, or replaces its weak definition, and then links its own kernels
// only.

#include "runtime/module/module.h"

__attribute__((weak)) const etx_kernel_table* const etx_default_kernels =
    &etx_all_kernels;
