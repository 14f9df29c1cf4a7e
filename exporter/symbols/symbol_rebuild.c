// Canonical forms depend on bounds. After bounds have changed, every expression
// is computed again from its operands, in the order of the table, in which
// operands come first.

#include "exporter/symbols/symbol_internal.h"

void etx_symbols_set_bounds(etx_symbols* symbols, uint32_t index,
                            int64_t minimum, int64_t maximum) {
  etx_symbol* const symbol = &symbols->symbols[index];
  symbol->minimum = minimum;
  symbol->maximum = maximum;
  if (symbol->fallback < minimum) symbol->fallback = minimum;
  if (symbol->fallback > maximum) symbol->fallback = maximum;
}

etx_dim etx_symbols_remap(const etx_dim* map, etx_dim dim) {
  return etx_dim_is_number(dim) ? dim : map[etx_dim_index(dim)];
}

static etx_status rebuild_term(etx_symbols* symbols, const etx_dim* map,
                               const etx_term* term, etx_dim* out) {
  etx_dim product = term->factor;
  if (!etx_dim_is_number(product)) return ETX_OUT_OF_RANGE;
  for (uint32_t i = 0; i < term->degree; ++i) {
    ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, product,
                              map[term->atoms[i]], &product));
  }
  *out = product;
  return ETX_OK;
}

// Symbol `index`, which is about to be replaced or to move forward.
static etx_status replace_symbol(etx_symbols* symbols, uint32_t index,
                                 const etx_symbol_replacement* by,
                                 etx_dim* out) {
  if (by == NULL) return etx_symbols_dim(symbols, index, out);
  if (index == by->index && by->factor == 0) {
    *out = by->offset;
    return ETX_OK;
  }
  const uint32_t kept = index == by->index ? by->other : index;
  ETX_TRY(etx_symbols_dim(symbols, kept > by->index ? kept - 1 : kept, out));
  if (index != by->index) return ETX_OK;
  ETX_TRY(
      etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, *out, by->factor, out));
  return etx_symbols_apply(symbols, ETX_SYMBOL_ADD, *out, by->offset, out);
}

static etx_status rebuild(etx_symbols* symbols, const etx_dim* map,
                          const etx_expression* old,
                          const etx_symbol_replacement* by, etx_dim* out) {
  if (old->kind == ETX_EXPRESSION_SYMBOL) {
    return replace_symbol(symbols, old->symbol, by, out);
  }
  if (old->kind == ETX_EXPRESSION_OPAQUE) {
    return etx_symbols_apply(symbols, old->op,
                             etx_symbols_remap(map, old->left),
                             etx_symbols_remap(map, old->right), out);
  }
  etx_dim sum = 0;
  for (size_t i = 0; i < old->term_count; ++i) {
    etx_dim part = 0;
    ETX_TRY(rebuild_term(symbols, map, &old->terms[i], &part));
    ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_ADD, sum, part, &sum));
  }
  *out = sum;
  return ETX_OK;
}

static etx_status rebuild_all(etx_symbols* symbols,
                              const etx_symbol_replacement* by,
                              etx_dim** out_map) {
  const size_t count = symbols->expression_count;
  const etx_expression* const old = symbols->expressions;
  etx_dim* const map = etx_pool_take(symbols->pool, count * sizeof *map);
  if (map == NULL) return ETX_OUT_OF_MEMORY;
  symbols->expressions = NULL;
  symbols->expression_count = symbols->expression_capacity = 0;
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(rebuild(symbols, map, &old[i], by, &map[i]));
  }
  *out_map = map;
  return ETX_OK;
}

etx_status etx_symbols_rebuild(etx_symbols* symbols, etx_dim** out_map) {
  return rebuild_all(symbols, NULL, out_map);
}

etx_status etx_symbols_replace(etx_symbols* symbols,
                               const etx_symbol_replacement* by,
                               etx_dim** out_map) {
  for (size_t i = by->index + 1u; i < symbols->symbol_count; ++i) {
    symbols->symbols[i - 1] = symbols->symbols[i];
  }
  --symbols->symbol_count;
  return rebuild_all(symbols, by, out_map);
}
