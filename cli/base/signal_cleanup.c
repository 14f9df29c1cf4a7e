// A signal handler can use static memory only. The list changes only while the
// signals are blocked, so the handler never sees a half-written pointer.

#include "cli/base/signal_cleanup.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_code.h"

enum { MAX_PATHS = 64 };

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNAL_COUNT = sizeof signals / sizeof *signals };

static const char* paths[MAX_PATHS];
static bool is_watching;

void etx_signal_cleanup_all(void) {
  for (size_t i = 0; i < MAX_PATHS; ++i) {
    if (paths[i] != NULL) unlink(paths[i]);
  }
}

// The signal is blocked while this runs; raised again, it ends the program
// after the handler returns.
static void clean_up(int number) {
  etx_signal_cleanup_all();
  signal(number, SIG_DFL);
  raise(number);
}

static void fill_signal_set(sigset_t* set) {
  sigemptyset(set);
  for (size_t i = 0; i < SIGNAL_COUNT; ++i) sigaddset(set, signals[i]);
}

// Other reasons of SIGBUS are left to the system: the access is repeated.
static void end_after_read(int number, siginfo_t* info, void* context) {
  static const char text[] =
      "etx: a file became shorter while it was mapped; write files under "
      "another name and rename them\n";
  (void)context;
  if (info->si_code != BUS_ADRERR) {
    signal(number, SIG_DFL);
    return;
  }
  etx_signal_cleanup_all();
  const ssize_t written = write(STDERR_FILENO, text, strlen(text));
  (void)written;
  _exit(ETX_EXIT_MACHINE_FAILED);
}

void etx_signal_cleanup_watch_mappings(void) {
  struct sigaction action = {.sa_sigaction = end_after_read,
                             .sa_flags = SA_SIGINFO};
  fill_signal_set(&action.sa_mask);
  sigaction(SIGBUS, &action, NULL);
}

// Signals that were ignored before, as under nohup, stay ignored.
static void watch(void) {
  struct sigaction action = {.sa_handler = clean_up};
  if (is_watching) return;
  is_watching = true;
  fill_signal_set(&action.sa_mask);
  for (size_t i = 0; i < SIGNAL_COUNT; ++i) {
    struct sigaction before;
    if (sigaction(signals[i], NULL, &before) != 0) continue;
    if (before.sa_handler != SIG_IGN) sigaction(signals[i], &action, NULL);
  }
}

static void replace(const char* from, const char* to) {
  sigset_t set;
  sigset_t before;
  fill_signal_set(&set);
  sigprocmask(SIG_BLOCK, &set, &before);
  for (size_t i = 0; i < MAX_PATHS; ++i) {
    if (paths[i] != from) continue;
    paths[i] = to;
    break;
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
}

void etx_signal_cleanup_add(const char* path) {
  watch();
  replace(NULL, path);
}

void etx_signal_cleanup_remove(const char* path) { replace(path, NULL); }
