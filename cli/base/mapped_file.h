// A file that is mapped for reading.

#ifndef ETX_CLI_BASE_MAPPED_FILE_H
#define ETX_CLI_BASE_MAPPED_FILE_H

#include "format/base/diag.h"
#include "format/base/span.h"

typedef struct etx_mapped_file {
  etx_bytes bytes;  // aligned to a page
} etx_mapped_file;

// Maps a regular file. ETX_NOT_FOUND if it cannot be opened, with the system's
// reason; ETX_HOST_FAILED if it cannot be mapped. An empty file has size 0.
ETX_MUST_USE etx_status etx_mapped_file_open(etx_mapped_file* file,
                                             const char* path, etx_diag* diag);
void etx_mapped_file_close(etx_mapped_file* file);

#endif
