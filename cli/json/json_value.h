// Small wrappers around jansson for the JSON that etx prints.

#ifndef ETX_CLI_JSON_JSON_VALUE_H
#define ETX_CLI_JSON_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/span.h"

// Makes jansson's failed allocations known to etx_json_allocation_failed.
void etx_json_watch_allocations(void);

// True if an allocation failed since then: JSON values may lack parts.
bool etx_json_allocation_failed(void);

// A JSON string; a byte that is not UTF-8 becomes U+FFFD. New reference.
json_t* etx_json_text(etx_text text);

// A JSON integer, at most INT64_MAX. New reference.
json_t* etx_json_unsigned(uint64_t value);

// A JSON number; infinities and NaN, which JSON lacks, as strings. New
// reference.
json_t* etx_json_real(double value);

// A list of sizes. New reference.
json_t* etx_json_sizes(const int32_t* sizes, size_t rank);

// Prints `root` to standard output and releases it. False if the root is NULL,
// if an allocation failed, or if the write failed; main.c prints the reason.
bool etx_json_print(json_t* root);

#endif
