// Poisons what the malloc-free libraries must not name: heap, stdio, abort.
// Given to every file of format, planner, runtime and shared_memory by the
// build (-include), after the system headers those files need.

#ifndef ETX_FORMAT_BASE_FORBIDDEN_H
#define ETX_FORMAT_BASE_FORBIDDEN_H

// System headers first: their own declarations of these names stay legal.
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
