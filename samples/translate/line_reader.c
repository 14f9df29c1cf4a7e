// All bytes are in one buffer, and lines are found in it as it grows. A call
// ends when it has enough lines, or when it has some and no more input is
// available.

#include "samples/translate/line_reader.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 16 };

void etx_line_reader_open(etx_line_reader* reader, int file) {
  memset(reader, 0, sizeof *reader);
  reader->file = file;
}

void etx_line_reader_close(etx_line_reader* reader) {
  free(reader->text);
  etx_line_reader_open(reader, -1);
}

etx_text etx_line_reader_text(const etx_line_reader* reader, size_t line) {
  const etx_line* const l = &reader->lines[line];
  return (etx_text){reader->text + l->start, l->size};
}

// Drops the lines of the call before.
static void discard_taken(etx_line_reader* reader) {
  reader->size -= reader->taken;
  if (reader->taken != 0) {
    memmove(reader->text, reader->text + reader->taken, reader->size);
  }
  reader->taken = 0;
  reader->line_count = 0;
}

static void add_line(etx_line_reader* reader, size_t size, bool is_cut) {
  reader->lines[reader->line_count++] = (etx_line){reader->taken, size, is_cut};
}

// Adds the complete lines of the buffer.
static void find_lines(etx_line_reader* reader) {
  while (reader->line_count < ETX_LINES_AT_ONCE) {
    const char* const from = reader->text + reader->taken;
    const size_t rest = reader->size - reader->taken;
    const char* const end = rest == 0 ? NULL : memchr(from, '\n', rest);
    if (end == NULL && rest <= ETX_LINE_MAX_BYTES) return;
    const size_t size = end != NULL ? (size_t)(end - from) : rest;
    const bool is_long = size > ETX_LINE_MAX_BYTES;
    // A long line is cut: its beginning is returned, the rest is dropped.
    if (!reader->is_skipping) {
      add_line(reader, is_long ? ETX_LINE_MAX_BYTES : size, is_long);
    }
    reader->is_skipping = end == NULL;
    reader->taken += size + (end != NULL);
  }
}

static bool make_room(etx_line_reader* reader) {
  if (reader->capacity - reader->size >= READ_BYTES) return true;
  const size_t capacity = 2 * reader->capacity + READ_BYTES;
  char* const text = realloc(reader->text, capacity);
  if (text == NULL) return false;
  reader->text = text;
  reader->capacity = capacity;
  return true;
}

static etx_status read_more(etx_line_reader* reader, etx_diag* diag) {
  if (!make_room(reader)) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for lines");
  }
  ssize_t count = -1;
  do {
    count = read(reader->file, reader->text + reader->size,
                 reader->capacity - reader->size);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot read: %s",
                         strerror(errno));
  }
  reader->is_at_end = count == 0;
  reader->size += (size_t)count;
  reader->bytes_read += (uint64_t)count;
  return ETX_OK;
}

static bool is_more_ready(const etx_line_reader* reader) {
  struct pollfd file = {.fd = reader->file, .events = POLLIN};
  return poll(&file, 1, 0) > 0;
}

// The last line may have no newline.
static void take_last_line(etx_line_reader* reader) {
  const size_t rest = reader->size - reader->taken;
  if (rest == 0 || reader->line_count == ETX_LINES_AT_ONCE) return;
  if (!reader->is_skipping) add_line(reader, rest, false);
  reader->taken += rest;
}

etx_status etx_line_reader_next(etx_line_reader* reader, etx_diag* diag) {
  discard_taken(reader);
  for (;;) {
    if (reader->size != 0) find_lines(reader);
    if (reader->is_at_end) {
      take_last_line(reader);
      return ETX_OK;
    }
    if (reader->line_count == ETX_LINES_AT_ONCE ||
        (reader->line_count != 0 &&
         (reader->taken >= ETX_LINES_BYTES || !is_more_ready(reader)))) {
      return ETX_OK;
    }
    ETX_TRY(read_more(reader, diag));
  }
}
