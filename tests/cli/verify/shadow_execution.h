// The oracle of the proof of plans: programs are run on shadow memory.
//
// Every byte of every arena has a stamp that says which write it comes from,
// and every value knows the stamps that its content has to have. A read
// compares the two, byte by byte. Nothing is computed.
//
//   write b   memory  7 7 7 7 8 8 8 8      b means 8 8 8 8
//   read a    memory  7 7 7 7              a means 7 7 7 7: right
//
// Methods run one after the other, several times, in more than one order, on
// shared arenas; scratch holds garbage when a method starts. A jump is taken
// both ways, the first few of a run. A kernel may write before it has read
// everything, and one of two outputs in the same bytes is lost, whichever it
// is.
//
// Written for the tests alone. It shares no code with the proof and knows
// nothing of lifetimes: it only sees what happens to bytes.

#ifndef ETX_TESTS_CLI_VERIFY_SHADOW_EXECUTION_H
#define ETX_TESTS_CLI_VERIFY_SHADOW_EXECUTION_H

#include "format/base/span.h"
#include "tests/cli/verify/shadow_verdict.h"

// Runs all methods of a file of etx. A file that the door refuses is wrong.
byte_verdict shadow_execution_run(etx_bytes file);

#endif
