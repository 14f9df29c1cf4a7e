// What is done with every damaged file: open it, read all it says, load every
// method into blocks of exactly the size it asks for, run it on zeros. Each
// step may refuse; none may touch memory that is not its own, which is for the
// sanitizers to see.

#ifndef ETX_TESTS_HOSTILE_HOSTILE_PROGRAM_H
#define ETX_TESTS_HOSTILE_HOSTILE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "format/base/span.h"

// How far damaged files came, added up.
typedef struct hostile_counts {
  size_t files;
  size_t opened;     // by the door
  size_t loaded;     // methods
  size_t ran;        // runs of methods that ended well
  size_t stopped;    // runs that ended in an error
  size_t too_large;  // methods that ask for more memory than tests give
} hostile_counts;

// Tries one file, which may have any content and any address.
void hostile_try(etx_bytes file, hostile_counts* counts);

// Prints the counts in one line.
void hostile_print(const char* title, const hostile_counts* counts);

#endif
