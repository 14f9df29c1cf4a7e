// An output file that is replaced atomically: it is written under a temporary
// name in the same directory, NAME.PROCESS.unfinished, and renamed when it is
// complete. Until then an existing file is untouched, so the input may be the
// output, and two runs with one output do not disturb each other. If NAME is a
// symbolic link, the file that it leads to is replaced and the link stays.
//
// If the user ends the program (Ctrl-C, kill), the temporary file is removed;
// SIGKILL leaves it. In both cases the earlier file is untouched.

#ifndef ETX_SAMPLES_TRANSLATE_ATOMIC_OUTPUT_H
#define ETX_SAMPLES_TRANSLATE_ATOMIC_OUTPUT_H

#include <stdio.h>

#include "format/base/diag.h"

enum { ETX_OUTPUT_PATH_BYTES = 4096 };

// Must not be moved or copied while it is open.
typedef struct etx_atomic_output {
  FILE* file;
  const char* path;                    // the user's name of it, borrowed
  char target[ETX_OUTPUT_PATH_BYTES];  // the file to replace, not a link
  char temporary[ETX_OUTPUT_PATH_BYTES + 32];  // empty: standard output
} etx_atomic_output;

// A NULL path is standard output. ETX_HOST_FAILED if no file can be created, or
// if the path is not a regular file: a rename would replace a device or a pipe
// instead of writing to it.
ETX_MUST_USE etx_status etx_atomic_output_open(etx_atomic_output* output,
                                               const char* path,
                                               etx_diag* diag);

// Writes all bytes to the disk and renames the file. ETX_HOST_FAILED, and no
// file, if a byte could not be written.
ETX_MUST_USE etx_status etx_atomic_output_commit(etx_atomic_output* output,
                                                 etx_diag* diag);

// Removes the temporary file and leaves the earlier one.
void etx_atomic_output_discard(etx_atomic_output* output);

#endif
