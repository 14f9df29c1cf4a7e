// How a module reads its file: the one thing that differs between hosts.

#ifndef ETX_RUNTIME_MODULE_MODULE_FILE_H
#define ETX_RUNTIME_MODULE_MODULE_FILE_H

#include "format/base/diag.h"

// Maps a whole file read-only, at an address aligned to at least 16. An empty
// file maps to size 0. ETX_HOST_FAILED says path and reason. The file must not
// shrink while it is mapped.
ETX_MUST_USE etx_status etx_module_file_map(const char* path,
                                            etx_bytes* out_file,
                                            etx_diag* diag);
void etx_module_file_unmap(etx_bytes file);

// For whoever maps a program's file himself, before it is read: where a system
// has large pages for files, this one gets them.
void etx_module_file_ask_large_pages(etx_bytes file);

#endif
