// The text of the option --specialize:
//
//   T=1,16          variants for T = 1 and T = 16
//   T=1,2..16       the second one for all sizes from 2 to 16
//   B=1;T=1,16      one for each combination: (1, 1) and (1, 16)
//   forward:T=1     of the method `forward` only
//   ids[1]=1        the symbol of dimension 1 of input `ids`

#ifndef ETX_EXPORTER_SPECIALIZE_SPECIALIZE_OPTION_H
#define ETX_EXPORTER_SPECIALIZE_SPECIALIZE_OPTION_H

#include "format/base/diag.h"
#include "format/base/span.h"

// Limits of one option.
enum { ETX_SPECIALIZE_SYMBOLS = 4, ETX_SPECIALIZE_RANGES = 16 };

// Sizes from `low` to `high`, both included.
typedef struct etx_specialize_range {
  int64_t low;
  int64_t high;
} etx_specialize_range;

typedef struct etx_specialize_symbol {
  etx_text name;  // of a symbol, or `input[dim]`
  etx_specialize_range ranges[ETX_SPECIALIZE_RANGES];
  size_t range_count;
} etx_specialize_symbol;

typedef struct etx_specialize_option {
  etx_text text;    // as it was written
  etx_text method;  // empty: all methods that have the symbols
  etx_specialize_symbol symbols[ETX_SPECIALIZE_SYMBOLS];
  size_t symbol_count;
} etx_specialize_option;

// Reads the option; its names are parts of `text`. ETX_BAD_ARGUMENT: it has
// another form, or more symbols or ranges than the limits.
ETX_MUST_USE etx_status etx_specialize_option_read(etx_text text,
                                                   etx_specialize_option* out,
                                                   etx_diag* diag);

#endif
