// A file that is mapped, or read, for reading.

#ifndef ETX_CLI_BASE_MAPPED_FILE_H
#define ETX_CLI_BASE_MAPPED_FILE_H

#include <stdbool.h>

#include "format/base/diag.h"
#include "format/base/span.h"

typedef struct etx_mapped_file {
  etx_bytes bytes;  // aligned to a page, or to 64 if it was read
  bool is_read;     // into memory of the heap
} etx_mapped_file;

// Maps a regular file. ETX_NOT_FOUND if it cannot be opened, with the system's
// reason; ETX_HOST_FAILED if it cannot be mapped. An empty file has size 0.
ETX_MUST_USE etx_status etx_mapped_file_open(etx_mapped_file* file,
                                             const char* path, etx_diag* diag);
// Reads the file into memory instead, so that it may change. ETX_NOT_FOUND,
// ETX_OUT_OF_MEMORY, ETX_HOST_FAILED.
ETX_MUST_USE etx_status etx_mapped_file_read(etx_mapped_file* file,
                                             const char* path, etx_diag* diag);
void etx_mapped_file_close(etx_mapped_file* file);

#endif
