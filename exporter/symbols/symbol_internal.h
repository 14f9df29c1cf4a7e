// The representation of expressions, for the files symbol*.c only.
//
//   expression   a symbol, an opaque expression, or a sum
//   opaque       floor_divide, modulo, minimum or maximum of two sizes; sums
//                do not look into it
//   sum          terms, each a factor times a sorted list of atoms
//   atom         a symbol or an opaque expression, by its index in the table
//
// Operands always have smaller indexes than the expressions that use them.

#ifndef ETX_EXPORTER_SYMBOLS_SYMBOL_INTERNAL_H
#define ETX_EXPORTER_SYMBOLS_SYMBOL_INTERNAL_H

#include "exporter/symbols/symbol.h"

enum {
  ETX_TERM_MAX_DEGREE = 12,       // atoms in one product
  ETX_SUM_MAX_TERMS = 48,         // terms in one sum
  ETX_EXPRESSION_MAX_DEPTH = 24,  // nesting of opaque expressions
  ETX_EXPRESSION_MAX_COUNT = 100000,
  ETX_EXPRESSION_MAX_WEIGHT = 20000,  // operations to evaluate one expression
  ETX_SYMBOLS_MAX_POINTS = 4096,      // assignments enumerated for exact bounds
  ETX_SYMBOLS_MAX_WORK = 400000,      // assignments times operations of each
};

typedef enum etx_expression_kind {
  ETX_EXPRESSION_SYMBOL,
  ETX_EXPRESSION_OPAQUE,
  ETX_EXPRESSION_SUM,
} etx_expression_kind;

typedef struct etx_term {
  int64_t factor;  // never 0 in a sum
  uint32_t degree;
  uint32_t atoms[ETX_TERM_MAX_DEGREE];  // expressions, in structural order
} etx_term;

typedef struct etx_expression {
  etx_expression_kind kind;
  uint8_t depth;     // nesting of opaque expressions
  uint32_t symbol;   // of a symbol
  etx_symbol_op op;  // of an opaque expression, with left and right
  etx_dim left;
  etx_dim right;
  const etx_term* terms;  // of a sum, in canonical order
  size_t term_count;
  uint64_t used;    // bit i: symbol i occurs
  uint32_t weight;  // operations to evaluate it, without sharing
  int64_t low;      // over the symbols' bounds
  int64_t high;
} etx_expression;

// A sum being computed.
typedef struct etx_sum {
  size_t count;
  etx_term terms[ETX_SUM_MAX_TERMS];
} etx_sum;

static inline etx_dim etx_dim_of_index(size_t index) {
  return ETX_DIM_HANDLE - (etx_dim)index;
}

static inline size_t etx_dim_index(etx_dim dim) {
  return (size_t)(ETX_DIM_HANDLE - dim);
}

// A size as a sum; a number is a sum of at most one term.
void etx_sum_of_dim(const etx_symbols* symbols, etx_dim dim, etx_sum* out_sum);

// `sum += factor * other`. ETX_OUT_OF_RANGE on overflow or too many terms.
ETX_MUST_USE etx_status etx_sum_add(const etx_symbols* symbols, etx_sum* sum,
                                    const etx_sum* other, int64_t factor);

// `sum += term`, which may have factor 0.
ETX_MUST_USE etx_status etx_sum_add_term(const etx_symbols* symbols,
                                         etx_sum* sum, const etx_term* term);

// The product of two terms, atoms merged in order.
ETX_MUST_USE etx_status etx_terms_multiply(const etx_symbols* symbols,
                                           const etx_term* a, const etx_term* b,
                                           etx_term* out);
ETX_MUST_USE etx_status etx_sum_multiply(const etx_symbols* symbols,
                                         const etx_sum* a, const etx_sum* b,
                                         etx_sum* out);

// A total order by structure, which does not depend on positions in the table:
// negative, 0 or positive.
int etx_dims_order(const etx_symbols* symbols, etx_dim a, etx_dim b);
int etx_atoms_order(const etx_symbols* symbols, uint32_t a, uint32_t b);

// Finds or adds the expression for a sum or an opaque operation.
ETX_MUST_USE etx_status etx_symbols_intern_sum(etx_symbols* symbols,
                                               const etx_sum* sum,
                                               etx_dim* out);
ETX_MUST_USE etx_status etx_symbols_intern_opaque(etx_symbols* symbols,
                                                  etx_symbol_op op,
                                                  etx_dim left, etx_dim right,
                                                  etx_dim* out);

// Python's // and % of sizes, in canonical form.
ETX_MUST_USE etx_status etx_symbols_floor_divide(etx_symbols* symbols,
                                                 etx_dim a, etx_dim b,
                                                 etx_dim* out);
ETX_MUST_USE etx_status etx_symbols_modulo(etx_symbols* symbols, etx_dim a,
                                           etx_dim b, etx_dim* out);

// Bounds of `a - b`: exact if the symbols have few assignments, else by
// interval arithmetic.
void etx_symbols_difference(const etx_symbols* symbols, etx_dim a, etx_dim b,
                            int64_t* out_low, int64_t* out_high);

// Computes the bounds of `expression`, whose handle is `self`, from the bounds
// of its operands.
void etx_expression_set_bounds(const etx_symbols* symbols,
                               etx_expression* expression, etx_dim self);

#endif
