// The entry point of a reader, as libFuzzer calls it: one per reader, in
// fuzz_<reader>.c. replay.c calls the same entry with the files of a corpus,
// so that no fuzzer is needed to run what one has found.

#ifndef ETX_TESTS_HOSTILE_FUZZ_FUZZ_TARGET_H
#define ETX_TESTS_HOSTILE_FUZZ_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

// What the entry returns for an input that was refused. replay.c fails if a
// file of the corpus whose name says that it is good was refused: then its
// changes would not reach what is behind the first check. libFuzzer expects 0
// always, and would not keep the input otherwise.
#ifdef ETX_REPLAY
#define FUZZ_REFUSED 1
#else
#define FUZZ_REFUSED 0
#endif

// Reads `size` bytes at `data` as a file of the reader's format and touches
// everything it accepts. Returns 0, or FUZZ_REFUSED; sanitizers report errors.
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#endif
