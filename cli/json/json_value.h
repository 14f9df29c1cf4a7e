// Facts as JSON: small wrappers around jansson for what etx prints.

#ifndef ETX_CLI_JSON_JSON_VALUE_H
#define ETX_CLI_JSON_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/span.h"

// Has jansson's wish for memory watched from here on.
void etx_json_watch_allocations(void);

// Whether it was in vain once: what was built or read since may lack parts.
bool etx_json_allocation_failed(void);

// A JSON string of `text`; a byte that is no UTF-8 becomes U+FFFD. New
// reference.
json_t* etx_json_text(etx_text text);

// A JSON integer; above INT64_MAX it is cut there. New reference.
json_t* etx_json_unsigned(uint64_t value);

// A JSON number; infinities and NaN, which JSON lacks, as strings. New
// reference.
json_t* etx_json_real(double value);

// A list of sizes. New reference.
json_t* etx_json_sizes(const int32_t* sizes, size_t rank);

// Prints and releases `root`. A NULL root, one that lacks parts (no memory) or
// a failed write is false; main says which of them.
bool etx_json_print(json_t* root);

#endif
