// Finds the mechanism that changes a result. Mechanisms are in a fixed order;
// `count` of them on means that the first `count` are on and all others off.

#ifndef ETX_CLI_BISECT_CHANGE_SEARCH_H
#define ETX_CLI_BISECT_CHANGE_SEARCH_H

#include <stdbool.h>

#include "format/base/diag.h"

// States whether the result with the first `count` mechanisms on differs from
// the one with all off.
typedef etx_status (*etx_change_test)(void* context, size_t count,
                                      bool* out_differs);

// Searches `total` mechanisms. `*out_position` is a mechanism for which the
// result is unchanged with all before it on, and changed with it on as well;
// `total` if the result with all on is unchanged. If several mechanisms change
// the result, it is one of them. Makes at most 1 + log2(total) tests, rounded
// up. Ends with the first failure of a test.
etx_status etx_change_search(size_t total, etx_change_test test, void* context,
                             size_t* out_position);

// The tests that a search of `total` mechanisms makes at most.
size_t etx_change_search_most_tests(size_t total);

#endif
