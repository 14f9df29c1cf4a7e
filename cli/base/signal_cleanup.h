// Removes temporary files if the user ends the program (Ctrl-C, kill).

#ifndef ETX_CLI_BASE_SIGNAL_CLEANUP_H
#define ETX_CLI_BASE_SIGNAL_CLEANUP_H

// Removes the file at `path` if SIGINT, SIGTERM or SIGHUP ends the program. The
// pointer is used until it is removed from the list. The list has a few places;
// further paths are ignored.
void etx_signal_cleanup_add(const char* path);

// Removes a path, the same pointer, from the list, if it is there.
void etx_signal_cleanup_remove(const char* path);

#endif
