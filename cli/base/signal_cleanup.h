// Files that have to go if the user ends the program (Ctrl-C, kill): what is
// written under a name of its own until it is complete.

#ifndef ETX_CLI_BASE_SIGNAL_CLEANUP_H
#define ETX_CLI_BASE_SIGNAL_CLEANUP_H

// Removes the file at `path` if SIGINT, SIGTERM or SIGHUP ends the program,
// which then ends as it would have. The text is read until it is taken back. A
// few at a time; of more the first ones count.
void etx_signal_cleanup_add(const char* path);

// Takes a path back, the same pointer. Harmless if it was not added.
void etx_signal_cleanup_remove(const char* path);

#endif
