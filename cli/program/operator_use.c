#include "cli/program/operator_use.h"

#include "format/own_ops/own_operator_list.h"

// The library depends on the namespace, except for a few ATen operators that
// only the optimised library has. The first matching row counts.
static etx_executorch_library library_of(const etx_pte_operator* op) {
  static const struct {
    const char* prefix;
    etx_executorch_library library;
  } rows[] = {
      {"aten::linear", ETX_EXECUTORCH_OPTIMIZED},
      {"aten::_fft_r2c", ETX_EXECUTORCH_OPTIMIZED},
      {"aten::_fft_c2r", ETX_EXECUTORCH_OPTIMIZED},
      {"aten::", ETX_EXECUTORCH_PORTABLE},
      {"dim_order_ops::", ETX_EXECUTORCH_PORTABLE},
      {"executorch_prim::", ETX_EXECUTORCH_PORTABLE},
      {"et_copy::", ETX_EXECUTORCH_PORTABLE},
      {"quantized_decomposed::", ETX_EXECUTORCH_QUANTIZED},
      {"llama::", ETX_EXECUTORCH_LLM},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (etx_text_starts_with(op->name, etx_text_of(rows[i].prefix))) {
      return rows[i].library;
    }
  }
  return ETX_EXECUTORCH_NONE;
}

static int compare(const etx_pte_operator* a, const etx_pte_operator* b) {
  const int order = etx_text_compare(a->name, b->name);
  return order != 0 ? order : etx_text_compare(a->overload, b->overload);
}

// Finds the row of `op`, or inserts one in sorted order.
static etx_operator_use* row_of(etx_operator_uses* uses,
                                const etx_pte_operator* op) {
  size_t at = 0;
  while (at < uses->count && compare(&uses->items[at].op, op) < 0) ++at;
  if (at < uses->count && compare(&uses->items[at].op, op) == 0) {
    return &uses->items[at];
  }
  for (size_t i = uses->count; i > at; --i) uses->items[i] = uses->items[i - 1];
  ++uses->count;
  const etx_operator_use row = {
      .op = *op,
      .is_known = etx_op_find(op->name, op->overload) != NULL,
      .library = library_of(op)};
  uses->items[at] = row;
  if (!row.is_known) ++uses->unknown_count;
  uses->needs[row.library] = true;
  if (etx_text_starts_with(op->name, etx_text_of("etx::"))) {
    uses->needs_etx = true;
  }
  return &uses->items[at];
}

static void count_plan(const etx_pte_plan* plan, etx_operator_uses* uses) {
  const size_t operator_count = etx_pte_operator_count(plan);
  for (size_t i = 0; i < operator_count; ++i) {
    const etx_pte_operator op = etx_pte_operator_at(plan, i);
    (void)row_of(uses, &op);
  }
  for (size_t chain = 0; chain < etx_pte_chain_count(plan); ++chain) {
    const size_t count = etx_pte_instruction_count(plan, chain);
    for (size_t i = 0; i < count; ++i) {
      const etx_pte_instruction instruction =
          etx_pte_instruction_at(plan, chain, i);
      if (instruction.kind != ETX_PTE_KERNEL_CALL) continue;
      const etx_pte_operator op =
          etx_pte_operator_at(plan, (size_t)instruction.index);
      ++row_of(uses, &op)->count;
    }
  }
  uses->delegate_count += etx_pte_delegate_count(plan);
}

// True if a view has no offset in an arena: only readers of the blob know where
// it is, so ExecuTorch's runtime cannot run the method.
static bool has_unplanned_view(const etx_pte_plan* plan, const etx_blob* blob,
                               size_t method) {
  for (size_t i = 0; i < etx_blob_view_count(blob, method); ++i) {
    const etx_blob_view view = etx_blob_view_at(blob, method, i);
    const etx_pte_value value = etx_pte_value_at(plan, view.value);
    if (value.kind == ETX_PTE_TENSOR && !value.as.tensor.has_allocation) {
      return true;
    }
  }
  return false;
}

static bool has_views(const etx_pte* pte, const etx_blob* blob) {
  for (size_t i = 0; i < etx_pte_plan_count(pte); ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(pte, i);
    size_t method = 0;
    if (etx_blob_method_find(blob, etx_pte_plan_name(&plan), &method) &&
        has_unplanned_view(&plan, blob, method)) {
      return true;
    }
  }
  return false;
}

// Marks the operators that the program describes.
static etx_status mark_own(const etx_pte* pte, etx_pool* pool,
                           etx_operator_uses* uses, etx_diag* diag) {
  etx_bytes data = {NULL, 0};
  etx_own_list list;
  etx_arena arena;
  if (!etx_pte_named_data_find(pte, ETX_OWN_OPERATORS_KEY, &data)) {
    return ETX_OK;
  }
  const etx_text text = {(const char*)data.data, data.size};
  const size_t needed = etx_own_list_needed(text);
  void* const memory = etx_pool_take(pool, needed);
  if (memory == NULL) return ETX_OUT_OF_MEMORY;
  etx_arena_init(&arena, memory, needed);
  ETX_TRY(etx_own_list_read(text, &arena, &list, diag));
  for (size_t i = 0; i < uses->count; ++i) {
    etx_operator_use* const use = &uses->items[i];
    if (use->is_known ||
        etx_own_list_find(&list, use->op.name, use->op.overload) == NULL) {
      continue;
    }
    use->is_own = true;
    ++uses->own_count;
    --uses->unknown_count;
  }
  return ETX_OK;
}

etx_status etx_operator_uses_collect(const etx_pte* pte, const etx_blob* blob,
                                     etx_pool* pool,
                                     etx_operator_uses* out_uses,
                                     etx_diag* diag) {
  etx_operator_uses uses = {.count = 0};
  size_t most = 0;
  for (size_t i = 0; i < etx_pte_plan_count(pte); ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(pte, i);
    most += etx_pte_operator_count(&plan);
  }
  uses.items = etx_pool_take(pool, most * sizeof *uses.items);
  if (uses.items == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for operators");
  }
  for (size_t i = 0; i < etx_pte_plan_count(pte); ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(pte, i);
    count_plan(&plan, &uses);
  }
  ETX_TRY(mark_own(pte, pool, &uses, diag));
  if (blob != NULL && has_views(pte, blob)) uses.needs_etx = true;
  *out_uses = uses;
  return ETX_OK;
}
