// Expressions as text, in the syntax of YAML graphs:
//
//   sum      product { (+ | -) product }
//   product  factor { (* | // | %) factor }
//   factor   - factor | integer | name | min(sum, ...) | max(sum, ...) | (sum)
//
// A printed size is parsed to the same handle, since both have canonical form.

#include "exporter/symbols/symbol_internal.h"
#include "format/base/checked_math.h"

enum { MAX_PARSE_DEPTH = 32 };

typedef struct size_parser {
  etx_symbols* symbols;
  etx_text text;
  size_t at;
  size_t depth;
  etx_diag* diag;
} size_parser;

static etx_status fail(size_parser* p, etx_status status, const char* problem) {
  return etx_diag_fail(p->diag, status, "%s at position %z of '%t'", problem,
                       p->at + 1, p->text);
}

static char peek(size_parser* p) {
  while (p->at < p->text.size &&
         (p->text.data[p->at] == ' ' || p->text.data[p->at] == '\t')) {
    ++p->at;
  }
  return p->at < p->text.size ? p->text.data[p->at] : '\0';
}

static bool accept(size_parser* p, const char* token) {
  (void)peek(p);
  const etx_text rest = {p->text.data + p->at, p->text.size - p->at};
  if (!etx_text_starts_with(rest, etx_text_of(token))) return false;
  p->at += strlen(token);
  return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static etx_status apply(size_parser* p, etx_symbol_op op, etx_dim a, etx_dim b,
                        etx_dim* out) {
  const etx_status status = etx_symbols_apply(p->symbols, op, a, b, out);
  if (status != ETX_OUT_OF_RANGE) return status;
  return fail(p, status,
              "the expression overflows, divides by zero or is too complex,");
}

static etx_status parse_sum(size_parser* p, etx_dim* out);

static etx_status parse_integer(size_parser* p, etx_dim* out) {
  int64_t value = 0;
  while (p->at < p->text.size && is_digit(p->text.data[p->at])) {
    if (!etx_multiply_i64(value, 10, &value) ||
        !etx_add_i64(value, p->text.data[p->at] - '0', &value)) {
      return fail(p, ETX_OUT_OF_RANGE, "integer beyond 64 bits");
    }
    ++p->at;
  }
  *out = value;
  return ETX_OK;
}

// The operands of min or max, up to the closing parenthesis.
static etx_status parse_operands(size_parser* p, etx_symbol_op op,
                                 etx_dim* out) {
  etx_dim result = 0;
  ETX_TRY(parse_sum(p, &result));
  while (accept(p, ",")) {
    etx_dim next = 0;
    ETX_TRY(parse_sum(p, &next));
    ETX_TRY(apply(p, op, result, next, &result));
  }
  if (!accept(p, ")")) return fail(p, ETX_BAD_FILE, "expected ')'");
  *out = result;
  return ETX_OK;
}

static etx_status parse_name(size_parser* p, etx_dim* out) {
  const size_t start = p->at;
  while (p->at < p->text.size &&
         (is_name(p->text.data[p->at]) || is_digit(p->text.data[p->at]))) {
    ++p->at;
  }
  const etx_text name = {p->text.data + start, p->at - start};
  if (etx_text_is(name, "min") && accept(p, "(")) {
    return parse_operands(p, ETX_SYMBOL_MINIMUM, out);
  }
  if (etx_text_is(name, "max") && accept(p, "(")) {
    return parse_operands(p, ETX_SYMBOL_MAXIMUM, out);
  }
  uint32_t index = 0;
  if (!etx_symbols_find(p->symbols, name, &index)) {
    return etx_diag_fail(p->diag, ETX_NOT_FOUND,
                         "symbol '%t' in '%t' is not declared under dims", name,
                         p->text);
  }
  return etx_symbols_dim(p->symbols, index, out);
}

static etx_status parse_factor(size_parser* p, etx_dim* out) {
  const char c = peek(p);
  if (is_digit(c)) return parse_integer(p, out);
  if (is_name(c)) return parse_name(p, out);
  if (++p->depth > MAX_PARSE_DEPTH) {
    return fail(p, ETX_OUT_OF_RANGE, "nesting too deep");
  }
  if (accept(p, "-")) {
    etx_dim operand = 0;
    ETX_TRY(parse_factor(p, &operand));
    ETX_TRY(apply(p, ETX_SYMBOL_SUBTRACT, 0, operand, out));
  } else if (accept(p, "(")) {
    ETX_TRY(parse_sum(p, out));
    if (!accept(p, ")")) return fail(p, ETX_BAD_FILE, "expected ')'");
  } else {
    return fail(p, ETX_BAD_FILE, "expected an integer, a symbol or '('");
  }
  --p->depth;
  return ETX_OK;
}

static etx_status parse_product(size_parser* p, etx_dim* out) {
  etx_dim result = 0;
  ETX_TRY(parse_factor(p, &result));
  for (;;) {
    etx_symbol_op op = ETX_SYMBOL_MULTIPLY;
    if (accept(p, "//")) {
      op = ETX_SYMBOL_FLOOR_DIVIDE;
    } else if (accept(p, "%")) {
      op = ETX_SYMBOL_MODULO;
    } else if (!accept(p, "*")) {
      break;
    }
    etx_dim next = 0;
    ETX_TRY(parse_factor(p, &next));
    ETX_TRY(apply(p, op, result, next, &result));
  }
  *out = result;
  return ETX_OK;
}

static etx_status parse_sum(size_parser* p, etx_dim* out) {
  if (++p->depth > MAX_PARSE_DEPTH) {
    return fail(p, ETX_OUT_OF_RANGE, "nesting too deep");
  }
  etx_dim result = 0;
  ETX_TRY(parse_product(p, &result));
  for (;;) {
    etx_symbol_op op = ETX_SYMBOL_ADD;
    if (accept(p, "-")) {
      op = ETX_SYMBOL_SUBTRACT;
    } else if (!accept(p, "+")) {
      break;
    }
    etx_dim next = 0;
    ETX_TRY(parse_product(p, &next));
    ETX_TRY(apply(p, op, result, next, &result));
  }
  --p->depth;
  *out = result;
  return ETX_OK;
}

etx_status etx_symbols_parse(etx_symbols* symbols, etx_text text, etx_dim* out,
                             etx_diag* diag) {
  size_parser p = {symbols, text, 0, 0, diag};
  etx_dim result = 0;
  ETX_TRY(parse_sum(&p, &result));
  if (peek(&p) != '\0' || p.at != text.size) {
    return fail(&p, ETX_BAD_FILE, "unexpected text");
  }
  *out = result;
  return ETX_OK;
}

// ---------------------------------------------------------------- print

typedef struct size_printer {
  const etx_symbols* symbols;
  etx_pool* pool;
  char* text;
  size_t size;
  size_t capacity;
  etx_status status;
} size_printer;

static void put(size_printer* p, etx_text text) {
  if (p->status != ETX_OK) return;
  if (p->capacity - p->size < text.size) {
    const size_t wanted = 2 * (p->size + text.size) + 64;
    char* const bigger = etx_pool_take(p->pool, wanted);
    if (bigger == NULL) {
      p->status = ETX_OUT_OF_MEMORY;
      return;
    }
    if (p->size != 0) memcpy(bigger, p->text, p->size);
    p->text = bigger;
    p->capacity = wanted;
  }
  if (text.size != 0) memcpy(p->text + p->size, text.data, text.size);
  p->size += text.size;
}

static void put_string(size_printer* p, const char* string) {
  put(p, etx_text_of(string));
}

static void put_integer(size_printer* p, int64_t value) {
  char digits[24];
  const size_t size = etx_format_text(digits, sizeof digits, "%i", value);
  const etx_text text = {digits, size};
  put(p, text);
}

static void print_dim(size_printer* p, etx_dim dim);

// An operand of // or %: in parentheses unless it is one word.
static void print_operand(size_printer* p, etx_dim dim) {
  const bool is_word = (etx_dim_is_number(dim) && dim >= 0) ||
                       (!etx_dim_is_number(dim) &&
                        p->symbols->expressions[etx_dim_index(dim)].kind ==
                            ETX_EXPRESSION_SYMBOL);
  if (!is_word) put_string(p, "(");
  print_dim(p, dim);
  if (!is_word) put_string(p, ")");
}

static void print_opaque(size_printer* p, const etx_expression* expression,
                         bool is_alone) {
  if (expression->op == ETX_SYMBOL_MINIMUM ||
      expression->op == ETX_SYMBOL_MAXIMUM) {
    put_string(p, expression->op == ETX_SYMBOL_MINIMUM ? "min(" : "max(");
    print_dim(p, expression->left);
    put_string(p, ", ");
    print_dim(p, expression->right);
    put_string(p, ")");
    return;
  }
  if (!is_alone) put_string(p, "(");
  print_operand(p, expression->left);
  put_string(p, expression->op == ETX_SYMBOL_MODULO ? "%" : "//");
  print_operand(p, expression->right);
  if (!is_alone) put_string(p, ")");
}

// An atom; `is_alone` if no factor stands beside it.
static void print_atom(size_printer* p, uint32_t index, bool is_alone) {
  const etx_expression* const atom = &p->symbols->expressions[index];
  if (atom->kind == ETX_EXPRESSION_SYMBOL) {
    put(p, p->symbols->symbols[atom->symbol].name);
  } else {
    print_opaque(p, atom, is_alone);
  }
}

static void print_term(size_printer* p, const etx_term* term, bool is_first) {
  // The sign is part of the text between terms; the magnitude of INT64_MIN
  // does not fit and keeps its sign.
  const bool is_negative = term->factor < 0 && term->factor != INT64_MIN;
  const int64_t magnitude = is_negative ? -term->factor : term->factor;
  if (is_first) {
    put_string(p, is_negative ? "-" : "");
  } else {
    put_string(p, is_negative ? " - " : " + ");
  }
  if (magnitude != 1 || term->degree == 0) {
    put_integer(p, magnitude);
    if (term->degree != 0) put_string(p, "*");
  }
  for (uint32_t i = 0; i < term->degree; ++i) {
    if (i != 0) put_string(p, "*");
    print_atom(p, term->atoms[i],
               term->degree == 1 && magnitude == 1 && !is_negative);
  }
}

static void print_dim(size_printer* p, etx_dim dim) {
  if (etx_dim_is_number(dim)) {
    put_integer(p, dim);
    return;
  }
  const size_t index = etx_dim_index(dim);
  const etx_expression* const expression = &p->symbols->expressions[index];
  if (expression->kind != ETX_EXPRESSION_SUM) {
    print_atom(p, (uint32_t)index, true);
    return;
  }
  for (size_t i = 0; i < expression->term_count; ++i) {
    print_term(p, &expression->terms[i], i == 0);
  }
}

bool etx_symbols_is_name(etx_text name) {
  for (size_t i = 0; i < name.size; ++i) {
    const char c = name.data[i];
    if (!is_name(c) && !(i > 0 && is_digit(c))) return false;
  }
  return name.size != 0 && !etx_text_is(name, "min") &&
         !etx_text_is(name, "max");
}

etx_status etx_symbols_print(const etx_symbols* symbols, etx_dim dim,
                             etx_pool* pool, etx_text* out) {
  size_printer p = {symbols, pool, NULL, 0, 0, ETX_OK};
  print_dim(&p, dim);
  put(&p, (etx_text){"", 1});
  if (p.status != ETX_OK) return p.status;
  const etx_text text = {p.text, p.size - 1};
  *out = text;
  return ETX_OK;
}
