// JSON strings as bytes of a file, without a tree in memory: for what may be
// millions of rows. Everything else of JSON is printf's.

#ifndef ETX_CLI_JSON_JSON_STRING_H
#define ETX_CLI_JSON_JSON_STRING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "format/base/span.h"

// Writes `text` as a JSON string of printable ASCII alone, which may also stand
// in a script of an HTML page: quotes, backslashes, control characters, '<',
// '>', '&' and all that is not ASCII are escaped. Bytes that are no UTF-8
// become U+FFFD.
void etx_json_string_write(FILE* out, etx_text text);

#endif
