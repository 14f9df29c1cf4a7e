// Packages for other build systems: the sources of a selected build, the
// program that it was selected for, and an example that runs it.

#ifndef ETX_CLI_AMALGAMATE_PACKAGES_H
#define ETX_CLI_AMALGAMATE_PACKAGES_H

#include "cli/amalgamate/text_files.h"
#include "format/base/span.h"

typedef enum etx_package_kind {
  ETX_PACKAGE_ZEPHYR,   // a Zephyr module
  ETX_PACKAGE_ESP_IDF,  // an ESP-IDF component
  ETX_PACKAGE_ARDUINO,  // an Arduino library
  ETX_PACKAGE_CMSIS,    // a CMSIS pack
  ETX_PACKAGE_KINDS     // the number of kinds
} etx_package_kind;

// The kind with a name as the command line has it; ETX_PACKAGE_KINDS: none.
etx_package_kind etx_package_find(const char* name);

// Appends the files of a package with `program`, a .pte file. `sources` are
// etx.h and etx.c of a build with etx_program_input_at.
ETX_MUST_USE etx_status etx_package_make(etx_package_kind kind,
                                         const etx_text_files* sources,
                                         etx_bytes program,
                                         etx_text_files* files);

#endif
