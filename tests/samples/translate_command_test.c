// The translator as a program: files, odd lines, a killed run, a terminal.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define TRANSLATE ETX_BINARY "/translate"
#define MODEL ETX_SOURCE "/samples/translate/model"

enum { PATH_BYTES = 256 };

static char program[PATH_BYTES];
static char many_lines[PATH_BYTES];
static char answers[PATH_BYTES];
static char unfinished[PATH_BYTES];

// More than the lines of one portion.
#ifdef ETX_SANITIZED
enum { MANY = 1300 };
#else
enum { MANY = 6000 };
#endif

static int set_up(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(program, PATH_BYTES, "%s/batch.pte", command_directory);
  snprintf(many_lines, PATH_BYTES, "%s/many.txt", command_directory);
  snprintf(answers, PATH_BYTES, "%s/answers.txt", command_directory);
  snprintf(unfinished, PATH_BYTES, "%s/answers.txt.unfinished",
           command_directory);
  command_expect(0, WORDS(ETX, "plan", MODEL "/batch", "-o", program));
  FILE* const file = fopen(many_lines, "wb");
  if (file == NULL) return -1;
  for (int i = 0; i < MANY; ++i) fputs("eight\n", file);
  return fclose(file);
}

static command_result translate(const char* input) {
  return command_run_with(WORDS(TRANSLATE, "--model", program), input, 0);
}

static void expect(const char* input, int code, const char* out,
                   const char* err) {
  command_result result = translate(input);
  assert_int_equal(result.code, code);
  assert_string_equal(result.out, out);
  if (strstr(result.err, err) == NULL) fail_msg("said: %s", result.err);
  if (*err == '\0') assert_string_equal(result.err, "");
  command_end(&result);
}

static void lines_keep_their_order_and_empty_ones_their_place(void** state) {
  (void)state;
  expect(
      "fifty-one letters cost sixty-seven dollars\n"
      "\n"
      "eight hundred and forty-three\n"
      "   \n"
      "the train leaves at half past seven\n",
      0,
      "cinquante et une lettres co\xc3\xbbtent soixante-sept dollars\n"
      "\n"
      "huit cent quarante-trois\n"
      "\n"
      "le train part \xc3\xa0 sept heures et demie\n",
      "");
  expect("", 0, "", "");
  expect("\n", 0, "\n", "");
}

static void the_last_line_may_lack_its_end(void** state) {
  (void)state;
  expect("eight hundred and forty-three", 0, "huit cent quarante-trois\n", "");
  expect("eight hundred and forty-three\r\n", 0, "huit cent quarante-trois\n",
         "");
}

static void a_line_that_is_too_long_is_told_and_keeps_its_place(void** state) {
  (void)state;
  char input[1024] = "eight hundred and forty-three\n";
  for (int i = 0; i < 100; ++i) strcat(input, "a ");
  strcat(input, "\neight hundred and forty-three\n");
  expect(input, 5, "huit cent quarante-trois\n\nhuit cent quarante-trois\n",
         "translate: line 2: the sentence has 101 tokens, the model takes 64");
}

static void a_huge_line_takes_no_memory(void** state) {
  (void)state;
  enum { SIZE = 3 << 20 };
  static const char last[] = "\neight hundred and forty-three\n";
  char* const input = malloc(SIZE + sizeof last);
  assert_non_null(input);
  memset(input, 'a', SIZE);
  memcpy(input + SIZE, last, sizeof last);
  expect(input, 5, "\nhuit cent quarante-trois\n",
         "line 1: the line has more than 65536 bytes");
  // Huge, and without an end.
  input[SIZE] = '\0';
  expect(input, 5, "\n", "line 1: the line has more than 65536 bytes");
  free(input);
}

static void bytes_that_are_no_text_harm_nobody(void** state) {
  (void)state;
  command_result result = translate(
      "\xff\xfe\x80\n"
      "\xe2\x96\n"
      "\xf0\x9f\x98\x80 \xc0\xaf\n"
      "eight hundred and forty-three\n");
  assert_int_equal(result.code, 0);
  const char* at = result.out;
  for (int i = 0; i < 3; ++i) at = strchr(at, '\n') + 1;
  assert_string_equal(at, "huit cent quarante-trois\n");
  command_end(&result);
}

static void count_lines(const char* path, size_t wanted) {
  size_t size = 0;
  size_t lines = 0;
  char* const text = command_read_file(path, &size);
  for (size_t i = 0; i < size; ++i) lines += text[i] == '\n';
  free(text);
  assert_int_equal(lines, wanted);
}

static void a_file_is_translated_into_a_file(void** state) {
  (void)state;
  command_result result =
      command_run(WORDS(TRANSLATE, "--model", program, "--in", many_lines,
                        "--out", answers, "--threads", "2"));
  assert_int_equal(result.code, 0);
  // Nothing but answers, and those in the file.
  assert_string_equal(result.out, "");
  assert_string_equal(result.err, "");
  command_end(&result);
  count_lines(answers, MANY);
  assert_int_not_equal(access(unfinished, F_OK), 0);
}

static void wait_a_little(void) {
  const struct timespec little = {0, 5000000};
  nanosleep(&little, NULL);
}

static bool has_bytes(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && info.st_size > 0;
}

static pid_t start(void) {
  const pid_t child = fork();
  if (child != 0) return child;
  execl(TRANSLATE, TRANSLATE, "--model", program, "--in", many_lines, "--out",
        answers, (char*)NULL);
  _exit(127);
}

static void a_killed_run_leaves_the_earlier_file(void** state) {
  (void)state;
  int status;
  command_write_file(answers, "earlier\n");
  const pid_t child = start();
  assert_true(child > 0);
  for (int i = 0; i < 4000 && !has_bytes(unfinished); ++i) wait_a_little();
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  count_lines(answers, 1);
  // The next run begins anew and leaves nothing behind.
  command_expect(0, WORDS(TRANSLATE, "--model", program, "--in", many_lines,
                          "--out", answers));
  count_lines(answers, MANY);
  assert_false(has_bytes(unfinished));
}

static void a_full_disk_leaves_the_earlier_file(void** state) {
  (void)state;
  command_write_file(answers, "earlier\n");
  command_result result =
      command_run_with(WORDS(TRANSLATE, "--model", program, "--in", many_lines,
                             "--out", answers),
                       "", 2048);
  assert_int_equal(result.code, 1);
  assert_non_null(strstr(result.err, "cannot write"));
  command_end(&result);
  count_lines(answers, 1);
  assert_int_not_equal(access(unfinished, F_OK), 0);
}

// Runs with standard error on a terminal and returns what it shows there.
static size_t show(char* out, size_t capacity) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) skip();  // a machine without pseudo terminals
  assert_int_equal(grantpt(terminal), 0);
  assert_int_equal(unlockpt(terminal), 0);
  const int other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  assert_true(other >= 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(other, STDERR_FILENO);
    execl(TRANSLATE, TRANSLATE, "--model", program, "--in", many_lines, "--out",
          answers, (char*)NULL);
    _exit(127);
  }
  close(other);
  size_t size = 0;
  ssize_t count;
  while (size + 1 < capacity &&
         (count = read(terminal, out + size, capacity - 1 - size)) > 0) {
    size += (size_t)count;
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  close(terminal);
  out[size] = '\0';
  return size;
}

static void a_terminal_sees_how_far_it_is(void** state) {
  (void)state;
  static char shown[1 << 20];
  show(shown, sizeof shown);
  assert_non_null(strstr(shown, " s left"));
  // The line is gone at the end.
  const char* const last = strrchr(shown, '\r');
  assert_non_null(last);
  assert_string_equal(last, "\r\x1b[K");
}

static void memory_stays_near_the_arenas(void** state) {
  (void)state;
  size_t arenas = 0;
  size_t own = 0;
  command_result result =
      command_run(WORDS(TRANSLATE, "--model", program, "--in", many_lines,
                        "--out", answers, "--beam", "4", "--stats"));
  assert_int_equal(result.code, 0);
  const char* const line = strstr(result.err, "memory: ");
  assert_non_null(line);
  assert_int_equal(
      sscanf(line, "memory: %zu kB of arenas, %zu kB private", &arenas, &own),
      2);
  assert_non_null(strstr(result.err, "tokens/s"));
  assert_non_null(strstr(result.err, "no cache"));
#ifndef ETX_SANITIZED
  assert_in_range(own, 1, arenas + 20 * 1024);
#endif
  command_end(&result);
}

static void wrong_words_are_refused(void** state) {
  (void)state;
  command_expect_err(2, WORDS(TRANSLATE, "--beam", "0", "a"),
                     "expected a number from 1 to 65536, found '0'");
  command_expect_err(2, WORDS(TRANSLATE, "--batch", "many", "a"),
                     "found 'many'");
  command_expect_err(2, WORDS(TRANSLATE, "--threads", "-1", "a"), "found '-1'");
  command_expect_err(2, WORDS(TRANSLATE, "--beam"),
                     "a value is missing after '--beam'");
  command_expect_err(2, WORDS(TRANSLATE, "--in", "x", "a sentence"),
                     "a sentence beside an input");
  command_expect_err(2,
                     WORDS(TRANSLATE, "--model", program, "--beam", "33", "a"),
                     "33 beams, the program has 32 rows");
  command_expect_err(
      1, WORDS(TRANSLATE, "--model", program, "--in", "/nowhere.txt"),
      "cannot open '/nowhere.txt'");
  command_expect_err(1,
                     WORDS(TRANSLATE, "--model", program, "--in", many_lines,
                           "--out", "/nowhere/answers.txt"),
                     "cannot write '/nowhere/answers.txt.unfinished'");
  command_expect_err(
      1, WORDS(TRANSLATE, "--model", program, "--in", command_directory),
      "cannot read");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_keep_their_order_and_empty_ones_their_place),
      cmocka_unit_test(the_last_line_may_lack_its_end),
      cmocka_unit_test(a_line_that_is_too_long_is_told_and_keeps_its_place),
      cmocka_unit_test(a_huge_line_takes_no_memory),
      cmocka_unit_test(bytes_that_are_no_text_harm_nobody),
      cmocka_unit_test(a_file_is_translated_into_a_file),
      cmocka_unit_test(a_killed_run_leaves_the_earlier_file),
      cmocka_unit_test(a_full_disk_leaves_the_earlier_file),
      cmocka_unit_test(a_terminal_sees_how_far_it_is),
      cmocka_unit_test(memory_stays_near_the_arenas),
      cmocka_unit_test(wrong_words_are_refused),
  };
  return cmocka_run_group_tests(tests, set_up, command_tear_down);
}
