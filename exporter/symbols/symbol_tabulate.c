// Conditions that compute with floats, as Python writes them:
//
//   10.0*torch.sym_float((s)) ** 0.145 > 2.0
//   math.trunc(0.5*torch.sym_float((s))) != 1
//
// The condition is evaluated for each value of its only symbol. Values where it
// holds are then intervals, which are written with integers: s >= 2 and s < 12.

#include <math.h>
#include <stdlib.h>

#include "exporter/symbols/symbol.h"

enum {
  MAX_NESTING = 24,
  MAX_NUMBER = 40,     // characters of a number
  MAX_VALUES = 65536,  // of the symbol
  MAX_INTERVALS = 16,
};

typedef struct python_reader {
  etx_text text;
  size_t at;
  size_t depth;
  etx_text name;  // of the symbol
  double value;   // of the symbol
  bool is_known;  // false after a function or name that is not known
} python_reader;

static bool accept(python_reader* r, const char* token) {
  while (r->at < r->text.size && r->text.data[r->at] == ' ') ++r->at;
  const etx_text rest = {r->text.data + r->at, r->text.size - r->at};
  if (!etx_text_starts_with(rest, etx_text_of(token))) return false;
  r->at += strlen(token);
  return true;
}

static double unknown(python_reader* r) {
  r->is_known = false;
  return 0;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Evaluates what stands behind; NaN where Python raises an error.
static double read_disjunction(python_reader* r);
static double read_unary(python_reader* r);

typedef enum python_function {
  PYTHON_SAME,
  PYTHON_TRUNC,
  PYTHON_FLOOR,
  PYTHON_CEIL,
  PYTHON_SQRT,
} python_function;

static double call(python_function function, double x) {
  switch (function) {
    case PYTHON_TRUNC:
      return trunc(x);
    case PYTHON_FLOOR:
      return floor(x);
    case PYTHON_CEIL:
      return ceil(x);
    case PYTHON_SQRT:
      return sqrt(x);
    case PYTHON_SAME:
      break;
  }
  return x;
}

static double read_number(python_reader* r) {
  char digits[MAX_NUMBER + 1];
  char* end = NULL;
  size_t size = 0;
  while (r->at + size < r->text.size && size < MAX_NUMBER &&
         (is_digit(r->text.data[r->at + size]) ||
          r->text.data[r->at + size] == '.' ||
          r->text.data[r->at + size] == 'e' ||
          (size != 0 && r->text.data[r->at + size - 1] == 'e' &&
           (r->text.data[r->at + size] == '-' ||
            r->text.data[r->at + size] == '+')))) {
    digits[size] = r->text.data[r->at + size];
    ++size;
  }
  digits[size] = '\0';
  const double number = strtod(digits, &end);
  if (size == 0 || size == MAX_NUMBER || *end != '\0') return unknown(r);
  r->at += size;
  return number;
}

static double read_name(python_reader* r) {
  static const struct {
    const char* name;
    python_function function;
  } functions[] = {
      {"torch.sym_float", PYTHON_SAME}, {"float", PYTHON_SAME},
      {"math.trunc", PYTHON_TRUNC},     {"int", PYTHON_TRUNC},
      {"math.floor", PYTHON_FLOOR},     {"math.ceil", PYTHON_CEIL},
      {"math.sqrt", PYTHON_SQRT},       {"torch.sym_int", PYTHON_TRUNC},
  };
  const size_t start = r->at;
  while (r->at < r->text.size &&
         (is_letter(r->text.data[r->at]) || is_digit(r->text.data[r->at]) ||
          r->text.data[r->at] == '.')) {
    ++r->at;
  }
  const etx_text name = {r->text.data + start, r->at - start};
  if (etx_text_equal(name, r->name)) return r->value;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    if (!etx_text_is(name, functions[i].name) || !accept(r, "(")) continue;
    const double value = call(functions[i].function, read_disjunction(r));
    return accept(r, ")") ? value : unknown(r);
  }
  return unknown(r);
}

static double read_atom(python_reader* r) {
  if (accept(r, "(")) {
    const double value = read_disjunction(r);
    return accept(r, ")") ? value : unknown(r);
  }
  if (r->at == r->text.size) return unknown(r);
  return is_letter(r->text.data[r->at]) ? read_name(r) : read_number(r);
}

static double read_power(python_reader* r) {
  const double base = read_atom(r);
  return accept(r, "**") ? pow(base, read_unary(r)) : base;
}

static double read_unary(python_reader* r) {
  if (++r->depth > MAX_NESTING) return unknown(r);
  const double value = accept(r, "-") ? -read_unary(r) : read_power(r);
  --r->depth;
  return value;
}

static double quotient(double a, double b) {
  return b == 0 ? (double)NAN : a / b;
}

static double read_product(python_reader* r) {
  double value = read_unary(r);
  while (r->is_known) {
    if (accept(r, "//")) {
      value = floor(quotient(value, read_unary(r)));
    } else if (accept(r, "*")) {
      value *= read_unary(r);
    } else if (accept(r, "/")) {
      value = quotient(value, read_unary(r));
    } else if (accept(r, "%")) {
      const double divisor = read_unary(r);
      value -= floor(quotient(value, divisor)) * divisor;
    } else {
      break;
    }
  }
  return value;
}

static double read_sum(python_reader* r) {
  double value = read_product(r);
  while (r->is_known) {
    if (accept(r, "+")) {
      value += read_product(r);
    } else if (accept(r, "-")) {
      value -= read_product(r);
    } else {
      break;
    }
  }
  return value;
}

// 1 or 0 for a comparison, and NaN for one of NaN.
static double read_comparison(python_reader* r) {
  static const char* const relations[] = {"==", "!=", "<=", ">=", "<", ">"};
  const double a = read_sum(r);
  for (size_t i = 0; i < sizeof relations / sizeof relations[0]; ++i) {
    if (!accept(r, relations[i])) continue;
    const double b = read_sum(r);
    const bool holds[] = {a == b, a != b, a <= b, a >= b, a<b, a> b};
    return isnan(a) || isnan(b) ? (double)NAN : (double)holds[i];
  }
  return a;
}

static double read_conjunction(python_reader* r) {
  double value = read_comparison(r);
  while (r->is_known && accept(r, "and ")) {
    const double next = read_comparison(r);
    value = value == 0 ? value : next;
  }
  return value;
}

static double read_disjunction(python_reader* r) {
  double value = read_conjunction(r);
  while (r->is_known && accept(r, "or ")) {
    const double next = read_conjunction(r);
    value = value != 0 ? value : next;
  }
  return value;
}

// ------------------------------------------------ tables

// True if the condition can be read; `*out` is false where Python raises an
// error.
static bool holds_at(etx_text text, etx_text name, int64_t value, bool* out) {
  python_reader r = {text, 0, 0, name, (double)value, true};
  const double found = read_disjunction(&r);
  while (r.at < text.size && text.data[r.at] == ' ') ++r.at;
  *out = !isnan(found) && found != 0;
  return r.is_known && r.at == text.size;
}

// The only symbol of which the text has the name.
static bool find_symbol(const etx_symbols* symbols, etx_text text,
                        uint32_t* out) {
  bool is_found = false;
  for (size_t i = 0; i < text.size; ++i) {
    etx_text word = {text.data + i, 0};
    uint32_t index = 0;
    while (i + word.size < text.size &&
           (is_letter(word.data[word.size]) ||
            (word.size != 0 && is_digit(word.data[word.size])))) {
      ++word.size;
    }
    if (word.size == 0) continue;
    i += word.size;
    if (!etx_symbols_find(symbols, word, &index)) continue;
    if (is_found && index != *out) return false;
    is_found = true;
    *out = index;
  }
  return is_found;
}

// Adds `factor` times whether the symbol is at least `least`.
static etx_status add_step(etx_symbols* symbols, etx_dim symbol, int64_t least,
                           etx_symbol_op op, etx_dim* sum) {
  etx_dim step = 0;
  ETX_TRY(
      etx_symbols_compare(symbols, ETX_SYMBOL_AT_MOST, least, symbol, &step));
  return etx_symbols_apply(symbols, op, *sum, step, sum);
}

etx_status etx_symbols_tabulate(etx_symbols* symbols, etx_text text,
                                etx_dim* out) {
  uint32_t index = 0;
  etx_dim symbol = 0;
  bool is_within = false;
  size_t changes = 0;
  if (!find_symbol(symbols, text, &index)) return ETX_UNSUPPORTED;
  const etx_symbol found = symbols->symbols[index];
  const int64_t low = found.minimum < found.floor ? found.minimum : found.floor;
  if (low < 0 || found.maximum >= low + MAX_VALUES) return ETX_UNSUPPORTED;
  ETX_TRY(etx_symbols_dim(symbols, index, &symbol));
  *out = 0;
  for (int64_t value = low; value <= found.maximum; ++value) {
    bool holds = false;
    if (!holds_at(text, found.name, value, &holds)) return ETX_UNSUPPORTED;
    if (holds == is_within) continue;
    if (++changes > 2 * MAX_INTERVALS) return ETX_UNSUPPORTED;
    ETX_TRY(add_step(symbols, symbol, value,
                     holds ? ETX_SYMBOL_ADD : ETX_SYMBOL_SUBTRACT, out));
    is_within = holds;
  }
  return ETX_OK;
}
