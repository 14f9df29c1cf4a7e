// The etx program: finds the subcommand and runs it.

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands/command_list.h"
#include "cli/base/exit_code.h"
#include "cli/base/output_file.h"
#include "cli/base/signal_cleanup.h"
#include "cli/json/json_value.h"

static void print_help(FILE* out) {
  fprintf(out,
          "etx compiles several methods of one model into one program file\n"
          "whose methods share state, and runs it.\n\n"
          "usage: etx COMMAND ...        see etx COMMAND --help\n"
          "       etx --version\n\n");
  const etx_command_table commands = etx_command_list();
  for (size_t i = 0; i < commands.count; ++i) {
    fprintf(out, "  %-12s%s\n", commands.items[i].name,
            commands.items[i].sentence);
  }
  fprintf(
      out,
      "\nfirst steps:\n"
      "  etx plan methods/ -o model.pte        methods/ holds one .yaml or "
      ".pt2 each\n"
      "  etx inspect model.pte                 the contents of the file\n"
      "  etx run model.pte decode --in x=1     one call; prints the outputs\n"
      "\nexit codes:\n");
#define EXIT_CODE(NAME, number, sentence) \
  fprintf(out, "  %d  %s\n", number, sentence);
#include "cli/base/exit_code.def"
#undef EXIT_CODE
}

static bool is_version_option(const char* argument) {
  return strcmp(argument, "--version") == 0;
}

static bool is_help_option(const char* argument) {
  return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0 ||
         strcmp(argument, "help") == 0;
}

// "etx help plan" is "etx plan --help".
static int help(int argc, char** argv) {
  if (argc < 3) {
    print_help(stdout);
    return ETX_EXIT_DONE;
  }
  const etx_command* const found = etx_command_find(argv[2]);
  if (found == NULL) {
    fprintf(stderr, "etx: unknown command '%s'; see 'etx --help'\n", argv[2]);
    return ETX_EXIT_REFUSED;
  }
  char flag[] = "--help";
  char* arguments[] = {argv[2], flag, NULL};
  return found->run(2, arguments);
}

// True if the reader of standard output is gone, as in `etx ops | head`.
static bool is_reader_gone(void) {
  struct pollfd output = {STDOUT_FILENO, POLLOUT, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

// Says what a failed command has nevertheless written.
static void print_kept_file(void) {
  const char* const path = etx_output_file_last_kept();
  if (path[0] != '\0') fprintf(stderr, "; '%s' was written before", path);
  fputc('\n', stderr);
}

// Flushes standard output: a command whose results could not be written has
// failed. If the reader of a pipe is gone, the program ends with SIGPIPE like
// any other.
static int flush(int code) {
  errno = 0;
  if (fflush(stdout) == 0 && ferror(stdout) == 0) return code;
  const int reason = errno;  // 0 if an earlier write failed
  if (is_reader_gone()) {
    signal(SIGPIPE, SIG_DFL);
    if (code == ETX_EXIT_DONE || code == ETX_EXIT_MACHINE_FAILED) {
      raise(SIGPIPE);
    }
    return code;
  }
  fprintf(stderr, "etx: standard output could not be written%s%s",
          reason == 0 ? "" : ": ", reason == 0 ? "" : strerror(reason));
  print_kept_file();
  return code == ETX_EXIT_DONE ? ETX_EXIT_MACHINE_FAILED : code;
}

// Ends a command that gets no memory for a JSON value, before jansson goes on
// without it.
static void end_without_memory(void) {
  etx_signal_cleanup_all();
  fputs("etx: not enough memory for JSON", stderr);
  print_kept_file();
  _exit(ETX_EXIT_MACHINE_FAILED);
}

int main(int argc, char** argv) {
  // A closed pipe and a file over its size limit become errors of write, which
  // removes the temporary file; the signals would leave it behind.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  etx_signal_cleanup_watch_mappings();
  if (argc < 2) {
    print_help(stderr);
    return ETX_EXIT_REFUSED;
  }
  if (is_help_option(argv[1])) return flush(help(argc, argv));
  if (is_version_option(argv[1])) {
    puts("etx " ETX_VERSION);
    return flush(ETX_EXIT_DONE);
  }
  const etx_command* const found = etx_command_find(argv[1]);
  if (found == NULL) {
    fprintf(stderr, "etx: unknown command '%s'; see 'etx --help'\n", argv[1]);
    return ETX_EXIT_REFUSED;
  }
  etx_json_watch_allocations(end_without_memory);
  return flush(found->run(argc - 1, argv + 1));
}
