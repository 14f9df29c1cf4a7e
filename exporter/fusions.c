#include "exporter/fusions.h"

#include "exporter/lower_internal.h"

static etx_status note(etx_fusions* fusions, etx_pool* pool,
                       const etx_fusion* fusion) {
  if (fusions == NULL) return ETX_OK;
  if (fusions->count == fusions->capacity) {
    const size_t capacity = fusions->capacity == 0 ? 16 : fusions->capacity * 2;
    etx_fusion* const items = etx_pool_take(pool, capacity * sizeof *items);
    if (items == NULL) return ETX_OUT_OF_MEMORY;
    for (size_t i = 0; i < fusions->count; ++i) items[i] = fusions->items[i];
    fusions->items = items;
    fusions->capacity = capacity;
  }
  fusions->items[fusions->count++] = *fusion;
  return ETX_OK;
}

etx_status etx_fusion_made(etx_fusions* fusions, const etx_lower* lower,
                           const char* kind) {
  const etx_fusion fusion = {lower->method->name, lower->name, kind, NULL};
  return note(fusions, lower->module->pool, &fusion);
}

etx_status etx_fusion_found(etx_fusions* fusions, const etx_ir_module* module,
                            const etx_ir_method* method,
                            const etx_ir_node* node, const char* kind) {
  const etx_fusion fusion = {method->name,
                             method->values[node->outputs[0]].name, kind, NULL};
  return note(fusions, module->pool, &fusion);
}

etx_status etx_fusion_missed(etx_fusions* fusions, const etx_lower* lower,
                             const char* kind, const char* reason) {
  if (reason[0] == '\0') return ETX_OK;
  const etx_fusion fusion = {lower->method->name, lower->name, kind, reason};
  return note(fusions, lower->module->pool, &fusion);
}
