// Random programs with branches, loops, jumps, moves, views and numbers from
// data, over few slots, as a list of steps and as a file.
//
// All tensors are int64 of rank 1. Most slots are written several times, with
// sizes that differ or not.

#ifndef ETX_TESTS_RUNTIME_FLOW_PROGRAM_H
#define ETX_TESTS_RUNTIME_FLOW_PROGRAM_H

#include "tests/support/test_program.h"

enum {
  ROOM = 8,  // elements of a slot, at most
  SLOT_BYTES = ROOM * (int)sizeof(int64_t),
  FIXED_BYTES = 16,
  MOST_STEPS = 160,
};

// Slots by kind, one after another.
enum {
  DYNAMIC = 0,  // have memory; sizes vary
  DYNAMIC_COUNT = 5,
  VIEWS = DYNAMIC + DYNAMIC_COUNT,
  VIEW_COUNT = 2,
  FIXED = VIEWS + VIEW_COUNT,  // one element
  FIXED_COUNT = 2,
  NUMBERS = FIXED + FIXED_COUNT,
  NUMBER_COUNT = 4,
  COUNTERS = NUMBERS + NUMBER_COUNT,  // of loops, by depth
  COUNTER_COUNT = 2,
  BOOLS = COUNTERS + COUNTER_COUNT,
  BOOL_COUNT = 2,
  // These are never written.
  X = BOOLS + BOOL_COUNT,  // input, size varies
  DATA,                    // input, one element
  FLAGS,                   // inputs, bool
  FLAG_COUNT = 3,
  NEVER = FLAGS + FLAG_COUNT,
  ZERO,
  ONE,
  TWO,
  FIVE,
  SLOT_COUNT,
};

typedef enum flow_step_kind {
  STEP_CLONE,   // out = a
  STEP_ADD,     // out = a + number b
  STEP_HEAD,    // out = a[0:number b]
  STEP_SUM,     // out = sum of a
  STEP_REPEAT,  // out = each index i of a, a[i] times
  STEP_VIEW,    // out shows the memory of a
  STEP_SIZE,    // out = number of elements of a
  STEP_ITEM,    // out = the element of a
  STEP_MOD,     // out = a % 5
  STEP_COUNT,   // out = a + 1
  STEP_MAX,     // out = the larger of a and b
  STEP_LESS,    // out = a < b
  STEP_MOVE,    // out = a
  STEP_JUMP,    // if a is false: go to b
} flow_step_kind;

typedef struct flow_step {
  flow_step_kind kind;
  int a, b, out;
} flow_step;

typedef struct flow_program {
  flow_step steps[MOST_STEPS];
  int count;
  uint64_t defined;  // a bit for each slot that is written on every path
  uint64_t written;  // or on some path
  bool is_calm;      // few values change after they were used
  bool is_straight;  // no jumps and no moves
} flow_program;

enum { FLOW_OUTPUT_COUNT = 8 };
// The slots that are outputs of the method.
extern const int flow_outputs[FLOW_OUTPUT_COUNT];

// True if every path to the end writes the slot.
bool flow_is_defined(const flow_program* p, int slot);
// A program of branches and loops. Its steps read only what every path to them
// has written. In a calm one, few values change after they were used.
void flow_start_structured(flow_program* p, bool is_calm);
// A program without jumps and moves, in which numbers from data are frequent.
void flow_start_straight(flow_program* p, bool is_calm);
// A program whose jumps lead anywhere, so that it may never end. It starts by
// writing all slots.
void flow_start_tangled(flow_program* p);
// The program as the file of a method 'forward'; its inputs are X, DATA, FLAGS.
test_program* flow_file(const flow_program* p);

#endif
