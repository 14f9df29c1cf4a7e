// A program's methods in a session of their own, called with random inputs at
// random values of their symbols.
//
// An instance is either kept, with memory for the largest sizes and all methods
// loaded, or made afresh for one call, with exactly the memory that this call
// needs.

#ifndef ETX_TESTS_SUPPORT_SIZED_INSTANCE_H
#define ETX_TESTS_SUPPORT_SIZED_INSTANCE_H

#include "runtime/memories.h"
#include "shared_memory/shared_memory.h"
#include "tests/hostile/hostile_random.h"

enum {
  SIZED_MOST_SYMBOLS = 16,
  SIZED_MOST_INPUTS = 64,
  SIZED_MOST_METHODS = 48,
  SIZED_MOST_MEMORIES = 8
};

// ---- inputs ----

// Values of a method's symbols, and inputs of the sizes that follow from them.
typedef struct sized_inputs {
  etx_named_size symbols[SIZED_MOST_SYMBOLS];
  size_t symbol_count;
  etx_value values[SIZED_MOST_INPUTS];
  int32_t sizes[SIZED_MOST_INPUTS][ETX_MAX_RANK];  // of tensors
  size_t bytes[SIZED_MOST_INPUTS];                 // of tensors
  size_t count;                                    // of values
} sized_inputs;

// Draws the inputs of a method: each symbol is at most `most_span` above its
// least value, and often that or the least or largest value. Floats are between
// -1 and 1, integers and booleans 0 or 1. A fixed number has the value that the
// file states. False, with nothing to end: the file has inputs that cannot be
// drawn, or a tensor has more than `most_bytes`.
bool sized_inputs_draw(sized_inputs* out, const etx_program* program,
                       etx_text method, size_t most_bytes, int64_t most_span,
                       hostile_random* random);
void sized_inputs_end(sized_inputs* inputs);

// ---- instances ----

typedef struct sized_method {
  etx_text name;
  etx_method method;
  etx_bytes_mut structures;
  etx_bytes_mut copies;       // of the method, for sizes that it keeps
  etx_bytes_mut size_values;  // that depend on sizes alone
  bool is_loaded;
} sized_method;

typedef struct sized_instance {
  const etx_program* program;
  etx_shared_memory session;
  etx_bytes_mut state;
  etx_bytes_mut scratch;  // of all methods, if the program has one memory
  etx_bytes_mut memories[SIZED_MOST_MEMORIES];  // otherwise, the same
  size_t memory_count;                          // 0: one memory
  etx_bytes_mut temporary;
  sized_method methods[SIZED_MOST_METHODS];  // by position in the file
  size_t method_count;
  void* inputs[SIZED_MOST_INPUTS];  // of the latest call: copies of its tensors
  size_t input_count;
} sized_instance;

// Loads all methods that are not constant, in memory for their largest sizes,
// and with the copies that the program's limits ask for (`kept_sizes`). A
// program for several memories gets a block for each.
// Whatever it returns, sized_instance_close ends it. ETX_OUT_OF_RANGE: a block
// would have more than `most_bytes`.
etx_status sized_instance_open(sized_instance* out, const etx_program* program,
                               size_t most_bytes, etx_diag* diag);
// Loads one method in exactly the memory that it needs at these sizes, with a
// copy of the state of `from`. Its statuses are those of etx_method_needed_at.
etx_status sized_instance_open_at(sized_instance* out,
                                  const sized_instance* from, size_t method,
                                  const sized_inputs* inputs, etx_diag* diag);
// Lets all methods keep the values that depend on sizes alone, in memory of
// their own. Before the first call. Returns the bytes of all.
size_t sized_instance_keep_size_values(sized_instance* instance);
void sized_instance_close(sized_instance* instance);

// Fills scratch and temporary memory with bytes that are NaNs as floats and
// large numbers as integers, then calls a method with copies of the inputs.
// Random numbers of the method start anew with each call.
etx_status sized_instance_call(sized_instance* instance, size_t method,
                               const sized_inputs* inputs, etx_diag* diag);

// ---- comparison ----

// NULL if the outputs of the latest call of `method` and all tensors that were
// given to it have the same bytes in both; otherwise what differs.
const char* sized_instance_difference(const sized_instance* a,
                                      const sized_instance* b, size_t method,
                                      const sized_inputs* inputs);
// True if both sessions have the same bytes of state.
bool sized_instance_same_state(const sized_instance* a,
                               const sized_instance* b);

#endif
