// The program of this package, run once: every method in one session of state.

#ifndef ETX_EXAMPLE_H
#define ETX_EXAMPLE_H

#ifdef __cplusplus
extern "C" {
#endif

// Calls all methods one after the other with made-up inputs, and writes a line
// with a hash of the outputs for each. Returns 0, or 1 after an error, which is
// written. `write` gets a text without a newline.
int etx_example_run(void (*write)(const char* line));

#ifdef __cplusplus
}
#endif

#endif
