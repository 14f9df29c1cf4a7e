// The check that a program stays within a selected build. A cell is an operator
// together with the element type of a tensor among its arguments, results
// included; a table of kernels may state which cells it has (kernel.h).

#ifndef ETX_RUNTIME_PROGRAM_CELL_CHECK_H
#define ETX_RUNTIME_PROGRAM_CELL_CHECK_H

#include "format/pte/pte_program.h"
#include "runtime/kernel.h"

// The cells that an instruction needs of its operator: a bit for each type
// (codes of dtype.def) of the tensors among its arguments and in its lists.
uint32_t etx_instruction_dtypes(const etx_pte_plan* plan,
                                const etx_pte_instruction* instruction);

// Refuses with ETX_UNSUPPORTED a call of `kernel`, a row of the table, that
// needs a cell that the table does not have. Says no more than that: see
// etx_cells.check (kernel.h). A table that states no cells has all of them.
ETX_MUST_USE etx_status etx_cells_check(const etx_kernel_table* table,
                                        const etx_kernel* kernel,
                                        const etx_pte_plan* plan,
                                        const etx_pte_instruction* instruction,
                                        etx_diag* diag);

#endif
