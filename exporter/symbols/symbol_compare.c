// Comparisons as arithmetic: 1 where they hold, else 0. So conditions need no
// expressions of their own: a < b is min(1, max(0, b - a)).

#include "exporter/symbols/symbol.h"

// 1 if `dim` > 0, else 0.
static etx_status is_positive(etx_symbols* symbols, etx_dim dim, etx_dim* out) {
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MAXIMUM, 0, dim, &dim));
  return etx_symbols_apply(symbols, ETX_SYMBOL_MINIMUM, 1, dim, out);
}

etx_status etx_symbols_compare(etx_symbols* symbols,
                               etx_symbol_relation relation, etx_dim a,
                               etx_dim b, etx_dim* out) {
  etx_dim above = 0;
  etx_dim below = 0;
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, b, a, &above));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, a, b, &below));
  switch (relation) {
    case ETX_SYMBOL_LESS:
      return is_positive(symbols, above, out);
    case ETX_SYMBOL_AT_MOST:
      ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_ADD, above, 1, &above));
      return is_positive(symbols, above, out);
    case ETX_SYMBOL_EQUAL:
    case ETX_SYMBOL_UNEQUAL:
      break;
  }
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MAXIMUM, above, below, &above));
  ETX_TRY(is_positive(symbols, above, out));
  if (relation == ETX_SYMBOL_UNEQUAL) return ETX_OK;
  return etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, 1, *out, out);
}
