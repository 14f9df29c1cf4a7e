// The file that a command was given as a program: a .pte, or a bundle (.bpte)
// that contains one.

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

// Maps the file and finds its program, which is not looked at. A data file
// (.ptd) is refused with a word about what it is for. On failure nothing stays
// open.
ETX_MUST_USE etx_status etx_pte_file_open(etx_pte_file* file, const char* path,
                                          etx_diag* diag);
void etx_pte_file_close(etx_pte_file* file);

#endif
