// Inputs and outputs of methods, described without loading the methods.

#ifndef ETX_CLI_PROGRAM_PORT_H
#define ETX_CLI_PROGRAM_PORT_H

#include <stdio.h>

#include "runtime/program.h"
#include "runtime/value.h"

enum { ETX_PORT_NAME_BYTES = 256 };

// An input or output, described without loading the method.
typedef struct etx_port {
  etx_port_info info;
  size_t index;  // among the inputs or outputs
  bool is_input;
  char name[ETX_PORT_NAME_BYTES];  // from the file, cut if too long; "input_0"
                                   // or "output_0" in a stock file
} etx_port;

ETX_MUST_USE etx_status etx_port_input(const etx_program* program,
                                       etx_text method, size_t index,
                                       etx_port* out_port, etx_diag* diag);
ETX_MUST_USE etx_status etx_port_output(const etx_program* program,
                                        etx_text method, size_t index,
                                        etx_port* out_port, etx_diag* diag);

// How dimension `dim` of an input depends on a symbol; with -1, how an integer
// input does. False if it is fixed or the file does not state it.
bool etx_port_dim(const etx_program* program, etx_text method,
                  const etx_port* port, int32_t dim,
                  etx_blob_input_dim* out_dim, etx_blob_symbol* out_symbol);

// The name of a kind of value: "tensor", "int", "none".
const char* etx_pte_kind_text(etx_pte_kind kind);

// The value of a scalar or None port in the file. For an input that is the
// value with which the method was exported.
etx_value etx_port_fixed_value(const etx_port* port);

// Writes "float32[b, 2*t, 3]", "int", "none".
void etx_port_print_type(const etx_program* program, etx_text method,
                         const etx_port* port, FILE* out);

#endif
