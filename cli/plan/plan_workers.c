#include "cli/plan/plan_workers.h"

// Weights are read about as fast as memory delivers them: more threads gain
// nothing.
enum { MOST_THREADS = 16 };

// Fewer bytes take milliseconds.
enum { LEAST_BYTES = 16 << 20 };

static bool has_many_weights(const etx_ir_module* module) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < module->constant_count; ++i) {
    bytes += module->constants[i].data.size;
  }
  return bytes >= LEAST_BYTES;
}

void etx_plan_workers_open(etx_plan_workers* self,
                           const etx_ir_module* module) {
  const size_t processors = etx_thread_pool_processors();
  const size_t count = processors < MOST_THREADS ? processors : MOST_THREADS;
  self->is_open = false;
  if (count < 2 || !has_many_weights(module)) return;
  const size_t size = etx_thread_pool_needed(count);
  const etx_bytes_mut memory = {etx_pool_take(module->pool, size), size};
  if (memory.data == NULL) return;
  self->is_open =
      etx_thread_pool_init(&self->threads, count, memory, NULL) == ETX_OK;
  if (!self->is_open) return;
  self->workers =
      (etx_workers){.parallel_for = self->threads.parallel.parallel_for,
                    .context = self->threads.parallel.context};
}

const etx_workers* etx_plan_workers_get(const etx_plan_workers* self) {
  return self->is_open ? &self->workers : NULL;
}

void etx_plan_workers_close(etx_plan_workers* self) {
  if (self->is_open) etx_thread_pool_close(&self->threads);
  self->is_open = false;
}
