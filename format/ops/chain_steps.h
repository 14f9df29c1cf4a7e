// Chains of elementwise steps, as they stand in files: what is computed of
// each element before it is written, as words in the order in which a stack
// machine takes them.
//
//   "x 0 add relu 1 multiply"     relu(x + other 0) * other 1
//   "x 0 1 clamp"                 x between other 0 and other 1
//
// `x` is the tensor, or the result, that the chain belongs to; a number is an
// item of the operator's list of others; a name is a row of chain_steps.def.

#ifndef ETX_FORMAT_OPS_CHAIN_STEPS_H
#define ETX_FORMAT_OPS_CHAIN_STEPS_H

#include "format/base/diag.h"

enum {
  ETX_CHAIN_STEPS_MAX = 40,   // words of a chain
  ETX_CHAIN_MAX_OTHERS = 16,  // tensors in its list
  ETX_CHAIN_MAX_DEPTH = 4,    // numbers that wait to be taken
};

// A word in one byte: an item of the list, x, or a row of chain_steps.def.
enum {
  ETX_STEP_X = ETX_CHAIN_MAX_OTHERS,
#define ONE(name, operator) ETX_STEP_##name,
#define TWO(name, operator) ETX_STEP_##name,
#define THREE(name, operator) ETX_STEP_##name,
#define WITH(name, operator, count) ETX_STEP_##name,
#include "format/ops/chain_steps.def"
#undef ONE
#undef TWO
#undef THREE
#undef WITH
  ETX_STEP_END
};

// The name of a row of chain_steps.def.
const char* etx_chain_step_name(uint8_t step);

// Numbers that a step takes; 0 for an item of the list and for x.
size_t etx_chain_step_operands(uint8_t step);

// How many of them are parameters: the last ones, items of the list each.
size_t etx_chain_step_parameters(uint8_t step);

// Reads a chain over a list of `other_count` tensors. False if it is none:
// unknown words, too many of them, parameters that are no items, or not one
// number left at the end.
bool etx_chain_steps_read(etx_text text, size_t other_count,
                          uint8_t out_steps[ETX_CHAIN_STEPS_MAX],
                          size_t* out_count);

#endif
