// Cleans up if a signal ends the program (Ctrl-C, kill).

#ifndef ETX_SAMPLES_TRANSLATE_INTERRUPT_CLEANUP_H
#define ETX_SAMPLES_TRANSLATE_INTERRUPT_CLEANUP_H

#include <stdbool.h>

// Removes the file at `path` if SIGINT, SIGTERM or SIGHUP ends the program; the
// signal then has its default effect. The text must stay valid until another
// path, or NULL for none, replaces it.
void etx_interrupt_cleanup_remove_file(const char* path);

// Sets whether the terminal's line on standard error is cleared then, too.
void etx_interrupt_cleanup_clear_line(bool is_line_shown);

#endif
