// A call of any importable operator, made without a file: what it is lowered to
// can then be looked at.
//
// Most operators are called with tensors of 2 by 3 ones and defaults; for the
// others operator_examples.def says with what.

#ifndef ETX_CLI_REPORT_OPERATOR_EXAMPLE_H
#define ETX_CLI_REPORT_OPERATOR_EXAMPLE_H

#include "exporter/ir/aten_schema.h"

// Builds a method of one node, the operator of `schema`, whose results are the
// method's outputs. Its tensors are constants of ones, so that folding runs
// the kernels. Tensors of the type that the example is about (float32, or that
// of the first tensor if there is none) get `dtype`; ETX_DTYPE_COUNT leaves
// them. `module` is initialised. An example that cannot be read is refused.
ETX_MUST_USE etx_status etx_operator_example(const etx_aten_schema* schema,
                                             etx_dtype dtype,
                                             etx_ir_module* module,
                                             etx_diag* diag);

#endif
