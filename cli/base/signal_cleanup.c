// Signal handlers can see nothing but static memory. It changes only while the
// signals are blocked, so a handler finds whole pointers.

#include "cli/base/signal_cleanup.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

enum { MOST_PATHS = 4 };

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNAL_COUNT = sizeof signals / sizeof *signals };

static const char* paths[MOST_PATHS];
static bool is_watching;

// The signal was blocked while this runs and comes again, now to end.
static void clean_up(int number) {
  for (size_t i = 0; i < MOST_PATHS; ++i) {
    if (paths[i] != NULL) unlink(paths[i]);
  }
  signal(number, SIG_DFL);
  raise(number);
}

static void ours(sigset_t* set) {
  sigemptyset(set);
  for (size_t i = 0; i < SIGNAL_COUNT; ++i) sigaddset(set, signals[i]);
}

// What somebody chose to ignore (nohup) stays ignored.
static void watch(void) {
  struct sigaction action = {.sa_handler = clean_up};
  if (is_watching) return;
  is_watching = true;
  ours(&action.sa_mask);
  for (size_t i = 0; i < SIGNAL_COUNT; ++i) {
    struct sigaction before;
    if (sigaction(signals[i], NULL, &before) != 0) continue;
    if (before.sa_handler != SIG_IGN) sigaction(signals[i], &action, NULL);
  }
}

static void replace(const char* from, const char* to) {
  sigset_t set;
  sigset_t before;
  ours(&set);
  sigprocmask(SIG_BLOCK, &set, &before);
  for (size_t i = 0; i < MOST_PATHS; ++i) {
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
