// Removes temporary files if the user ends the program (Ctrl-C, kill), or if a
// mapped file becomes shorter.

#ifndef ETX_CLI_BASE_SIGNAL_CLEANUP_H
#define ETX_CLI_BASE_SIGNAL_CLEANUP_H

// Removes the file at `path` if SIGINT, SIGTERM or SIGHUP ends the program. The
// string must stay valid until etx_signal_cleanup_remove is called with it. At
// most 64 paths are kept at a time; further ones are ignored: the next run that
// writes to their directory removes such files (exporter/host/durable_file.h).
void etx_signal_cleanup_add(const char* path);

// The file is kept from now on. `path` is the pointer that was added; other
// pointers are ignored.
void etx_signal_cleanup_remove(const char* path);

// From now on, a read of a mapped file behind its end, which another program cut
// off, ends the program with a message, without temporary files and with
// ETX_EXIT_MACHINE_FAILED, instead of SIGBUS alone.
void etx_signal_cleanup_watch_mappings(void);

// Removes the files now, for a program that ends without returning.
void etx_signal_cleanup_all(void);

#endif
