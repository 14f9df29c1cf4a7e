// Random stateful programs as lowered graphs, and an interpreter that computes
// their expected results.
//
// A step is an operation as an author of a model would write it; it becomes one
// or a few nodes. Every step rounds once, so results are compared exactly.

#ifndef ETX_TESTS_EXPORTER_RANDOM_MODULE_H
#define ETX_TESTS_EXPORTER_RANDOM_MODULE_H

#include "tests/exporter/graph.h"

enum {
  ROWS = 3,
  COLUMNS = 4,  // a row has 16 bytes, the alignment of a block
  MATRIX = ROWS * COLUMNS,
  MAX_VALUES = 120,
  MAX_STATES = 4,
  MAX_METHODS = 3,
  MAX_INPUTS_OR_OUTPUTS = 4,
};

// The shapes of values: WHOLE is [3, 4], ROW is [4], FLAT is [12], DYNAMIC_ROWS
// is [s, 4] with s from 1 to 3. TOKEN is the output of a branch head.
typedef enum type {
  WHOLE,
  ROW,
  FLAT,
  TYPE_COUNT,
  DYNAMIC_ROWS = TYPE_COUNT,
  TOKEN
} type;

// The kinds of node that compute a value of a method.
typedef enum action {
  GET_STATE,
  GET_INPUT,
  GET_CONSTANT,
  ADD,
  SUBTRACT,
  SELECT,
  RESHAPE,
  COPY,
  PUT_ROW,    // select_scatter
  PUT_ROWS,   // slice_scatter of the first two rows
  TAKE_ROWS,  // slice of the first two rows, put back over zeros
  INDEX_PUT,
  JOIN_ROWS,  // the concatenation of a, b and a + b
  // Only with the input of DYNAMIC_ROWS:
  PUT_DYNAMIC_ROWS,   // its rows replace the first ones of a
  ADD_DYNAMIC_ROWS,   // the first rows of b plus its rows do
  COPY_DYNAMIC_ROWS,  // as many first rows of b do
  PUT_COLUMNS,        // its first column does, in as many rows of a
  ACTION_COUNT,
  // Conditionals:
  COND_ON_ELEMENT =
      ACTION_COUNT,  // whether the first element of a is above `constant`
  COND_ON_ROWS,      // whether more rows than `row` were given
  JOIN,              // a or b, selected by the step `conditional`
} action;

typedef struct random_step {
  action action;
  type type;
  size_t a, b;  // earlier steps
  size_t row;
  size_t index;     // state or input
  size_t cond;      // of a JOIN: the step of its branch head
  uint32_t number;  // of a branch head: its conditional in the IR
  uint32_t branch;  // the branch that contains the step
  float constant;
  uint32_t value;  // in the IR
} random_step;

typedef struct random_mutation {
  bool is_input;
  size_t target;
  size_t step;
} random_mutation;

typedef struct random_method {
  char name[8];
  random_step steps[MAX_VALUES];
  size_t step_count;
  type inputs[MAX_INPUTS_OR_OUTPUTS];
  bool is_mutable[MAX_INPUTS_OR_OUTPUTS];
  size_t input_count;
  bool has_dynamic_input;  // the last input has a number of rows that varies
  size_t some;             // its step
  etx_dim rows;            // that number
  uint32_t branch;         // the branch that is being built
  size_t outputs[MAX_INPUTS_OR_OUTPUTS];
  size_t output_count;
  random_mutation mutations[MAX_STATES + MAX_INPUTS_OR_OUTPUTS];
  size_t mutation_count;
} random_method;

typedef float content[MATRIX];

typedef struct random_module {
  type states[MAX_STATES];
  size_t state_count;
  float initial[MAX_STATES][MATRIX];
  uint32_t buffers[MAX_STATES];
  random_method methods[MAX_METHODS];
  size_t method_count;
  bool has_conds;
} random_module;

size_t elements_of(type t);
uint8_t rank_of(type t);

// Starts the sequence of random numbers of `seed`.
void random_start(uint64_t seed);
size_t pick(size_t count);
bool one_in(size_t count);

// Builds a random program into an open graph.
void random_module_build(graph* g, random_module* p);

// Computes the outputs of a call and updates inputs and states. `rows` is the
// number of rows of the input of DYNAMIC_ROWS.
void random_module_interpret(const random_method* m, content* states,
                             content* inputs, size_t rows, content* outputs);

#endif
