// Text of files and of the command line, which may be of any bytes, read as
// UTF-8.

#ifndef ETX_CLI_JSON_UTF8_H
#define ETX_CLI_JSON_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/span.h"

enum { ETX_UTF8_REPLACEMENT = 0xfffd };

// Reads one character of UTF-8 at `at`, which is moved behind it: the shortest
// form of a code point that is no surrogate. Otherwise one byte is passed, and
// the answer is ETX_UTF8_REPLACEMENT.
uint32_t etx_utf8_next(etx_text text, size_t* at);

#endif
