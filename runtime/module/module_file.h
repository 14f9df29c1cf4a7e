// How a module maps or reads its files. Only mapping differs between hosts.

#ifndef ETX_RUNTIME_MODULE_MODULE_FILE_H
#define ETX_RUNTIME_MODULE_MODULE_FILE_H

#include "format/base/diag.h"
#include "runtime/module/module_memory.h"

// malloc and free.
extern const etx_module_memory etx_module_heap;

// Maps a whole file read-only, at an address aligned to at least 16. An empty
// file maps to size 0. The message of ETX_HOST_FAILED has path and reason. The
// file must not shrink while it is mapped.
ETX_MUST_USE etx_status etx_module_file_map(const char* path,
                                            etx_bytes* out_file,
                                            etx_diag* diag);
void etx_module_file_unmap(etx_bytes file);

// Reads a whole regular file into memory that `memory` gives, aligned to 64;
// the caller gives it back. An empty file has size 0 and no memory.
// ETX_OUT_OF_MEMORY; ETX_HOST_FAILED: as above, or the file became shorter.
ETX_MUST_USE etx_status etx_module_file_read(const char* path,
                                             const etx_module_memory* memory,
                                             etx_bytes* out_file,
                                             etx_diag* diag);

// Asks the host for large pages for a mapped file, where it has them. For
// applications that map the program file themselves: call it before the file is
// read.
void etx_module_file_ask_large_pages(etx_bytes file);

// Reads a file into physical memory, so that no run waits for the disk.
// ETX_HOST_FAILED: it cannot be read, or became shorter.
ETX_MUST_USE etx_status etx_module_file_prefault(etx_bytes file,
                                                 etx_diag* diag);

// Keeps bytes in physical memory until they are unlocked or unmapped.
// ETX_HOST_FAILED: the host refuses, mostly because of its limit;
// ETX_UNSUPPORTED: it has no such function.
ETX_MUST_USE etx_status etx_module_file_lock(etx_bytes bytes, etx_diag* diag);
void etx_module_file_unlock(etx_bytes bytes);

// Tells the host that the process does not need this part of a mapped file in
// memory now. Pages that lie whole in it leave the process's memory and are
// read again when they are used.
void etx_module_file_release(etx_bytes part);

#endif
