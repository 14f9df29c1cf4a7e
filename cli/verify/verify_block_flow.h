// When the blocks of arena 1 are in use, for the proof of layouts.
//
// A block is a set of tensors that the view rows of the file tie together. It
// is in use at a point of the method if some path to it has written into the
// block, and some path from it reads a value of it before the value is written
// again.

#ifndef ETX_CLI_VERIFY_VERIFY_BLOCK_FLOW_H
#define ETX_CLI_VERIFY_VERIFY_BLOCK_FLOW_H

#include "cli/verify/verify_method.h"

typedef struct etx_verify_block_flow {
  etx_verify_method* m;
  uint32_t* block_of;  // by value: its block in arena 1, or ETX_VERIFY_NONE
  size_t count;        // of blocks
  size_t words;        // of a set of blocks
  uint64_t* shown;     // by value: the blocks whose bytes it may show
  size_t value_words;  // of a set of values
  etx_verify_basic_blocks basic;
  uint64_t* written;  // by basic block: blocks that may be written at its start
  uint64_t* live;     // by basic block: values that may be read after its end
} etx_verify_block_flow;

// The set of blocks that a value may show.
static inline uint64_t* etx_verify_shown(const etx_verify_block_flow* f,
                                         uint32_t value) {
  return f->shown + value * f->words;
}

// Finds the blocks and their use.
ETX_MUST_USE etx_status etx_verify_block_flow_find(etx_verify_method* m,
                                                   etx_verify_block_flow* out);

// Turns the values that are live after a step into those before it.
void etx_verify_live_before(const etx_verify_block_flow* f,
                            const etx_verify_effects* effects, uint64_t* live);

#endif
