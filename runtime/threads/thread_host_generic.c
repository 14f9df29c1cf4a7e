// Sleep with a mutex and a condition variable, for POSIX hosts without futex.

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <unistd.h>

#include "runtime/threads/thread_host.h"

typedef struct gate_lock {
  pthread_mutex_t mutex;
  pthread_cond_t condition;
} gate_lock;

_Static_assert(sizeof(gate_lock) <= sizeof((etx_host_gate*)0)->words,
               "the lock fits into a gate");

static gate_lock* lock_of(etx_host_gate* gate) {
  return (gate_lock*)(void*)gate->words;
}

bool etx_host_gate_init(etx_host_gate* gate) {
  gate_lock* d = lock_of(gate);
  gate->epoch = 0;
  if (pthread_mutex_init(&d->mutex, NULL) != 0) return false;
  if (pthread_cond_init(&d->condition, NULL) == 0) return true;
  pthread_mutex_destroy(&d->mutex);
  return false;
}

void etx_host_gate_close(etx_host_gate* gate) {
  pthread_cond_destroy(&lock_of(gate)->condition);
  pthread_mutex_destroy(&lock_of(gate)->mutex);
}

void etx_host_gate_wait(etx_host_gate* gate, uint32_t seen) {
  gate_lock* d = lock_of(gate);
  pthread_mutex_lock(&d->mutex);
  if (__atomic_load_n(&gate->epoch, __ATOMIC_SEQ_CST) == seen) {
    pthread_cond_wait(&d->condition, &d->mutex);
  }
  pthread_mutex_unlock(&d->mutex);
}

// The epoch changes under the mutex, so no thread is between its check and its
// wait.
void etx_host_gate_notify(etx_host_gate* gate, size_t count) {
  gate_lock* d = lock_of(gate);
  pthread_mutex_lock(&d->mutex);
  __atomic_add_fetch(&gate->epoch, 1, __ATOMIC_SEQ_CST);
  if (count == 1) {
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
