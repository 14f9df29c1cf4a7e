// The program file of a command: a .pte, or a bundle (.bpte) with a program in
// it.

#ifndef ETX_CLI_PROGRAM_PTE_FILE_H
#define ETX_CLI_PROGRAM_PTE_FILE_H

#include "cli/base/mapped_file.h"
#include "format/bundle/bundle_file.h"

typedef struct etx_pte_file {
  etx_mapped_file file;
  etx_bytes program;  // all of the file, or the program in the bundle
  bool is_bundle;
  etx_bundle bundle;  // opened, if it is one
} etx_pte_file;

// Maps the file and finds its program, which is not verified here. Refuses a
// data file (.ptd) with a hint. On failure nothing stays open.
ETX_MUST_USE etx_status etx_pte_file_open(etx_pte_file* file, const char* path,
                                          etx_diag* diag);
// The same, but reads the file into memory, so that it may change.
ETX_MUST_USE etx_status etx_pte_file_read(etx_pte_file* file, const char* path,
                                          etx_diag* diag);
void etx_pte_file_close(etx_pte_file* file);

#endif
