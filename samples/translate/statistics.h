// What a run of the program took.

#ifndef ETX_SAMPLES_TRANSLATE_STATISTICS_H
#define ETX_SAMPLES_TRANSLATE_STATISTICS_H

#include "samples/translate/translator.h"

typedef struct etx_statistics {
  double open_seconds;
  double seconds;  // of all translations
  size_t sentences;
  etx_search_counts counts;
} etx_statistics;

// Adds what a call of the translator did.
void etx_statistics_add(etx_statistics* statistics,
                        const etx_search_counts* counts, size_t sentences,
                        double seconds);

// Prints all on standard error.
void etx_statistics_print(const etx_statistics* statistics,
                          const etx_translator* translator);

#endif
