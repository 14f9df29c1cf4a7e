// For authors of kernels: a shared library with operators of an application,
// which `etx run --kernels` and `etx.load(path, kernels=...)` open.
//
//   static etx_status run_scale(etx_call* call) { ... }
//   static etx_status prepare_scale(etx_call* call) { ...call->run = ...; }
//
//   static const etx_kernel rows[] = {
//       {&my_scale_out.op, prepare_scale, NULL, NULL}};
//   static const etx_kernel_table table = {.kernels = rows, .count = 1};
//   ETX_KERNEL_LIBRARY(&table)
//
// `etx ops --header my.ops` writes the rows (my_scale_out) for the operators
// that my.ops describes. An application that is linked with the kernels passes
// the same table to etx_module_open or etx_program_open instead.
//
// What a kernel is called with, what its two phases do, how it reads arguments,
// asks for temporary memory, uses threads and reports errors: runtime/kernel.h.

#ifndef ETX_RUNTIME_KERNEL_LIBRARY_H
#define ETX_RUNTIME_KERNEL_LIBRARY_H

#include "format/shapes/own_operator.h"
#include "runtime/kernel.h"

// Grows when a structure below, or what a call of a kernel means, changes.
#define ETX_KERNEL_LIBRARY_VERSION 2

// What a library defines under the name `etx_kernels`. The sizes are those of
// the headers that it was compiled with: a library is refused where another
// version, or a build with other options, opens it.
typedef struct etx_kernel_library {
  uint32_t version;               // ETX_KERNEL_LIBRARY_VERSION
  uint32_t call_bytes;            // sizeof(etx_call)
  uint32_t operator_bytes;        // sizeof(etx_own_operator)
  uint32_t value_bytes;           // sizeof(etx_value)
  uint32_t diag_bytes;            // sizeof(etx_diag)
  const etx_kernel_table* table;  // its kernels
} etx_kernel_library;

// Defines `etx_kernels` for a table. To be used once in a library.
#define ETX_KERNEL_LIBRARY(table_pointer)                                     \
  __attribute__((                                                             \
      visibility("default"))) extern const etx_kernel_library etx_kernels;    \
  const etx_kernel_library etx_kernels = {                                    \
      ETX_KERNEL_LIBRARY_VERSION, sizeof(etx_call), sizeof(etx_own_operator), \
      sizeof(etx_value),          sizeof(etx_diag), (table_pointer)};

#endif
