// Files and directories of the host. The only place of the exporter that opens
// a path.
//
// Output files appear whole or not at all: bytes go to a temporary file beside
// the target, which replaces it in one step when everything is written.

#ifndef ETX_EXPORTER_HOST_HOST_FILE_H
#define ETX_EXPORTER_HOST_HOST_FILE_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"
#include "format/base/sink.h"

// What a refusal of the host, an errno, says: ETX_NOT_FOUND if it is about the
// path, which does not exist, is of another kind or not for this user, so that
// another path would do; ETX_HOST_FAILED if it is the machine.
etx_status etx_host_status(int reason);

// Reads a whole file into the pool. A refusal by the host as etx_host_status
// has it, with the host's reason.
ETX_MUST_USE etx_status etx_file_read(etx_pool* pool, const char* path,
                                      etx_bytes* out_bytes, etx_diag* diag);

// What a path names.
typedef enum etx_path_kind {
  ETX_PATH_MISSING,
  ETX_PATH_FILE,
  ETX_PATH_DIRECTORY,
} etx_path_kind;
etx_path_kind etx_path_kind_of(const char* path);

// Whether a file that need not be there is to be read. What cannot be looked at
// is: opening it says why it cannot be read, where leaving it out would not.
bool etx_path_wants_reading(const char* path);

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

// A file being written.
typedef struct etx_file_writer {
  void* stream;   // FILE*, NULL when closed
  etx_text path;  // of the target
  etx_text temporary;
  etx_diag* diag;  // may be NULL; gets the host's reason
} etx_file_writer;

// Starts a temporary file beside `path`. On success exactly one of the next
// two must follow.
ETX_MUST_USE etx_status etx_file_writer_open(etx_file_writer* writer,
                                             etx_pool* pool, etx_text path,
                                             etx_diag* diag);
// Puts the file in its place; nothing remains if that fails.
ETX_MUST_USE etx_status etx_file_writer_close(etx_file_writer* writer);
// Removes the temporary file.
void etx_file_writer_drop(etx_file_writer* writer);

// Where the bytes go; valid while the writer is open.
etx_sink etx_file_writer_sink(etx_file_writer* writer);

#endif
