#include "runtime/module/module_regions.h"

#include <stdlib.h>

#include "format/base/independent_regions.h"
#include "runtime/regions.h"
#include "runtime/variants.h"

struct etx_module_region_block {
  struct etx_module_region_block* next;
  etx_method* method;
  size_t limit;
  etx_bytes_mut memory;
};

static struct etx_module_region_block* find(const etx_module_regions* regions,
                                            const etx_method* method,
                                            size_t limit) {
  struct etx_module_region_block* at = regions->blocks;
  while (at != NULL && (at->method != method || at->limit != limit)) {
    at = at->next;
  }
  return at;
}

static etx_status allocate(etx_module_regions* regions, etx_method* method,
                           size_t limit, struct etx_module_region_block** out,
                           etx_diag* diag) {
  enum { ALIGNMENT = 16 };
  size_t bytes = 0;
  ETX_TRY(etx_method_regions_needed(method, limit, &bytes, diag));
  struct etx_module_region_block* const made = malloc(sizeof *made);
  void* const memory =
      aligned_alloc(ALIGNMENT, (bytes / ALIGNMENT + 1) * ALIGNMENT);
  if (made == NULL || memory == NULL) {
    free(made);
    free(memory);
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for parallel regions");
  }
  *made = (struct etx_module_region_block){
      regions->blocks, method, limit, {memory, bytes}};
  regions->blocks = made;
  *out = made;
  return ETX_OK;
}

static bool uses_regions(const etx_method* method) {
  etx_region_step step;
  return etx_method_region_step_at(method, 0, &step);
}

etx_status etx_module_regions_use(etx_module_regions* regions,
                                  etx_method* method,
                                  const etx_launcher* launcher, size_t limit,
                                  etx_diag* diag) {
  if (limit > ETX_REGIONS_MOST) limit = ETX_REGIONS_MOST;
  if (method->observer != NULL || uses_regions(method) ||
      etx_method_variant_count(method) > 0) {
    return ETX_OK;
  }
  ETX_TRY(etx_method_prepare(method, diag));
  struct etx_module_region_block* block = find(regions, method, limit);
  if (block == NULL) ETX_TRY(allocate(regions, method, limit, &block, diag));
  return etx_method_use_regions(method, launcher, limit, block->memory, diag);
}

void etx_module_regions_release(etx_module_regions* regions) {
  while (regions->blocks != NULL) {
    struct etx_module_region_block* const block = regions->blocks;
    if (uses_regions(block->method)) etx_method_observe(block->method, NULL);
    regions->blocks = block->next;
    free(block->memory.data);
    free(block);
  }
}
