// The options of the command line.

#ifndef ETX_SAMPLES_TRANSLATE_TRANSLATE_OPTIONS_H
#define ETX_SAMPLES_TRANSLATE_TRANSLATE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct etx_translate_options {
  const char* model;
  const char* vocabulary;
  const char* input;   // NULL: standard input
  const char* output;  // NULL: standard output
  size_t threads;
  size_t beams;  // 1: greedy
  size_t batch;  // sentences at once; 0: as many as the program takes
  bool ids;
  bool scores;
  bool stats;
  char** sentences;       // in argv, which is reordered
  size_t sentence_count;  // 0: translate the lines of the input
} etx_translate_options;

// Options may stand before, between and after sentences, up to "--". Returns -1
// to continue, or the exit code.
int etx_translate_options_read(etx_translate_options* options, int argc,
                               char** argv);

#endif
