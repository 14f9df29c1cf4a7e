// An independent oracle for `etx verify`: it runs programs on shadow memory.
//
// Every byte of every arena has a stamp, the number of the write that it comes
// from. Every value has the stamps that its content should have. A read
// compares the two, byte by byte. Nothing is computed.
//
//   write b   memory  7 7 7 7 8 8 8 8      expected for b: 8 8 8 8
//   read a    memory  7 7 7 7              expected for a: 7 7 7 7, valid
//
// Methods run one after another, several times and in two orders, on shared
// arenas. Scratch has garbage when a method starts. The first few jumps of a
// run are tried both ways. A kernel may write before it has read everything,
// and if two outputs of a call overlap, both are invalid there.
//
// It shares no code with the proof and computes no lifetimes: it only observes
// bytes.

#ifndef ETX_TESTS_CLI_VERIFY_SHADOW_EXECUTION_H
#define ETX_TESTS_CLI_VERIFY_SHADOW_EXECUTION_H

#include "format/base/span.h"
#include "tests/cli/verify/shadow_verdict.h"

// Runs all methods of a file of etx. A file that cannot be opened is wrong.
byte_verdict shadow_execution_run(etx_bytes file);

#endif
