// The translator's command: files, unusual lines, interrupted runs, a terminal.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
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

// More lines than the command reads at once.
#ifdef ETX_TEST_SANITIZED
enum { MANY = 1300 };
#else
enum { MANY = 6000 };
#endif

static int set_up(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(program, PATH_BYTES, "%s/batch.pte", command_directory);
  snprintf(many_lines, PATH_BYTES, "%s/many.txt", command_directory);
  snprintf(answers, PATH_BYTES, "%s/answers.txt", command_directory);
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

static void lines_and_empty_lines_keep_their_order(void** state) {
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

static void the_last_line_needs_no_newline(void** state) {
  (void)state;
  expect("eight hundred and forty-three", 0, "huit cent quarante-trois\n", "");
  expect("eight hundred and forty-three\r\n", 0, "huit cent quarante-trois\n",
         "");
}

static void a_line_that_is_too_long_is_reported(void** state) {
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
  // A huge line without a newline.
  input[SIZE] = '\0';
  expect(input, 5, "\n", "line 1: the line has more than 65536 bytes");
  free(input);
}

static void invalid_utf8_is_translated_without_harm(void** state) {
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

static bool has_bytes(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && info.st_size > 0;
}

// Files that runs have started to write. `remove_them` deletes them.
typedef struct unfinished_files {
  size_t count;
  bool have_bytes;  // one of them
} unfinished_files;

static unfinished_files find_unfinished(bool remove_them) {
  unfinished_files found = {0};
  const struct dirent* entry;
  DIR* const directory = opendir(command_directory);
  assert_non_null(directory);
  while ((entry = readdir(directory)) != NULL) {
    char path[2 * PATH_BYTES + 64];
    if (strstr(entry->d_name, ".unfinished") == NULL) continue;
    snprintf(path, sizeof path, "%s/%s", command_directory, entry->d_name);
    ++found.count;
    found.have_bytes |= has_bytes(path);
    if (remove_them) unlink(path);
  }
  closedir(directory);
  return found;
}

static void expect_nothing_unfinished(void) {
  assert_int_equal(find_unfinished(false).count, 0);
}

static void a_file_is_translated_into_a_file(void** state) {
  (void)state;
  command_result result =
      command_run(WORDS(TRANSLATE, "--model", program, "--in", many_lines,
                        "--out", answers, "--threads", "2"));
  assert_int_equal(result.code, 0);
  // The answers are in the file, and nothing is printed.
  assert_string_equal(result.out, "");
  assert_string_equal(result.err, "");
  command_end(&result);
  count_lines(answers, MANY);
  expect_nothing_unfinished();
}

static void wait_a_little(void) {
  const struct timespec little = {0, 5000000};
  nanosleep(&little, NULL);
}

// Starts a run that reads the file, or a pipe if `input` is one. Signals that
// this process ignores (nohup) are not ignored by it.
static pid_t start(const int* input) {
  const char* const from = input == NULL ? many_lines : "/dev/stdin";
  const pid_t child = fork();
  if (child != 0) return child;
  if (input != NULL) {
    dup2(input[0], STDIN_FILENO);
    close(input[0]);
    close(input[1]);
  }
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
  execl(TRANSLATE, TRANSLATE, "--model", program, "--in", from, "--out",
        answers, (char*)NULL);
  _exit(127);
}

// Starts a run and sends it the signal once it has written answers. Its input
// does not end before, so the run does not either, however slow this process
// is.
static void end_by(int number) {
  int status, input[2];
  char* const text = command_read_file(many_lines, NULL);
  command_write_file(answers, "earlier\n");
  assert_int_equal(pipe(input), 0);
  const pid_t child = start(input);
  assert_true(child > 0);
  assert_int_equal(write(input[1], text, strlen(text)), strlen(text));
  free(text);
  for (int i = 0; i < 60000 && !find_unfinished(false).have_bytes; ++i) {
    wait_a_little();
  }
  assert_int_equal(kill(child, number), 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  close(input[0]);
  close(input[1]);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), number);
  count_lines(answers, 1);
}

static void a_killed_run_keeps_the_earlier_file(void** state) {
  (void)state;
  end_by(SIGKILL);
  assert_int_equal(find_unfinished(true).count, 1);
  // The next run starts from the beginning and leaves no other file.
  command_expect(0, WORDS(TRANSLATE, "--model", program, "--in", many_lines,
                          "--out", answers));
  count_lines(answers, MANY);
  expect_nothing_unfinished();
}

static void an_interrupted_run_leaves_no_temporary_file(void** state) {
  (void)state;
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < 3; ++i) {
    end_by(signals[i]);
    expect_nothing_unfinished();
  }
}

static void expect_text(const char* path, const char* text) {
  char* const found = command_read_file(path, NULL);
  assert_string_equal(found, text);
  free(found);
}

static const char* in_directory(char path[PATH_BYTES], const char* name) {
  snprintf(path, PATH_BYTES, "%s/%s", command_directory, name);
  return path;
}

static void an_output_must_be_a_regular_file(void** state) {
  (void)state;
  struct stat info;
  char pipe[PATH_BYTES], folder[PATH_BYTES], link[PATH_BYTES];
  assert_int_equal(mkfifo(in_directory(pipe, "pipe"), S_IRUSR | S_IWUSR), 0);
  assert_int_equal(mkdir(in_directory(folder, "folder"), S_IRWXU), 0);
  assert_int_equal(symlink("missing.txt", in_directory(link, "link")), 0);
  const char* const paths[] = {pipe, folder};
  for (size_t i = 0; i < 2; ++i) {
    // Refused before anything is translated: the missing input is not reported.
    command_expect_err(1,
                       WORDS(TRANSLATE, "--model", program, "--in",
                             "/nowhere.txt", "--out", paths[i]),
                       "it is not a regular file");
  }
  assert_int_equal(lstat(pipe, &info), 0);
  assert_true(S_ISFIFO(info.st_mode));
  command_expect_err(1,
                     WORDS(TRANSLATE, "--model", program, "--out", link, "a"),
                     "it is a link to no file");
  command_expect_err(1, WORDS(TRANSLATE, "--model", program, "--out", "", "a"),
                     "cannot write ''");
  expect_nothing_unfinished();
  unlink(link);
}

static void the_target_of_a_link_is_replaced(void** state) {
  (void)state;
  struct stat info;
  char file[PATH_BYTES], link[PATH_BYTES];
  command_write_file(in_directory(file, "linked.txt"), "earlier\n");
  assert_int_equal(symlink("linked.txt", in_directory(link, "link")), 0);
  command_expect(0,
                 WORDS(TRANSLATE, "--model", program, "--out", link, "eight"));
  assert_int_equal(lstat(link, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  expect_text(file, "huit\n");
  expect_nothing_unfinished();
}

static void the_input_may_be_the_output(void** state) {
  (void)state;
  char file[PATH_BYTES];
  command_write_file(in_directory(file, "both.txt"), "eight\nnine\n");
  command_expect(
      0, WORDS(TRANSLATE, "--model", program, "--in", file, "--out", file));
  expect_text(file, "huit\nneuf\n");
}

// Translates `input` into `output` while another file has the name that the run
// would use for its temporary file.
static void run_beside_its_name(const char* input, const char* output,
                                char taken[2 * PATH_BYTES]) {
  int status;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    snprintf(taken, 2 * PATH_BYTES, "%s.%d.unfinished", output, (int)getpid());
    command_write_file(taken, "needed\n");
    execl(TRANSLATE, TRANSLATE, "--model", program, "--in", input, "--out",
          output, (char*)NULL);
    _exit(127);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  snprintf(taken, 2 * PATH_BYTES, "%s.%d.unfinished", output, (int)child);
}

static void a_file_with_the_temporary_name_is_kept(void** state) {
  (void)state;
  char input[PATH_BYTES], output[PATH_BYTES], taken[2 * PATH_BYTES];
  in_directory(input, "new.txt.unfinished");
  in_directory(output, "new.txt");
  command_write_file(input, "eight\n");
  run_beside_its_name(input, output, taken);
  expect_text(input, "eight\n");
  expect_text(output, "huit\n");
  expect_text(taken, "needed\n");
  unlink(input);
  unlink(taken);
  expect_nothing_unfinished();
}

static void two_runs_with_one_output_do_not_interfere(void** state) {
  (void)state;
  int status;
  unlink(answers);
  const pid_t runs[] = {start(NULL), start(NULL)};
  for (size_t i = 0; i < 2; ++i) {
    assert_true(runs[i] > 0);
    assert_int_equal(waitpid(runs[i], &status, 0), runs[i]);
    assert_int_equal(status, 0);
  }
  count_lines(answers, MANY);
  expect_nothing_unfinished();
}

static void a_full_disk_keeps_the_earlier_file(void** state) {
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
  expect_nothing_unfinished();
}

// A terminal and a run on it.
typedef struct terminal_run {
  int terminal;
  pid_t child;
  size_t size;
  char shown[1 << 20];  // terminated
} terminal_run;

// Standard error is the terminal; without an output file, standard output too.
static void start_on_terminal(terminal_run* run, bool are_answers_shown) {
  run->size = 0;
  run->terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (run->terminal < 0) skip();  // a machine without pseudo terminals
  assert_int_equal(grantpt(run->terminal), 0);
  assert_int_equal(unlockpt(run->terminal), 0);
  const int other = open(ptsname(run->terminal), O_RDWR | O_NOCTTY);
  assert_true(other >= 0);
  run->child = fork();
  if (run->child == 0) {
    signal(SIGINT, SIG_DFL);
    dup2(other, STDERR_FILENO);
    if (are_answers_shown) dup2(other, STDOUT_FILENO);
    execl(TRANSLATE, TRANSLATE, "--model", program, "--in", many_lines,
          are_answers_shown ? NULL : "--out", answers, (char*)NULL);
    _exit(127);
  }
  close(other);
}

// False at the end of the run's output.
static bool read_shown(terminal_run* run) {
  const size_t room = sizeof run->shown - 1 - run->size;
  const ssize_t count = read(run->terminal, run->shown + run->size, room);
  if (count > 0) run->size += (size_t)count;
  run->shown[run->size] = '\0';
  return count > 0;
}

static int end_on_terminal(terminal_run* run) {
  int status;
  while (read_shown(run)) continue;
  assert_int_equal(waitpid(run->child, &status, 0), run->child);
  close(run->terminal);
  return status;
}

// The progress line is erased at the end.
static void expect_line_gone(const terminal_run* run) {
  const char* const last = strrchr(run->shown, '\r');
  assert_non_null(last);
  assert_string_equal(last, "\r\x1b[K");
}

// Only finished sentences have a mark, and no remaining time is shown at the
// end.
static void expect_marks_of_what_is_done(const char* shown) {
  size_t pictures = 0;
  for (const char* at = shown; (at = strstr(at, "\r[")) != NULL; ++pictures) {
    at += 2;
    const size_t marks = strspn(at, "#");
    at = strchr(at, ']');
    assert_non_null(at);
    const unsigned long percent = strtoul(at + 1, NULL, 10);
    // 30 marks; percents are rounded.
    assert_true(20 * marks <= 6 * percent + 3);
  }
  assert_true(pictures > 0);
  assert_non_null(strstr(shown, "\r[..............................]   0 % "));
}

static void a_terminal_shows_the_progress(void** state) {
  (void)state;
  static terminal_run run;
  start_on_terminal(&run, false);
  assert_int_equal(end_on_terminal(&run), 0);
  assert_non_null(strstr(run.shown, " s left"));
  expect_line_gone(&run);
  expect_marks_of_what_is_done(run.shown);
}

static void answers_on_the_terminal_have_separate_lines(void** state) {
  (void)state;
  static const char bar_end[] = " \x1b[K";
  static terminal_run run;
  size_t bars = 0;
  start_on_terminal(&run, true);
  assert_int_equal(end_on_terminal(&run), 0);
  for (const char* at = run.shown; (at = strstr(at, bar_end)) != NULL; ++bars) {
    at += sizeof bar_end - 1;
    assert_int_equal(*at, '\r');
  }
  assert_true(bars > 0);
  assert_non_null(strstr(run.shown, "\r\x1b[Khuit\r\n"));
}

static void an_interrupted_run_erases_the_progress_line(void** state) {
  (void)state;
  static terminal_run run;
  start_on_terminal(&run, false);
  while (strstr(run.shown, " %") == NULL) assert_true(read_shown(&run));
  assert_int_equal(kill(run.child, SIGINT), 0);
  const int status = end_on_terminal(&run);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGINT);
  expect_line_gone(&run);
  expect_nothing_unfinished();
}

static void memory_use_is_close_to_the_arenas(void** state) {
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
      sscanf(line, "memory: %zu KB of arenas, %zu KB private", &arenas, &own),
      2);
  assert_non_null(strstr(result.err, "tokens/s"));
  assert_non_null(strstr(result.err, "no cache"));
#ifndef ETX_TEST_SANITIZED
  assert_in_range(own, 1, arenas + 20000);
#endif
  command_end(&result);
}

static void scores_do_not_need_beam_search(void** state) {
  (void)state;
  command_result result =
      command_run(WORDS(TRANSLATE, "--model", program, "--scores",
                        "a cat and twelve blue the of seven dogs"));
  assert_int_equal(result.code, 0);
  char* end;
  assert_true(strtod(result.out, &end) < -0.1);  // nothing it is sure of
  assert_int_equal(*end, '\t');
  command_end(&result);
}

// The message names this file and not the other one.
static void expect_vocabulary_refused(const char* path, const char* reason) {
  char refusal[2 * PATH_BYTES];
  snprintf(refusal, sizeof refusal, "translate: %s: %s", path, reason);
  command_expect_err(
      1, WORDS(TRANSLATE, "--model", program, "--vocab", path, "eight"),
      refusal);
}

static void an_invalid_vocabulary_is_named(void** state) {
  (void)state;
  char file[PATH_BYTES];
  expect_vocabulary_refused("/nowhere.txt", "cannot open '/nowhere.txt'");
  expect_vocabulary_refused(command_directory, "cannot read");
  in_directory(file, "vocabulary.txt");
  command_write_file(file, "");
  expect_vocabulary_refused(file, "a vocabulary of 0 lines");
  command_write_file(file, "a\nb\nc\nd\n");
  expect_vocabulary_refused(file, "a vocabulary begins with </s>");
}

static void options_may_follow_sentences(void** state) {
  (void)state;
  command_result result =
      command_run(WORDS(TRANSLATE, "eight", "--threads", "2", "nine", "--model",
                        program, "--", "--ids", "--"));
  assert_int_equal(result.code, 0);
  // After "--" there are no more options; "--" itself is not a sentence.
  assert_int_equal(strncmp(result.out, "huit\nneuf\n", 10), 0);
  size_t lines = 0;
  for (size_t i = 0; i < result.out_size; ++i) lines += result.out[i] == '\n';
  assert_int_equal(lines, 4);
  command_end(&result);
  command_expect_err(2, WORDS(TRANSLATE, "eight", "--nothing"),
                     "unknown option '--nothing'");
  command_expect_err(2, WORDS(TRANSLATE, "eight", "--in", "x"),
                     "sentences cannot be given together with --in 'x'");
}

static void an_option_has_one_value(void** state) {
  (void)state;
  static const char* const options[] = {
      "--in", "--out", "--model", "--vocab", "--beam", "--batch", "--threads"};
  for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
    char refusal[64];
    snprintf(refusal, sizeof refusal, "option is given twice: '%s'",
             options[i]);
    command_expect_err(
        2, WORDS(TRANSLATE, options[i], "1", options[i], "1", "eight"),
        refusal);
  }
}

static void wrong_arguments_are_refused(void** state) {
  (void)state;
  command_expect_err(2, WORDS(TRANSLATE, "--beam", "0", "a"),
                     "--beam: expected a number from 1 to 65536, found '0'");
  command_expect_err(2, WORDS(TRANSLATE, "--batch", "many", "a"),
                     "found 'many'");
  command_expect_err(2, WORDS(TRANSLATE, "--threads", "-1", "a"), "found '-1'");
  command_expect_err(2, WORDS(TRANSLATE, "--beam"),
                     "no value after option '--beam'");
  command_expect_err(2, WORDS(TRANSLATE, "--in", "x", "a sentence"),
                     "sentences cannot be given together with --in 'x'");
  command_expect_err(2,
                     WORDS(TRANSLATE, "--model", program, "--beam", "33", "a"),
                     "33 beams, the program has 32 rows");
  command_expect_err(
      1, WORDS(TRANSLATE, "--model", program, "--in", "/nowhere.txt"),
      "cannot open '/nowhere.txt'");
  command_expect_err(1,
                     WORDS(TRANSLATE, "--model", program, "--in", many_lines,
                           "--out", "/nowhere/answers.txt"),
                     "cannot write '/nowhere/answers.txt'");
  command_expect_err(
      1, WORDS(TRANSLATE, "--model", program, "--in", command_directory),
      "cannot read");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_and_empty_lines_keep_their_order),
      cmocka_unit_test(the_last_line_needs_no_newline),
      cmocka_unit_test(a_line_that_is_too_long_is_reported),
      cmocka_unit_test(a_huge_line_takes_no_memory),
      cmocka_unit_test(invalid_utf8_is_translated_without_harm),
      cmocka_unit_test(a_file_is_translated_into_a_file),
      cmocka_unit_test(a_killed_run_keeps_the_earlier_file),
      cmocka_unit_test(an_interrupted_run_leaves_no_temporary_file),
      cmocka_unit_test(an_output_must_be_a_regular_file),
      cmocka_unit_test(the_target_of_a_link_is_replaced),
      cmocka_unit_test(the_input_may_be_the_output),
      cmocka_unit_test(a_file_with_the_temporary_name_is_kept),
      cmocka_unit_test(two_runs_with_one_output_do_not_interfere),
      cmocka_unit_test(a_full_disk_keeps_the_earlier_file),
      cmocka_unit_test(a_terminal_shows_the_progress),
      cmocka_unit_test(answers_on_the_terminal_have_separate_lines),
      cmocka_unit_test(an_interrupted_run_erases_the_progress_line),
      cmocka_unit_test(memory_use_is_close_to_the_arenas),
      cmocka_unit_test(scores_do_not_need_beam_search),
      cmocka_unit_test(an_invalid_vocabulary_is_named),
      cmocka_unit_test(options_may_follow_sentences),
      cmocka_unit_test(an_option_has_one_value),
      cmocka_unit_test(wrong_arguments_are_refused),
  };
  return cmocka_run_group_tests(tests, set_up, command_tear_down);
}
