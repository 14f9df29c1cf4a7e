// Writes JSON strings to a stream, without a tree in memory, for files of
// millions of rows. The rest of the JSON is written with fprintf.

#ifndef ETX_CLI_JSON_JSON_STRING_H
#define ETX_CLI_JSON_JSON_STRING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "format/base/span.h"

// Writes `text` as a JSON string of printable ASCII that is also safe inside a
// script of an HTML page: quotes, backslashes, control characters, '<', '>',
// '&' and all non-ASCII characters are escaped. Bytes that are not UTF-8 become
// U+FFFD.
void etx_json_string_write(FILE* out, etx_text text);

#endif
