#include "format/pte/pte_unverified.h"

#include "format/flatbuffers/fb_reader.h"
#include "format/pte/pte_segments.h"

etx_status etx_pte_open_unverified(etx_pte* pte, etx_diag* diag) {
  const etx_fb_buffer* fb = &pte->fb;
  if (!etx_fb_has_identifier(fb, "ET12")) {
    return etx_diag_fail(diag, ETX_BAD_FILE, "this is not a program");
  }
  pte->root = etx_fb_root(fb);
  (void)etx_pte_subsegments_open(pte);
  return ETX_OK;
}

void etx_pte_count_totals(const etx_pte_plan* plan, etx_pte_totals* out) {
  memset(out, 0, sizeof *out);
  for (size_t i = 0; i < etx_pte_value_count(plan); ++i) {
    const etx_pte_value value = etx_pte_value_at(plan, i);
    etx_pte_totals_add(out, &value);
  }
  etx_pte_cursor cursor = {0, 0, {0, 0}};
  etx_pte_instruction instruction;
  while (etx_pte_instruction_next(plan, &cursor, &instruction)) {
    etx_pte_totals_add_instruction(out, &instruction);
  }
}
