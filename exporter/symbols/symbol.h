// Symbolic sizes: expressions over a method's dynamic dimensions.
//
// A size in the IR is an etx_dim (format/shapes/op_shapes.h): a number, or a
// handle into a method's table of expressions. Expressions are kept in one
// canonical form (a sum of products with integer factors over symbols and
// opaque parts such as floor divisions), so that equal polynomials are the
// same handle and print the same text. The table is an etx_dim_math for the
// shape rules.

#ifndef ETX_EXPORTER_SYMBOLS_SYMBOL_H
#define ETX_EXPORTER_SYMBOLS_SYMBOL_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"
#include "format/base/sink.h"
#include "format/shapes/op_shapes.h"

enum { ETX_SYMBOLS_MAX_COUNT = 64 };  // of one method: a bit each

typedef struct etx_symbol {
  etx_text name;
  int64_t minimum;  // at least 0 for a size
  int64_t maximum;  // stated by the model, always finite
} etx_symbol;

struct etx_expression;  // symbol_arithmetic.c

typedef struct etx_symbols {
  etx_pool* pool;
  etx_symbol* symbols;
  size_t symbol_count;
  size_t symbol_capacity;
  struct etx_expression* expressions;  // what handles index
  size_t expression_count;
  size_t expression_capacity;
} etx_symbols;

void etx_symbols_init(etx_symbols* symbols, etx_pool* pool);

// Adds a symbol, or finds the one of that name and narrows nothing.
ETX_MUST_USE etx_status etx_symbols_add(etx_symbols* symbols, etx_text name,
                                        int64_t minimum, int64_t maximum,
                                        uint32_t* out_index);
bool etx_symbols_find(const etx_symbols* symbols, etx_text name,
                      uint32_t* out_index);

// Gives a symbol other bounds. Handles stay valid but keep what was computed
// with the old ones until etx_symbols_rebuild.
void etx_symbols_set_bounds(etx_symbols* symbols, uint32_t index,
                            int64_t minimum, int64_t maximum);

// Makes every expression again with the present bounds: tighter ones decide
// more minima and quotients. `*out_map` (in the pool) holds for each old
// expression its new size; see etx_symbols_moved. Old handles are invalid
// afterwards.
ETX_MUST_USE etx_status etx_symbols_rebuild(etx_symbols* symbols,
                                            etx_dim** out_map);

// What became of `dim` in a rebuild.
etx_dim etx_symbols_moved(const etx_dim* map, etx_dim dim);

// The symbol as a size.
ETX_MUST_USE etx_status etx_symbols_dim(etx_symbols* symbols, uint32_t index,
                                        etx_dim* out);

// Arithmetic; numbers and handles mix. ETX_OUT_OF_RANGE on overflow or a
// division by zero.
typedef enum etx_symbol_op {
  ETX_SYMBOL_ADD,
  ETX_SYMBOL_SUBTRACT,
  ETX_SYMBOL_MULTIPLY,
  ETX_SYMBOL_FLOOR_DIVIDE,  // Python //
  ETX_SYMBOL_MODULO,        // Python %
  ETX_SYMBOL_MINIMUM,
  ETX_SYMBOL_MAXIMUM,
} etx_symbol_op;
ETX_MUST_USE etx_status etx_symbols_apply(etx_symbols* symbols,
                                          etx_symbol_op op, etx_dim a,
                                          etx_dim b, etx_dim* out);

// What compares two sizes, as an integer: 1 where it holds, else 0.
typedef enum etx_symbol_relation {
  ETX_SYMBOL_LESS,
  ETX_SYMBOL_AT_MOST,
  ETX_SYMBOL_EQUAL,
  ETX_SYMBOL_UNEQUAL,
} etx_symbol_relation;
ETX_MUST_USE etx_status etx_symbols_compare(etx_symbols* symbols,
                                            etx_symbol_relation relation,
                                            etx_dim a, etx_dim b, etx_dim* out);

// Python's // and % on numbers. False for a divisor of 0 and on overflow.
bool etx_floor_divide(int64_t a, int64_t b, int64_t* out_quotient,
                      int64_t* out_rest);

// The arithmetic as shape rules want it; valid as long as `symbols`.
etx_dim_math etx_symbols_math(etx_symbols* symbols);

// Equal for all values of the symbols (canonical forms are compared).
bool etx_symbols_equal(const etx_symbols* symbols, etx_dim a, etx_dim b);

// Smallest and largest value over the bounds (interval arithmetic).
void etx_symbols_bounds(const etx_symbols* symbols, etx_dim dim, int64_t* low,
                        int64_t* high);

// Value at one assignment, `values` by symbol index.
ETX_MUST_USE etx_status etx_symbols_evaluate(const etx_symbols* symbols,
                                             etx_dim dim, const int64_t* values,
                                             int64_t* out);

// If `dim` is factor * symbol + offset with one symbol: which. False
// otherwise (a number, several symbols, anything not affine).
bool etx_symbols_affine(const etx_symbols* symbols, etx_dim dim,
                        uint32_t* out_symbol, int64_t* out_factor,
                        int64_t* out_offset);

// Walks an expression for emission as scalar instructions: the top operation
// and its operands; a leaf is a number or a plain symbol.
typedef struct etx_symbol_node {
  bool is_symbol;  // a leaf: `symbol`
  bool is_number;  // a leaf: `number`
  uint32_t symbol;
  int64_t number;
  etx_symbol_op op;  // otherwise
  etx_dim left;
  etx_dim right;
} etx_symbol_node;
ETX_MUST_USE etx_status etx_symbols_top(etx_symbols* symbols, etx_dim dim,
                                        etx_symbol_node* out_node);

// Reads `2*s + 1`, `(s - 1)//2`, `min(s, 4)`, `max`, `%`, integers, names.
// Unknown names are refused. `text` positions errors by column.
ETX_MUST_USE etx_status etx_symbols_parse(etx_symbols* symbols, etx_text text,
                                          etx_dim* out, etx_diag* diag);

// Prints so that etx_symbols_parse reads the same expression back.
ETX_MUST_USE etx_status etx_symbols_print(const etx_symbols* symbols,
                                          etx_dim dim, etx_pool* pool,
                                          etx_text* out);

#endif
