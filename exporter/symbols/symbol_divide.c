// Canonical quotients and remainders. Whole multiples of the divisor are split
// off first: (4*s + 6)//2 is 2*s + 3, (s - 1)//2 + 1 and (s + 1)//2 are the
// same. A polynomial divided by one of its factors is divided exactly.

#include "exporter/symbols/symbol_internal.h"
#include "format/base/checked_math.h"

static int64_t gcd(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

// The quotient of two terms. False if `b` does not divide `a`.
static bool divide_terms(const etx_symbols* symbols, const etx_term* a,
                         const etx_term* b, etx_term* out) {
  if (b->factor == 0 || (b->factor == -1 && a->factor == INT64_MIN) ||
      a->factor % b->factor != 0 || a->degree < b->degree) {
    return false;
  }
  etx_term term = {a->factor / b->factor, 0, {0}};
  uint32_t j = 0;
  for (uint32_t i = 0; i < a->degree; ++i) {
    if (j < b->degree &&
        etx_atoms_order(symbols, a->atoms[i], b->atoms[j]) == 0) {
      ++j;
    } else {
      term.atoms[term.degree++] = a->atoms[i];
    }
  }
  *out = term;
  return j == b->degree;
}

// Polynomial division. False if there is a remainder.
static bool divide_exactly(const etx_symbols* symbols, const etx_sum* a,
                           const etx_sum* b, etx_sum* out) {
  etx_sum rest = *a;
  out->count = 0;
  for (size_t step = 0; rest.count != 0; ++step) {
    if (b->count == 0 || step > ETX_SUM_MAX_TERMS) return false;
    etx_term term;
    if (!divide_terms(symbols, &rest.terms[0], &b->terms[0], &term) ||
        etx_sum_add_term(symbols, out, &term) != ETX_OK) {
      return false;
    }
    term.factor = -term.factor;
    for (size_t i = 0; i < b->count; ++i) {
      etx_term product;
      if (etx_terms_multiply(symbols, &term, &b->terms[i], &product) !=
              ETX_OK ||
          etx_sum_add_term(symbols, &rest, &product) != ETX_OK) {
        return false;
      }
    }
  }
  return true;
}

// (inner//m + c)//n is (inner + c*m)//(m*n) for positive m and n.
static etx_status flatten_quotient(etx_symbols* symbols, etx_sum* rest,
                                   int64_t* divisor) {
  if (rest->count == 0 || rest->count > 2) return ETX_OK;
  const etx_term* const head = &rest->terms[0];
  if (head->degree != 1 || head->factor != 1) return ETX_OK;
  if (rest->count == 2 && rest->terms[1].degree != 0) return ETX_OK;
  const etx_expression* const inner = &symbols->expressions[head->atoms[0]];
  if (inner->kind != ETX_EXPRESSION_OPAQUE ||
      inner->op != ETX_SYMBOL_FLOOR_DIVIDE ||
      !etx_dim_is_number(inner->right) || inner->right <= 0) {
    return ETX_OK;
  }
  etx_term shift = {0, 0, {0}};
  int64_t product = 0;
  if (!etx_multiply_i64(*divisor, inner->right, &product) ||
      (rest->count == 2 &&
       !etx_multiply_i64(rest->terms[1].factor, inner->right, &shift.factor))) {
    return ETX_OK;
  }
  etx_sum_of_dim(symbols, inner->left, rest);
  *divisor = product;
  return etx_sum_add_term(symbols, rest, &shift);
}

// Divides the terms and the divisor by their greatest common divisor. The
// constant term is rounded down, which is exact since all other terms are
// multiples of the divisor.
static void cancel_common(etx_sum* rest, int64_t* divisor) {
  int64_t common = *divisor;
  for (size_t i = 0; i < rest->count; ++i) {
    if (rest->terms[i].degree != 0) common = gcd(rest->terms[i].factor, common);
  }
  if (common <= 1) return;
  for (size_t i = 0; i < rest->count; ++i) {
    int64_t unused = 0;
    (void)etx_floor_divide(rest->terms[i].factor, common,
                           &rest->terms[i].factor, &unused);
  }
  if (rest->count != 0 && rest->terms[rest->count - 1].factor == 0) {
    --rest->count;
  }
  *divisor /= common;
}

// Splits `sum` into divisor * whole + rest.
static etx_status take_multiples(const etx_symbols* symbols, const etx_sum* sum,
                                 int64_t divisor, etx_sum* whole,
                                 etx_sum* rest) {
  whole->count = rest->count = 0;
  for (size_t i = 0; i < sum->count; ++i) {
    etx_term taken = sum->terms[i], left = sum->terms[i];
    if (!etx_floor_divide(taken.factor, divisor, &taken.factor, &left.factor)) {
      return ETX_OUT_OF_RANGE;
    }
    // A term goes to one side as a whole: splitting 3*s//2 into s + s//2 would
    // make the bounds wider. Only the constant is split.
    if (left.factor != 0 && left.degree != 0) {
      left = sum->terms[i];
      taken.factor = 0;
    }
    ETX_TRY(etx_sum_add_term(symbols, whole, &taken));
    ETX_TRY(etx_sum_add_term(symbols, rest, &left));
  }
  return ETX_OK;
}

static etx_status floor_divide_by_number(etx_symbols* symbols, etx_dim a,
                                         int64_t divisor, etx_dim* out) {
  etx_sum sum, whole, rest;
  etx_sum_of_dim(symbols, a, &sum);
  if (divisor < 0) {  // a // -n is -a // n
    etx_sum negated = {0};
    if (divisor == INT64_MIN) return ETX_OUT_OF_RANGE;
    ETX_TRY(etx_sum_add(symbols, &negated, &sum, -1));
    sum = negated;
    divisor = -divisor;
  }
  ETX_TRY(take_multiples(symbols, &sum, divisor, &whole, &rest));
  ETX_TRY(flatten_quotient(symbols, &rest, &divisor));
  cancel_common(&rest, &divisor);
  if (divisor == 1) {
    ETX_TRY(etx_sum_add(symbols, &whole, &rest, 1));
    return etx_symbols_intern_sum(symbols, &whole, out);
  }
  etx_dim dividend = 0, quotient = 0;
  ETX_TRY(etx_symbols_intern_sum(symbols, &rest, &dividend));
  int64_t low = 0, high = 0, unused = 0;
  etx_symbols_bounds(symbols, dividend, &low, &high);
  if (!etx_floor_divide(low, divisor, &low, &unused) ||
      !etx_floor_divide(high, divisor, &high, &unused)) {
    return ETX_OUT_OF_RANGE;
  }
  if (low == high) {
    quotient = low;
  } else {
    ETX_TRY(etx_symbols_intern_opaque(symbols, ETX_SYMBOL_FLOOR_DIVIDE,
                                      dividend, divisor, &quotient));
  }
  etx_sum part;
  etx_sum_of_dim(symbols, quotient, &part);
  ETX_TRY(etx_sum_add(symbols, &whole, &part, 1));
  return etx_symbols_intern_sum(symbols, &whole, out);
}

etx_status etx_symbols_floor_divide(etx_symbols* symbols, etx_dim a, etx_dim b,
                                    etx_dim* out) {
  if (etx_dim_is_number(b)) {
    if (b == 0) return ETX_OUT_OF_RANGE;
    return floor_divide_by_number(symbols, a, b, out);
  }
  etx_sum dividend, divisor, quotient;
  etx_sum_of_dim(symbols, a, &dividend);
  etx_sum_of_dim(symbols, b, &divisor);
  int64_t low = 0, high = 0;
  etx_symbols_bounds(symbols, b, &low, &high);
  if ((low > 0 || high < 0) &&
      divide_exactly(symbols, &dividend, &divisor, &quotient)) {
    return etx_symbols_intern_sum(symbols, &quotient, out);
  }
  return etx_symbols_intern_opaque(symbols, ETX_SYMBOL_FLOOR_DIVIDE, a, b, out);
}

etx_status etx_symbols_modulo(etx_symbols* symbols, etx_dim a, etx_dim b,
                              etx_dim* out) {
  int64_t low = 0, high = 0;
  if (!etx_dim_is_number(b)) {
    etx_sum dividend, divisor, quotient;
    etx_sum_of_dim(symbols, a, &dividend);
    etx_sum_of_dim(symbols, b, &divisor);
    etx_symbols_bounds(symbols, b, &low, &high);
    if ((low > 0 || high < 0) &&
        divide_exactly(symbols, &dividend, &divisor, &quotient)) {
      *out = 0;
      return ETX_OK;
    }
    return etx_symbols_intern_opaque(symbols, ETX_SYMBOL_MODULO, a, b, out);
  }
  if (b == 0) return ETX_OUT_OF_RANGE;
  etx_symbols_bounds(symbols, a, &low, &high);
  if (b > 0 && low >= 0 && high < b) {
    *out = a;
    return ETX_OK;
  }
  etx_sum sum, rest = {0};
  etx_sum_of_dim(symbols, a, &sum);
  for (size_t i = 0; i < sum.count; ++i) {
    etx_term term = sum.terms[i];
    int64_t unused = 0;
    if (!etx_floor_divide(term.factor, b, &unused, &term.factor)) {
      return ETX_OUT_OF_RANGE;
    }
    ETX_TRY(etx_sum_add_term(symbols, &rest, &term));
  }
  etx_dim reduced = 0;
  ETX_TRY(etx_symbols_intern_sum(symbols, &rest, &reduced));
  if (etx_dim_is_number(reduced)) {
    int64_t unused = 0;
    return etx_floor_divide(reduced, b, &unused, out) ? ETX_OK
                                                      : ETX_OUT_OF_RANGE;
  }
  return etx_symbols_intern_opaque(symbols, ETX_SYMBOL_MODULO, reduced, b, out);
}
