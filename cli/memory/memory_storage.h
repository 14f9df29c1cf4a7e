// The storages of a method, in PyTorch's sense: the bytes that a tensor and all
// its views share; and the steps that access them.

#ifndef ETX_CLI_MEMORY_MEMORY_STORAGE_H
#define ETX_CLI_MEMORY_MEMORY_STORAGE_H

#include "cli/verify/verify_method.h"

// Steps [start, end).
typedef struct etx_memory_span {
  uint32_t start;
  uint32_t end;
} etx_memory_span;

typedef struct etx_memory_storage {
  uint32_t value;  // the largest of its values
  etx_verify_storage_kind kind;
  etx_verify_range range;  // in the method's address space
  bool is_state;
  bool is_input;
  bool is_output;  // an output or a mutable input: read after the last step
  uint32_t view_count;  // its other values
  uint32_t first_view;  // in etx_memory_uses.views
  uint32_t use_count;
  uint32_t first_use;  // in etx_memory_uses.by_storage
} etx_memory_storage;

// One access of a step to a storage.
typedef struct etx_memory_access {
  uint32_t step;
  uint32_t storage;
  bool is_write;
  bool is_full;  // a write that replaces all bytes
} etx_memory_access;

typedef struct etx_memory_uses {
  etx_memory_storage* storages;
  size_t storage_count;
  uint32_t* storage_of;  // by value; ETX_VERIFY_NONE if it is not a tensor
  uint32_t* views;
  etx_memory_access* accesses;  // ascending by step, reads before writes
  size_t access_count;
  uint32_t* by_storage;  // positions in `accesses`, grouped by storage
  size_t guessed_count;  // unknown operators and delegates
} etx_memory_uses;

#endif
