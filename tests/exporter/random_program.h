// Random stateful programs as lowered graphs, and what they compute.
//
// Steps are what an author would write; each is one or a few nodes. Every
// operation is one rounding, so results can be compared exactly.

#ifndef ETX_TESTS_EXPORTER_RANDOM_PROGRAM_H
#define ETX_TESTS_EXPORTER_RANDOM_PROGRAM_H

#include "tests/exporter/graph.h"

enum {
  ROWS = 3,
  COLUMNS = 4,  // so that a row has the alignment of a block
  MATRIX = ROWS * COLUMNS,
  MAX_VALUES = 120,
  MAX_STATES = 4,
  MAX_METHODS = 3,
  MAX_PORTS = 4,
};

// What a value is: the whole, a row, or the whole lying flat; an input of some
// rows of a whole; and nothing that can be read.
typedef enum type {
  WHOLE,
  ROW,
  FLAT,
  TYPE_COUNT,
  SOME = TYPE_COUNT,
  TOKEN
} type;

// How a value of a method is computed.
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
  JOIN_ROWS,  // a, b and a + b one below the other
  // With the input whose number of rows varies:
  PUT_SOME,     // its rows replace the first ones of a
  ADD_SOME,     // the first rows of b plus its rows do
  MOVE_SOME,    // as many first rows of b do
  PUT_COLUMNS,  // its first column does, in as many rows of a
  ACTION_COUNT,
  // Of choices:
  CHOOSE = ACTION_COUNT,  // whether the first element of a is above `constant`
  CHOOSE_ROWS,            // whether more rows than `row` were given
  MEET,                   // a or b, as the step `choice` says
} action;

typedef struct step {
  action action;
  type type;
  size_t a, b;  // earlier steps
  size_t row;
  size_t index;     // state or input
  size_t choice;    // step
  uint32_t number;  // of a choice, in the IR
  uint32_t branch;  // that it stands in
  float constant;
  uint32_t value;  // in the IR
} step;

typedef struct mutation {
  bool is_input;
  size_t target;
  size_t step;
} mutation;

typedef struct method {
  char name[8];
  step steps[MAX_VALUES];
  size_t step_count;
  type inputs[MAX_PORTS];
  bool is_mutable[MAX_PORTS];
  size_t input_count;
  bool has_some;    // the last input has a number of rows that varies
  size_t some;      // its step
  etx_dim rows;     // that number
  uint32_t branch;  // that is being built
  size_t outputs[MAX_PORTS];
  size_t output_count;
  mutation mutations[MAX_STATES + MAX_PORTS];
  size_t mutation_count;
} method;

typedef float content[MATRIX];

typedef struct program {
  type states[MAX_STATES];
  size_t state_count;
  float initial[MAX_STATES][MATRIX];
  uint32_t buffers[MAX_STATES];
  method methods[MAX_METHODS];
  size_t method_count;
  bool has_choices;
} program;

size_t elements_of(type t);
uint8_t rank_of(type t);

// Numbers that follow from `seed`.
void random_start(uint64_t seed);
size_t pick(size_t count);
bool one_in(size_t count);

// Builds a random program into an open graph.
void random_program_build(graph* g, program* p);

// What a call computes: `rows` rows of the input that varies were given.
// Inputs and states become what they are afterwards.
void random_program_interpret(const method* m, content* states, content* inputs,
                              size_t rows, content* outputs);

#endif
