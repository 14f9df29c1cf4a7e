// Threads and time for POSIX hosts.

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/threads/thread_host.h"

_Static_assert(sizeof(pthread_t) <= sizeof(etx_host_thread),
               "a handle fits into etx_host_thread");

// The arguments of a new thread. They are on the stack of the thread that
// starts it, which waits until they have been read.
typedef struct start_args {
  void (*run)(void*);
  void* argument;
  uint32_t is_read;  // atomic
} start_args;

static void* thread_main(void* argument) {
  start_args* args = argument;
  void (*const run)(void*) = args->run;
  void* const own_argument = args->argument;
  __atomic_store_n(&args->is_read, 1, __ATOMIC_RELEASE);
  run(own_argument);
  return NULL;
}

bool etx_host_thread_start(etx_host_thread* thread, void (*run)(void*),
                           void* argument) {
  start_args args = {run, argument, 0};
  pthread_t handle;
  sigset_t all, before;
  sigfillset(&all);
  // A new thread inherits the signal mask. Signals belong to the application's
  // threads.
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
  const int error = pthread_create(&handle, NULL, thread_main, &args);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error != 0) return false;
  while (__atomic_load_n(&args.is_read, __ATOMIC_ACQUIRE) == 0) sched_yield();
  memset(thread, 0, sizeof *thread);
  memcpy(thread, &handle, sizeof handle);
  return true;
}

void etx_host_thread_join(const etx_host_thread* thread) {
  pthread_t handle;
  memcpy(&handle, thread, sizeof handle);
  pthread_join(handle, NULL);
}

void etx_host_thread_yield(void) { sched_yield(); }

void etx_host_thread_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#else
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
}

uint64_t etx_host_thread_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
