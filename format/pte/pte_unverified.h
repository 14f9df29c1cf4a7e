// What builds without a verifier do in its place. Other builds do not link it.

#ifndef ETX_FORMAT_PTE_PTE_UNVERIFIED_H
#define ETX_FORMAT_PTE_PTE_UNVERIFIED_H

#include "format/pte/pte_program.h"

// Sets the fields of `pte` that the verifier would set, but no totals. Only the
// file identifier is checked.
ETX_MUST_USE etx_status etx_pte_open_unverified(etx_pte* pte, etx_diag* diag);

// Counts the totals of a plan, which the verifier counts on the way.
void etx_pte_count_totals(const etx_pte_plan* plan, etx_pte_totals* out);

#endif
