// One call of a method of a generator: its inputs, and the logits that it
// gives.

#ifndef ETX_GENERATE_GENERATOR_CALL_H
#define ETX_GENERATE_GENERATOR_CALL_H

#include "format/base/arena.h"
#include "generate/generator.h"

// The inputs, which the caller fills, and the logits of the last call.
typedef struct etx_generator_call {
  const etx_generator* generator;  // borrowed
  int64_t* tokens;                 // [rows, count]
  int64_t* position;               // [1]; etx_generator_call_run writes it
  int64_t* padding;                // [rows]
  int64_t* table;                  // [rows, entries]: beam_rows
  const float* logits;             // of row 0
  size_t tokens_with_logits;       // of a row: all of the call, or the last one
} etx_generator_call;

// Takes the memory of the inputs for the methods that the generator has. False
// if the arena has too little; a counting arena counts it.
bool etx_generator_call_init(etx_generator_call* call,
                             const etx_generator* generator, etx_arena* arena);

// Runs `count` tokens of each row, of which the caches hold `position`. Fails
// as etx_method_set_input and etx_method_run do; ETX_BAD_ARGUMENT: the logits
// have other sizes than the method states.
ETX_MUST_USE etx_status etx_generator_call_run(
    etx_generator_call* call, const etx_generator_method* method, size_t count,
    size_t position, etx_diag* diag);

// The method that runs prompts.
static inline const etx_generator_method* etx_generator_prompt_method(
    const etx_generator* generator) {
  return generator->prefill.method == NULL ? &generator->decode
                                           : &generator->prefill;
}

// The logits [vocab_size] behind a token of a row, of those that have some.
static inline const float* etx_generator_call_logits(
    const etx_generator_call* call, size_t row, size_t token) {
  return call->logits +
         (row * call->tokens_with_logits + token) * call->generator->vocab_size;
}

#endif
