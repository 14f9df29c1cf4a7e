// A drawn program and the arrays that its content points to, and the storage of
// its tensors: what the files that draw parts of it share.

#ifndef ETX_TESTS_HOSTILE_DRAWN_CONTENT_H
#define ETX_TESTS_HOSTILE_DRAWN_CONTENT_H

#include "format/ops/op_schema.h"
#include "format/pte/pte_types.h"
#include "tests/hostile/hostile_random.h"

// The size of arena 1.
enum { DRAWN_ARENA_BYTES = 1 << 15 };

enum {
  RANDOM_VALUES = 96,
  RANDOM_CONSTANTS = 24,
  RANDOM_INSTRUCTIONS = 3,
  RANDOM_ARGUMENTS = 24,
  RANDOM_RANK = 6,
  RANDOM_ITEMS = 6,
  RANDOM_CONSTANT_BYTES = 8192
};

// A program, and all arrays that its content points to.
typedef struct drawn_program {
  hostile_random random;
  etx_pte_content content;
  etx_pte_plan_content plan;
  etx_pte_value values[RANDOM_VALUES];
  size_t value_count;
  int32_t sizes[RANDOM_VALUES][RANDOM_RANK];
  uint8_t orders[RANDOM_VALUES][RANDOM_RANK];
  int64_t int_items[RANDOM_VALUES][RANDOM_ITEMS];
  int32_t tensor_items[RANDOM_VALUES][RANDOM_ITEMS];
  double real_items[RANDOM_VALUES][RANDOM_ITEMS];
  uint8_t bool_items[RANDOM_VALUES][RANDOM_ITEMS];
  etx_bytes constants[RANDOM_CONSTANTS];
  uint64_t data[RANDOM_CONSTANT_BYTES / 8];
  size_t data_bytes;
  etx_pte_operator operators[RANDOM_INSTRUCTIONS];
  etx_pte_instruction instructions[RANDOM_INSTRUCTIONS];
  int32_t arguments[RANDOM_INSTRUCTIONS][RANDOM_ARGUMENTS];
  etx_pte_chain chain;
  int64_t arenas[3];
  int32_t inputs[RANDOM_VALUES];
  int32_t outputs[RANDOM_VALUES];
  int32_t shape[RANDOM_RANK];  // that most tensors resemble
  size_t rank;
  etx_dtype dtype;   // type that most tensors have
  bool is_tidy;      // draws arguments that fit each other, so that kernels run
  const etx_op* op;  // of the instruction that is drawn
} drawn_program;

// The number of elements of the tensor.
size_t drawn_tensor_elements(const etx_pte_tensor* tensor);

// Gives the tensor an offset in an arena, either a new one or one of another
// tensor.
void drawn_tensor_place(drawn_program* program, etx_pte_tensor* tensor);

#endif
