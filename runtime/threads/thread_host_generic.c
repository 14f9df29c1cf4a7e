// Sleep by mutex and condition variable, for POSIX hosts without a futex.

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <unistd.h>

#include "runtime/threads/thread_host.h"

typedef struct door {
  pthread_mutex_t mutex;
  pthread_cond_t condition;
} door;

_Static_assert(sizeof(door) <= sizeof((etx_host_gate*)0)->words,
               "the host's parts of a gate fit");

static door* door_of(etx_host_gate* gate) { return (door*)(void*)gate->words; }

bool etx_host_gate_init(etx_host_gate* gate) {
  door* d = door_of(gate);
  gate->calls = 0;
  if (pthread_mutex_init(&d->mutex, NULL) != 0) return false;
  if (pthread_cond_init(&d->condition, NULL) == 0) return true;
  pthread_mutex_destroy(&d->mutex);
  return false;
}

void etx_host_gate_close(etx_host_gate* gate) {
  pthread_cond_destroy(&door_of(gate)->condition);
  pthread_mutex_destroy(&door_of(gate)->mutex);
}

void etx_host_gate_wait(etx_host_gate* gate, uint32_t seen) {
  door* d = door_of(gate);
  pthread_mutex_lock(&d->mutex);
  if (__atomic_load_n(&gate->calls, __ATOMIC_SEQ_CST) == seen) {
    pthread_cond_wait(&d->condition, &d->mutex);
  }
  pthread_mutex_unlock(&d->mutex);
}

// The number changes under the mutex, so no sleeper is between its look and its
// sleep.
void etx_host_gate_call(etx_host_gate* gate, size_t most) {
  door* d = door_of(gate);
  pthread_mutex_lock(&d->mutex);
  __atomic_add_fetch(&gate->calls, 1, __ATOMIC_SEQ_CST);
  if (most == 1) {
    pthread_cond_signal(&d->condition);
  } else {
    pthread_cond_broadcast(&d->condition);
  }
  pthread_mutex_unlock(&d->mutex);
}

size_t etx_host_thread_processors(void) {
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : (size_t)count;
}
