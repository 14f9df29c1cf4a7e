// A program file opened for running: the module, one session of state shared
// by all methods, and what is known of each method's inputs and outputs.

#ifndef ETX_CLI_SESSION_H
#define ETX_CLI_SESSION_H

#include <stdio.h>

#include "cli/pte_input.h"
#include "runtime/module/module.h"
#include "runtime/threads/thread_pool.h"

typedef struct etx_session_options {
  const char* const* data_paths;  // files (.ptd) that hold data of the program
  size_t data_count;
  size_t threads;  // for its kernels; 0: one
} etx_session_options;

typedef struct etx_session {
  etx_pte_input file;
  etx_thread_pool pool;
  void* pool_memory;
  etx_module module;
  etx_module_shared shared;  // initial values are in place after opening
} etx_session;

// Opens the file, and the files that hold data of it, and starts threads and
// state. On failure nothing stays open. A session stays where it was opened.
ETX_MUST_USE etx_status etx_session_open(etx_session* session, const char* path,
                                         const etx_session_options* options,
                                         etx_diag* diag);
void etx_session_close(etx_session* session);

// The method, loaded with the session's state at its first use.
ETX_MUST_USE etx_status etx_session_method(etx_session* session,
                                           const char* name,
                                           etx_method** out_method,
                                           etx_diag* diag);

enum { ETX_PORT_NAME_BYTES = 256 };

// An input or output, described without loading the method.
typedef struct etx_port {
  etx_port_info info;
  size_t index;  // among the inputs or outputs
  bool is_input;
  char name[ETX_PORT_NAME_BYTES];  // the file's, cut if too long, or
                                   // "input_0", "output_0" for a stock file
} etx_port;

ETX_MUST_USE etx_status etx_port_input(const etx_program* program,
                                       etx_text method, size_t index,
                                       etx_port* out_port, etx_diag* diag);
ETX_MUST_USE etx_status etx_port_output(const etx_program* program,
                                        etx_text method, size_t index,
                                        etx_port* out_port, etx_diag* diag);

// How the dimension (or with -1 the integer) of an input depends on a symbol;
// false if it is fixed or the file does not say.
bool etx_port_dim(const etx_program* program, etx_text method,
                  const etx_port* port, int32_t dim,
                  etx_blob_input_dim* out_dim, etx_blob_symbol* out_symbol);

// "tensor", "int", "none": the kind of a value in words.
const char* etx_pte_kind_text(etx_pte_kind kind);

// What a scalar or None port holds in the file: of an input the value that it
// was fixed to when exported.
etx_value etx_port_fixed_value(const etx_port* port);

// Writes "float32[b, 2*t, 3]", "int", "none".
void etx_port_print_type(const etx_program* program, etx_text method,
                         const etx_port* port, FILE* out);

#endif
