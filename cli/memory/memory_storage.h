// The storages of a method, as PyTorch uses the word: one piece of memory and
// all tensors that are views of it; and which steps access them.

#ifndef ETX_CLI_MEMORY_MEMORY_STORAGE_H
#define ETX_CLI_MEMORY_MEMORY_STORAGE_H

#include "cli/verify/verify_method.h"

// A stretch of steps: [start, end).
typedef struct etx_memory_span {
  uint32_t start;
  uint32_t end;
} etx_memory_span;

// A piece of memory: a value and all that show bytes of it.
typedef struct etx_memory_storage {
  uint32_t value;          // the largest of them
  etx_verify_storage_kind home;    // where it lies
  etx_verify_range range;  // on the method's line of bytes
  bool is_state;
  bool is_input;
  bool is_output;       // or a mutable input: read after the last step
  uint32_t view_count;  // values beside `value`
  uint32_t first_view;  // in etx_memory_uses.views
  uint32_t use_count;
  uint32_t first_use;  // in etx_memory_uses.by_piece
} etx_memory_storage;

// A step touches a piece. Ascending by step; in a step reads come first.
typedef struct etx_memory_access {
  uint32_t step;
  uint32_t piece;
  bool is_write;
  bool is_full;  // written: all of it, and nothing of it is kept
} etx_memory_access;

typedef struct etx_memory_uses {
  etx_memory_storage* pieces;
  size_t piece_count;
  uint32_t* piece_of;  // by value; ETX_VERIFY_NONE if it is not a tensor
  uint32_t* views;
  etx_memory_access* touches;
  size_t touch_count;
  uint32_t* by_piece;    // positions in `touches`
  size_t guessed_count;  // instructions about which nothing is known
} etx_memory_uses;


#endif
