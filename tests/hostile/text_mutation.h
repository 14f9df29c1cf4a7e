// Random damage to texts that leaves most of their structure as it is: words,
// lines, and items in brackets are replaced, repeated, removed or moved. What
// results still parses often enough to reach what lies behind a parser.

#ifndef ETX_TESTS_HOSTILE_TEXT_MUTATION_H
#define ETX_TESTS_HOSTILE_TEXT_MUTATION_H

#include "format/base/span.h"
#include "tests/hostile/hostile_random.h"

// Words that may be put anywhere, borrowed.
typedef struct text_words {
  const etx_text* words;
  size_t count;  // 0: words are taken from the text that is changed
} text_words;

// The first word at or after byte `start` of the text: letters, digits, '_',
// '.' and '-'. Its size is 0 if there is none.
etx_text text_word_from(etx_text text, size_t start);

// Changes `size` bytes of `text` in one to three places. The result has at most
// `room` bytes, which is at least `size`. Returns its size.
size_t text_mutate(char* text, size_t size, size_t room,
                   const text_words* words, hostile_random* random);

#endif
