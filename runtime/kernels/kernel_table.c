// The table of all kernels, alone in its file: whoever passes a shorter one
// links none of the rest. A row of op_schema.def without a kernel is a link
// error.

#include "runtime/kernel.h"

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/temporary_kernels.h"
#include "runtime/kernels/registry/type_bound_kernels.h"

// The second of its arguments, once they are expanded: the function that a
// symbol's macro names, or else NULL.
#define SECOND(first, second, ...) second
#define EXPANDED(...) SECOND(__VA_ARGS__)

// What is left of a kernel none of whose types is in the build. Its calls have
// been refused by then, unless they were wrong anyway.
static etx_status prepare_left_out(etx_call* call) {
  return etx_call_refuse(call, ETX_UNSUPPORTED,
                         "this build leaves out all types that it takes");
}

#define NO_TEMPORARY ((etx_status(*)(const etx_call*, size_t*))0)
#define IS_BUILT(symbol) EXPANDED(ETX_NEEDS_##symbol, true, )

static const etx_kernel rows[ETX_OP_COUNT] = {
#define OP(symbol, name, overload, arguments, result, shape_rule, in_place) \
  {ETX_OP_##symbol,                                                         \
   IS_BUILT(symbol) ? etx_kernel_##symbol##_prepare : prepare_left_out,     \
   IS_BUILT(symbol) ? EXPANDED(ETX_TEMPORARY_##symbol, NO_TEMPORARY, )      \
                    : NO_TEMPORARY},
#include "format/ops/op_schema.def"
#undef OP
};

const etx_kernel_table etx_all_kernels = {rows, ETX_OP_COUNT};

bool etx_kernel_is_left_out(const etx_kernel* kernel) {
  return kernel->prepare == prepare_left_out;
}
