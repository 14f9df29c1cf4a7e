// Sizes that Python computes with doubles: int(1.3 * s), math.ceil(s / 1.5).
//
// Each double is close to a fraction p/q of small numbers, and the integer is
// mostly that of s * p // q. Products and quotients of doubles are rounded to
// the nearest one: the error is too small to matter where s * p is no multiple
// of q, because the fraction is then at least 1/q away from an integer. Where
// it is a multiple, the double may be just below: int(0.7 * 90) is 62. That can
// happen only if the double itself is below p/q; then all such sizes are tried,
// and the expression subtracts 1 where it happened.

#include <math.h>

#include "exporter/symbols/symbol.h"
#include "format/base/checked_math.h"

enum {
  MAX_RUNS = 20,  // of multiples of q in a row whose double is off by one
  MAX_FRACTION_STEPS = 40,
};

static const int64_t max_part = INT64_C(1) << 31;       // of a fraction
static const int64_t max_tried = INT64_C(1) << 20;      // multiples of q
static const int64_t max_product = INT64_C(1) << 51;    // s * p
static const int64_t max_unbounded = INT64_C(1) << 40;  // elements in a tensor

// A size s becomes s * p / q.
typedef struct fraction {
  int64_t p;
  int64_t q;
} fraction;

// Multiples of q, counted in q, whose double is off by one.
typedef struct multiple_run {
  int64_t first;
  int64_t last;
} multiple_run;

// The fraction of the smallest denominator whose double is `number`, by its
// continued fraction.
static bool find_fraction(double number, fraction* out) {
  fraction before = {0, 1}, last = {1, 0};
  double rest = number;
  for (size_t i = 0; i < MAX_FRACTION_STEPS && rest < (double)max_part; ++i) {
    const int64_t whole = (int64_t)rest;
    const fraction next = {whole * last.p + before.p,
                           whole * last.q + before.q};
    if (next.p > max_part || next.q > max_part) return false;
    before = last;
    last = next;
    *out = next;
    if ((double)next.p / (double)next.q == number) return next.p != 0;
    if (rest == (double)whole) return false;
    rest = 1.0 / (rest - (double)whole);
  }
  return false;
}

// The integer that Python computes.
static int64_t scaled(const etx_symbol_scale* scale, int64_t size) {
  const double product = scale->divides ? (double)size / scale->number
                                        : scale->number * (double)size;
  return (int64_t)(scale->is_up ? ceil(product) : floor(product));
}

// True if the double of a multiple of q may be on the wrong side of an integer.
static bool may_be_off(const etx_symbol_scale* scale, fraction f) {
  // The sign of the double minus the fraction; fma() rounds only the result.
  const double excess = scale->divides
                            ? -fma(scale->number, (double)f.p, -(double)f.q)
                            : fma(scale->number, (double)f.q, -(double)f.p);
  return scale->is_up ? excess > 0 : excess < 0;
}

static etx_status find_runs(const etx_symbol_scale* scale, fraction f,
                            int64_t high, multiple_run runs[MAX_RUNS],
                            size_t* out_count) {
  *out_count = 0;
  if (!may_be_off(scale, f)) return ETX_OK;
  if (high / f.q > max_tried) return ETX_UNSUPPORTED;
  for (int64_t i = 1; i <= high / f.q; ++i) {
    if (scaled(scale, i * f.q) == i * f.p) continue;
    if (*out_count != 0 && runs[*out_count - 1].last == i - 1) {
      runs[*out_count - 1].last = i;
      continue;
    }
    if (*out_count == MAX_RUNS) return ETX_UNSUPPORTED;
    runs[(*out_count)++] = (multiple_run){i, i};
  }
  return ETX_OK;
}

// 1 where the size is at least `least`, else 0.
static etx_status is_at_least(etx_symbols* symbols, etx_dim size, int64_t least,
                              etx_dim* out) {
  return etx_symbols_compare(symbols, ETX_SYMBOL_AT_MOST, least, size, out);
}

// 1 where the double of the size is off by one, else 0.
static etx_status where_off(etx_symbols* symbols, etx_dim size, fraction f,
                            const multiple_run* runs, size_t count,
                            etx_dim* out) {
  etx_dim rest = 0, begun = 0, ended = 0;
  *out = 0;
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(is_at_least(symbols, size, runs[i].first * f.q, &begun));
    ETX_TRY(is_at_least(symbols, size, runs[i].last * f.q + 1, &ended));
    ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_ADD, *out, begun, out));
    ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, *out, ended, out));
  }
  // max(0, 1 - size % q) is 1 for a multiple of q, else 0.
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MODULO, size, f.q, &rest));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, 1, rest, &rest));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MAXIMUM, 0, rest, &rest));
  return etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, *out, rest, out);
}

// The integer of a size that is not negative.
static etx_status scale_positive(etx_symbols* symbols, etx_dim size,
                                 const etx_symbol_scale* scale, fraction f,
                                 etx_dim* out) {
  multiple_run runs[MAX_RUNS];
  size_t count = 0;
  int64_t low = 0, high = 0;
  etx_dim off = 0;
  etx_symbols_bounds(symbols, size, &low, &high);
  if (high > max_unbounded) high = max_unbounded;
  if (high > max_product / f.p) return ETX_UNSUPPORTED;
  ETX_TRY(find_runs(scale, f, high, runs, &count));
  ETX_TRY(where_off(symbols, size, f, runs, count, &off));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, size, f.p, out));
  if (scale->is_up) {
    ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_ADD, *out, f.q - 1, out));
  }
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_FLOOR_DIVIDE, *out, f.q, out));
  return etx_symbols_apply(symbols,
                           scale->is_up ? ETX_SYMBOL_ADD : ETX_SYMBOL_SUBTRACT,
                           *out, off, out);
}

// Negative sizes are those of the negated size: -ceil(c * -s) is floor(c * s).
static etx_status scale_any(etx_symbols* symbols, etx_dim size,
                            const etx_symbol_scale* scale, fraction f,
                            etx_dim* out) {
  etx_symbol_scale mirrored = *scale;
  etx_dim above = 0, below = 0;
  mirrored.is_up = scale->is_truncated ? scale->is_up : !scale->is_up;
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MAXIMUM, size, 0, &above));
  ETX_TRY(scale_positive(symbols, above, scale, f, &above));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MINIMUM, size, 0, &below));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, 0, below, &below));
  ETX_TRY(scale_positive(symbols, below, &mirrored, f, &below));
  return etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, above, below, out);
}

etx_status etx_symbols_scale(etx_symbols* symbols, etx_dim size,
                             const etx_symbol_scale* scale, etx_dim* out) {
  fraction f = {0, 1};
  int64_t low = 0, high = 0;
  if (!(scale->number > 0) || !find_fraction(scale->number, &f)) {
    return ETX_UNSUPPORTED;
  }
  if (scale->divides) f = (fraction){f.q, f.p};
  etx_symbols_bounds(symbols, size, &low, &high);
  return (low < 0 ? scale_any : scale_positive)(symbols, size, scale, f, out);
}
