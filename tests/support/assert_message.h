// Checks of error messages. In a build without messages (ETX_MESSAGES,
// format/base/diag.h) they expect an empty text.

#ifndef ETX_TESTS_SUPPORT_ASSERT_MESSAGE_H
#define ETX_TESTS_SUPPORT_ASSERT_MESSAGE_H

#include <string.h>

#include "format/base/diag.h"

// True if the message contains `part`.
static inline bool test_message_has(const etx_diag* diag, const char* part) {
  return ETX_MESSAGES ? strstr(diag->text, part) != NULL
                      : diag->text[0] == '\0';
}

// True if `text` is the whole message.
static inline bool test_message_is(const etx_diag* diag, const char* text) {
  return strcmp(diag->text, ETX_MESSAGES ? text : "") == 0;
}

// True if there is a message: every refusal needs one.
static inline bool test_has_message(const etx_diag* diag) {
  return !ETX_MESSAGES || diag->text_size > 0;
}

#endif
