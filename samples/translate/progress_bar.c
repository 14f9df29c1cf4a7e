// Lines have different lengths, so progress is counted in bytes. The current
// chunk counts by the share of its sentences that are done.

#include "samples/translate/progress_bar.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "samples/translate/interrupt_cleanup.h"

enum { WIDTH = 30 };

static const double refresh_seconds = 0.1;  // between two updates

double etx_progress_bar_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void etx_progress_bar_open(etx_progress_bar* bar, int file) {
  struct stat info;
  *bar = (etx_progress_bar){.start = etx_progress_bar_seconds()};
  if (isatty(STDERR_FILENO) == 0 || fstat(file, &info) != 0) return;
  bar->is_shown = S_ISREG(info.st_mode) && info.st_size > 0;
  bar->bytes = (uint64_t)info.st_size;
}

void etx_progress_bar_begin(etx_progress_bar* bar, uint64_t bytes,
                            size_t lines) {
  bar->bytes_done += bar->chunk;
  bar->chunk = bytes;
  bar->chunk_lines = lines;
}

static void print(double share, double seconds) {
  char marks[WIDTH + 1];
  // A mark is shown when all of its share is done.
  for (int i = 0; i < WIDTH; ++i) {
    marks[i] = i + 1 <= share * WIDTH ? '#' : '.';
  }
  marks[WIDTH] = '\0';
  fprintf(stderr, "\r[%s] %3.0f %%", marks, 100 * share);
  // Without progress there is no estimate.
  if (share > 0) fprintf(stderr, ", %.0f s left", seconds / share - seconds);
  fputs(" \x1b[K", stderr);
  fflush(stderr);
}

void etx_progress_bar_show(void* context, size_t done) {
  etx_progress_bar* const bar = context;
  if (!bar->is_shown) return;
  const double now = etx_progress_bar_seconds();
  if (now - bar->last < refresh_seconds) return;
  bar->last = now;
  double bytes = (double)bar->bytes_done;
  if (bar->chunk_lines != 0) {
    bytes += (double)bar->chunk * (double)done / (double)bar->chunk_lines;
  }
  // The file may have grown since it was opened.
  const double share =
      bytes < (double)bar->bytes ? bytes / (double)bar->bytes : 1;
  etx_interrupt_cleanup_clear_line(true);
  print(share, now - bar->start);
}

void etx_progress_bar_clear(etx_progress_bar* bar) {
  if (!bar->is_shown || bar->last <= 0) return;
  fputs("\r\x1b[K", stderr);
  fflush(stderr);
  etx_interrupt_cleanup_clear_line(false);
  bar->last = 0;
}
