// What every suite of this folder includes: cmocka with its needs, and checks
// of statuses and messages.

#ifndef ETX_TESTS_FORMAT_FORMAT_TEST_H
#define ETX_TESTS_FORMAT_FORMAT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/diag.h"
#include "tests/support/said.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define assert_ok(call) assert_int_equal(call, ETX_OK)

// True if `diag` has a message that contains `part`.
static inline void assert_says(const etx_diag* diag, const char* part) {
  if (!test_said(diag, part)) {
    fail_msg("'%s' is not in '%s'", part, diag->text);
  }
}

static inline void assert_text(etx_text text, const char* expected) {
  assert_int_equal(text.size, strlen(expected));
  if (text.size > 0) assert_memory_equal(text.data, expected, text.size);
}

#endif
