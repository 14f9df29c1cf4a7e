// Work that several threads may share. The exporter starts no threads: its
// caller may give it some. Results never depend on how many there are.

#ifndef ETX_EXPORTER_HOST_WORKERS_H
#define ETX_EXPORTER_HOST_WORKERS_H

#include <stddef.h>

typedef struct etx_workers {
  // Calls task(argument, i) once for every i below count, on any threads, and
  // returns when all have returned.
  void (*parallel_for)(void* context, void (*task)(void* argument, size_t i),
                       void* argument, size_t count);
  void* context;  // handed to it
} etx_workers;

// Calls task(argument, i) for every i below count. `workers` may be NULL: the
// calling thread does them all, in order.
void etx_workers_run(const etx_workers* workers,
                     void (*task)(void* argument, size_t i), void* argument,
                     size_t count);

#endif
