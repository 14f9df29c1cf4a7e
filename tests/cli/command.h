// Runs a built program and captures its output.

#ifndef ETX_TESTS_CLI_COMMAND_H
#define ETX_TESTS_CLI_COMMAND_H

#include <stddef.h>

typedef struct command_result {
  int code;   // exit code, or 128 + the number of the signal
  char* out;  // standard output, terminated; command_end frees it
  char* err;  // standard error, the same
  size_t out_size;
} command_result;

// Runs words[0] with the arguments up to NULL and empty standard input.
command_result command_run(const char* const* words);

// The same with `input` on standard input. A write beyond `file_bytes` bytes of
// any file fails, as on a full disk (0: no limit).
command_result command_run_with(const char* const* words, const char* input,
                                size_t file_bytes);

// Frees the output.
void command_end(command_result* result);

// Runs and expects an exit code; otherwise prints all output and fails the
// test.
void command_expect(int code, const char* const* words);
// The same, and expects `part` in standard output, or in standard error.
void command_expect_out(int code, const char* const* words, const char* part);
void command_expect_err(int code, const char* const* words, const char* part);

// The directory of a suite, below /tmp: made before its first test, removed
// with everything in it after the last. For cmocka_run_group_tests.
extern char command_directory[64];
int command_set_up(void** state);
int command_tear_down(void** state);

// Whole files. `read` gives terminated bytes that the caller frees.
char* command_read_file(const char* path, size_t* out_size);
void command_write_file(const char* path, const char* text);

// Fails the test if the two files differ.
void command_expect_same_files(const char* a, const char* b);

#define WORDS(...) ((const char* const[]){__VA_ARGS__, NULL})

#endif
