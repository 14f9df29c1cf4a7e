// What a pool asks of its host: threads, time, sleep. thread_host_posix.c has
// the first two; how to sleep, and how many processors there are, is one file
// for each host.

#ifndef ETX_RUNTIME_THREADS_THREAD_HOST_H
#define ETX_RUNTIME_THREADS_THREAD_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A running thread; the host's handle in as many words as any host needs.
typedef struct etx_host_thread {
  uint64_t words[2];
} etx_host_thread;

// Starts a thread that calls run(argument) and takes no signals. False if the
// host has no more threads.
bool etx_host_thread_start(etx_host_thread* thread, void (*run)(void*),
                           void* argument);
// Waits until the thread has returned.
void etx_host_thread_join(const etx_host_thread* thread);

// Lets other threads go first.
void etx_host_thread_yield(void);
// A moment for the other half of a processor: about 50 ns, no system call.
void etx_host_thread_pause(void);

// Processors that this process may use, at least 1.
size_t etx_host_thread_processors(void);

// Nanoseconds since some start, without a system call where that is possible.
uint64_t etx_host_thread_now_ns(void);

// Where threads sleep until they are called. `calls` changes with each call:
// whoever has read it before it looked for work cannot miss one.
typedef struct etx_host_gate {
  uint32_t calls;      // atomic
  uint64_t words[20];  // what the host needs to sleep
} etx_host_gate;

bool etx_host_gate_init(etx_host_gate* gate);
void etx_host_gate_close(etx_host_gate* gate);
// Sleeps until a call after the one that `seen` counted; may return earlier.
void etx_host_gate_wait(etx_host_gate* gate, uint32_t seen);
// Calls up to `most` sleeping threads.
void etx_host_gate_call(etx_host_gate* gate, size_t most);

#endif
