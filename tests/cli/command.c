#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/cli/command.h"

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static char* read_stream(FILE* file, size_t* out_size) {
  size_t capacity = 4096;
  size_t size = 0;
  char* text = malloc(capacity);
  rewind(file);
  for (;;) {
    assert_non_null(text);
    size += fread(text + size, 1, capacity - size - 1, file);
    if (size + 1 < capacity) break;
    capacity *= 2;
    text = realloc(text, capacity);
  }
  text[size] = '\0';
  if (out_size != NULL) *out_size = size;
  return text;
}

static void exec_program(const char* const* words, FILE* in, FILE* out,
                         FILE* err, size_t file_bytes) {
  dup2(fileno(in), STDIN_FILENO);
  dup2(fileno(out), STDOUT_FILENO);
  dup2(fileno(err), STDERR_FILENO);
  if (file_bytes != 0) {
    const struct rlimit limit = {file_bytes, file_bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  execv(words[0], (char* const*)(uintptr_t)words);
  _exit(127);
}

command_result command_run_with(const char* const* words, const char* input,
                                size_t file_bytes) {
  command_result result = {.code = -1};
  FILE* const in = tmpfile();
  FILE* const out = tmpfile();
  FILE* const err = tmpfile();
  assert_true(in != NULL && out != NULL && err != NULL);
  if (input != NULL) fputs(input, in);
  fflush(in);
  lseek(fileno(in), 0, SEEK_SET);
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) exec_program(words, in, out, err, file_bytes);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  result.code =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_stream(out, &result.out_size);
  result.err = read_stream(err, NULL);
  fclose(in);
  fclose(out);
  fclose(err);
  return result;
}

command_result command_run(const char* const* words) {
  return command_run_with(words, NULL, 0);
}

void command_end(command_result* result) {
  free(result->out);
  free(result->err);
  result->out = NULL;
  result->err = NULL;
}

// `out` and `err`: required parts of standard output and standard error, or
// NULL.
static void expect(int code, const char* const* words, const char* out,
                   const char* err) {
  command_result result = command_run(words);
  const int found = result.code;
  const bool has_parts = (out == NULL || strstr(result.out, out) != NULL) &&
                         (err == NULL || strstr(result.err, err) != NULL);
  if (found != code || !has_parts) {
    for (size_t i = 0; words[i] != NULL; ++i) print_error("%s ", words[i]);
    print_error("\n%s%s", result.out, result.err);
    if (!has_parts) print_error("expected: %s\n", out != NULL ? out : err);
  }
  command_end(&result);
  assert_int_equal(found, code);
  assert_true(has_parts);
}

void command_expect(int code, const char* const* words) {
  expect(code, words, NULL, NULL);
}

void command_expect_out(int code, const char* const* words, const char* part) {
  expect(code, words, part, NULL);
}

void command_expect_err(int code, const char* const* words, const char* part) {
  expect(code, words, NULL, part);
}

char command_directory[64];

int command_set_up(void** state) {
  (void)state;
  snprintf(command_directory, sizeof command_directory, "/tmp/etx_test_XXXXXX");
  return mkdtemp(command_directory) == NULL ? -1 : 0;
}

static int remove_entry(const char* path, const struct stat* facts, int kind,
                        struct FTW* place) {
  (void)facts;
  (void)kind;
  (void)place;
  return remove(path);
}

int command_tear_down(void** state) {
  (void)state;
  return nftw(command_directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

char* command_read_file(const char* path, size_t* out_size) {
  FILE* const file = fopen(path, "rb");
  if (file == NULL) fail_msg("'%s' is not there", path);
  char* const text = read_stream(file, out_size);
  fclose(file);
  return text;
}

void command_write_file(const char* path, const char* text) {
  FILE* const file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  assert_int_equal(fclose(file), 0);
}

void command_expect_same_files(const char* a, const char* b) {
  size_t a_size = 0;
  size_t b_size = 0;
  char* const a_bytes = command_read_file(a, &a_size);
  char* const b_bytes = command_read_file(b, &b_size);
  const int same = a_size == b_size && memcmp(a_bytes, b_bytes, a_size) == 0;
  free(a_bytes);
  free(b_bytes);
  if (!same) fail_msg("'%s' and '%s' differ", a, b);
}
