// The table of all kernels, and what every kernel uses to read its arguments
// and to refuse them. A row of op_schema.def without a kernel is a link error.

#include "runtime/kernel.h"

#include "runtime/kernels/kernels.h"

static const etx_kernel rows[ETX_OP_COUNT] = {
#define OP(symbol, name, overload, arguments, result, shape_rule, in_place) \
  {ETX_OP_##symbol, etx_kernel_##symbol##_prepare, NULL},
#include "format/ops/op_schema.def"
#undef OP
};

const etx_kernel_table etx_all_kernels = {rows, ETX_OP_COUNT};

const etx_kernel* etx_kernel_find(const etx_kernel_table* table,
                                  etx_op_id op) {
  for (size_t i = 0; i < table->count; ++i) {
    if (table->kernels[i].op == op) return &table->kernels[i];
  }
  return NULL;
}
