// Builds one call of any importable operator in memory, so that its lowering
// can be examined.
//
// Most operators are called with 2 x 3 tensors of ones and their default
// arguments; operator_examples.def has the arguments of the others.

#ifndef ETX_CLI_REPORT_OPERATOR_EXAMPLE_H
#define ETX_CLI_REPORT_OPERATOR_EXAMPLE_H

#include "exporter/ir/aten_schema.h"

// Builds method "forward" of one node, the operator of `schema`, whose results
// are the outputs of the method. Its tensors are constants of ones, so that
// constant folding runs the kernels. Tensors of the example's main type
// (float32, or the type of the first tensor if there is none of float32) get
// type `dtype`, or keep theirs for ETX_DTYPE_COUNT. `module` is initialised.
// ETX_BAD_ARGUMENT if the example cannot be parsed.
ETX_MUST_USE etx_status etx_operator_example(const etx_aten_schema* schema,
                                             etx_dtype dtype,
                                             etx_ir_module* module,
                                             etx_diag* diag);

#endif
