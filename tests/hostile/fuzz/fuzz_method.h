// Used by the entries for methods: the bytes become a file of a directory,
// which is read and planned as `etx plan` does. The proof of `etx verify` must
// hold for the program, and it is run.

#ifndef ETX_TESTS_HOSTILE_FUZZ_FUZZ_METHOD_H
#define ETX_TESTS_HOSTILE_FUZZ_FUZZ_METHOD_H

#include <stdbool.h>

#include "format/base/span.h"

// Writes a file into the directory, for all plans of this process. At most two
// names may be used.
void fuzz_method_file(const char* file_name, etx_bytes bytes);

// Writes `bytes` as a file of that name, and reads and plans the directory: for
// the runtime of etx if the number of bytes is even, else for ExecuTorch. Traps
// if etx itself fails: an internal error, a wrong plan, a refusal without a
// reason, or a program that the proof refuses. Returns true if the bytes were
// planned.
bool fuzz_method(const char* file_name, etx_bytes bytes);

#endif
