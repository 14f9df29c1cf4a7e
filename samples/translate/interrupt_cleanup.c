// A signal handler can only use static variables, and of these only those that
// are written atomically.

#include "samples/translate/interrupt_cleanup.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNAL_COUNT = sizeof signals / sizeof *signals };

static const char clear_line[] = "\r\x1b[K";
static const char* temporary_path;
static bool is_line_shown;
static bool is_installed;

// The signal is blocked while this runs; raised again, it ends the program.
static void clean_up(int number) {
  const char* const path = __atomic_load_n(&temporary_path, __ATOMIC_RELAXED);
  if (path != NULL) unlink(path);
  if (__atomic_load_n(&is_line_shown, __ATOMIC_RELAXED)) {
    // The result does not matter: the terminal may be gone.
    const ssize_t written =
        write(STDERR_FILENO, clear_line, sizeof clear_line - 1);
    (void)written;
  }
  signal(number, SIG_DFL);
  raise(number);
}

// Signals that are ignored (nohup) stay ignored.
static void install_handlers(void) {
  struct sigaction action = {.sa_handler = clean_up};
  if (is_installed) return;
  is_installed = true;
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

void etx_interrupt_cleanup_remove_file(const char* path) {
  if (path != NULL) install_handlers();
  __atomic_store_n(&temporary_path, path, __ATOMIC_RELAXED);
}

void etx_interrupt_cleanup_clear_line(bool is_shown) {
  if (is_shown) install_handlers();
  __atomic_store_n(&is_line_shown, is_shown, __ATOMIC_RELAXED);
}
