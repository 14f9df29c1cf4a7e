// The table of all kernels, alone in its file: whoever passes a shorter one
// links none of the rest. A row of op_schema.def without a kernel is a link
// error.

#include "runtime/kernel.h"

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/temporary_kernels.h"

// The second of its arguments, once they are expanded: the function that a
// symbol's macro names, or else NULL.
#define SECOND(first, second, ...) second
#define EXPANDED(...) SECOND(__VA_ARGS__)

static const etx_kernel rows[ETX_OP_COUNT] = {
#define OP(symbol, name, overload, arguments, result, shape_rule, in_place) \
  {ETX_OP_##symbol, etx_kernel_##symbol##_prepare,                          \
   EXPANDED(ETX_TEMPORARY_##symbol, NULL, )},
#include "format/ops/op_schema.def"
#undef OP
};

const etx_kernel_table etx_all_kernels = {rows, ETX_OP_COUNT};
