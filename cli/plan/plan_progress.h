// The line of progress of etx plan on a terminal: the stage, and the bytes that
// were written, which take most of the time of a large model.

#ifndef ETX_CLI_PLAN_PLAN_PROGRESS_H
#define ETX_CLI_PLAN_PLAN_PROGRESS_H

#include <stdint.h>
#include <stdio.h>

#include "format/base/sink.h"

typedef struct etx_plan_progress {
  FILE* out;        // the terminal; NULL: nothing is shown
  etx_sink target;  // of etx_plan_progress_sink
  uint64_t bytes;   // written to it
} etx_plan_progress;

// For etx_export_options.progress, with an etx_plan_progress as the context. A
// `total` of 0: the stage alone.
void etx_plan_progress_show(void* progress, const char* stage, size_t done,
                            size_t total);

// A sink that writes to `target`, and shows how many bytes were written. It
// borrows `progress`.
etx_sink etx_plan_progress_sink(etx_plan_progress* progress,
                                const etx_sink* target);

// Erases the line.
void etx_plan_progress_end(const etx_plan_progress* progress);

#endif
