// Threads for the work of a plan on weights: as many as there are processors.

#ifndef ETX_CLI_PLAN_PLAN_WORKERS_H
#define ETX_CLI_PLAN_PLAN_WORKERS_H

#include <stdbool.h>

#include "exporter/host/workers.h"
#include "exporter/ir/ir.h"
#include "runtime/threads/thread_pool.h"

typedef struct etx_plan_workers {
  etx_workers workers;
  etx_thread_pool threads;
  bool is_open;
} etx_plan_workers;

// Starts the threads, whose memory is in the module's pool, if the module has
// many bytes of weights. The object stays where it is until it is closed.
// Without memory or threads of the host, and on a single processor, nothing is
// started: the plan is the same.
void etx_plan_workers_open(etx_plan_workers* self, const etx_ir_module* module);

// For etx_export_options; NULL if there are no threads.
const etx_workers* etx_plan_workers_get(const etx_plan_workers* self);

// Ends the threads, before the pool is closed.
void etx_plan_workers_close(etx_plan_workers* self);

#endif
