// The loops that a selected build has: for each loop of the tables of loops,
// the types of the calls that may want it (runtime/built_loops.h).

#ifndef ETX_CLI_SELECT_SELECTED_LOOPS_H
#define ETX_CLI_SELECT_SELECTED_LOOPS_H

#include "format/ops/op_schema.h"

// The loops of kernel_loops.def.
typedef enum etx_loop_id {
#define LOOP(table, name) ETX_LOOP_ID_##table##_##name,
#include "runtime/kernels/registry/kernel_loops.def"
  ETX_LOOP_COUNT
} etx_loop_id;

// The name in the macro of a loop: "unary_tanh".
const char* etx_loop_name(etx_loop_id loop);

// The bit of a step in a set of steps of chains (format/ops/chain_steps.h).
uint64_t etx_chain_step_bit(uint8_t step);

// Adds to `calls`, which has an entry for each loop, the types with which an
// operator is called, where its kernel may call the loop. `steps` has a bit for
// each step of its chains, if it computes chains.
void etx_loops_add(etx_op_id op, uint32_t dtypes, uint64_t steps,
                   uint32_t calls[ETX_LOOP_COUNT]);

#endif
