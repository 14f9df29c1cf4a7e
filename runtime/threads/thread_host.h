// What a thread pool needs of its host: threads, time and sleep.
// thread_host_posix.c has threads and time. Sleep and the number of processors
// are in one file for each host.

#ifndef ETX_RUNTIME_THREADS_THREAD_HOST_H
#define ETX_RUNTIME_THREADS_THREAD_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A running thread: the host's handle, in memory that is large enough for any
// host.
typedef struct etx_host_thread {
  uint64_t words[2];
} etx_host_thread;

// Starts a thread that calls run(argument) with all signals blocked. Returns
// false if the host cannot start more threads.
bool etx_host_thread_start(etx_host_thread* thread, void (*run)(void*),
                           void* argument);
// Waits until the thread has returned.
void etx_host_thread_join(const etx_host_thread* thread);

// Yields the processor to other threads.
void etx_host_thread_yield(void);
// Pauses a spin loop for about 50 ns, for the other hyperthread. No system
// call.
void etx_host_thread_pause(void);

// Processors that this process may use, at least 1.
size_t etx_host_thread_processors(void);

// Monotonic time in nanoseconds, without a system call where possible.
uint64_t etx_host_thread_now_ns(void);

// An eventcount: threads sleep until they are notified. A thread reads `epoch`,
// checks that there is no work, and waits with the epoch that it read. A
// notification in between changes the epoch, so it is not missed.
typedef struct etx_host_gate {
  uint32_t epoch;      // atomic; incremented by each notification
  uint64_t words[20];  // for the host
} etx_host_gate;

bool etx_host_gate_init(etx_host_gate* gate);
void etx_host_gate_close(etx_host_gate* gate);
// Sleeps until the epoch differs from `seen`. May return earlier.
void etx_host_gate_wait(etx_host_gate* gate, uint32_t seen);
// Increments the epoch and wakes up to `count` threads.
void etx_host_gate_notify(etx_host_gate* gate, size_t count);

#endif
