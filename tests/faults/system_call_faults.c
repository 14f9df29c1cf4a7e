// Runs a program and makes one of its system calls fail, by ptrace:
//
//   system_call_faults KIND FAULT N[+] COUNTS PROGRAM ARGUMENTS...
//
// KIND is a row of `kinds`, FAULT an errno as a number or "short" (half of the
// bytes). The N-th call of the kind fails, with + all later ones, too; 0: none.
// COUNTS gets a line "KIND CALLS" for each kind. Calls of the dynamic linker
// are not counted: LD_PRELOAD needs fault_library.c, which marks the begin. The
// exit code is the program's, or 128 and the number of its signal.

#define _GNU_SOURCE

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/faults/fault_marker.h"

enum { MOST_NUMBERS = 4, MOST_THREADS = 64, COULD_NOT = 125 };

static struct call_kind {
  const char* name;
  long numbers[MOST_NUMBERS];  // system calls; unused places are -2
  bool is_done;                // the call is made, and then said to have failed
  unsigned long count;
} kinds[] = {
    {"write", {SYS_write, SYS_pwrite64, SYS_writev, -2}, false, 0},
    {"read", {SYS_read, SYS_pread64, SYS_readv, -2}, false, 0},
    {"open", {SYS_openat, SYS_open, -2, -2}, false, 0},
    {"close", {SYS_close, -2, -2, -2}, true, 0},
    {"fsync", {SYS_fsync, SYS_fdatasync, -2, -2}, false, 0},
    {"rename", {SYS_rename, SYS_renameat, SYS_renameat2, -2}, false, 0},
    {"link", {SYS_link, SYS_linkat, -2, -2}, false, 0},
    {"flock", {SYS_flock, -2, -2, -2}, false, 0},
    {"stat", {SYS_stat, SYS_fstat, SYS_newfstatat, SYS_lstat}, false, 0},
    {"mmap", {SYS_mmap, SYS_mremap, -2, -2}, false, 0},
    {"seek", {SYS_lseek, -2, -2, -2}, false, 0},
    {"list", {SYS_getdents64, -2, -2, -2}, false, 0},
    {"random", {SYS_getrandom, -2, -2, -2}, false, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static struct {
  struct call_kind* kind;
  int error;  // 0: short
  unsigned long first;
  bool stays;
  bool has_begun;
} fault;

// A thread of the program between the begin and the end of a system call.
static struct thread {
  pid_t id;
  bool is_inside;
  bool is_due;
} threads[MOST_THREADS];

static struct thread* thread_of(pid_t id) {
  for (size_t i = 0; i < MOST_THREADS; ++i) {
    if (threads[i].id == id || threads[i].id == 0) {
      threads[i].id = id;
      return &threads[i];
    }
  }
  exit(COULD_NOT);
}

static struct call_kind* kind_of(long number) {
  for (size_t i = 0; i < KINDS; ++i) {
    for (size_t j = 0; j < MOST_NUMBERS; ++j) {
      if (kinds[i].numbers[j] == number) return &kinds[i];
    }
  }
  return NULL;
}

static void enter(struct thread* thread, struct user_regs_struct* registers) {
  const long number = (long)registers->orig_rax;
  thread->is_due = false;
  if (number == SYS_prctl && registers->rdi == ETX_FAULT_MARKER) {
    fault.has_begun = true;
  }
  struct call_kind* const kind = fault.has_begun ? kind_of(number) : NULL;
  if (kind == NULL) return;
  const unsigned long call = ++kind->count;
  if (kind != fault.kind || fault.first == 0 ||
      (call != fault.first && (!fault.stays || call < fault.first))) {
    return;
  }
  if (fault.error == 0) {
    if (registers->rdx > 1) registers->rdx /= 2;
  } else {
    thread->is_due = true;
    if (!kind->is_done) registers->orig_rax = (unsigned long long)-1;
  }
  ptrace(PTRACE_SETREGS, thread->id, NULL, registers);
}

static void meet_system_call(struct thread* thread) {
  struct user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, thread->id, NULL, &registers) != 0) return;
  thread->is_inside = !thread->is_inside;
  if (thread->is_inside) {
    enter(thread, &registers);
  } else if (thread->is_due) {
    registers.rax = (unsigned long long)-(long long)fault.error;
    ptrace(PTRACE_SETREGS, thread->id, NULL, &registers);
  }
}

// The exit code of the program.
static int follow(pid_t program) {
  for (;;) {
    int status = 0;
    const pid_t id = waitpid(-1, &status, __WALL);
    if (id < 0) return COULD_NOT;
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      thread_of(id)->is_inside = false;
      if (id != program) continue;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    const int number = WSTOPSIG(status);
    int passed_on = 0;
    if (number == (SIGTRAP | 0x80)) {
      meet_system_call(thread_of(id));
    } else if (number != SIGTRAP && number != SIGSTOP) {
      passed_on = number;
    }
    ptrace(PTRACE_SYSCALL, id, NULL, passed_on);
  }
}

static void write_counts(const char* path) {
  FILE* const file = fopen(path, "w");
  if (file == NULL) return;
  for (size_t i = 0; i < KINDS; ++i) {
    fprintf(file, "%s %lu\n", kinds[i].name, kinds[i].count);
  }
  fclose(file);
}

int main(int argc, char** argv) {
  if (argc < 6) return COULD_NOT;
  for (size_t i = 0; i < KINDS; ++i) {
    if (strcmp(kinds[i].name, argv[1]) == 0) fault.kind = &kinds[i];
  }
  char* end = NULL;
  fault.error = strcmp(argv[2], "short") == 0 ? 0 : atoi(argv[2]);
  fault.first = strtoul(argv[3], &end, 10);
  fault.stays = *end == '+';
  const pid_t program = fork();
  if (program == 0) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(COULD_NOT);
    raise(SIGSTOP);
    execvp(argv[5], argv + 5);
    _exit(COULD_NOT);
  }
  int status = 0;
  if (program < 0 || waitpid(program, &status, 0) != program ||
      !WIFSTOPPED(status)) {
    return COULD_NOT;
  }
  ptrace(PTRACE_SETOPTIONS, program, NULL,
         PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
  ptrace(PTRACE_SYSCALL, program, NULL, 0);
  const int code = follow(program);
  write_counts(argv[4]);
  return code;
}
