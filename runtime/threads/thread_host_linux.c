// Sleep by futex: a call that finds nobody asleep costs one look, and a sleeper
// no mutex.

#define _GNU_SOURCE

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/threads/thread_host.h"

bool etx_host_gate_init(etx_host_gate* gate) {
  gate->calls = 0;
  return true;
}

void etx_host_gate_close(etx_host_gate* gate) { (void)gate; }

void etx_host_gate_wait(etx_host_gate* gate, uint32_t seen) {
  syscall(SYS_futex, &gate->calls, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

void etx_host_gate_call(etx_host_gate* gate, size_t most) {
  __atomic_add_fetch(&gate->calls, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &gate->calls, FUTEX_WAKE_PRIVATE, (int)most, NULL, NULL,
          0);
}

// A process may be kept to some of the machine's processors.
size_t etx_host_thread_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int count = CPU_COUNT(&set);
  return count < 1 ? 1 : (size_t)count;
}
