#include "cli/text/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t is_seen;

static void note(int number) {
  (void)number;
  is_seen = 1;
}

void etx_interrupt_watch(void) {
  struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND};
  struct sigaction before;
  is_seen = 0;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGINT, NULL, &before) != 0 || before.sa_handler == SIG_IGN) {
    return;
  }
  sigaction(SIGINT, &action, NULL);
}

bool etx_interrupt_seen(void) { return is_seen != 0; }
