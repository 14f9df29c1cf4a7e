// Used by the entries for methods: the bytes become the only method of a
// directory, which is read and planned as `etx plan` does.

#ifndef ETX_TESTS_HOSTILE_FUZZ_FUZZ_METHOD_H
#define ETX_TESTS_HOSTILE_FUZZ_FUZZ_METHOD_H

#include "format/base/span.h"

// Reads and plans `bytes` as a file of that name. Traps if etx itself fails:
// an internal error, a wrong plan, or a refusal without a reason.
void fuzz_method(const char* file_name, etx_bytes bytes);

#endif
