// A file that appears only when it is complete: bytes go to a temporary beside
// it, which takes its name at the end or vanishes.

#ifndef ETX_CLI_BASE_OUTPUT_FILE_H
#define ETX_CLI_BASE_OUTPUT_FILE_H

#include <stdio.h>

#include "format/base/diag.h"
#include "format/base/sink.h"

enum { ETX_OUTPUT_PATH_BYTES = 4096 };

typedef struct etx_output_file {
  const char* path;                       // the name it is to get, borrowed
  char temporary[ETX_OUTPUT_PATH_BYTES];  // where it is written
  FILE* file;
  char* buffer;    // of `file`, owned; NULL: its own
  etx_diag* diag;  // gets the reason of a failed write
} etx_output_file;

// Starts writing. If no file can be made there, ETX_NOT_FOUND or
// ETX_HOST_FAILED as etx_host_status has it, with the path and the system's
// reason; nothing is left behind. Until the file is kept or dropped, it also
// goes if the user ends the program (signal_cleanup.h).
ETX_MUST_USE etx_status etx_output_file_open(etx_output_file* output,
                                             const char* path, etx_diag* diag);

// Refuses with ETX_BAD_ARGUMENT if a file at `path` would take the place of
// `input`, which is there, whatever the two are called. Through a link that is
// replaced nothing is lost.
ETX_MUST_USE etx_status etx_output_file_check_overwrite(const char* path,
                                                        const char* input,
                                                        etx_diag* diag);

// Where the bytes go; borrows `output`.
etx_sink etx_output_file_sink(etx_output_file* output);

// All bytes are on the disk when this returns ETX_OK; the file still has its
// temporary name and may be read there.
ETX_MUST_USE etx_status etx_output_file_finish(etx_output_file* output);

// Gives the finished file its name, replacing what was there. On failure the
// temporary is gone.
ETX_MUST_USE etx_status etx_output_file_keep(etx_output_file* output);

// Removes the temporary. Harmless after `keep`.
void etx_output_file_discard(etx_output_file* output);

#endif
