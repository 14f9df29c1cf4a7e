// One error message, in memory that the caller owns.
//
// Functions on load and export paths take an `etx_diag*` as their last
// parameter, which may be NULL. The first message is kept: later failures are
// usually its consequences. Messages are lower case without full stop, name the
// subject in single quotes, and state what was found and what was expected. A
// message that is too long is truncated.
//
//   return etx_diag_fail(diag, ETX_BAD_FILE,
//                        "input '%t' has rank %i, expected %i", ...)
//
// The conversions are %s (const char*), %t (etx_text), %i (int64_t), %u
// (uint64_t), %z (size_t), %x (uint64_t in hexadecimal), %f (double, six
// significant digits), %% . There is no stdio underneath, so it works on bare
// metal.

#ifndef ETX_FORMAT_BASE_DIAG_H
#define ETX_FORMAT_BASE_DIAG_H

#include <stdarg.h>

#include "format/base/build_parts.h"
#include "format/base/span.h"
#include "format/base/status.h"

enum {
  // Bytes of a message, terminator included. A build without messages keeps the
  // terminator alone.
  ETX_DIAG_TEXT_BYTES = ETX_MESSAGES ? 512 : 1
};

// Why a call failed: its status, a place, and a sentence.
typedef struct etx_diag {
  etx_status status;                // ETX_OK until something failed
  uint64_t offset;                  // byte offset in a file, or 0
  uint32_t line;                    // 1-based line of a text, or 0. In a build
                                    // without messages also the 1-based
                                    // instruction of a method
  uint32_t column;                  // 1-based column of a text, or 0
  size_t text_size;                 // bytes of text, no terminator counted
  char text[ETX_DIAG_TEXT_BYTES];   // always NUL-terminated
} etx_diag;

// Makes `diag` empty. NULL is allowed.
void etx_diag_init(etx_diag* diag);

// Records status and message if `diag` is not NULL and still empty. Returns
// `status`, so that a caller can return the call itself.
etx_status etx_diag_fail(etx_diag* diag, etx_status status, const char* format,
                         ...);

// The same with a byte offset in a file.
etx_status etx_diag_fail_at(etx_diag* diag, etx_status status, uint64_t offset,
                            const char* format, ...);

// The same with the line and column (1-based) of a text file.
etx_status etx_diag_fail_line(etx_diag* diag, etx_status status, uint32_t line,
                              uint32_t column, const char* format, ...);

// The same without a message: records the status, which may be ETX_OK, and
// keeps the place that was recorded before.
etx_status etx_diag_note(etx_diag* diag, etx_status status);

// The same with a place: a byte offset in a file, the line and column (1-based)
// of a text; 0 where there is none.
etx_status etx_diag_note_at(etx_diag* diag, etx_status status, uint64_t offset,
                            uint32_t line, uint32_t column);

// Appends text to a recorded message, such as the name of the method in which
// it happened. Does nothing if `diag` is NULL or empty.
void etx_diag_append(etx_diag* diag, const char* format, ...);

// Writes a formatted, NUL-terminated text of at most `capacity` bytes
// (terminator included) into `out`. Returns its length without terminator;
// text that does not fit is truncated.
size_t etx_format_text(char* out, size_t capacity, const char* format, ...);

// The same for a list of arguments.
size_t etx_format_text_list(char* out, size_t capacity, const char* format,
                            va_list list);

// The last call of a public function. In a build without messages, inner
// functions record at most a place, and the status is recorded here, once for
// all errors of the call.
static inline etx_status etx_diag_seal(etx_diag* diag, etx_status status) {
  return ETX_MESSAGES ? status : etx_diag_note(diag, status);
}

// etx_diag_fail in a build without messages.
static inline etx_status etx_diag_drop_message(etx_diag* diag, etx_status status) {
  (void)diag;
  return status;
}

// The compiler checks the arguments of a message and then removes it.
#if !ETX_MESSAGES
#define etx_diag_fail(diag, status, ...)              \
  (0 ? (etx_diag_fail)((diag), (status), __VA_ARGS__) \
     : etx_diag_drop_message((diag), (status)))
#define etx_diag_fail_at(diag, status, offset, ...)                 \
  (0 ? (etx_diag_fail_at)((diag), (status), (offset), __VA_ARGS__) \
     : etx_diag_note_at((diag), (status), (offset), 0, 0))
#define etx_diag_fail_line(diag, status, line, column, ...)                   \
  (0 ? (etx_diag_fail_line)((diag), (status), (line), (column), __VA_ARGS__) \
     : etx_diag_note_at((diag), (status), 0, (line), (column)))
#define etx_diag_append(diag, ...) \
  (0 ? (etx_diag_append)((diag), __VA_ARGS__) : (void)0)
#endif

#endif
