// Time, calls and memory of a run of the program.

#ifndef ETX_SAMPLES_TRANSLATE_STATISTICS_H
#define ETX_SAMPLES_TRANSLATE_STATISTICS_H

#include "samples/translate/translator.h"

typedef struct etx_statistics {
  double open_seconds;
  double seconds;  // of all translations
  size_t sentences;
  etx_search_counts counts;
} etx_statistics;

// Adds the counts of one call of the translator.
void etx_statistics_add(etx_statistics* statistics,
                        const etx_search_counts* counts, size_t sentences,
                        double seconds);

// Prints everything on standard error.
void etx_statistics_print(const etx_statistics* statistics,
                          const etx_translator* translator);

#endif
