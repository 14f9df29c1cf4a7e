// Lowers copies of the method. After one with problems, some lower bounds are
// raised by 1: that of one symbol, if fewer problems are left with its
// fallback, else of all symbols that the nodes with problems have in their
// sizes. The number of copies is limited: after that, all bounds are raised to
// their fallbacks.

#include "exporter/lower/lower_bounds.h"

#include "exporter/ir/ir_edit.h"

enum { MAX_TRIALS = 32 };

typedef struct bound_trial {
  etx_pass_context* context;
  const etx_ir_method* method;
  etx_lower_method* lower;
  etx_ir_method result;  // the lowered copy
  size_t problem_count;  // problems of lowering it
  uint64_t blamed;       // symbols in the sizes of nodes with problems
  size_t count;          // trials so far
} bound_trial;

// The symbols whose lower bound may be raised.
static uint64_t raisable(const etx_symbols* symbols) {
  uint64_t found = 0;
  for (size_t i = 0; i < symbols->symbol_count; ++i) {
    const etx_symbol* const symbol = &symbols->symbols[i];
    if (symbol->fallback > symbol->minimum) found |= UINT64_C(1) << i;
  }
  return found;
}

// Raises the lower bounds of the symbols `raised` by 1, or to their fallbacks.
static etx_status raise_bounds(etx_ir_method* method, uint64_t raised,
                               bool to_fallback) {
  etx_symbols* const symbols = &method->symbols;
  for (uint32_t i = 0; i < symbols->symbol_count; ++i) {
    const etx_symbol* const symbol = &symbols->symbols[i];
    if (((raised >> i) & 1) == 0) continue;
    etx_symbols_set_bounds(symbols, i,
                           to_fallback ? symbol->fallback : symbol->minimum + 1,
                           symbol->maximum);
  }
  return raised == 0 ? ETX_OK : etx_ir_refresh_sizes(method);
}

static void ignore_problem(void* context, const etx_source_location* place,
                           etx_text message) {
  (void)context;
  (void)place;
  (void)message;
}

// Lowers a copy of the method in which the symbols `raised` have their
// fallbacks as lower bounds.
static etx_status try_bounds(bound_trial* trial, uint64_t raised) {
  etx_pass_context* const context = trial->context;
  etx_ir_method* const copy = &trial->result;
  ++trial->count;
  trial->blamed = 0;
  ETX_TRY(etx_ir_copy_method(context->module->pool, trial->method, copy));
  ETX_TRY(raise_bounds(copy, raised, true));
  etx_problems ignored = {ignore_problem, NULL, 0};
  etx_problems* const problems = context->problems;
  context->problems = &ignored;
  const etx_status status = trial->lower(context, copy, &trial->blamed);
  context->problems = problems;
  trial->problem_count = ignored.count;
  return status;
}

// Chooses which bounds to raise, after a trial with problems.
static etx_status choose(bound_trial* trial, uint64_t* out_raised) {
  const size_t problem_count = trial->problem_count;
  uint64_t candidates = raisable(&trial->method->symbols);
  if ((trial->blamed & candidates) != 0) candidates &= trial->blamed;
  const bool is_one = (candidates & (candidates - 1)) == 0;
  *out_raised = candidates;
  for (uint32_t i = 0; !is_one && i < ETX_SYMBOLS_MAX_COUNT; ++i) {
    const uint64_t symbol = UINT64_C(1) << i;
    if ((candidates & symbol) == 0) continue;
    if (trial->count == MAX_TRIALS) return ETX_OK;
    ETX_TRY(try_bounds(trial, symbol));
    if (trial->problem_count >= problem_count) continue;
    *out_raised = symbol;
    return ETX_OK;
  }
  return ETX_OK;
}

// Makes the lower bounds that were found final.
static void settle_bounds(etx_symbols* symbols) {
  for (size_t i = 0; i < symbols->symbol_count; ++i) {
    symbols->symbols[i].fallback = symbols->symbols[i].minimum;
  }
}

etx_status etx_lower_smallest_bounds(etx_pass_context* context,
                                     etx_ir_method* method,
                                     etx_lower_method* lower) {
  bound_trial trial = {.context = context, .method = method, .lower = lower};
  uint64_t raised = 0;
  while (raisable(&method->symbols) != 0 && trial.count < MAX_TRIALS) {
    ETX_TRY(try_bounds(&trial, 0));
    if (trial.problem_count == 0) {
      *method = trial.result;
      settle_bounds(&method->symbols);
      return ETX_OK;
    }
    ETX_TRY(choose(&trial, &raised));
    ETX_TRY(raise_bounds(method, raised, false));
  }
  ETX_TRY(raise_bounds(method, raisable(&method->symbols), true));
  return lower(context, method, &trial.blamed);
}
