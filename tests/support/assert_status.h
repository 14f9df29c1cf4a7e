// Assertions on calls that end with a status and a diag. The suite has a
// `static etx_diag diag`, which each assertion empties first.

#ifndef ETX_TESTS_SUPPORT_ASSERT_STATUS_H
#define ETX_TESTS_SUPPORT_ASSERT_STATUS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/diag.h"
#include "tests/support/assert_message.h"

#define assert_status(call, wanted)                                    \
  do {                                                                 \
    etx_diag_init(&diag);                                              \
    const etx_status assert_found = (call);                            \
    if (assert_found != (wanted)) {                                    \
      fail_msg("%s: %s, expected %s: %s", #call,                       \
               etx_status_name(assert_found), etx_status_name(wanted), \
               diag.text);                                             \
    }                                                                  \
  } while (0)

#define assert_ok(call) assert_status(call, ETX_OK)

// The call was refused with this status, and its message contains this text.
#define assert_refused(call, wanted, part)                             \
  do {                                                                 \
    assert_status(call, wanted);                                       \
    assert_int_equal(diag.status, wanted);                             \
    if (!test_message_has(&diag, part)) {                              \
      fail_msg("message '%s' does not contain '%s'", diag.text, part); \
    }                                                                  \
  } while (0)

#endif
