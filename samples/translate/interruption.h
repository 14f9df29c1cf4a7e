// What is put in order if the user ends the program (Ctrl-C, kill).

#ifndef ETX_SAMPLES_TRANSLATE_INTERRUPTION_H
#define ETX_SAMPLES_TRANSLATE_INTERRUPTION_H

#include <stdbool.h>

// Removes the file at `path` if SIGINT, SIGTERM or SIGHUP ends the program,
// which then ends as it would have. The text is read until another path or
// NULL, for none, takes its place.
void etx_interruption_removes(const char* path);

// Whether the line of the terminal on standard error is cleared then, too.
void etx_interruption_clears(bool is_line_shown);

#endif
