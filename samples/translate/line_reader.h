// Reads the lines of a file or a pipe that are available: a user who types gets
// a translation after each line, and a file is read in large chunks.
//
// Ownership  the reader owns its memory until it is closed, but not the file.
// Failure    a line longer than ETX_LINE_MAX_BYTES is cut and marked, so that
//            memory stays bounded for any input.

#ifndef ETX_SAMPLES_TRANSLATE_LINE_READER_H
#define ETX_SAMPLES_TRANSLATE_LINE_READER_H

#include "format/base/diag.h"

enum {
  ETX_LINE_MAX_BYTES = 1 << 16,
  ETX_LINES_AT_ONCE = 1024,   // lines of one call
  ETX_LINES_BYTES = 1 << 20,  // bytes of one call, about
};

typedef struct etx_line {
  size_t start;  // in the reader's text
  size_t size;   // without its end
  bool is_cut;
} etx_line;

typedef struct etx_line_reader {
  int file;    // a descriptor
  char* text;  // the lines of this call and the bytes read after them
  size_t size, capacity;
  size_t taken;  // bytes of `text` that are returned as lines
  bool is_at_end;
  bool is_skipping;  // the rest of a cut line is skipped
  uint64_t bytes_read;
  etx_line lines[ETX_LINES_AT_ONCE];
  size_t line_count;
} etx_line_reader;

void etx_line_reader_open(etx_line_reader* reader, int file);
void etx_line_reader_close(etx_line_reader* reader);

// Fills `lines` with the next lines, at least one; with none at the end of the
// file. They are valid until the next call. ETX_HOST_FAILED if reading fails.
ETX_MUST_USE etx_status etx_line_reader_next(etx_line_reader* reader,
                                             etx_diag* diag);

etx_text etx_line_reader_text(const etx_line_reader* reader, size_t line);

#endif
