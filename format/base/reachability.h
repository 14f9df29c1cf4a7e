// Conditions that have one value for every input, but are checked all the same:
// checks that guard memory in case a check before them is ever changed. As in
// SQLite, coverage builds count no branch for them, so that tests can take every
// branch that is counted. A comment beside each use says why the condition
// holds. A check that guards nothing is removed instead.

#ifndef ETX_FORMAT_BASE_REACHABILITY_H
#define ETX_FORMAT_BASE_REACHABILITY_H

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

#endif
