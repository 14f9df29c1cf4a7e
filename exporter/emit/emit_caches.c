// The table of caches: which states are caches, by position in the layout,
// which is the order of the blob's states.

#include "exporter/emit/emit_internal.h"
#include "format/cache_table/cache_table.h"

static int32_t position_of(const etx_state_layout* layout, uint32_t buffer) {
  for (size_t i = 0; i < layout->count; ++i) {
    if (layout->buffers[i] == buffer) return (int32_t)i;
  }
  return ETX_CACHE_NO_COUNTER;
}

etx_status etx_emit_caches_build(etx_emit* emit, etx_bytes* out_data) {
  const etx_state_layout* const layout = emit->program->layout;
  etx_cache* const caches =
      etx_pool_take(emit->pool, layout->count * sizeof *caches);
  size_t count = 0;
  if (caches == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < layout->count; ++i) {
    const etx_ir_cache* const cache =
        &emit->module->buffers[layout->buffers[i]].cache;
    if (!cache->is_cache) continue;
    caches[count++] =
        (etx_cache){(int32_t)i, cache->dim, position_of(layout, cache->counter),
                    (int32_t)cache->overflow};
  }
  if (count == 0) return ETX_OK;
  size_t bytes = 0;
  ETX_TRY(etx_cache_table_write_needed(caches, count, &bytes));
  const etx_bytes_mut work = {etx_pool_take(emit->pool, bytes), bytes};
  if (work.data == NULL) return ETX_OUT_OF_MEMORY;
  return etx_cache_table_write(caches, count, work, out_data, emit->diag);
}
