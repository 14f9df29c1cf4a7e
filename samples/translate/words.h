// What the command line asks for.

#ifndef ETX_SAMPLES_TRANSLATE_WORDS_H
#define ETX_SAMPLES_TRANSLATE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct etx_words {
  const char* model;
  const char* vocabulary;
  const char* input;   // NULL: standard input
  const char* output;  // NULL: standard output
  size_t threads;
  size_t beams;  // 1: always the likeliest token
  size_t batch;  // sentences at once; 0: as many as the program takes
  bool ids;
  bool scores;
  bool stats;
  char** sentences;       // in argv, whose order changes
  size_t sentence_count;  // 0: lines of the input
} etx_words;

// Options may stand before, between and after sentences, up to "--". Returns -1
// to go on, or the exit code.
int etx_words_read(etx_words* words, int argc, char** argv);

#endif
