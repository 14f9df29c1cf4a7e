// The exporter's evaluator, by means of the runtime's kernels: this is how
// constants are folded with the same code, hence the same bits, that would
// have computed them at run time.

#ifndef ETX_CLI_EVALUATE_NODE_H
#define ETX_CLI_EVALUATE_NODE_H

#include "exporter/evaluator.h"

// An evaluator over all kernels of this build, one thread. Stateless.
etx_evaluator etx_evaluate_node(void);

#endif
