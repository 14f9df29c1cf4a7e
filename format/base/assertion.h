// An assertion about etx's own code: checked in debug builds, ignored in
// release builds. Never used to check input.

#ifndef ETX_FORMAT_BASE_ASSERTION_H
#define ETX_FORMAT_BASE_ASSERTION_H

#ifdef NDEBUG
#define ETX_ASSERT(condition) ((void)0)
#else
// __builtin_trap needs no C library and stops a debugger at the line.
#define ETX_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#endif

#endif
