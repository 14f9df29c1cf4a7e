// A progress bar for a file, on one line of a terminal.

#ifndef ETX_SAMPLES_TRANSLATE_PROGRESS_BAR_H
#define ETX_SAMPLES_TRANSLATE_PROGRESS_BAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct etx_progress_bar {
  bool is_shown;        // standard error is a terminal, and the file has a size
  uint64_t bytes;       // of the file
  uint64_t bytes_done;  // of the chunks that are translated
  uint64_t chunk;       // bytes of the current chunk
  size_t chunk_lines;   // lines of the current chunk
  double start, last;   // seconds: at the beginning, at the last update
} etx_progress_bar;

// `file` is the descriptor of the input.
void etx_progress_bar_open(etx_progress_bar* bar, int file);

// Starts a chunk of `bytes` bytes and `lines` lines.
void etx_progress_bar_begin(etx_progress_bar* bar, uint64_t bytes,
                            size_t lines);

// The progress callback of an etx_search; `context` is the bar.
void etx_progress_bar_show(void* context, size_t done);

// Clears the line, so that other text can be printed.
void etx_progress_bar_clear(etx_progress_bar* bar);

// Seconds of a monotonic clock.
double etx_progress_bar_seconds(void);

#endif
