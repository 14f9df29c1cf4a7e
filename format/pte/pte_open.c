// Opens a program. Also the totals of its plans, which the verifier counts on
// the way.

#include "format/base/arena.h"
#include "format/pte/pte_header.h"
#include "format/pte/pte_program.h"
#include "format/pte/pte_unverified.h"
#include "format/pte/pte_verifier.h"

static etx_status open_file(etx_pte* pte, etx_bytes file,
                            const etx_pte_limits* limits, etx_diag* diag) {
  etx_pte_header header;
  if (limits != NULL && limits->max_file_bytes != 0 &&
      file.size > limits->max_file_bytes) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "the file has %z bytes, at most %u are allowed",
                         file.size, limits->max_file_bytes);
  }
  if ((uintptr_t)file.data % ETX_ARENA_ALIGNMENT != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the file's bytes are not aligned to %u",
                         (uint64_t)ETX_ARENA_ALIGNMENT);
  }
  ETX_TRY(etx_pte_header_read(file, &header, diag));
  if (header.program_bytes > INT32_MAX) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "the program has %u bytes, at most %u are possible",
                         header.program_bytes, (uint64_t)INT32_MAX);
  }
  etx_pte opened;
  memset(&opened, 0, sizeof opened);
  opened.file = file;
  opened.fb = (etx_fb_buffer){file.data, (uint32_t)header.program_bytes};
  opened.segment_base = header.segment_base;
  opened.segment_bytes = header.segment_bytes;
  opened.has_header = header.is_present;
  opened.header_length = header.length;
  opened.bad_plan_status = ETX_BAD_FILE;
  ETX_TRY(ETX_VERIFIER ? etx_pte_verify(&opened, limits, diag)
                       : etx_pte_open_unverified(&opened, diag));
  *pte = opened;
  return ETX_OK;
}

etx_status etx_pte_open(etx_pte* pte, etx_bytes file,
                        const etx_pte_limits* limits, etx_diag* diag) {
  return etx_diag_seal(diag, open_file(pte, file, limits, diag));
}

void etx_pte_plan_totals(const etx_pte_plan* plan, etx_pte_totals* out) {
  if (!ETX_VERIFIER) {
    etx_pte_count_totals(plan, out);
  } else if (plan->index < ETX_PTE_CACHED_TOTALS) {
    *out = plan->pte->totals[plan->index];
  } else {
    etx_pte_verifier_totals(plan, out);
  }
}
