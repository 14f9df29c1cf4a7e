// A signal handler can see nothing but static memory, of which it reads what is
// written at once.

#include "samples/translate/interruption.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNAL_COUNT = sizeof signals / sizeof *signals };

static const char clearing[] = "\r\x1b[K";
static const char* unfinished;
static bool is_line_shown;
static bool is_watching;

// The signal is blocked while this runs and comes again, now to end.
static void put_in_order(int number) {
  const char* const path = __atomic_load_n(&unfinished, __ATOMIC_RELAXED);
  if (path != NULL) unlink(path);
  if (__atomic_load_n(&is_line_shown, __ATOMIC_RELAXED)) {
    // A terminal that is gone needs no clearing.
    const ssize_t written = write(STDERR_FILENO, clearing, sizeof clearing - 1);
    (void)written;
  }
  signal(number, SIG_DFL);
  raise(number);
}

// What somebody chose to ignore (nohup) stays ignored.
static void watch(void) {
  struct sigaction action = {.sa_handler = put_in_order};
  if (is_watching) return;
  is_watching = true;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < SIGNAL_COUNT; ++i) {
    sigaddset(&action.sa_mask, signals[i]);
  }
  for (size_t i = 0; i < SIGNAL_COUNT; ++i) {
    struct sigaction before;
    if (sigaction(signals[i], NULL, &before) != 0) continue;
    if (before.sa_handler != SIG_IGN) sigaction(signals[i], &action, NULL);
  }
}

void etx_interruption_removes(const char* path) {
  if (path != NULL) watch();
  __atomic_store_n(&unfinished, path, __ATOMIC_RELAXED);
}

void etx_interruption_clears(bool is_shown) {
  if (is_shown) watch();
  __atomic_store_n(&is_line_shown, is_shown, __ATOMIC_RELAXED);
}
