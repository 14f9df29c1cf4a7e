// The sources of a selected build: etx.h and etx.c with the kernels of a
// selection, what these need, and nothing else.

#ifndef ETX_CLI_AMALGAMATE_SELECTED_SOURCES_H
#define ETX_CLI_AMALGAMATE_SELECTED_SOURCES_H

#include "cli/amalgamate/text_files.h"
#include "cli/select/selected_build.h"

typedef struct etx_sources_choice {
  bool has_module;          // with the functions that need files and a heap
  const char* machine;      // "x86", "arm64", "portable"; NULL: all
  const char* const* kept;  // more functions that the application calls
  size_t kept_count;
} etx_sources_choice;

// True if `machine` is one that etx_sources_choice may name.
bool etx_sources_machine_is_known(const char* machine);

// Appends etx.h, etx.c and selected_operators.yaml, with texts in the pool: the
// same for the same build. ETX_NOT_FOUND: a function of `kept` does not exist.
ETX_MUST_USE etx_status etx_selected_sources_make(
    const etx_selected_build* build, const etx_selection* selection,
    const etx_sources_choice* choice, etx_pool* pool, etx_text_files* files,
    etx_diag* diag);

#endif
