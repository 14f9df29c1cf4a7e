// Symbolic sizes: expressions over a method's dynamic dimensions.
//
// A size in the IR is an etx_dim (format/shapes/op_shapes.h): a number, or a
// handle into a method's table of expressions. Expressions have one canonical
// form: a sum of products with integer factors, over symbols and opaque
// subexpressions such as floor divisions. So equal polynomials have the same
// handle and print as the same text. etx_symbols_math gives the table to the
// shape rules as an etx_dim_math.

#ifndef ETX_EXPORTER_SYMBOLS_SYMBOL_H
#define ETX_EXPORTER_SYMBOLS_SYMBOL_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"
#include "format/base/sink.h"
#include "format/shapes/op_shapes.h"

// Symbols of one method; sets of symbols are bit masks of 64 bits.
enum { ETX_SYMBOLS_MAX_COUNT = 64 };

typedef struct etx_symbol {
  etx_text name;
  int64_t minimum;   // at least 0 for a size
  int64_t maximum;   // INT64_MAX: not stated; an error when planning
  int64_t fallback;  // the pass `lower` raises `minimum` up to this where a
                     // node cannot have smaller sizes
  int64_t floor;     // program.yaml may lower `minimum` to this
  bool is_late;      // a node sets it from the data of a tensor (ir.h, `late`)
} etx_symbol;

struct etx_expression;  // symbol_internal.h

typedef struct etx_symbols {
  etx_pool* pool;
  etx_symbol* symbols;
  size_t symbol_count;
  size_t symbol_capacity;
  struct etx_expression* expressions;  // handles are indices into these
  size_t expression_count;
  size_t expression_capacity;
} etx_symbols;

void etx_symbols_init(etx_symbols* symbols, etx_pool* pool);

// Adds a symbol. If the name exists, that symbol is returned and its bounds do
// not change. ETX_OUT_OF_RANGE if there are ETX_SYMBOLS_MAX_COUNT already.
ETX_MUST_USE etx_status etx_symbols_add(etx_symbols* symbols, etx_text name,
                                        int64_t minimum, int64_t maximum,
                                        uint32_t* out_index);
bool etx_symbols_find(const etx_symbols* symbols, etx_text name,
                      uint32_t* out_index);

// Makes the symbol a late one: a node sets it from the data of a tensor.
void etx_symbols_make_late(etx_symbols* symbols, uint32_t index);

// The symbols that occur in a size, as bits; the late ones of them.
uint64_t etx_symbols_in(const etx_symbols* symbols, etx_dim dim);
uint64_t etx_symbols_late_in(const etx_symbols* symbols, etx_dim dim);

// Changes the bounds of a symbol; `fallback` is kept between them. Handles stay
// valid, but their bounds and simplifications are those of the old bounds until
// etx_symbols_rebuild.
void etx_symbols_set_bounds(etx_symbols* symbols, uint32_t index,
                            int64_t minimum, int64_t maximum);

// Simplifies every expression again with the present bounds: tighter bounds
// decide more minima, maxima and quotients. `*out_map` (in the pool) has the
// new size of each old expression, for etx_symbols_remap. Old handles are
// invalid afterwards.
ETX_MUST_USE etx_status etx_symbols_rebuild(etx_symbols* symbols,
                                            etx_dim** out_map);

// Removes symbol `index` from the table: it becomes factor * other + offset in
// every expression. The symbols behind it move forward by one. `*out_map` is as
// for etx_symbols_rebuild.
typedef struct etx_symbol_replacement {
  uint32_t index;
  uint32_t other;  // another symbol, in the old numbering; not read if `factor`
                   // is 0: then the symbol becomes the number `offset`
  int64_t factor;
  int64_t offset;
} etx_symbol_replacement;
ETX_MUST_USE etx_status etx_symbols_replace(etx_symbols* symbols,
                                            const etx_symbol_replacement* by,
                                            etx_dim** out_map);

// The new size for the old size `dim` after a rebuild or a replacement.
etx_dim etx_symbols_remap(const etx_dim* map, etx_dim dim);

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

// A comparison of two sizes, as an integer expression: 1 where the relation
// holds, else 0.
typedef enum etx_symbol_relation {
  ETX_SYMBOL_LESS,
  ETX_SYMBOL_AT_MOST,
  ETX_SYMBOL_EQUAL,
  ETX_SYMBOL_UNEQUAL,
} etx_symbol_relation;
ETX_MUST_USE etx_status etx_symbols_compare(etx_symbols* symbols,
                                            etx_symbol_relation relation,
                                            etx_dim a, etx_dim b, etx_dim* out);

// The integer that Python makes of a size times or divided by a double.
typedef struct etx_symbol_scale {
  double number;
  bool divides;       // the size is divided by `number`, else multiplied
  bool is_up;         // math.ceil(), else math.floor() or int()
  bool is_truncated;  // int(), which rounds negative numbers up
} etx_symbol_scale;

// That integer as an expression that is exact for all values of `size` in its
// bounds. ETX_UNSUPPORTED if there is no short one, or `number` is not
// positive.
ETX_MUST_USE etx_status etx_symbols_scale(etx_symbols* symbols, etx_dim size,
                                          const etx_symbol_scale* scale,
                                          etx_dim* out);

// A condition with floats, as Python writes it, of one symbol: 1 for the values
// of the symbol where it holds, else 0. ETX_UNSUPPORTED if it cannot be read,
// or the symbol has too many values.
ETX_MUST_USE etx_status etx_symbols_tabulate(etx_symbols* symbols,
                                             etx_text text, etx_dim* out);

// Python's // and % on numbers. False for a divisor of 0 and on overflow.
bool etx_floor_divide(int64_t a, int64_t b, int64_t* out_quotient,
                      int64_t* out_rest);

// The arithmetic as an interface for shape rules; valid as long as `symbols`.
etx_dim_math etx_symbols_math(etx_symbols* symbols);

// True if both sizes are proved to be equal for all values of the symbols.
bool etx_symbols_equal(const etx_symbols* symbols, etx_dim a, etx_dim b);

// Bounds of the size: smallest and largest value over the symbols' bounds.
// Exact for few assignments of the symbols, else from interval arithmetic,
// which may be too wide.
void etx_symbols_bounds(const etx_symbols* symbols, etx_dim dim, int64_t* low,
                        int64_t* high);

// The value of the size where symbol i has the value `values[i]`.
ETX_MUST_USE etx_status etx_symbols_evaluate(const etx_symbols* symbols,
                                             etx_dim dim, const int64_t* values,
                                             int64_t* out);

// If `dim` is factor * symbol + offset: true, with the symbol, the factor and
// the offset. False for a number, for several symbols, and for anything else
// that is not affine.
bool etx_symbols_affine(const etx_symbols* symbols, etx_dim dim,
                        uint32_t* out_symbol, int64_t* out_factor,
                        int64_t* out_offset);

// The outermost operation of a size and its operands, to emit the size as
// scalar instructions. A leaf is a number or a symbol.
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

// Parses `2*s + 1`, `(s - 1)//2`, `min(s, 4)`, `max`, `%`, integers, names.
// Unknown names are errors. Messages give the position in `text`.
ETX_MUST_USE etx_status etx_symbols_parse(etx_symbols* symbols, etx_text text,
                                          etx_dim* out, etx_diag* diag);

// True if `name` may stand for a size in such a text: letters, digits and '_',
// no digit first, and neither "min" nor "max".
bool etx_symbols_is_name(etx_text name);

// Prints a text from which etx_symbols_parse gives the same size.
ETX_MUST_USE etx_status etx_symbols_print(const etx_symbols* symbols,
                                          etx_dim dim, etx_pool* pool,
                                          etx_text* out);

#endif
