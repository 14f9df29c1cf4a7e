// Verifies everything in a program that does not depend on operators.
//
// First the structure of the FlatBuffer, then its content: indices of values,
// operators, delegates, segments and constants; lists; tensors within arenas
// and constants; names. After ETX_OK the accessors of pte_program.h cannot
// fail for any index below their counts.
//
// Not verified, since it depends on operators: number and kinds of arguments,
// writes to constants, reads of values that were never written.

#ifndef ETX_FORMAT_PTE_PTE_VERIFIER_H
#define ETX_FORMAT_PTE_PTE_VERIFIER_H

#include "format/pte/pte_program.h"

// Verifies the FlatBuffer part of `pte`, whose fields are set except `root`,
// and sets it. `limits` may be NULL.
ETX_MUST_USE etx_status etx_pte_verify(etx_pte* pte,
                                       const etx_pte_limits* limits,
                                       etx_diag* diag);

// The totals of a verified plan, by verifying it again.
void etx_pte_verifier_totals(const etx_pte_plan* plan, etx_pte_totals* out);

#endif
