// The table of all kernels. It is alone in its file, so that an application
// with a shorter table does not link the other kernels. A row of op_schema.def
// without a kernel is a link error: undefined etx_kernel_<symbol>_prepare.

#include "runtime/kernel.h"

#include "runtime/built_loops.h"
#include "runtime/kernels/registry/checked_kernels.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/temporary_kernels.h"
#include "runtime/kernels/registry/type_bound_kernels.h"

// The second of its arguments after expansion: the function of a symbol's
// macro, or NULL without a macro.
#define SECOND(first, second, ...) second
#define EXPANDED(...) SECOND(__VA_ARGS__)

// Replaces a kernel none of whose types is in the build. Calls with these types
// are refused before.
static etx_status prepare_left_out(etx_call* call) {
  return etx_call_refuse(call, ETX_UNSUPPORTED,
                         "this build leaves out all types that it takes");
}

#define NO_TEMPORARY ((etx_status(*)(const etx_call*, size_t*))0)
#define NO_CHECK ((const etx_kernel_check*)0)
#define IS_BUILT(symbol) EXPANDED(ETX_NEEDS_##symbol, true, )

static const etx_kernel rows[ETX_OP_COUNT] = {
#define OP(symbol, name, overload, arguments, result, shape_rule, in_place) \
  {&etx_op_row_##symbol,                                                    \
   IS_BUILT(symbol) ? etx_kernel_##symbol##_prepare : prepare_left_out,     \
   IS_BUILT(symbol) ? EXPANDED(ETX_TEMPORARY_##symbol, NO_TEMPORARY, )      \
                    : NO_TEMPORARY,                                         \
   IS_BUILT(symbol) ? EXPANDED(ETX_CHECK_##symbol, NO_CHECK, ) : NO_CHECK},
#include "format/ops/op_schema.def"
#undef OP
};

// A build with selected loops has no table of all kernels: some would call
// loops that are left out.
const etx_kernel_table etx_all_kernels = {
    ETX_LOOPS_ARE_SELECTED ? NULL : rows,
    ETX_LOOPS_ARE_SELECTED ? 0 : ETX_OP_COUNT, NULL};

bool etx_kernel_is_left_out(const etx_kernel* kernel) {
  return kernel->prepare == prepare_left_out;
}
