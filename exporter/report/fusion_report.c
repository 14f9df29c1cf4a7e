#include "exporter/report/fusion_report.h"

#include "exporter/lower/builder/builder.h"

static etx_status note(etx_fusion_report* fusions, etx_pool* pool,
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

etx_status etx_fusion_report_fused(etx_fusion_report* fusions,
                                   const etx_builder* builder,
                                   const char* kind) {
  const etx_fusion fusion = {builder->method->name, builder->name, kind, NULL};
  return note(fusions, builder->module->pool, &fusion);
}

etx_status etx_fusion_report_fused_node(etx_fusion_report* fusions,
                                        const etx_ir_module* module,
                                        const etx_ir_method* method,
                                        const etx_ir_node* node,
                                        const char* kind) {
  return etx_fusion_report_missed_node(fusions, module, method, node, kind,
                                       NULL);
}

etx_status etx_fusion_report_missed_node(etx_fusion_report* fusions,
                                         const etx_ir_module* module,
                                         const etx_ir_method* method,
                                         const etx_ir_node* node,
                                         const char* kind, const char* reason) {
  const etx_fusion fusion = {method->name,
                             method->values[node->outputs[0]].name, kind,
                             reason};
  return note(fusions, module->pool, &fusion);
}

etx_status etx_fusion_report_missed(etx_fusion_report* fusions,
                                    const etx_builder* builder,
                                    const char* kind, const char* reason) {
  if (reason[0] == '\0') return ETX_OK;
  const etx_fusion fusion = {builder->method->name, builder->name, kind,
                             reason};
  return note(fusions, builder->module->pool, &fusion);
}
