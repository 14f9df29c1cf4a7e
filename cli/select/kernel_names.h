// The C names of the library's kernels, for tables that refer to them.

#ifndef ETX_CLI_SELECT_KERNEL_NAMES_H
#define ETX_CLI_SELECT_KERNEL_NAMES_H

#include "format/ops/op_schema.h"

// The symbol of a row of op_schema.def: etx_op_row_<symbol> is the row, and
// etx_kernel_<symbol>_prepare the kernel.
const char* etx_kernel_symbol(etx_op_id op);

// The function that states the kernel's temporary bytes; NULL if it needs none.
const char* etx_kernel_temporary_name(etx_op_id op);

// The etx_kernel_check of the kernel; NULL if it has none.
const char* etx_kernel_check_name(etx_op_id op);

#endif
