// Lowers copies of the method. After one with problems, some lower bounds are
// raised by 1: that of one symbol, if fewer problems are left with its
// fallback, else of all symbols that the nodes with problems have in their
// sizes. The number of copies is limited: after that, all bounds are raised to
// their fallbacks.
//
// If problems are left with all fallbacks, some sizes of inputs may have to be
// equal: torch.export does not always notice that an operator needs it, as for
// the lengths of keys and values of an attention. Two symbols become one if
// that leaves fewer problems. A call with two different sizes is then refused.

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
// fallbacks as lower bounds, and with `by` one symbol is replaced.
static etx_status try_sizes(bound_trial* trial, uint64_t raised,
                            const etx_symbol_replacement* by) {
  etx_pass_context* const context = trial->context;
  etx_ir_method* const copy = &trial->result;
  ++trial->count;
  trial->blamed = 0;
  ETX_TRY(etx_ir_copy_method(context->module->pool, trial->method, copy));
  ETX_TRY(raise_bounds(copy, raised, true));
  if (by != NULL) ETX_TRY(etx_ir_replace_symbol(copy, by));
  etx_problems ignored = {ignore_problem, NULL, 0};
  etx_problems* const problems = context->problems;
  context->problems = &ignored;
  const etx_status status = trial->lower(context, copy, &trial->blamed);
  context->problems = problems;
  trial->problem_count = ignored.count;
  return status;
}

static etx_status try_bounds(bound_trial* trial, uint64_t raised) {
  return try_sizes(trial, raised, NULL);
}

// Narrows the bounds of symbol a to those that symbol b has, too. False if none
// is left, or if data set one of them.
static bool share_bounds(etx_symbols* symbols, uint32_t a, uint32_t b) {
  etx_symbol* const kept = &symbols->symbols[a];
  const etx_symbol* const gone = &symbols->symbols[b];
  if (kept->is_late || gone->is_late || gone->maximum < kept->minimum ||
      kept->maximum < gone->minimum) {
    return false;
  }
  if (gone->minimum > kept->minimum) kept->minimum = gone->minimum;
  if (gone->maximum < kept->maximum) kept->maximum = gone->maximum;
  if (gone->fallback > kept->fallback) kept->fallback = gone->fallback;
  if (gone->floor > kept->floor) kept->floor = gone->floor;
  return true;
}

// Makes two symbols of nodes with problems one, if that leaves fewer problems.
// `*out_done` is false if there are no such two.
static etx_status equate_two(bound_trial* trial, etx_ir_method* method,
                             bool* out_done) {
  const size_t problem_count = trial->problem_count;
  const uint64_t blamed = trial->blamed;
  const size_t count = method->symbols.symbol_count;
  *out_done = false;
  for (uint32_t b = 1; b < count && b < ETX_SYMBOLS_MAX_COUNT; ++b) {
    for (uint32_t a = 0; a < b && trial->count < MAX_TRIALS; ++a) {
      const etx_symbol_replacement by = {b, a, 1, 0};
      const etx_symbol old = method->symbols.symbols[a];
      if (((blamed >> a) & (blamed >> b) & 1) == 0) continue;
      if (!share_bounds(&method->symbols, a, b)) continue;
      ETX_TRY(try_sizes(trial, raisable(&method->symbols), &by));
      if (trial->problem_count < problem_count) {
        *out_done = true;
        return etx_ir_replace_symbol(method, &by);
      }
      method->symbols.symbols[a] = old;
    }
  }
  return ETX_OK;
}

// Makes symbols one until no problem is left with all fallbacks, if possible.
static etx_status equate_sizes(bound_trial* trial, etx_ir_method* method) {
  bool is_one = true;
  if (method->symbols.symbol_count < 2) return ETX_OK;
  ETX_TRY(try_bounds(trial, raisable(&method->symbols)));
  while (trial->problem_count != 0 && is_one) {
    ETX_TRY(equate_two(trial, method, &is_one));
  }
  trial->count = 0;
  return ETX_OK;
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

// True if the present bounds leave no problem: then the method is lowered.
static etx_status lower_as_it_is(bound_trial* trial, etx_ir_method* method,
                                 bool* out_done) {
  ETX_TRY(try_bounds(trial, 0));
  *out_done = trial->problem_count == 0;
  if (!*out_done) return ETX_OK;
  *method = trial->result;
  settle_bounds(&method->symbols);
  return ETX_OK;
}

etx_status etx_lower_smallest_bounds(etx_pass_context* context,
                                     etx_ir_method* method,
                                     etx_lower_method* lower) {
  bound_trial trial = {.context = context, .method = method, .lower = lower};
  uint64_t raised = 0;
  bool is_done = false;
  if (method->symbols.symbol_count > 1 || raisable(&method->symbols) != 0) {
    ETX_TRY(lower_as_it_is(&trial, method, &is_done));
    if (is_done) return ETX_OK;
    ETX_TRY(equate_sizes(&trial, method));
  }
  while (raisable(&method->symbols) != 0 && trial.count < MAX_TRIALS) {
    ETX_TRY(lower_as_it_is(&trial, method, &is_done));
    if (is_done) return ETX_OK;
    ETX_TRY(choose(&trial, &raised));
    ETX_TRY(raise_bounds(method, raised, false));
  }
  ETX_TRY(raise_bounds(method, raisable(&method->symbols), true));
  return lower(context, method, &trial.blamed);
}
