// Files that are written together: all of them, or none.

#ifndef ETX_CLI_AMALGAMATE_TEXT_FILES_H
#define ETX_CLI_AMALGAMATE_TEXT_FILES_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"

typedef struct etx_text_file {
  const char* path;  // in the folder; may have folders of its own
  etx_text text;
} etx_text_file;

typedef struct etx_text_files {
  etx_pool* pool;
  etx_text_file* items;
  size_t count, capacity;
} etx_text_files;

ETX_MUST_USE etx_status etx_text_files_add(etx_text_files* files,
                                           const char* path, etx_text text);

// Writes all files below `folder` under temporary names, and renames them when
// all are complete. Folders that are missing are made.
ETX_MUST_USE etx_status etx_text_files_write(const etx_text_files* files,
                                             const char* folder,
                                             etx_diag* diag);

#endif
