// Tables whose entries the build decides: loops by element type, kernels by
// feature. Written with the entries that remain, a table names no function that
// the build leaves out, so that the function needs no declaration either.

#ifndef ETX_CLI_AMALGAMATE_DECIDED_TABLES_H
#define ETX_CLI_AMALGAMATE_DECIDED_TABLES_H

#include "cli/amalgamate/c/c_macros.h"
#include "exporter/host/text_buffer.h"

// Appends the expanded declarations `in` to `out`, with the chosen entry in the
// place of each `(condition ? entry : other)` whose condition is known.
// `*out_is_decided` is true if `in` is one or more tables, all of whose tokens
// are certain, and a condition was decided; else `out` is of no use.
ETX_MUST_USE etx_status etx_c_decide_table(const etx_c_tokens* in,
                                           etx_c_macros* macros,
                                           etx_c_tokens* out,
                                           bool* out_is_decided);

// Writes tokens as lines of at most 80 columns where they can be cut.
void etx_c_put_tokens(const etx_c_tokens* tokens, etx_text_buffer* out);

#endif
