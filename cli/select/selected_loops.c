#include "cli/select/selected_loops.h"

#include <string.h>

#include "format/ops/chain_steps.h"
#include "format/tensor/dtype.h"

// A loop: its name in macros, and in kernel_loops.def.
static const struct {
  const char* macro;
  const char* word;
} names[ETX_LOOP_COUNT] = {
#define LOOP(table, name) {#table "_" #name, #table "." #name},
#include "runtime/kernels/registry/kernel_loops.def"
};

// The loops of each kernel, as words; NULL for none.
static const char* const words_of[ETX_OP_COUNT] = {
#define LOOPS(symbol, names) [ETX_OP_##symbol] = names,
#include "runtime/kernels/registry/kernel_loops.def"
};

// The loop of each step of a chain; NULL: the step needs none.
static const char* const word_of_step[ETX_STEP_END] = {
#define STEP(step, loop) [ETX_STEP_##step] = loop,
#include "runtime/kernels/registry/kernel_loops.def"
};

static const char steps_word[] = "chain.steps";

_Static_assert(ETX_STEP_END - ETX_STEP_X <= 64, "steps do not fit in a set");

const char* etx_loop_name(etx_loop_id loop) { return names[loop].macro; }

uint64_t etx_chain_step_bit(uint8_t step) {
  return step <= ETX_STEP_X ? 0 : UINT64_C(1) << (step - ETX_STEP_X - 1);
}

static void add_word(const char* word, size_t size, uint32_t dtypes,
                     uint32_t calls[ETX_LOOP_COUNT]) {
  for (size_t i = 0; i < ETX_LOOP_COUNT; ++i) {
    if (strlen(names[i].word) == size &&
        memcmp(names[i].word, word, size) == 0) {
      calls[i] |= dtypes;
    }
  }
}

// Chains are computed in float32, whatever the types of their call are.
static void add_steps(uint64_t steps, uint32_t calls[ETX_LOOP_COUNT]) {
  for (int step = ETX_STEP_X + 1; step < ETX_STEP_END; ++step) {
    const char* const word = word_of_step[step];
    if (word == NULL || (steps & etx_chain_step_bit((uint8_t)step)) == 0) {
      continue;
    }
    add_word(word, strlen(word), UINT32_C(1) << ETX_DTYPE_FLOAT32, calls);
  }
}

void etx_loops_add(etx_op_id op, uint32_t dtypes, uint64_t steps,
                   uint32_t calls[ETX_LOOP_COUNT]) {
  const char* at = words_of[op];
  while (at != NULL && *at != '\0') {
    const size_t size = strcspn(at, " ");
    if (size == sizeof steps_word - 1 && memcmp(at, steps_word, size) == 0) {
      add_steps(steps, calls);
    } else {
      add_word(at, size, dtypes, calls);
    }
    at += size + (at[size] == ' ' ? 1 : 0);
  }
}
