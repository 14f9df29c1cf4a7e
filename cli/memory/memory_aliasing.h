// Which values share bytes and so are one storage: union-find over all values
// of a method.

#ifndef ETX_CLI_MEMORY_MEMORY_ALIASING_H
#define ETX_CLI_MEMORY_MEMORY_ALIASING_H

#include "cli/memory/memory_storage.h"

// An access of a step to a value, before values are merged into storages.
typedef struct etx_memory_value_access {
  uint32_t step;
  uint32_t value;
  bool is_write;
  bool updates;     // a write that keeps some of the old content
  bool is_guessed;  // of an unknown call: a write if it is the first access
} etx_memory_value_access;

// An instruction gives `to` the header of `from`.
typedef struct etx_memory_alias {
  uint32_t to;
  uint32_t from;
  bool is_view;  // by an operator; false: by a move
} etx_memory_alias;

typedef struct etx_memory_aliasing {
  etx_verify_method* m;
  etx_memory_uses* uses;
  etx_memory_value_access* raw;
  size_t raw_count, raw_capacity;
  etx_memory_alias* edges;  // etx_memory_aliasing_merge sorts them by `to`
  size_t edge_count;
  uint32_t* first_edge;  // by value, and one more: edges of value v are
                         // [first_edge[v], first_edge[v + 1])
  uint32_t* joined;      // union-find: by value, its parent
  bool* is_written;      // by value: by an instruction or by the caller
  bool* is_rebound;      // by value: takes over headers
  bool* was_written;     // by storage: before the current step
  uint32_t* marks;       // by value: the search that visited it last
  uint32_t search;       // number of the current search
  uint32_t* stack;       // values that the search has still to visit
  size_t access_capacity;
} etx_memory_aliasing;

// Merges values that share one storage and sorts the edges. `raw` and `edges`
// must be complete.
ETX_MUST_USE etx_status etx_memory_aliasing_merge(etx_memory_aliasing* c);
// The representative of all values that are merged with `value`.
uint32_t etx_memory_aliasing_root(const etx_memory_aliasing* c, uint32_t value);

#endif
