// The text form of a chain of elementwise steps: an expression in postfix
// notation that is computed for each element before it is stored.
//
//   "x 0 add relu 1 multiply"     relu(x + others[0]) * others[1]
//   "x 0 1 clamp"                 clamp(x, others[0], others[1])
//
// `x` is the tensor that the chain is applied to, such as the result of a
// convolution; a number is an index in the operator's list `others`; a name is
// a row of chain_steps.def.

#ifndef ETX_FORMAT_OPS_CHAIN_STEPS_H
#define ETX_FORMAT_OPS_CHAIN_STEPS_H

#include "format/base/diag.h"

enum {
  ETX_CHAIN_STEPS_MAX = 40,   // words of a chain
  ETX_CHAIN_MAX_OTHERS = 16,  // tensors in its list
  ETX_CHAIN_MAX_DEPTH = 4,    // values on the stack
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

// Values that a step pops from the stack; 0 for an item of the list and for x.
size_t etx_chain_step_operands(uint8_t step);

// How many of them, the last ones, are parameters: items of the list.
size_t etx_chain_step_parameters(uint8_t step);

// Parses a chain over a list of `other_count` tensors. False if the text is
// invalid: unknown words, too many of them, parameters that are not items of
// the list, or a stack that does not end with exactly one value.
bool etx_chain_steps_read(etx_text text, size_t other_count,
                          uint8_t out_steps[ETX_CHAIN_STEPS_MAX],
                          size_t* out_count);

#endif
