// The table of a method's symbols and expressions. Equal expressions share one
// entry: this file interns the canonical forms that the other files compute.

#include "exporter/symbols/symbol_internal.h"

void etx_symbols_init(etx_symbols* symbols, etx_pool* pool) {
  memset(symbols, 0, sizeof *symbols);
  symbols->pool = pool;
}

bool etx_symbols_find(const etx_symbols* symbols, etx_text name,
                      uint32_t* out_index) {
  for (size_t i = 0; i < symbols->symbol_count; ++i) {
    if (!etx_text_equal(symbols->symbols[i].name, name)) continue;
    *out_index = (uint32_t)i;
    return true;
  }
  return false;
}

etx_status etx_symbols_add(etx_symbols* symbols, etx_text name, int64_t minimum,
                           int64_t maximum, uint32_t* out_index) {
  if (etx_symbols_find(symbols, name, out_index)) return ETX_OK;
  if (symbols->symbol_count >= ETX_SYMBOLS_MAX_COUNT) return ETX_OUT_OF_RANGE;
  ETX_TRY(etx_pool_grow(symbols->pool, &symbols->symbols, symbols->symbol_count,
                        &symbols->symbol_capacity, sizeof *symbols->symbols));
  const etx_symbol symbol = {.name = etx_pool_copy_text(symbols->pool, name),
                             .minimum = minimum,
                             .maximum = maximum,
                             .fallback = minimum,
                             .floor = minimum};
  if (symbol.name.data == NULL) return ETX_OUT_OF_MEMORY;
  *out_index = (uint32_t)symbols->symbol_count;
  symbols->symbols[symbols->symbol_count++] = symbol;
  return ETX_OK;
}

void etx_symbols_make_late(etx_symbols* symbols, uint32_t index) {
  symbols->symbols[index].is_late = true;
}

uint64_t etx_symbols_in(const etx_symbols* symbols, etx_dim dim) {
  if (etx_dim_is_number(dim)) return 0;
  return symbols->expressions[etx_dim_index(dim)].used;
}

uint64_t etx_symbols_late_in(const etx_symbols* symbols, etx_dim dim) {
  uint64_t late = 0;
  for (size_t i = 0; i < symbols->symbol_count; ++i) {
    if (symbols->symbols[i].is_late) late |= UINT64_C(1) << i;
  }
  return etx_symbols_in(symbols, dim) & late;
}

static bool expressions_equal(const etx_expression* a,
                              const etx_expression* b) {
  if (a->kind != b->kind) return false;
  if (a->kind == ETX_EXPRESSION_SYMBOL) return a->symbol == b->symbol;
  if (a->kind == ETX_EXPRESSION_OPAQUE) {
    return a->op == b->op && a->left == b->left && a->right == b->right;
  }
  if (a->term_count != b->term_count || a->used != b->used) return false;
  for (size_t i = 0; i < a->term_count; ++i) {
    const etx_term *x = &a->terms[i], *y = &b->terms[i];
    if (x->factor != y->factor || x->degree != y->degree ||
        memcmp(x->atoms, y->atoms, x->degree * sizeof x->atoms[0]) != 0) {
      return false;
    }
  }
  return true;
}

// Finds or adds an expression. The terms of a new sum are copied.
static etx_status intern(etx_symbols* symbols, etx_expression* expression,
                         etx_dim* out) {
  for (size_t i = symbols->expression_count; i-- > 0;) {
    if (!expressions_equal(&symbols->expressions[i], expression)) continue;
    *out = etx_dim_of_index(i);
    return ETX_OK;
  }
  if (expression->depth > ETX_EXPRESSION_MAX_DEPTH ||
      expression->weight > ETX_EXPRESSION_MAX_WEIGHT ||
      symbols->expression_count >= ETX_EXPRESSION_MAX_COUNT) {
    return ETX_OUT_OF_RANGE;
  }
  ETX_TRY(etx_pool_grow(
      symbols->pool, &symbols->expressions, symbols->expression_count,
      &symbols->expression_capacity, sizeof *symbols->expressions));
  if (expression->kind == ETX_EXPRESSION_SUM) {
    const size_t bytes = expression->term_count * sizeof *expression->terms;
    etx_term* const copy = etx_pool_take(symbols->pool, bytes);
    if (copy == NULL) return ETX_OUT_OF_MEMORY;
    memcpy(copy, expression->terms, bytes);
    expression->terms = copy;
  }
  const etx_dim dim = etx_dim_of_index(symbols->expression_count);
  etx_expression* const slot =
      &symbols->expressions[symbols->expression_count++];
  *slot = *expression;
  etx_expression_set_bounds(symbols, slot, dim);
  *out = dim;
  return ETX_OK;
}

etx_status etx_symbols_dim(etx_symbols* symbols, uint32_t index, etx_dim* out) {
  etx_expression expression = {0};
  expression.kind = ETX_EXPRESSION_SYMBOL;
  expression.symbol = index;
  expression.used = UINT64_C(1) << index;
  expression.weight = 1;
  return intern(symbols, &expression, out);
}

etx_status etx_symbols_intern_sum(etx_symbols* symbols, const etx_sum* sum,
                                  etx_dim* out) {
  if (sum->count == 0) {
    *out = 0;
    return ETX_OK;
  }
  const etx_term* const first = &sum->terms[0];
  if (sum->count == 1 && first->degree == 0) {
    if (!etx_dim_is_number(first->factor)) return ETX_OUT_OF_RANGE;
    *out = first->factor;
    return ETX_OK;
  }
  if (sum->count == 1 && first->degree == 1 && first->factor == 1) {
    *out = etx_dim_of_index(first->atoms[0]);
    return ETX_OK;
  }
  etx_expression expression = {0};
  expression.kind = ETX_EXPRESSION_SUM;
  expression.terms = sum->terms;
  expression.term_count = sum->count;
  expression.weight = 1;
  for (size_t i = 0; i < sum->count; ++i) {
    for (uint32_t j = 0; j < sum->terms[i].degree; ++j) {
      const etx_expression* const atom =
          &symbols->expressions[sum->terms[i].atoms[j]];
      expression.used |= atom->used;
      expression.weight += atom->weight;
      if (atom->depth > expression.depth) expression.depth = atom->depth;
    }
  }
  return intern(symbols, &expression, out);
}

etx_status etx_symbols_intern_opaque(etx_symbols* symbols, etx_symbol_op op,
                                     etx_dim left, etx_dim right,
                                     etx_dim* out) {
  etx_expression expression = {0};
  expression.kind = ETX_EXPRESSION_OPAQUE;
  expression.op = op;
  expression.left = left;
  expression.right = right;
  expression.weight = 1;
  const etx_dim operands[2] = {left, right};
  for (size_t i = 0; i < 2; ++i) {
    if (etx_dim_is_number(operands[i])) continue;
    const etx_expression* const operand =
        &symbols->expressions[etx_dim_index(operands[i])];
    expression.used |= operand->used;
    expression.weight += operand->weight;
    if (operand->depth > expression.depth) expression.depth = operand->depth;
  }
  ++expression.depth;
  return intern(symbols, &expression, out);
}
