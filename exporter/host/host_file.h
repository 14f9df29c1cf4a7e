// Files and directories of the host. Files are written by durable_file.h; no
// other file of the exporter opens a path.

#ifndef ETX_EXPORTER_HOST_HOST_FILE_H
#define ETX_EXPORTER_HOST_HOST_FILE_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"

// The status for an errno: ETX_NOT_FOUND if the path is the cause (it does not
// exist, is of another kind, or may not be accessed); ETX_HOST_FAILED for
// errors of the machine, such as a full disk.
etx_status etx_host_status(int error_number);

// Reads a whole file into the pool. If the host fails: etx_host_status, with
// the text of strerror in `diag`.
ETX_MUST_USE etx_status etx_file_read(etx_pool* pool, const char* path,
                                      etx_bytes* out_bytes, etx_diag* diag);

// Maps a regular file for as long as the pool lives: its bytes take no memory
// of their own, and a page is read when it is used. The file must not change
// until then. What cannot be mapped, such as a pipe, is read into the pool.
// Errors as those of etx_file_read.
ETX_MUST_USE etx_status etx_file_map(etx_pool* pool, const char* path,
                                     etx_bytes* out_bytes, etx_diag* diag);

// The kind of object that a path names, ETX_PATH_MISSING if there is none. If
// the system cannot say what it is: etx_host_status, with the text of strerror
// in `diag`.
typedef enum etx_path_kind {
  ETX_PATH_MISSING,
  ETX_PATH_FILE,
  ETX_PATH_DIRECTORY,
} etx_path_kind;
ETX_MUST_USE etx_status etx_path_kind_find(const char* path,
                                           etx_path_kind* out_kind,
                                           etx_diag* diag);

// Names of the entries of a directory in byte order, "." and ".." left out.
ETX_MUST_USE etx_status etx_directory_list(etx_pool* pool, const char* path,
                                           etx_text** out_names,
                                           size_t* out_count, etx_diag* diag);

// Creates a directory unless it is there.
ETX_MUST_USE etx_status etx_directory_make(const char* path, etx_diag* diag);

// "directory/name", or `name` alone if it is absolute or the directory empty.
etx_text etx_path_join(etx_pool* pool, etx_text directory, etx_text name);

// The part after the last '/', and the part before it (empty if there is
// none).
etx_text etx_path_name(etx_text path);
etx_text etx_path_directory(etx_text path);

#endif
