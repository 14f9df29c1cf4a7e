// Which values share bytes and so are one storage: union-find over all values
// of a method.

#ifndef ETX_CLI_MEMORY_MEMORY_ALIASING_H
#define ETX_CLI_MEMORY_MEMORY_ALIASING_H

#include "cli/memory/memory_storage.h"

// What a step does to a value, before it is known which pieces that means.
typedef struct etx_memory_value_access {
  uint32_t step;
  uint32_t value;
  bool is_write;
  bool updates;     // written: some of the old content is kept
  bool is_guessed;  // unknown call: a write if nothing wrote it before
} etx_memory_value_access;

// `to` gets the header of `from`.
typedef struct etx_memory_alias {
  uint32_t to;
  uint32_t from;
  bool is_view;  // an operator made it, no move
} etx_memory_alias;

typedef struct etx_memory_aliasing {
  etx_verify_method* m;
  etx_memory_uses* uses;
  etx_memory_value_access* raw;
  size_t raw_count, raw_capacity;
  etx_memory_alias* edges;  // sorted by `to` once all are there
  size_t edge_count;
  uint32_t* first_edge;  // by value, and one more
  uint32_t* joined;      // union-find over values
  bool* is_written;      // by value: an instruction, or the caller
  bool* is_rebound;      // by value
  bool* was_written;     // by value: until the step that is looked at
  uint32_t* marks;       // by value: search in which it was met last
  uint32_t search;
  uint32_t* stack;  // values still to be looked at
  size_t touch_capacity;
} etx_memory_aliasing;

// Joins the values of `c` whose bytes are the same, once all
// touches and edges are there; sorts the edges.
ETX_MUST_USE etx_status etx_memory_aliasing_merge(etx_memory_aliasing* c);
// The value that stands for all that `value` is joined with.
uint32_t etx_memory_aliasing_root(const etx_memory_aliasing* c, uint32_t value);


#endif
