// What a method needs and a selected build does not have.

#include "runtime/method.h"

#include "runtime/program/build_features.h"
#include "runtime/program/cell_check.h"
#include "runtime/program/operator_cache.h"

#if ETX_CELLS && ETX_MESSAGES

enum {
  MOST_NAMED = 6,  // cells in a message, so that it fits into a diag
  LIST_BYTES = 256,
};

// The search for missing cells of one method.
typedef struct cell_search {
  const etx_method* method;
  const etx_missing_sink* sink;  // may be NULL
  size_t count;                  // of cells so far
  bool lacks_operator;
  char named[LIST_BYTES];  // the first ones, for the message
  size_t size;             // of `named`
} cell_search;

// The text that follows an operator's name, or is a feature.
static void name_cell(cell_search* search, etx_pte_operator op,
                      const char* before, const char* missing) {
  const bool is_named = op.name.size > 0;
  ++search->count;
  if (search->count > MOST_NAMED) return;
  search->size += etx_format_text(
      search->named + search->size, sizeof search->named - search->size,
      "%s%s%t%s%t%s%s%s", search->count > 1 ? ", " : "", is_named ? "'" : "",
      op.name, op.overload.size > 0 ? "." : "", op.overload,
      is_named ? "'" : "", before, missing);
}

static void add_type(cell_search* search, etx_pte_operator op,
                     const char* type) {
  const etx_missing_sink* const sink = search->sink;
  name_cell(search, op, " has no ", type);
  if (sink != NULL && sink->cell != NULL) {
    sink->cell(sink->context, op.name, op.overload, type);
  }
}

static void add_feature(cell_search* search, const char* feature) {
  const etx_pte_operator none = {{NULL, 0}, {NULL, 0}};
  const etx_missing_sink* const sink = search->sink;
  name_cell(search, none, "no ", feature);
  if (sink != NULL && sink->cell != NULL) {
    sink->cell(sink->context, none.name, none.overload, feature);
  }
}

// The types of all calls of an operator of the plan, and the first of these
// calls; false if there is none.
static bool find_calls(const etx_pte_plan* plan, size_t op,
                       uint32_t* out_dtypes, size_t* out_first) {
  etx_pte_cursor cursor = {0, 0, {0, 0}};
  etx_pte_instruction call;
  bool is_found = false;
  *out_dtypes = 0;
  while (etx_pte_instruction_next(plan, &cursor, &call)) {
    if (call.kind != ETX_PTE_KERNEL_CALL || (size_t)call.index != op) continue;
    if (!is_found) *out_first = cursor.instruction - 1;
    is_found = true;
    *out_dtypes |= etx_instruction_dtypes(plan, &call);
  }
  return is_found;
}

static void search_operator(cell_search* search, size_t index,
                            const etx_cached_operator* known) {
  const etx_pte_plan* const plan = &search->method->plan;
  const etx_kernel_table* const table = search->method->program->kernels;
  const etx_pte_operator op = etx_pte_operator_at(plan, index);
  uint32_t dtypes = 0;
  size_t first = 0;
  // The runtime itself makes views.
  if (known->op != NULL && etx_op_makes_view(known->op)) return;
  if (!find_calls(plan, index, &dtypes, &first)) return;
  if (known->kernel == NULL) {
    search->lacks_operator = true;
    name_cell(search, op, "", " is missing");
    if (search->sink != NULL) {
      search->sink->missing(search->sink->context, op.name, op.overload, first);
    }
    return;
  }
  const uint32_t lacks =
      dtypes & ~table->cells->dtypes[known->kernel - table->kernels];
  for (int i = 0; i < ETX_DTYPE_COUNT; ++i) {
    if ((lacks >> i & 1) != 0) {
      add_type(search, op, etx_dtype_name((etx_dtype)i));
    }
  }
}

static etx_status search_features(cell_search* search,
                                  etx_operator_cache* operators,
                                  etx_diag* diag) {
  const etx_cells* const cells = search->method->program->kernels->cells;
  uint32_t features = 0;
  ETX_TRY(etx_build_features_find(search->method->program, operators, &features,
                                  diag));
  features &= ~cells->features;
  for (int i = 0; i < ETX_FEATURE_COUNT; ++i) {
    if ((features >> i & 1) == 0) continue;
    add_feature(search, etx_build_feature_name((etx_build_feature)i));
  }
  return ETX_OK;
}

etx_status etx_missing_cells_check(const etx_method* method,
                                   etx_operator_cache* operators,
                                   const etx_missing_sink* missing,
                                   etx_diag* diag) {
  const etx_cells* const cells = method->program->kernels->cells;
  cell_search search = {.method = method, .sink = missing};
  for (size_t i = 0; i < etx_pte_operator_count(&method->plan); ++i) {
    search_operator(&search, i, etx_operator_cache_at(operators, i));
  }
  ETX_TRY(search_features(&search, operators, diag));
  if (search.count == 0) return ETX_OK;
  const etx_status status =
      search.lacks_operator ? ETX_MISSING_OPERATOR : ETX_UNSUPPORTED;
  etx_diag_fail(diag, status,
                "method '%t' needs what the selection of this build does not "
                "have: %s",
                etx_pte_plan_name(&method->plan), search.named);
  if (search.count > MOST_NAMED) {
    etx_diag_append(diag, " and %z more", search.count - MOST_NAMED);
  }
  if (cells->advice != NULL) etx_diag_append(diag, "; %s", cells->advice);
  return status;
}

#else

etx_status etx_missing_cells_check(const etx_method* method,
                                   etx_operator_cache* operators,
                                   const etx_missing_sink* missing,
                                   etx_diag* diag) {
  (void)method, (void)operators, (void)missing, (void)diag;
  return ETX_OK;
}

#endif
