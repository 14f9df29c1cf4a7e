// Poisons the names of heap, stdio and abort functions, which format, planner,
// runtime and shared_memory must not call. The build includes this file before
// every source of these libraries (-include).

#ifndef ETX_FORMAT_BASE_FORBIDDEN_H
#define ETX_FORMAT_BASE_FORBIDDEN_H

// System headers come first, since they declare these names.
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#pragma GCC poison malloc calloc realloc free aligned_alloc posix_memalign
#pragma GCC poison printf fprintf sprintf snprintf vprintf vfprintf vsprintf
#pragma GCC poison vsnprintf puts putchar fputs fputc fwrite fread fopen fclose
#pragma GCC poison abort exit atexit alloca setjmp longjmp strdup strndup qsort
#pragma GCC poison getenv system

#endif
