// What etx.mjs calls: programs, their sessions and their values, by numbers and
// addresses. The exports of etx.wasm are these functions, without `etx_web_`.
//
// A program has two blocks of memory: its file, and one for all sessions and
// inputs. Both are allocated when it is opened; nothing is allocated later.
//
// Failure  functions that return a status leave the message for
//          etx_web_message; those that return an address return NULL.

#ifndef ETX_JAVASCRIPT_WEB_PROGRAM_H
#define ETX_JAVASCRIPT_WEB_PROGRAM_H

#include "runtime/pool/instance_pool.h"

#ifdef __wasm__
#define ETX_WEB_EXPORT(name) __attribute__((export_name(#name)))
#else
#define ETX_WEB_EXPORT(name)
#endif

typedef struct etx_web_program etx_web_program;

// A value, an input or an output, at offsets that etx.mjs knows.
typedef struct etx_web_view {
  int64_t integer;        // of an INT or a BOOL; the same
  double real;            // of a DOUBLE
  int32_t kind;           // etx_pte_kind
  int32_t dtype;          // of a tensor
  int32_t rank;           // of a tensor
  int32_t element_bytes;  // of a tensor
  const void* data;       // of a tensor; for an input: where the caller writes
  const char* name;       // of an input or output
  size_t name_bytes;      // of name
  int32_t is_mutable;     // the method writes this input
  int32_t varies;         // a number that the caller chooses
  int32_t sizes[ETX_MAX_RANK];    // of a tensor; bounds where sizes vary
  int32_t strides[ETX_MAX_RANK];  // of an output of a run, in elements
  int32_t is_dynamic;             // sizes may be smaller than `sizes`
} etx_web_view;

// Memory for a file or a snapshot, aligned to 64. NULL: there is none left.
ETX_WEB_EXPORT(allocate) void* etx_web_allocate(size_t bytes);
ETX_WEB_EXPORT(release) void etx_web_release(void* memory);

// The message of the last failure.
ETX_WEB_EXPORT(message) const char* etx_web_message(void);
ETX_WEB_EXPORT(message_bytes) size_t etx_web_message_bytes(void);

// Opens a program with memory for so many sessions. The file was allocated by
// etx_web_allocate; it belongs to the program, or is released on failure.
ETX_WEB_EXPORT(open)
etx_web_program* etx_web_open(uint8_t* file, size_t bytes, size_t sessions);
ETX_WEB_EXPORT(close) void etx_web_close(etx_web_program* program);
// Bytes of the block for all sessions and inputs.
ETX_WEB_EXPORT(memory_bytes)
size_t etx_web_memory_bytes(const etx_web_program* program);

// Describes a method: its name, `integer` inputs and `kind` outputs; `varies`
// if it is constant. NULL: there are not that many.
ETX_WEB_EXPORT(method)
const etx_web_view* etx_web_method(const etx_web_program* program,
                                   size_t method);
// Describes an input, or an output, of a method.
ETX_WEB_EXPORT(port)
const etx_web_view* etx_web_port(const etx_web_program* program, size_t method,
                                 bool is_output, size_t index);
// An output of a constant method.
ETX_WEB_EXPORT(constant)
const etx_web_view* etx_web_constant(const etx_web_program* program,
                                     size_t method, size_t index);

// Takes a free session, with initial values; -1 if there is none.
ETX_WEB_EXPORT(session_open)
int32_t etx_web_session_open(etx_web_program* program);
ETX_WEB_EXPORT(session_close)
etx_status etx_web_session_close(etx_web_program* program, size_t session);
ETX_WEB_EXPORT(reset)
etx_status etx_web_reset(etx_web_program* program, size_t session);
ETX_WEB_EXPORT(seed)
void etx_web_seed(etx_web_program* program, size_t session, uint64_t seed);
ETX_WEB_EXPORT(save_bytes)
size_t etx_web_save_bytes(const etx_web_program* program, size_t session);
ETX_WEB_EXPORT(save)
etx_status etx_web_save(const etx_web_program* program, size_t session,
                        uint8_t* out, size_t bytes);
ETX_WEB_EXPORT(restore)
etx_status etx_web_restore(etx_web_program* program, size_t session,
                           const uint8_t* snapshot, size_t bytes);

// Keeps the first `length` rows of all caches.
ETX_WEB_EXPORT(truncate)
etx_status etx_web_truncate(etx_web_program* program, size_t session,
                            uint64_t length);
// The state at `index`: its name, and its elements in the session's memory.
// NULL: the program has not that many.
ETX_WEB_EXPORT(state)
const etx_web_view* etx_web_state(const etx_web_program* program,
                                  size_t session, size_t index);

// Chooses the method whose inputs are set and that runs next.
ETX_WEB_EXPORT(choose)
etx_status etx_web_choose(etx_web_program* program, size_t session,
                          size_t method);
// Sets an input of the chosen method. A tensor's elements are where
// etx_web_port says, its sizes in the view that etx_web_sizes returns.
ETX_WEB_EXPORT(sizes) int32_t* etx_web_sizes(void);
ETX_WEB_EXPORT(set_tensor)
etx_status etx_web_set_tensor(etx_web_program* program, size_t input,
                              int32_t dtype, size_t rank);
ETX_WEB_EXPORT(set_number)
etx_status etx_web_set_number(etx_web_program* program, size_t input,
                              int32_t kind, int64_t integer, double real);
ETX_WEB_EXPORT(run) etx_status etx_web_run(etx_web_program* program);
// An output of the last run. Its data stays until the next run.
ETX_WEB_EXPORT(output)
const etx_web_view* etx_web_output(const etx_web_program* program,
                                   size_t index);

#endif
