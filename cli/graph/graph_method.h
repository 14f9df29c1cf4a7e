// The graph of a method: which values each step reads and writes, and the
// operators that it calls. From the memory map of the program.

#ifndef ETX_CLI_GRAPH_GRAPH_METHOD_H
#define ETX_CLI_GRAPH_GRAPH_METHOD_H

#include "cli/memory/memory_map.h"

typedef struct etx_graph_method {
  const etx_verify_method* program;
  const etx_op** operators;  // by operator of the file; NULL: not known, or no
                             // step calls it
  etx_text* names;  // by value: that of a tensor, an input or an output; may
                    // be empty
  bool* varies;     // by value: a number that changes at run time
  // What a step reads and writes, set by etx_graph_step_read: values, each at
  // most once.
  uint32_t* written;
  size_t written_count;
  uint32_t* read;
  size_t read_count;
  etx_verify_effects effects;  // the rest is private to graph_method.c
  uint32_t* written_in;        // by value: the last pass that had it
  uint32_t* read_in;
  uint32_t pass;
} etx_graph_method;

// Fills one for each method of the map, in the memory of the map.
ETX_MUST_USE etx_status etx_graph_methods_init(const etx_memory_map* map,
                                               etx_graph_method** out_methods);

// Finds what a step reads and writes: tensors, numbers that change at run time,
// and tensors of which only the sizes are read or set.
void etx_graph_step_read(etx_graph_method* method, size_t step);

#endif
