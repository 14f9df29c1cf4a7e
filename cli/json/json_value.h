// Small wrappers around jansson for the JSON that etx prints.

#ifndef ETX_CLI_JSON_JSON_VALUE_H
#define ETX_CLI_JSON_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/span.h"

// Has `failed` called when jansson gets no memory, from the thread that wanted
// it. jansson then builds a value that lacks parts, and its parser may write
// beyond its buffers. So `failed` ends the program, or remembers that no value
// of this thread may be used; then the program parses nothing with jansson.
// Call it before the first value is made, and once in a process.
void etx_json_watch_allocations(void (*failed)(void));

// A JSON string; a byte that is not UTF-8 becomes U+FFFD. New reference.
json_t* etx_json_text(etx_text text);

// A JSON integer, at most INT64_MAX. New reference.
json_t* etx_json_unsigned(uint64_t value);

// A JSON number; infinities and NaN, which JSON lacks, as strings. New
// reference.
json_t* etx_json_real(double value);

// A list of sizes. New reference.
json_t* etx_json_sizes(const int32_t* sizes, size_t rank);

// Prints `root` to standard output and releases it. False if the root is NULL
// or if the write failed; main.c prints the reason.
bool etx_json_print(json_t* root);

#endif
