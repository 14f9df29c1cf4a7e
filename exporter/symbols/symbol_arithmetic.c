// Arithmetic on sizes. Results are canonical: sums are sorted (symbol_sum.c),
// divisions are reduced (symbol_divide.c), and a minimum or maximum drops
// operands that the bounds rule out: min(s, 64) is s if s never exceeds 64.

#include "exporter/symbols/symbol.h"

#include "exporter/symbols/symbol_internal.h"
#include "format/base/checked_math.h"

// ---------------------------------------------------------------- min, max

enum { MAX_CANDIDATES = 16 };

typedef struct candidates {
  etx_dim dims[MAX_CANDIDATES];
  size_t count;
} candidates;

// Adds `dim` unless some candidate is always at least as small (for a minimum,
// as large for a maximum); removes candidates that `dim` rules out likewise.
static etx_status add_candidate(const etx_symbols* symbols, etx_symbol_op op,
                                candidates* list, etx_dim dim) {
  size_t kept = 0;
  for (size_t i = 0; i < list->count; ++i) {
    int64_t low = 0, high = 0;
    etx_symbols_difference(symbols, list->dims[i], dim, &low, &high);
    const bool rules_out_dim = op == ETX_SYMBOL_MINIMUM ? high <= 0 : low >= 0;
    const bool is_ruled_out = op == ETX_SYMBOL_MINIMUM ? low >= 0 : high <= 0;
    if (rules_out_dim) return ETX_OK;
    if (!is_ruled_out) list->dims[kept++] = list->dims[i];
  }
  list->count = kept;
  if (list->count >= MAX_CANDIDATES) return ETX_OUT_OF_RANGE;
  size_t at = list->count++;
  while (at > 0 && etx_dims_order(symbols, list->dims[at - 1], dim) > 0) {
    list->dims[at] = list->dims[at - 1];
    --at;
  }
  list->dims[at] = dim;
  return ETX_OK;
}

// Collects the operands of nested minima (or maxima): a, b, c of
// min(min(a, b), c).
static etx_status collect(const etx_symbols* symbols, etx_symbol_op op,
                          etx_dim dim, candidates* list) {
  while (!etx_dim_is_number(dim)) {
    const etx_expression* const expression =
        &symbols->expressions[etx_dim_index(dim)];
    if (expression->kind != ETX_EXPRESSION_OPAQUE || expression->op != op) {
      break;
    }
    // minimum_or_maximum nests to the left only.
    ETX_TRY(add_candidate(symbols, op, list, expression->right));
    dim = expression->left;
  }
  return add_candidate(symbols, op, list, dim);
}

static etx_status minimum_or_maximum(etx_symbols* symbols, etx_symbol_op op,
                                     etx_dim a, etx_dim b, etx_dim* out) {
  candidates list = {{0}, 0};
  ETX_TRY(collect(symbols, op, a, &list));
  ETX_TRY(collect(symbols, op, b, &list));
  etx_dim result = list.dims[0];
  for (size_t i = 1; i < list.count; ++i) {
    ETX_TRY(
        etx_symbols_intern_opaque(symbols, op, result, list.dims[i], &result));
  }
  *out = result;
  return ETX_OK;
}

// ---------------------------------------------------------------- arithmetic

etx_status etx_symbols_apply(etx_symbols* symbols, etx_symbol_op op, etx_dim a,
                             etx_dim b, etx_dim* out) {
  etx_sum x, y, result;
  switch (op) {
    case ETX_SYMBOL_ADD:
    case ETX_SYMBOL_SUBTRACT:
      etx_sum_of_dim(symbols, a, &x);
      etx_sum_of_dim(symbols, b, &y);
      ETX_TRY(etx_sum_add(symbols, &x, &y, op == ETX_SYMBOL_ADD ? 1 : -1));
      return etx_symbols_intern_sum(symbols, &x, out);
    case ETX_SYMBOL_MULTIPLY:
      etx_sum_of_dim(symbols, a, &x);
      etx_sum_of_dim(symbols, b, &y);
      ETX_TRY(etx_sum_multiply(symbols, &x, &y, &result));
      return etx_symbols_intern_sum(symbols, &result, out);
    case ETX_SYMBOL_FLOOR_DIVIDE:
      return etx_symbols_floor_divide(symbols, a, b, out);
    case ETX_SYMBOL_MODULO:
      return etx_symbols_modulo(symbols, a, b, out);
    case ETX_SYMBOL_MINIMUM:
    case ETX_SYMBOL_MAXIMUM:
      return minimum_or_maximum(symbols, op, a, b, out);
  }
  return ETX_INTERNAL;
}

bool etx_symbols_affine(const etx_symbols* symbols, etx_dim dim,
                        uint32_t* out_symbol, int64_t* out_factor,
                        int64_t* out_offset) {
  if (etx_dim_is_number(dim)) return false;
  etx_sum sum;
  etx_sum_of_dim(symbols, dim, &sum);
  if (sum.count > 2 || sum.terms[0].degree != 1) return false;
  if (sum.count == 2 && sum.terms[1].degree != 0) return false;
  const etx_expression* const atom =
      &symbols->expressions[sum.terms[0].atoms[0]];
  if (atom->kind != ETX_EXPRESSION_SYMBOL) return false;
  *out_symbol = atom->symbol;
  *out_factor = sum.terms[0].factor;
  *out_offset = sum.count == 2 ? sum.terms[1].factor : 0;
  return true;
}

// ---------------------------------------------- outermost operation

static etx_status top_of_product(etx_symbols* symbols, const etx_term* term,
                                 etx_symbol_node* out_node) {
  etx_sum rest = {1, {*term}};
  out_node->op = ETX_SYMBOL_MULTIPLY;
  if (term->factor != 1) {
    rest.terms[0].factor = 1;
    out_node->right = term->factor;
  } else {
    --rest.terms[0].degree;
    out_node->right = etx_dim_of_index(term->atoms[term->degree - 1]);
  }
  return etx_symbols_intern_sum(symbols, &rest, &out_node->left);
}

// Splits off the last term. A negative term is subtracted; if all other terms
// are negative, they are subtracted from the last one.
static etx_status top_of_sum(etx_symbols* symbols, const etx_sum* sum,
                             etx_symbol_node* out_node) {
  etx_sum rest = *sum, last = {1, {sum->terms[sum->count - 1]}};
  --rest.count;
  bool all_negative = true;
  for (size_t i = 0; i < rest.count; ++i) {
    if (rest.terms[i].factor > 0) all_negative = false;
  }
  out_node->op = ETX_SYMBOL_ADD;
  if (last.terms[0].factor < 0 && last.terms[0].factor != INT64_MIN) {
    last.terms[0].factor = -last.terms[0].factor;
    out_node->op = ETX_SYMBOL_SUBTRACT;
  } else if (all_negative) {
    etx_sum positive = {0};
    ETX_TRY(etx_sum_add(symbols, &positive, &rest, -1));
    out_node->op = ETX_SYMBOL_SUBTRACT;
    ETX_TRY(etx_symbols_intern_sum(symbols, &last, &out_node->left));
    return etx_symbols_intern_sum(symbols, &positive, &out_node->right);
  }
  ETX_TRY(etx_symbols_intern_sum(symbols, &rest, &out_node->left));
  return etx_symbols_intern_sum(symbols, &last, &out_node->right);
}

etx_status etx_symbols_top(etx_symbols* symbols, etx_dim dim,
                           etx_symbol_node* out_node) {
  memset(out_node, 0, sizeof *out_node);
  if (etx_dim_is_number(dim)) {
    out_node->is_number = true;
    out_node->number = dim;
    return ETX_OK;
  }
  const etx_expression* const expression =
      &symbols->expressions[etx_dim_index(dim)];
  switch (expression->kind) {
    case ETX_EXPRESSION_SYMBOL:
      out_node->is_symbol = true;
      out_node->symbol = expression->symbol;
      return ETX_OK;
    case ETX_EXPRESSION_OPAQUE:
      out_node->op = expression->op;
      out_node->left = expression->left;
      out_node->right = expression->right;
      return ETX_OK;
    case ETX_EXPRESSION_SUM:
      break;
  }
  etx_sum sum;
  etx_sum_of_dim(symbols, dim, &sum);
  if (sum.count == 1) return top_of_product(symbols, &sum.terms[0], out_node);
  return top_of_sum(symbols, &sum, out_node);
}

// ---------------------------------------------------------------- etx_dim_math

static etx_status math_add(void* context, etx_dim a, etx_dim b, etx_dim* out) {
  return etx_symbols_apply(context, ETX_SYMBOL_ADD, a, b, out);
}
static etx_status math_multiply(void* context, etx_dim a, etx_dim b,
                                etx_dim* out) {
  return etx_symbols_apply(context, ETX_SYMBOL_MULTIPLY, a, b, out);
}
static etx_status math_floor_divide(void* context, etx_dim a, etx_dim b,
                                    etx_dim* out) {
  return etx_symbols_apply(context, ETX_SYMBOL_FLOOR_DIVIDE, a, b, out);
}
static etx_status math_minimum(void* context, etx_dim a, etx_dim b,
                               etx_dim* out) {
  return etx_symbols_apply(context, ETX_SYMBOL_MINIMUM, a, b, out);
}
static etx_status math_maximum(void* context, etx_dim a, etx_dim b,
                               etx_dim* out) {
  return etx_symbols_apply(context, ETX_SYMBOL_MAXIMUM, a, b, out);
}
static bool math_equal(void* context, etx_dim a, etx_dim b) {
  return etx_symbols_equal(context, a, b);
}
static void math_bounds(void* context, etx_dim a, int64_t* low, int64_t* high) {
  etx_symbols_bounds(context, a, low, high);
}

etx_dim_math etx_symbols_math(etx_symbols* symbols) {
  const etx_dim_math math = {symbols,           math_add,     math_multiply,
                             math_floor_divide, math_minimum, math_maximum,
                             math_equal,        math_bounds};
  return math;
}
