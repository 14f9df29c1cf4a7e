// The messages: this side writes a line with the number of the allocation, and
// gets one byte. '1': a copy in which this allocation fails. '+': one in which
// all later ones fail, too. 'n': nothing more for this allocation. 's': no more
// questions. After a copy has ended, this side writes a line with its status of
// waitpid and gets the next byte.

#include "tests/faults/forked_faults.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_SECONDS = 120, ENDED = 125 };

// -1: not looked for; 0: none.
static int peer = -1;

static bool find_peer(void) {
  if (peer < 0) {
    const char* const number = getenv("ETX_FAULT_SOCKET");
    peer = number == NULL ? 0 : atoi(number);
  }
  return peer != 0;
}

static char ask(const char* what, unsigned long number) {
  char text[64];
  char answer = 'n';
  const int size = snprintf(text, sizeof text, "%s %lu\n", what, number);
  const bool is_answered =
      write(peer, text, (size_t)size) == size && read(peer, &answer, 1) == 1;
  return is_answered ? answer : 'n';
}

static void redirect(int to, const char* variable) {
  const char* const path = getenv(variable);
  const int file =
      path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || dup2(file, to) < 0) _exit(ENDED);
  close(file);
}

static void begin_copy(void) {
  close(peer);
  peer = 0;
  redirect(STDOUT_FILENO, "ETX_FAULT_OUTPUT");
  redirect(STDERR_FILENO, "ETX_FAULT_ERRORS");
  // A copy that does not end is ended by this signal.
  alarm(MOST_SECONDS);
}

bool etx_fault_forked(unsigned long call, bool* stays) {
  if (!find_peer()) return false;
  char answer = ask("allocation", call);
  while (answer == '1' || answer == '+') {
    const pid_t copy = fork();
    if (copy == 0) {
      begin_copy();
      *stays = answer == '+';
      return true;
    }
    int status = ENDED << 8;
    if (copy > 0) (void)waitpid(copy, &status, 0);
    answer = ask("ended", (unsigned long)status);
  }
  return false;
}
