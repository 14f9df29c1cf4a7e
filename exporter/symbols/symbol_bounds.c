// Values and bounds of expressions. If the symbols of an expression have few
// assignments, all are enumerated and the bounds are exact. That decides, for
// instance, whether min(s, s//2 + 4) can be s. Otherwise interval arithmetic
// gives bounds that are safe but may be too wide.

#include "exporter/symbols/symbol_internal.h"
#include "format/base/checked_math.h"

bool etx_floor_divide(int64_t a, int64_t b, int64_t* out_quotient,
                      int64_t* out_rest) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  int64_t quotient = a / b, rest = a % b;
  if (rest != 0 && (rest < 0) != (b < 0)) {
    --quotient;
    rest += b;
  }
  *out_quotient = quotient;
  *out_rest = rest;
  return true;
}

static etx_status evaluate_term(const etx_symbols* symbols,
                                const etx_term* term, const int64_t* values,
                                int64_t* out);

static etx_status evaluate_opaque(etx_symbol_op op, int64_t left, int64_t right,
                                  int64_t* out) {
  int64_t unused = 0;
  switch (op) {
    case ETX_SYMBOL_FLOOR_DIVIDE:
      return etx_floor_divide(left, right, out, &unused) ? ETX_OK
                                                         : ETX_OUT_OF_RANGE;
    case ETX_SYMBOL_MODULO:
      return etx_floor_divide(left, right, &unused, out) ? ETX_OK
                                                         : ETX_OUT_OF_RANGE;
    case ETX_SYMBOL_MINIMUM:
      *out = left < right ? left : right;
      return ETX_OK;
    case ETX_SYMBOL_MAXIMUM:
      *out = left > right ? left : right;
      return ETX_OK;
    default:
      return ETX_INTERNAL;
  }
}

etx_status etx_symbols_evaluate(const etx_symbols* symbols, etx_dim dim,
                                const int64_t* values, int64_t* out) {
  if (etx_dim_is_number(dim)) {
    *out = dim;
    return ETX_OK;
  }
  const etx_expression* const expression =
      &symbols->expressions[etx_dim_index(dim)];
  if (expression->kind == ETX_EXPRESSION_SYMBOL) {
    *out = values[expression->symbol];
    return ETX_OK;
  }
  if (expression->kind == ETX_EXPRESSION_OPAQUE) {
    int64_t left = 0, right = 0;
    ETX_TRY(etx_symbols_evaluate(symbols, expression->left, values, &left));
    ETX_TRY(etx_symbols_evaluate(symbols, expression->right, values, &right));
    return evaluate_opaque(expression->op, left, right, out);
  }
  int64_t total = 0;
  for (size_t i = 0; i < expression->term_count; ++i) {
    int64_t part = 0;
    ETX_TRY(evaluate_term(symbols, &expression->terms[i], values, &part));
    if (!etx_add_i64(total, part, &total)) return ETX_OUT_OF_RANGE;
  }
  *out = total;
  return ETX_OK;
}

static etx_status evaluate_term(const etx_symbols* symbols,
                                const etx_term* term, const int64_t* values,
                                int64_t* out) {
  int64_t product = term->factor;
  for (uint32_t i = 0; i < term->degree; ++i) {
    int64_t value = 0;
    ETX_TRY(etx_symbols_evaluate(symbols, etx_dim_of_index(term->atoms[i]),
                                 values, &value));
    if (!etx_multiply_i64(product, value, &product)) return ETX_OUT_OF_RANGE;
  }
  *out = product;
  return ETX_OK;
}

// ---------------------------------------------------------------- intervals

static int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (etx_add_i64(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t saturating_multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (etx_multiply_i64(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

typedef struct interval {
  int64_t low, high;
} interval;

static interval multiply(interval a, interval b) {
  const int64_t corners[4] = {
      saturating_multiply(a.low, b.low), saturating_multiply(a.low, b.high),
      saturating_multiply(a.high, b.low), saturating_multiply(a.high, b.high)};
  interval out = {corners[0], corners[0]};
  for (size_t i = 1; i < 4; ++i) {
    if (corners[i] < out.low) out.low = corners[i];
    if (corners[i] > out.high) out.high = corners[i];
  }
  return out;
}

static const interval unbounded = {INT64_MIN, INT64_MAX};

static interval divide(interval a, interval b) {
  if (b.low <= 0) return unbounded;
  const int64_t numerators[2] = {a.low, a.high};
  const int64_t denominators[2] = {b.low, b.high};
  interval out = {INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < 4; ++i) {
    int64_t quotient = 0, unused = 0;
    (void)etx_floor_divide(numerators[i / 2], denominators[i % 2], &quotient,
                           &unused);
    if (quotient < out.low) out.low = quotient;
    if (quotient > out.high) out.high = quotient;
  }
  return out;
}

static interval opaque_interval(etx_symbol_op op, interval a, interval b) {
  interval out = unbounded;
  switch (op) {
    case ETX_SYMBOL_FLOOR_DIVIDE:
      return divide(a, b);
    case ETX_SYMBOL_MODULO:
      if (b.low <= 0) return unbounded;
      out.low = 0;
      out.high = b.high - 1;
      return out;
    case ETX_SYMBOL_MINIMUM:
      out.low = a.low < b.low ? a.low : b.low;
      out.high = a.high < b.high ? a.high : b.high;
      return out;
    case ETX_SYMBOL_MAXIMUM:
      out.low = a.low > b.low ? a.low : b.low;
      out.high = a.high > b.high ? a.high : b.high;
      return out;
    default:
      return unbounded;
  }
}

static interval dim_interval(const etx_symbols* symbols, etx_dim dim) {
  interval out = {dim, dim};
  if (!etx_dim_is_number(dim)) {
    etx_symbols_bounds(symbols, dim, &out.low, &out.high);
  }
  return out;
}

static interval terms_interval(const etx_symbols* symbols, const etx_sum* sum) {
  interval total = {0, 0};
  for (size_t i = 0; i < sum->count; ++i) {
    interval part = {sum->terms[i].factor, sum->terms[i].factor};
    for (uint32_t j = 0; j < sum->terms[i].degree; ++j) {
      part = multiply(
          part,
          dim_interval(symbols, etx_dim_of_index(sum->terms[i].atoms[j])));
    }
    total.low = saturating_add(total.low, part.low);
    total.high = saturating_add(total.high, part.high);
  }
  return total;
}

static bool ceiling_divide(int64_t a, int64_t b, int64_t* out) {
  int64_t rest = 0;
  if (!etx_floor_divide(a, b, out, &rest)) return false;
  if (rest != 0) ++*out;
  return true;
}

// Finds a term c*(a//n) and writes to `out` n times the sum, with a//n replaced
// by the exact quotient a/n. False if there is no such term.
static bool relax_quotient(const etx_symbols* symbols, const etx_sum* sum,
                           etx_sum* out, int64_t* out_factor,
                           int64_t* out_divisor) {
  for (size_t i = 0; i < sum->count; ++i) {
    const etx_term* const term = &sum->terms[i];
    if (term->degree != 1) continue;
    const etx_expression* const atom = &symbols->expressions[term->atoms[0]];
    if (atom->kind != ETX_EXPRESSION_OPAQUE ||
        atom->op != ETX_SYMBOL_FLOOR_DIVIDE ||
        !etx_dim_is_number(atom->right) || atom->right <= 0) {
      continue;
    }
    etx_sum rest = *sum, dividend;
    memmove(&rest.terms[i], &rest.terms[i + 1],
            (rest.count - i - 1) * sizeof rest.terms[0]);
    --rest.count;
    etx_sum_of_dim(symbols, atom->left, &dividend);
    out->count = 0;
    *out_factor = term->factor;
    *out_divisor = atom->right;
    return etx_sum_add(symbols, out, &rest, atom->right) == ETX_OK &&
           etx_sum_add(symbols, out, &dividend, term->factor) == ETX_OK;
  }
  return false;
}

// a//n is (a - r)/n with r in 0..n-1. Replacing the quotient so keeps the
// correlation of a with the other terms, which plain intervals lose: t - t//2
// is then seen to be non-negative. `depth` limits the recursion over nested
// quotients.
static interval sum_interval(const etx_symbols* symbols, const etx_sum* sum,
                             size_t depth) {
  interval plain = terms_interval(symbols, sum);
  etx_sum relaxed;
  int64_t factor = 0, divisor = 0;
  if (depth == 0 ||
      !relax_quotient(symbols, sum, &relaxed, &factor, &divisor)) {
    return plain;
  }
  interval scaled = sum_interval(symbols, &relaxed, depth - 1);
  const int64_t slack =
      saturating_multiply(saturating_multiply(factor, -1), divisor - 1);
  if (slack < 0) {
    scaled.low = saturating_add(scaled.low, slack);
  } else {
    scaled.high = saturating_add(scaled.high, slack);
  }
  int64_t low = 0, high = 0, unused = 0;
  if (scaled.low != INT64_MIN && scaled.low != INT64_MAX &&
      ceiling_divide(scaled.low, divisor, &low) && low > plain.low) {
    plain.low = low;
  }
  if (scaled.high != INT64_MAX && scaled.high != INT64_MIN &&
      etx_floor_divide(scaled.high, divisor, &high, &unused) &&
      high < plain.high) {
    plain.high = high;
  }
  return plain;
}

enum { MAX_RELAXED_QUOTIENTS = 6 };

// ---------------------------------------------------------------- enumeration

// True if the symbols in `used` have few assignments; sets `values` to the
// first one.
static bool first_point(const etx_symbols* symbols, uint64_t used,
                        uint64_t weight, int64_t* values) {
  uint64_t points = 1;
  for (size_t i = 0; i < symbols->symbol_count; ++i) {
    const etx_symbol* const symbol = &symbols->symbols[i];
    values[i] = symbol->minimum;
    if ((used >> i & 1) == 0) continue;
    if (symbol->maximum < symbol->minimum) return false;
    const uint64_t range =
        (uint64_t)symbol->maximum - (uint64_t)symbol->minimum;
    if (range >= ETX_SYMBOLS_MAX_POINTS ||
        !etx_multiply_u64(points, range + 1, &points) ||
        points > ETX_SYMBOLS_MAX_POINTS ||
        points * weight > ETX_SYMBOLS_MAX_WORK) {
      return false;
    }
  }
  return true;
}

static bool next_point(const etx_symbols* symbols, uint64_t used,
                       int64_t* values) {
  for (size_t i = 0; i < symbols->symbol_count; ++i) {
    if ((used >> i & 1) == 0) continue;
    if (values[i] < symbols->symbols[i].maximum) {
      ++values[i];
      return true;
    }
    values[i] = symbols->symbols[i].minimum;
  }
  return false;
}

// Exact bounds of a - b. False if there are too many assignments, or if an
// operand overflows or divides by zero at one of them.
static bool enumerate_difference(const etx_symbols* symbols, etx_dim a,
                                 etx_dim b, interval* out) {
  int64_t values[ETX_SYMBOLS_MAX_COUNT];
  const etx_dim operands[2] = {a, b};
  uint64_t used = 0, weight = 0;
  for (size_t i = 0; i < 2; ++i) {
    if (etx_dim_is_number(operands[i])) continue;
    used |= symbols->expressions[etx_dim_index(operands[i])].used;
    weight += symbols->expressions[etx_dim_index(operands[i])].weight;
  }
  if (!first_point(symbols, used, weight, values)) return false;
  interval found = {INT64_MAX, INT64_MIN};
  do {
    int64_t x = 0, y = 0, difference = 0;
    if (etx_symbols_evaluate(symbols, a, values, &x) != ETX_OK ||
        etx_symbols_evaluate(symbols, b, values, &y) != ETX_OK ||
        !etx_subtract_i64(x, y, &difference)) {
      return false;
    }
    if (difference < found.low) found.low = difference;
    if (difference > found.high) found.high = difference;
  } while (next_point(symbols, used, values));
  *out = found;
  return true;
}

void etx_expression_set_bounds(const etx_symbols* symbols,
                               etx_expression* expression, etx_dim self) {
  interval found = unbounded;
  switch (expression->kind) {
    case ETX_EXPRESSION_SYMBOL:
      found.low = symbols->symbols[expression->symbol].minimum;
      found.high = symbols->symbols[expression->symbol].maximum;
      break;
    case ETX_EXPRESSION_OPAQUE:
      found = opaque_interval(expression->op,
                              dim_interval(symbols, expression->left),
                              dim_interval(symbols, expression->right));
      break;
    case ETX_EXPRESSION_SUM: {
      etx_sum sum;
      etx_sum_of_dim(symbols, self, &sum);
      found = sum_interval(symbols, &sum, MAX_RELAXED_QUOTIENTS);
      break;
    }
  }
  if (expression->kind != ETX_EXPRESSION_SYMBOL) {
    (void)enumerate_difference(symbols, self, 0, &found);
  }
  expression->low = found.low;
  expression->high = found.high;
}

void etx_symbols_bounds(const etx_symbols* symbols, etx_dim dim, int64_t* low,
                        int64_t* high) {
  if (etx_dim_is_number(dim)) {
    *low = *high = dim;
    return;
  }
  const etx_expression* const expression =
      &symbols->expressions[etx_dim_index(dim)];
  *low = expression->low;
  *high = expression->high;
}

void etx_symbols_difference(const etx_symbols* symbols, etx_dim a, etx_dim b,
                            int64_t* out_low, int64_t* out_high) {
  interval found = unbounded;
  if (!enumerate_difference(symbols, a, b, &found)) {
    etx_sum x, y;
    etx_sum_of_dim(symbols, a, &x);
    etx_sum_of_dim(symbols, b, &y);
    if (etx_sum_add(symbols, &x, &y, -1) == ETX_OK) {
      found = sum_interval(symbols, &x, MAX_RELAXED_QUOTIENTS);
    }
  }
  *out_low = found.low;
  *out_high = found.high;
}

bool etx_symbols_equal(const etx_symbols* symbols, etx_dim a, etx_dim b) {
  if (a == b) return true;
  int64_t low = 0, high = 0;
  etx_symbols_difference(symbols, a, b, &low, &high);
  return low == 0 && high == 0;
}
