// Lines of a file or a pipe, as many as are there: someone who types gets an
// answer after each line, a file comes in large portions.
//
// Ownership  the reader owns its memory until it is closed, not the file.
// Failure    a line longer than ETX_LINE_MOST is cut and marked, so that memory
//            stays bounded whatever comes.

#ifndef ETX_SAMPLES_TRANSLATE_LINE_READER_H
#define ETX_SAMPLES_TRANSLATE_LINE_READER_H

#include "format/base/diag.h"

enum {
  ETX_LINE_MOST = 1 << 16,    // bytes of a line
  ETX_LINES_AT_ONCE = 1024,   // of one call
  ETX_LINES_BYTES = 1 << 20,  // of one call, about
};

typedef struct etx_line {
  size_t start;  // in the reader's text
  size_t size;   // without its end
  bool is_cut;
} etx_line;

typedef struct etx_line_reader {
  int file;    // a descriptor
  char* text;  // of the lines of this call, and what follows them
  size_t size, capacity;
  size_t taken;  // bytes that earlier calls gave out
  bool is_at_end;
  bool is_cutting;  // the rest of a cut line is skipped
  uint64_t bytes_read;
  etx_line lines[ETX_LINES_AT_ONCE];
  size_t line_count;
} etx_line_reader;

void etx_line_reader_open(etx_line_reader* reader, int file);
void etx_line_reader_close(etx_line_reader* reader);

// Fills `lines` with the next ones, at least one; none at the end of the file.
// They last until the next call. ETX_HOST_FAILED if reading fails.
ETX_MUST_USE etx_status etx_line_reader_next(etx_line_reader* reader,
                                             etx_diag* diag);

etx_text etx_line_reader_text(const etx_line_reader* reader, size_t line);

#endif
