// A file of answers that is there when it is whole: it is written under another
// name beside it, NAME.PROCESS.unfinished, and gets its own when it is
// complete. No file that exists is written over before, so the input may be the
// output, and of two runs with one output each has its own. Where NAME is a
// link, the file that it leads to is replaced and the link stays.
//
// A program that the user ends (Ctrl-C, kill) takes the unfinished file with
// it; one that is killed outright leaves it. The earlier file is untouched by
// both.

#ifndef ETX_SAMPLES_TRANSLATE_ANSWER_FILE_H
#define ETX_SAMPLES_TRANSLATE_ANSWER_FILE_H

#include <stdio.h>

#include "format/base/diag.h"

enum { ETX_ANSWER_PATH_BYTES = 4096 };

// Stays where it is while it is open.
typedef struct etx_answer_file {
  FILE* file;
  const char* path;                    // as the user names it, borrowed
  char target[ETX_ANSWER_PATH_BYTES];  // what is replaced: no link
  char unfinished[ETX_ANSWER_PATH_BYTES + 32];  // empty: standard output
} etx_answer_file;

// A NULL path is standard output. ETX_HOST_FAILED if no file can be made there,
// or if what is there is no regular file: a rename would replace a device or a
// pipe instead of writing to it.
ETX_MUST_USE etx_status etx_answer_file_open(etx_answer_file* answers,
                                             const char* path, etx_diag* diag);

// Gives the file its name, its bytes on the disk. ETX_HOST_FAILED, and no file,
// if anything of it was not written.
ETX_MUST_USE etx_status etx_answer_file_finish(etx_answer_file* answers,
                                               etx_diag* diag);

// Leaves everything as it was.
void etx_answer_file_drop(etx_answer_file* answers);

#endif
