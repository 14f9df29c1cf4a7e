#include "exporter/host/workers.h"

void etx_workers_run(const etx_workers* workers,
                     void (*task)(void* argument, size_t i), void* argument,
                     size_t count) {
  if (workers != NULL) {
    workers->parallel_for(workers->context, task, argument, count);
    return;
  }
  for (size_t i = 0; i < count; ++i) task(argument, i);
}
