// Sleep with a futex: no mutex, and a notification without sleepers costs
// little.

#define _GNU_SOURCE

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/threads/thread_host.h"

bool etx_host_gate_init(etx_host_gate* gate) {
  gate->epoch = 0;
  return true;
}

void etx_host_gate_close(etx_host_gate* gate) { (void)gate; }

void etx_host_gate_wait(etx_host_gate* gate, uint32_t seen) {
  syscall(SYS_futex, &gate->epoch, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

void etx_host_gate_notify(etx_host_gate* gate, size_t count) {
  __atomic_add_fetch(&gate->epoch, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &gate->epoch, FUTEX_WAKE_PRIVATE, (int)count, NULL, NULL,
          0);
}

// The affinity mask may limit a process to some processors.
size_t etx_host_thread_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int count = CPU_COUNT(&set);
  return count < 1 ? 1 : (size_t)count;
}
