// The graphs of a program as JSON, escaped for use in an HTML page: one object
// for each method of the memory map, in the same order.
//
//   {"inputs": [[value, name], ...], "outputs": [[value, name], ...],
//    "arguments": {"0": ["self", "other", ...]},   by operator of the map, if
//                                                  its schema is known
//    "values": [value, ...],
//    "calls": [[arguments, written, read], ...]}   by step
//
// A value is one of
//   ["tensor", type, name, whole, parts]  whole: the value that it is a part or
//                                         a view of, or -1; parts: its pieces
//   ["text", text]                        a number, a string, a list of
//                                         booleans or floats
//   ["integers", values]                  a list of the integers in values
//   ["tensors", values]                   -1: none
//   ["none"]

#ifndef ETX_CLI_GRAPH_GRAPH_JSON_H
#define ETX_CLI_GRAPH_GRAPH_JSON_H

#include <stdio.h>

#include "cli/memory/memory_map.h"

// What the printing of a method needs beside its map.
typedef struct etx_graph_method {
  const etx_verify_method* program;
  etx_verify_effects effects;
  const etx_op** operators;  // by operator of the file; NULL: not known, or no
                             // step calls it
} etx_graph_method;

// Fills one for each method of the map, in the memory of the map.
ETX_MUST_USE etx_status etx_graph_methods_init(const etx_memory_map* map,
                                               etx_graph_method** out_methods);

// Prints the graphs of the methods.
void etx_graph_json_print(etx_graph_method* methods, size_t count, FILE* out);

#endif
