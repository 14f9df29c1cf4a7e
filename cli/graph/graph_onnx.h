// A program as a drawing for Netron and other viewers: a file of the ONNX
// format whose operators are those of the program. No runtime can run it.
//
// Netron reads .pte files, too, but refuses those with an operator that is not
// PyTorch's own (netron 9.3.3: "Operator schema for 'etx::chain.out' not
// found"), while ONNX files may have any operators.
//
// All methods are in one graph; with more than one, names start with that of
// the method. A tensor is called by its name in the file and its number, "ids
// #0". As a name of ONNX has one content, a tensor that is written again is
// called "ids #0 (2)". Weights are not copied: the file refers to the bytes of
// the program, as "external data".

#ifndef ETX_CLI_GRAPH_GRAPH_ONNX_H
#define ETX_CLI_GRAPH_GRAPH_ONNX_H

#include <stdio.h>

#include "cli/graph/graph_method.h"
#include "cli/program/instruction_source.h"

typedef struct etx_graph_onnx_source {
  const char* file_name;  // of the program, without directories: the location
                          // of the weights
  uint64_t file_offset;   // of the program in that file
  const etx_instruction_source* lines;
} etx_graph_onnx_source;

// Writes the file. ETX_OUT_OF_MEMORY: nothing was written. The caller checks
// the stream for errors (ferror).
ETX_MUST_USE etx_status etx_graph_onnx_print(
    const etx_memory_map* map, const etx_graph_onnx_source* source, FILE* out);

#endif
