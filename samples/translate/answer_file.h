// A file of answers that is there when it is whole: it is written under another
// name, NAME.unfinished, and gets its own when it is complete. What a program
// that was ended leaves is the earlier file, untouched, and the unfinished one,
// which the next run writes over.

#ifndef ETX_SAMPLES_TRANSLATE_ANSWER_FILE_H
#define ETX_SAMPLES_TRANSLATE_ANSWER_FILE_H

#include <stdio.h>

#include "format/base/diag.h"

typedef struct etx_answer_file {
  FILE* file;
  const char* path;  // borrowed
  char* unfinished;  // NULL: standard output
} etx_answer_file;

// A NULL path is standard output.
ETX_MUST_USE etx_status etx_answer_file_open(etx_answer_file* answers,
                                             const char* path, etx_diag* diag);

// Gives the file its name, its bytes on the disk. ETX_HOST_FAILED, and no file,
// if anything of it was not written.
ETX_MUST_USE etx_status etx_answer_file_finish(etx_answer_file* answers,
                                               etx_diag* diag);

// Leaves everything as it was.
void etx_answer_file_drop(etx_answer_file* answers);

#endif
