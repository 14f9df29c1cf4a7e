// Output files that appear only when they are complete, and then stay, also
// after a power cut. All that the exporter, the command line and the Python
// package write goes through here.
//
//   open      .etx-0123456789abcdef.tmp, in the directory of the target: a name
//             that cannot be predicted, which must not exist yet, and a lock
//   finish    flushes the bytes to the disk
//   keep      renames, and flushes the directory to the disk
//   discard   removes the temporary file
//
// The lock ends with the process. `open` removes files of such names that
// nobody holds a lock of: those of runs that were killed. On file systems
// without locks the names begin with .etx_ and stay.
//
// A file is used by one thread; files of several threads do not disturb each
// other.

#ifndef ETX_EXPORTER_HOST_DURABLE_FILE_H
#define ETX_EXPORTER_HOST_DURABLE_FILE_H

#include <stdio.h>

#include "format/base/diag.h"
#include "format/base/sink.h"

enum { ETX_OUTPUT_PATH_BYTES = 4096 };

typedef struct etx_durable_file {
  const char* path;                       // the final name, borrowed
  char temporary[ETX_OUTPUT_PATH_BYTES];  // the temporary name; empty: no file
  FILE* file;                             // NULL once it is finished
  int lock;          // a descriptor that holds the lock; -1: none
  char* buffer;      // of `file`, owned; NULL: the buffer of the stream
  bool can_go_back;  // `temporary` is the former file, or there was none
  etx_diag* diag;    // gets the reason of a failed write; may be NULL
} etx_durable_file;

// Creates the temporary file. If that fails, ETX_NOT_FOUND or ETX_HOST_FAILED
// (see etx_host_status) with the path and the reason of the system; nothing is
// left behind, and nothing has to be discarded.
ETX_MUST_USE etx_status etx_durable_file_open(etx_durable_file* file,
                                              const char* path, etx_diag* diag);

// A sink that writes to the file; borrows it.
etx_sink etx_durable_file_sink(etx_durable_file* file);

// Flushes the file to the disk and closes it. It still has its temporary name
// and can be read there.
ETX_MUST_USE etx_status etx_durable_file_finish(etx_durable_file* file);

// Renames `count` finished files to their final names, in the order of the
// array, replacing older files. If one cannot be renamed, those before it are
// set back to what was there, where the file system has hard links, and the
// rest is discarded. A power cut in between may leave the first of them new and
// the others old, each of them whole. ETX_HOST_FAILED with "was written" in the
// message: all are in place, but the directory could not be flushed.
ETX_MUST_USE etx_status etx_durable_files_keep(etx_durable_file* files,
                                               size_t count);

// Removes the temporary file. Does nothing after `keep`.
void etx_durable_file_discard(etx_durable_file* file);

#endif
