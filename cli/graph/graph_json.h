// The graphs of a program as JSON, escaped for use in an HTML page: one object
// for each method of the memory map, in the same order.
//
//   {"inputs": [value, ...], "outputs": [value, ...],
//    "names": {"0": "x"},                          by value
//    "arguments": {"0": ["self", "other", ...]},   by operator of the map, if
//                                                  its schema is known
//    "values": [value, ...],
//    "calls": [[arguments, written, read], ...]}   by step
//
// A value is one of
//   ["tensor", type, whole, parts]        whole: the value that it is a part or
//                                         a view of, or -1; parts: its pieces
//   ["text", text, varies]                a number, a string, a list of
//                                         booleans or floats; varies: 1 for a
//                                         number that changes at run time
//   ["integers", values]                  a list of the integers in values
//   ["tensors", values]                   -1: none
//   ["none"]

#ifndef ETX_CLI_GRAPH_GRAPH_JSON_H
#define ETX_CLI_GRAPH_GRAPH_JSON_H

#include <stdio.h>

#include "cli/graph/graph_method.h"

// Prints the graphs of the methods.
void etx_graph_json_print(etx_graph_method* methods, size_t count, FILE* out);

#endif
