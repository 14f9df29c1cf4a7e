// The table of memories that the program was planned for.

#include "exporter/emit/emit_internal.h"
#include "format/memory_table/memory_table.h"

etx_status etx_emit_memories_build(etx_emit* emit, etx_bytes* out_data) {
  const etx_ir_module* const module = emit->module;
  size_t bytes = 0;
  if (module->memory_count == 0) return ETX_OK;
  ETX_TRY(etx_memory_table_write_needed(module->memories, module->memory_count,
                                        &bytes));
  const etx_bytes_mut work = {etx_pool_take(emit->pool, bytes), bytes};
  if (work.data == NULL) return ETX_OUT_OF_MEMORY;
  return etx_memory_table_write(module->memories, module->memory_count, work,
                                out_data, emit->diag);
}
