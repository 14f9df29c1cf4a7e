// Kernels of this build and those of shared libraries (kernel_library.h) in one
// table.
//
// Opening a library runs its code, so only libraries that the user names are
// opened.

#ifndef ETX_CLI_KERNELS_KERNEL_SET_H
#define ETX_CLI_KERNELS_KERNEL_SET_H

#include "format/pte/pte_program.h"
#include "runtime/kernel_library.h"

typedef struct etx_kernel_set {
  etx_kernel_table table;  // this build's kernels, then those of the libraries
  etx_kernel* rows;        // of the table
  etx_cells cells;         // of the table, if this build is a selected one
  uint32_t* dtypes;        // of the cells
  void** libraries;        // handles of dlopen
  size_t library_count;
} etx_kernel_set;

// Opens the libraries. On failure nothing stays open: ETX_NOT_FOUND for files
// that cannot be opened, ETX_UNSUPPORTED for other versions, ETX_BAD_ARGUMENT
// for operators that two libraries have.
ETX_MUST_USE etx_status etx_kernel_set_open(etx_kernel_set* set,
                                            const char* const* paths,
                                            size_t count, etx_diag* diag);

// Compares the rows with the operators that a program describes. A row with
// other arguments or results is refused by name (ETX_BAD_ARGUMENT).
ETX_MUST_USE etx_status etx_kernel_set_check(const etx_kernel_set* set,
                                             const etx_pte* pte,
                                             etx_diag* diag);

// Closes the libraries: no kernel of them may be running or run later.
void etx_kernel_set_close(etx_kernel_set* set);

#endif
