// What the proof collects from all methods of a program: the tensors that
// outlive a call.

#ifndef ETX_CLI_VERIFY_VERIFY_PROGRAM_STATE_H
#define ETX_CLI_VERIFY_VERIFY_PROGRAM_STATE_H

#include "cli/verify/verify_method.h"

// A tensor of a method that outlives a call: a state or a stable output.
typedef struct etx_verify_persistent_tensor {
  etx_text method;
  etx_text name;  // fully qualified, may be empty
  uint32_t value;
  uint32_t arena;
  etx_verify_range range;  // bytes of its arena
} etx_verify_persistent_tensor;

typedef struct etx_verify_program_state {
  const etx_pte* pte;
  const etx_blob* blob;  // NULL: a stock file
  size_t memory_count;   // of the table of memories; 0: there is none
  etx_verify_arena* memory;
  etx_diag* diag;
  etx_verify_persistent_tensor* states;  // in arena 2
  size_t state_count, state_capacity;
  etx_verify_persistent_tensor* outputs;  // stable outputs, in scratch
  size_t output_count, output_capacity;
} etx_verify_program_state;

// verify_concurrent

// Proves that methods which may run at the same time share no byte of scratch.
ETX_MUST_USE etx_status
etx_verify_concurrent(const etx_verify_program_state* program);

// True if the runtime may move blocks of scratch of a method together at
// smaller sizes, which needs a blob. Then a value can lie anywhere between the
// lowest start of its blocks and the highest end. A method with a stable output
// keeps its plan. `out_method` is the position of the method in the blob.
bool etx_verify_moves_blocks(const etx_verify_program_state* program,
                             const etx_pte_plan* plan, size_t* out_method);

// verify_state_layout

// Proves that the constant methods which describe the layout of state, if the
// program has them, agree with the methods.
ETX_MUST_USE etx_status
etx_verify_state_layout(const etx_verify_program_state* program);

#endif
