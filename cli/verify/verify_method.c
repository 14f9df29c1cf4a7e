#include "cli/verify/verify_method.h"

#include <string.h>

void etx_verify_method_init(etx_verify_method* m, const etx_pte* pte,
                            const etx_blob* blob, size_t index,
                            etx_verify_arena* memory, etx_diag* diag) {
  memset(m, 0, sizeof *m);
  m->pte = pte;
  m->blob = blob;
  m->plan = etx_pte_plan_at(pte, index);
  m->name = etx_pte_plan_name(&m->plan);
  m->memory = memory;
  m->diag = diag;
  if (blob == NULL || !etx_blob_method_find(blob, m->name, &m->blob_method)) {
    m->blob_method = SIZE_MAX;
  }
}
