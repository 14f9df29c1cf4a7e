#include "exporter/fusions.h"

static etx_status note(etx_fusions* fusions, const etx_lower* lower,
                       const char* kind, const char* reason) {
  if (fusions == NULL) return ETX_OK;
  if (fusions->count == fusions->capacity) {
    const size_t capacity = fusions->capacity == 0 ? 16 : fusions->capacity * 2;
    etx_fusion* const items =
        etx_pool_take(lower->module->pool, capacity * sizeof *items);
    if (items == NULL) return ETX_OUT_OF_MEMORY;
    for (size_t i = 0; i < fusions->count; ++i) items[i] = fusions->items[i];
    fusions->items = items;
    fusions->capacity = capacity;
  }
  const etx_fusion fusion = {lower->method->name, lower->name, kind, reason};
  fusions->items[fusions->count++] = fusion;
  return ETX_OK;
}

etx_status etx_fusion_made(etx_fusions* fusions, const etx_lower* lower,
                           const char* kind) {
  return note(fusions, lower, kind, NULL);
}

etx_status etx_fusion_missed(etx_fusions* fusions, const etx_lower* lower,
                             const char* kind, const char* reason) {
  if (reason[0] == '\0') return ETX_OK;
  return note(fusions, lower, kind, reason);
}
