// What is done with every damaged file: open it, read its whole content, load
// every method into blocks of exactly the size that it needs, run it on zeros
// and on extreme elements, and save and restore its state. Each step may refuse
// the file; none may access memory outside its blocks, which sanitizers report.

#ifndef ETX_TESTS_HOSTILE_HOSTILE_PROGRAM_H
#define ETX_TESTS_HOSTILE_HOSTILE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/span.h"

// How many damaged files passed each stage.
typedef struct hostile_counts {
  size_t files;
  size_t opened;     // accepted by etx_pte_open
  size_t loaded;     // methods
  size_t ran;        // runs of methods that succeeded
  size_t stopped;    // runs that ended in an error
  size_t too_large;  // methods that need more memory than the tests provide
  uint64_t results;  // a hash of all outputs in their order
} hostile_counts;

// Tries one file, which may have any content and any address.
void hostile_try(etx_bytes file, hostile_counts* counts);

// The same in another way that must not change a result: with loops of the base
// instruction set, tasks of several threads in reverse order, and no use of what
// was computed for other sizes.
void hostile_try_plainly(etx_bytes file, hostile_counts* counts);

// Prints the counts in one line.
void hostile_print(const char* title, const hostile_counts* counts);

#endif
