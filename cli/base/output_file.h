// An output file that appears only when it is complete: bytes are written to a
// temporary file in the same directory, which is renamed at the end or removed.

#ifndef ETX_CLI_BASE_OUTPUT_FILE_H
#define ETX_CLI_BASE_OUTPUT_FILE_H

#include <stdio.h>

#include "format/base/diag.h"
#include "format/base/sink.h"

enum { ETX_OUTPUT_PATH_BYTES = 4096 };

typedef struct etx_output_file {
  const char* path;                       // the final name, borrowed
  char temporary[ETX_OUTPUT_PATH_BYTES];  // the temporary name; empty: no file
  FILE* file;
  char* buffer;    // of `file`, owned; NULL: the buffer of the stream
  etx_diag* diag;  // gets the reason of a failed write
} etx_output_file;

// Creates the temporary file. If that fails, ETX_NOT_FOUND or ETX_HOST_FAILED
// (see etx_host_status) with the path and the reason of the system; nothing is
// left behind. Until the file is kept or discarded, it is also removed if a
// signal ends the program (signal_cleanup.h).
ETX_MUST_USE etx_status etx_output_file_open(etx_output_file* output,
                                             const char* path, etx_diag* diag);

// ETX_BAD_ARGUMENT if writing `path` would replace the existing file `input`,
// even if the two paths are spelled differently. A symbolic link to the input
// may be replaced.
ETX_MUST_USE etx_status etx_output_file_check_overwrite(const char* path,
                                                        const char* input,
                                                        etx_diag* diag);

// A sink that writes to the file; borrows `output`.
etx_sink etx_output_file_sink(etx_output_file* output);

// Flushes the file to the disk and closes it. It still has its temporary name
// and can be read there.
ETX_MUST_USE etx_status etx_output_file_finish(etx_output_file* output);

// Renames the finished file to its final name, replacing an older file. On
// failure the temporary file is removed.
ETX_MUST_USE etx_status etx_output_file_keep(etx_output_file* output);

// Removes the temporary file. Does nothing after `keep`.
void etx_output_file_discard(etx_output_file* output);

#endif
