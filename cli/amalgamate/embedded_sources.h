// The runtime's two files, etx.h and etx.c, inside of this program: so `etx
// select` needs no file beside it, and the sources that it writes are of the
// version that planned the program. package/CMakeLists.txt makes them.

#ifndef ETX_CLI_AMALGAMATE_EMBEDDED_SOURCES_H
#define ETX_CLI_AMALGAMATE_EMBEDDED_SOURCES_H

#include <stddef.h>

extern const char etx_embedded_header[];
extern const size_t etx_embedded_header_bytes;
extern const char etx_embedded_source[];
extern const size_t etx_embedded_source_bytes;

// And the files of examples/packages.
#define PACKAGE_FILE(kinds, path, symbol) \
  extern const char symbol[];             \
  extern const size_t symbol##_bytes;
#include "cli/amalgamate/package_files.def"
#undef PACKAGE_FILE

#endif
