#include "cli/report/memory_at.h"

#include "runtime/size_values.h"

static etx_status take_block(etx_pool* pool, size_t bytes,
                             etx_bytes_mut* out_block, etx_diag* diag) {
  const size_t alignment = ETX_MEMORY_ALIGNMENT;
  uint8_t* const taken = (uint8_t*)etx_pool_take(pool, bytes + alignment);
  if (taken == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory to load the method");
  }
  const size_t rest = (uintptr_t)taken % alignment;
  *out_block = (etx_bytes_mut){taken + (alignment - rest) % alignment, bytes};
  return ETX_OK;
}

static etx_status take_blocks(const etx_memory_needed* needed, etx_pool* pool,
                              etx_planned_memory* state,
                              etx_method_memory* out_memory, etx_diag* diag) {
  *out_memory = (etx_method_memory){.state = state};
  ETX_TRY(
      take_block(pool, needed->structure_bytes, &out_memory->structures, diag));
  ETX_TRY(take_block(pool, needed->scratch_bytes, &out_memory->scratch, diag));
  ETX_TRY(
      take_block(pool, needed->temporary_bytes, &out_memory->temporary, diag));
  etx_bytes_mut block = {NULL, 0};
  ETX_TRY(take_block(pool, needed->state_bytes + sizeof *state->torn, &block,
                     diag));
  state->size = needed->state_bytes;
  state->data = block.data;
  state->torn = (uint32_t*)etx_pool_take(pool, sizeof *state->torn);
  if (state->torn == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory to load the method");
  }
  *state->torn = 0;
  return ETX_OK;
}

static etx_status list_sizes(const etx_program* program, etx_text method,
                             const etx_dim_options* given, etx_pool* pool,
                             etx_memory_at* out, etx_diag* diag) {
  etx_dim_overrides dims;
  size_t at = 0;
  ETX_TRY(etx_dim_overrides_read(program, method, given, pool, &dims, diag));
  out->sizes = NULL;
  out->size_count = 0;
  if (!program->has_blob ||
      !etx_blob_method_find(&program->blob, method, &at)) {
    return ETX_OK;
  }
  const size_t count = etx_blob_symbol_count(&program->blob, at);
  out->sizes = etx_pool_take(pool, (count + 1) * sizeof *out->sizes);
  if (out->sizes == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for sizes");
  }
  for (size_t i = 0; i < count; ++i) {
    out->sizes[i] = (etx_named_size){
        etx_blob_symbol_at(&program->blob, at, i).name, dims.symbols[i].value};
  }
  out->size_count = count;
  return ETX_OK;
}

// As etx_module does.
static etx_status keep_size_values(etx_method* method, etx_pool* pool,
                                   size_t* out_bytes, etx_diag* diag) {
  etx_bytes_mut block = {NULL, 0};
  *out_bytes = etx_method_size_values_needed(method);
  if (*out_bytes == 0) return ETX_OK;
  ETX_TRY(take_block(pool, *out_bytes, &block, diag));
  return etx_method_keep_size_values(method, block, diag);
}

static etx_status find(const etx_program* program, etx_text method,
                       const etx_dim_options* sizes, etx_pool* pool,
                       etx_memory_at* out, etx_diag* diag) {
  etx_method loaded;
  etx_method_memory memory;
  etx_planned_memory state;
  etx_memory_needed needed;
  ETX_TRY(list_sizes(program, method, sizes, pool, out, diag));
  ETX_TRY(etx_method_needed(program, method, &needed, diag));
  ETX_TRY(take_blocks(&needed, pool, &state, &memory, diag));
  ETX_TRY(etx_method_init(&loaded, program, method, &memory, NULL, diag));
  ETX_TRY(keep_size_values(&loaded, pool, &out->size_value_bytes, diag));
  out->is_asked = true;
  return etx_method_needed_at(&loaded, out->sizes, out->size_count,
                              &out->needed, diag);
}

static etx_status has_all(const etx_program* program, etx_text method,
                          const etx_dim_options* sizes, bool* out_has,
                          etx_diag* diag) {
  *out_has = true;
  for (size_t i = 0; i < sizes->options->count && *out_has; ++i) {
    ETX_TRY(etx_dim_override_is_known(program, method, sizes->options->items[i],
                                      out_has, diag));
  }
  return ETX_OK;
}

etx_status etx_memory_at_find(const etx_program* program,
                              const etx_dim_options* sizes, etx_pool* pool,
                              const etx_memory_at** out_memory,
                              etx_diag* diag) {
  const size_t count = etx_program_method_count(program);
  etx_memory_at* const rows = etx_pool_take(pool, (count + 1) * sizeof *rows);
  bool is_found = false;
  *out_memory = rows;
  if (rows == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for the methods");
  }
  for (size_t i = 0; i < count; ++i) {
    etx_method_info info;
    bool has = false;
    rows[i].is_asked = false;
    ETX_TRY(etx_program_method_at(program, i, &info));
    if (info.is_constant) continue;
    ETX_TRY(has_all(program, info.name, sizes, &has, diag));
    if (!has) continue;
    is_found = true;
    ETX_TRY(find(program, info.name, sizes, pool, &rows[i], diag));
  }
  if (is_found) return ETX_OK;
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "no method has all dynamic dimensions that --%s names; "
                       "etx inspect lists them as SYMBOL and INPUT[DIM]",
                       sizes->flag);
}
