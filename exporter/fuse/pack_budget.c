#include "exporter/fuse/pack_budget.h"

#include <stdlib.h>

static int compare(const void* a, const void* b) {
  const etx_pack_copy* const x = a;
  const etx_pack_copy* const y = b;
  if (x->reads != y->reads) return x->reads < y->reads ? 1 : -1;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return (x->constant > y->constant) - (x->constant < y->constant);
}

uint64_t etx_pack_budget_choose(etx_pack_copy* copies, size_t count,
                                uint64_t budget) {
  uint64_t left = budget;
  if (count > 1) qsort(copies, count, sizeof *copies, compare);
  for (size_t i = 0; i < count; ++i) {
    copies[i].is_taken = copies[i].bytes <= left;
    if (copies[i].is_taken) left -= copies[i].bytes;
  }
  return budget - left;
}
