// The exporter's evaluator, by means of the runtime's kernels: this is how
// constants are folded with the same code, hence the same bits, that would
// have computed them at run time.

#ifndef ETX_CLI_PLAN_KERNEL_EVALUATOR_H
#define ETX_CLI_PLAN_KERNEL_EVALUATOR_H

#include "exporter/passes/evaluator.h"

// An evaluator over all kernels of this build, one thread. Stateless.
etx_evaluator etx_kernel_evaluator(void);

#endif
