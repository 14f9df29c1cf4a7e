#include "runtime/program/cell_check.h"

#include "runtime/built_loops.h"

static uint32_t dtype_bit(const etx_pte_plan* plan, int64_t index) {
  if (index < 0) return 0;
  if (etx_pte_value_kind(plan, (size_t)index) != ETX_PTE_TENSOR) return 0;
  etx_pte_value value;
  etx_pte_value_read(plan, (size_t)index, &value);
  return UINT32_C(1) << value.as.tensor.dtype;
}

uint32_t etx_instruction_dtypes(const etx_pte_plan* plan,
                                const etx_pte_instruction* instruction) {
  uint32_t dtypes = 0;
  for (size_t i = 0; i < instruction->argument_count; ++i) {
    const int64_t index = instruction->arguments[i];
    const etx_pte_kind kind = etx_pte_value_kind(plan, (size_t)index);
    if (kind != ETX_PTE_TENSOR_LIST && kind != ETX_PTE_OPTIONAL_TENSOR_LIST) {
      dtypes |= dtype_bit(plan, index);
      continue;
    }
    const etx_pte_value list = etx_pte_value_at(plan, (size_t)index);
    for (size_t k = 0; k < list.as.list.count; ++k) {
      dtypes |= dtype_bit(plan, etx_pte_item_at(&list, k));
    }
  }
  return dtypes;
}

// A table without cells may call any loop, which a build with selected loops
// need not have. Operators of an application call none of them.
static etx_status check_no_cells(const etx_op* op, etx_diag* diag) {
  if (!ETX_LOOPS_ARE_SELECTED || op->id == ETX_OP_COUNT) return ETX_OK;
  return etx_diag_fail(diag, ETX_UNSUPPORTED,
                       "'%s' is in a kernel table without cells, and this "
                       "build has selected loops alone: use the table of "
                       "etx_selected.c",
                       op->name);
}

etx_status etx_cells_check(const etx_kernel_table* table,
                           const etx_kernel* kernel, const etx_pte_plan* plan,
                           const etx_pte_instruction* instruction,
                           etx_diag* diag) {
  // The runtime itself makes views.
  if (kernel == NULL || etx_op_makes_view(kernel->op)) return ETX_OK;
  if (table->cells == NULL) return check_no_cells(kernel->op, diag);
  const uint32_t missing = etx_instruction_dtypes(plan, instruction) &
                           ~table->cells->dtypes[kernel - table->kernels];
  if (missing == 0) return ETX_OK;
  return etx_diag_fail(diag, ETX_UNSUPPORTED,
                       "'%s' is called with types that the selection of this "
                       "build does not have",
                       kernel->op->name);
}
