// Constant folding with the kernels of the runtime: a folded constant has the
// same bits that the kernel would have computed at run time.

#ifndef ETX_CLI_PLAN_KERNEL_EVALUATOR_H
#define ETX_CLI_PLAN_KERNEL_EVALUATOR_H

#include "exporter/passes/evaluator.h"

// An evaluator with all kernels of this build, on one thread. Has no state.
etx_evaluator etx_kernel_evaluator(void);

#endif
