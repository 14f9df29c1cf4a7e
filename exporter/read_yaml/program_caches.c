#include "exporter/read_yaml/program_caches.h"

#include "exporter/host/name_pattern.h"
#include "exporter/host/nearest_name.h"

// A state of one integer.
static bool can_count(const etx_ir_buffer* buffer) {
  for (size_t i = 0; i < buffer->rank; ++i) {
    if (buffer->sizes[i] != 1) return false;
  }
  return buffer->is_state &&
         (buffer->dtype == ETX_DTYPE_INT64 || buffer->dtype == ETX_DTYPE_INT32);
}

static etx_status read_counter(etx_program_file* program, const etx_yaml* node,
                               uint32_t* out_counter, etx_diag* diag) {
  const etx_ir_module* const module = program->module;
  *out_counter = ETX_IR_NONE;
  if (node == NULL) return ETX_OK;
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, "length", diag));
  if (!etx_ir_find_buffer(module, node->text, out_counter)) {
    etx_nearest_name nearest = etx_nearest_start(node->text);
    for (size_t i = 0; i < module->buffer_count; ++i) {
      etx_nearest_offer(&nearest, module->buffers[i].name);
    }
    char hint[96];
    return etx_yaml_fail(node, diag, "no state is named '%t'%s", node->text,
                         etx_nearest_hint(&nearest, hint, sizeof hint));
  }
  if (can_count(&module->buffers[*out_counter])) return ETX_OK;
  return etx_yaml_fail(node, diag,
                       "'%t' cannot count rows: expected a state of one int64 "
                       "or int32",
                       node->text);
}

static etx_status read_overflow(const etx_yaml* node, etx_cache_overflow* out,
                                etx_diag* diag) {
  *out = ETX_CACHE_ERROR;
  if (node == NULL) return ETX_OK;
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, "overflow", diag));
  if (etx_cache_overflow_find(node->text, out)) return ETX_OK;
  return etx_yaml_fail(node, diag,
                       "expected 'error', 'ring' or 'slide', found '%t'",
                       node->text);
}

static etx_status set_cache(etx_ir_module* module, uint32_t index,
                            const etx_ir_cache* cache, int64_t dim,
                            const etx_yaml* key, etx_diag* diag) {
  etx_ir_buffer* const buffer = &module->buffers[index];
  if (!buffer->is_state) {
    // A pattern takes the states of a module only.
    if (!etx_text_equal(buffer->name, key->text)) return ETX_OK;
    return etx_yaml_fail(key, diag,
                         "'%t' is a constant: only state can be a cache, so a "
                         "method must write it or 'shared_buffers' must list "
                         "it",
                         buffer->name);
  }
  if (buffer->cache.is_cache) {
    return etx_yaml_fail(key, diag, "cache '%t' is described twice",
                         buffer->name);
  }
  if (cache->counter == index) {
    return etx_yaml_fail(key, diag, "'%t' cannot count its own rows",
                         buffer->name);
  }
  const int64_t wrapped = dim < 0 ? dim + buffer->rank : dim;
  if (wrapped < 0 || wrapped >= buffer->rank) {
    return etx_yaml_fail(key, diag,
                         "cache '%t' has %i dimensions, so 'dim' cannot be %i",
                         buffer->name, (int64_t)buffer->rank, dim);
  }
  buffer->cache = *cache;
  buffer->cache.dim = (uint8_t)wrapped;
  return ETX_OK;
}

// A counter must not be a cache itself, which a glob could make it.
static etx_status check_counters(const etx_ir_module* module,
                                 const etx_yaml* key, etx_diag* diag) {
  for (size_t i = 0; i < module->buffer_count; ++i) {
    const etx_ir_cache* const cache = &module->buffers[i].cache;
    if (!cache->is_cache || cache->counter == ETX_IR_NONE) continue;
    if (!module->buffers[cache->counter].cache.is_cache) continue;
    return etx_yaml_fail(key, diag,
                         "'%t' counts the rows of a cache, so it cannot be a "
                         "cache itself",
                         module->buffers[cache->counter].name);
  }
  return ETX_OK;
}

etx_status etx_program_caches(etx_program_file* program, const etx_yaml* key,
                              const etx_yaml* node, etx_diag* diag) {
  etx_ir_module* const module = program->module;
  etx_ir_cache cache = {.is_cache = true};
  int64_t dim = 0;
  bool is_found = false;
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_MAP, "caches", diag));
  ETX_TRY(etx_yaml_check_keys(node, "dim length overflow", diag));
  if (etx_yaml_find(node, "dim") == NULL) {
    return etx_yaml_fail(node, diag,
                         "cache '%t' needs 'dim', the dimension along which "
                         "rows are appended",
                         key->text);
  }
  ETX_TRY(etx_yaml_int(etx_yaml_find(node, "dim"), "dim", &dim, diag));
  ETX_TRY(read_counter(program, etx_yaml_find(node, "length"), &cache.counter,
                       diag));
  ETX_TRY(
      read_overflow(etx_yaml_find(node, "overflow"), &cache.overflow, diag));
  etx_nearest_name nearest = etx_nearest_start(key->text);
  for (uint32_t i = 0; i < module->buffer_count; ++i) {
    etx_nearest_offer(&nearest, module->buffers[i].name);
    if (!etx_name_matches_pattern(key->text, module->buffers[i].name)) continue;
    ETX_TRY(set_cache(module, i, &cache, dim, key, diag));
    is_found = is_found || module->buffers[i].cache.is_cache;
  }
  if (is_found) return check_counters(module, key, diag);
  char hint[96];
  return etx_yaml_fail(key, diag, "no state is named '%t'%s", key->text,
                       etx_nearest_hint(&nearest, hint, sizeof hint));
}
