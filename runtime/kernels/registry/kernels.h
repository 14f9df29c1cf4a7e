// Prototypes of all kernels, made from op_schema.def:
// etx_kernel_<symbol>_prepare. Each checks the arguments as far as the shape rule
// cannot, and sets call->run.

#ifndef ETX_RUNTIME_KERNELS_REGISTRY_KERNELS_H
#define ETX_RUNTIME_KERNELS_REGISTRY_KERNELS_H

#include "runtime/kernel.h"

#define OP(symbol, name, overload, arguments, result, shape_rule, in_place) \
  etx_status etx_kernel_##symbol##_prepare(etx_call* call);
#include "format/ops/op_schema.def"
#undef OP

#endif
