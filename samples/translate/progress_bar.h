// How far a file is, on one line of a terminal that is written over.

#ifndef ETX_SAMPLES_TRANSLATE_PROGRESS_BAR_H
#define ETX_SAMPLES_TRANSLATE_PROGRESS_BAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct etx_progress_bar {
  bool is_shown;        // standard error is a terminal, and the file has a size
  uint64_t bytes;       // of the file
  uint64_t bytes_done;  // of portions that are translated
  uint64_t portion;     // bytes of the portion in work
  size_t portion_lines;  // and its sentences
  double start, last;    // seconds: of the beginning, of what is shown
} etx_progress_bar;

// `file` is the descriptor that lines come from.
void etx_progress_bar_open(etx_progress_bar* bar, int file);

// So many bytes with so many sentences come next.
void etx_progress_bar_begin(etx_progress_bar* bar, uint64_t bytes,
                            size_t lines);

// An etx_search's progress: `context` is the bar.
void etx_progress_bar_show(void* context, size_t done);

// Removes the line, so that others can be written.
void etx_progress_bar_clear(etx_progress_bar* bar);

// Seconds since some start.
double etx_progress_bar_seconds(void);

#endif
