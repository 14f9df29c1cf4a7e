// Prototypes of all kernels, from the rows: etx_kernel_<symbol>_prepare.
//
// Each checks types and what the shape rule cannot, and chooses call->run.

#ifndef ETX_RUNTIME_KERNELS_REGISTRY_KERNELS_H
#define ETX_RUNTIME_KERNELS_REGISTRY_KERNELS_H

#include "runtime/kernel.h"

#define OP(symbol, name, overload, arguments, result, shape_rule, in_place) \
  etx_status etx_kernel_##symbol##_prepare(etx_call* call);
#include "format/ops/op_schema.def"
#undef OP

#endif
