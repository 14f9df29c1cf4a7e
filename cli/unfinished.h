// Files that have to go if the user ends the program (Ctrl-C, kill): what is
// written under a name of its own until it is complete.

#ifndef ETX_CLI_UNFINISHED_H
#define ETX_CLI_UNFINISHED_H

// Removes the file at `path` if SIGINT, SIGTERM or SIGHUP ends the program,
// which then ends as it would have. The text is read until it is taken back. A
// few at a time; of more the first ones count.
void etx_unfinished_add(const char* path);

// Takes a path back, the same pointer. Harmless if it was not added.
void etx_unfinished_remove(const char* path);

#endif
