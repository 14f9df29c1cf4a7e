// Conditions that have one value for every input, but are checked all the same:
// checks that guard memory in case a check before them is ever changed. As in
// SQLite, coverage builds count no branch for them, so that tests can take every
// branch that is counted. A comment beside each use says why the condition
// holds. A check that guards nothing is removed instead.

#ifndef ETX_FORMAT_BASE_REACHABILITY_H
#define ETX_FORMAT_BASE_REACHABILITY_H

#include <stdint.h>

#if defined(ETX_COVERAGE_BUILD)
// Names what the condition names, and evaluates nothing.
#define ETX_ALWAYS(condition) (sizeof(condition) != 0)
#define ETX_NEVER(condition) (sizeof(condition) == 0)
#elif defined(NDEBUG)
#define ETX_ALWAYS(condition) (condition)
#define ETX_NEVER(condition) (condition)
#else
#define ETX_ALWAYS(condition) ((condition) ? 1 : (__builtin_trap(), 0))
#define ETX_NEVER(condition) ((condition) ? (__builtin_trap(), 1) : 0)
#endif

// A condition that an input can change only where size_t has 32 bits, such as a
// number of bytes that overflows.
#if SIZE_MAX > UINT32_MAX
#define ETX_NEVER_IF_WIDE(condition) ETX_NEVER(condition)
#else
#define ETX_NEVER_IF_WIDE(condition) (condition)
#endif

#endif
