// Status codes: one enum for the whole project.
//
// A function that can fail returns etx_status and has written nothing to its
// outputs unless it returned ETX_OK. The comments in status.def say when to use
// which code.

#ifndef ETX_FORMAT_BASE_STATUS_H
#define ETX_FORMAT_BASE_STATUS_H

// The ways in which a call can end: the rows of status.def.
typedef enum etx_status_code {
#define STATUS(name, text) ETX_##name,
#include "format/base/status.def"
#undef STATUS
  ETX_STATUS_COUNT  // the number of codes
} etx_status_code;

// Before a prototype: the compiler warns if a caller ignores the result.
#if defined(__GNUC__)
#define ETX_MUST_USE __attribute__((warn_unused_result))
#else
#define ETX_MUST_USE
#endif

// What functions return: one of the codes above.
typedef etx_status_code etx_status;

// Returns a short English sentence without full stop, never NULL.
const char* etx_status_text(etx_status status);

// Returns the name of the code in capitals, such as "BAD_FILE", never NULL.
const char* etx_status_name(etx_status status);

// Returns from the calling function with the status of `call` unless it is
// ETX_OK. No cleanup is needed: memory is an arena's or the caller's.
#define ETX_TRY(call)                                    \
  do {                                                   \
    const etx_status etx_try_status = (call);            \
    if (etx_try_status != ETX_OK) return etx_try_status; \
  } while (0)

#endif
