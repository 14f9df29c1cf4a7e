// Sizes as expressions over the symbols of a method, in memory of fixed size:
// an etx_dim_math without a heap (compare exporter/symbols, which has no
// limits, prints and parses).
//
// An expression is a symbol, a sum, or an opaque operation: floor division,
// minimum, maximum. A sum is a number and up to ETX_SIZE_TERMS terms, each a
// factor times up to ETX_SIZE_ATOMS symbols or opaque expressions. Sums are
// canonical, so equal polynomials have the same handle; equal handles are equal
// for all values of the symbols. What does not fit fails with
// ETX_OUT_OF_RANGE.
//
// Every expression has bounds over all values of the symbols, by interval
// arithmetic. An expression whose bounds, or those of a partial sum, overflow
// is refused, so evaluation needs no checks.

#ifndef ETX_FORMAT_SHAPES_SIZE_TABLE_H
#define ETX_FORMAT_SHAPES_SIZE_TABLE_H

#include "format/shapes/op_shapes.h"

enum {
  ETX_SIZE_TERMS = 4,
  ETX_SIZE_ATOMS = 4,
  ETX_SIZE_MOST_EXPRESSIONS = 96,
};

typedef enum etx_size_kind {
  ETX_SIZE_SYMBOL,
  ETX_SIZE_SUM,
  ETX_SIZE_FLOOR_DIVIDE,
  ETX_SIZE_MINIMUM,
  ETX_SIZE_MAXIMUM,
} etx_size_kind;

typedef struct etx_size_expression {
  int64_t low, high;  // bounds
  int64_t constant;   // of a sum
  // Sum: factors of the terms. Opaque: the two operands, which are etx_dims.
  int64_t factors[ETX_SIZE_TERMS];
  // Sum: a term's atoms, one a byte: position + 1, largest in the highest byte,
  // then zeros. Terms are in descending order of atoms.
  uint32_t atoms[ETX_SIZE_TERMS];
  uint8_t kind;   // etx_size_kind
  uint8_t terms;  // of a sum
} etx_size_expression;

// Operands are in front of what uses them.
typedef struct etx_size_table {
  etx_size_expression* expressions;  // the caller's memory
  size_t capacity;  // of expressions, up to ETX_SIZE_MOST_EXPRESSIONS
  size_t count;     // of expressions
} etx_size_table;

// Adds the next symbol. `minimum` is at least 0.
ETX_MUST_USE etx_status etx_size_table_add_symbol(etx_size_table* table,
                                                  int64_t minimum,
                                                  int64_t maximum);
// The handle of an expression, and back.
static inline etx_dim etx_size_dim(size_t position) {
  return ETX_DIM_HANDLE - (etx_dim)position;
}
static inline size_t etx_size_position(etx_dim handle) {
  return (size_t)(ETX_DIM_HANDLE - handle);
}

// The arithmetic, for shape functions; valid as long as `table`.
etx_dim_math etx_size_table_math(etx_size_table* table);

// Computes the values of all expressions: values[i] is that of expression i.
// The first ones, those of the symbols, are given and are within the bounds.
void etx_size_table_evaluate(const etx_size_table* table, int64_t* values);

// The value of a size.
static inline int64_t etx_size_value(etx_dim dim, const int64_t* values) {
  return etx_dim_is_number(dim) ? dim : values[etx_size_position(dim)];
}

#endif
