// The source map: the source lines of all instructions.

#include "exporter/emit/emit_internal.h"

etx_status etx_emit_sources_start(etx_emit* emit) {
  if (emit->program->lines == NULL) return ETX_OK;
  emit->sources = etx_pool_take(
      emit->pool, (emit->module->method_count + 1) * sizeof *emit->sources);
  return emit->sources == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

etx_status etx_emit_source(etx_emit* emit, const etx_ir_method* method,
                           const int32_t* node_starts,
                           size_t instruction_count) {
  if (emit->sources == NULL || method->is_synthetic) return ETX_OK;
  return etx_source_lines_of(emit->program->lines, method, node_starts,
                             instruction_count,
                             &emit->sources[emit->source_count++]);
}

etx_status etx_emit_sources_build(etx_emit* emit, etx_bytes* out_data) {
  const etx_source_lines* const lines = emit->program->lines;
  const etx_source_map_content content = {
      .files = lines->files,
      .file_count = lines->file_count,
      .modules = lines->modules,
      .module_count = lines->module_count,
      .lines = lines->rows,
      .line_count = lines->row_count,
      .methods = emit->sources,
      .method_count = emit->source_count,
  };
  size_t bytes = 0;
  ETX_TRY(etx_source_map_write_needed(&content, &bytes));
  const etx_bytes_mut work = {etx_pool_take(emit->pool, bytes), bytes};
  if (work.data == NULL) return ETX_OUT_OF_MEMORY;
  return etx_source_map_write(&content, work, out_data, emit->diag);
}
