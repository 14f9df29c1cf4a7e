// Decodes UTF-8 from text of files and command lines, which may have any bytes.

#ifndef ETX_CLI_JSON_UTF8_H
#define ETX_CLI_JSON_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/span.h"

enum { ETX_UTF8_REPLACEMENT = 0xfffd };

// Decodes the character at `*at` and moves `*at` behind it. For an invalid,
// overlong or surrogate sequence it moves by one byte and returns
// ETX_UTF8_REPLACEMENT.
uint32_t etx_utf8_next(etx_text text, size_t* at);

#endif
