// Expressions: values of constants, and what is referred to.

#include <string.h>

#include "cli/amalgamate/c/c_scan.h"

static const etx_c_value unknown = {false, 0};

enum { TERNARY = 2, OR = 3, AND = 4, OPERANDS = 13 };

static const etx_c_token* peek(const etx_c_scan* s) {
  return s->next < s->count ? &s->items[s->next] : NULL;
}

static bool next_is(const etx_c_scan* s, const char* sign) {
  return s->next < s->count && etx_c_is(&s->items[s->next], sign);
}

static bool is_one_of(const etx_c_token* token, const char* signs) {
  return token->kind == ETX_C_SIGN && token->text.size == 1 &&
         strchr(signs, token->text.data[0]) != NULL;
}

static bool is_true(etx_c_value v) { return v.is_known && v.number != 0; }
static bool is_false(etx_c_value v) { return v.is_known && v.number == 0; }

static void refer(etx_c_scan* s, uint32_t name, bool is_live) {
  if (s->status == ETX_OK) {
    s->status = s->listener->refer(s->listener->context, name, is_live);
  }
}

static bool is_local(const etx_c_scan* s, uint32_t name) {
  for (size_t i = 0; i < s->local_count; ++i) {
    if (s->locals[i] == name) return true;
  }
  return false;
}

// How tightly a binary operator binds; 0: the token is none.
static int strength_of(const etx_c_token* token) {
  static const struct {
    const char* sign;
    int strength;
  } signs[] = {{"=", 1},   {"+=", 1}, {"-=", 1}, {"*=", 1},  {"/=", 1},
               {"%=", 1},  {"&=", 1}, {"|=", 1}, {"^=", 1},  {"<<=", 1},
               {">>=", 1}, {"?", 2},  {"||", 3}, {"&&", 4},  {"|", 5},
               {"^", 6},   {"&", 7},  {"==", 8}, {"!=", 8},  {"<", 9},
               {">", 9},   {"<=", 9}, {">=", 9}, {"<<", 10}, {">>", 10},
               {"+", 11},  {"-", 11}, {"*", 12}, {"/", 12},  {"%", 12}};
  if (token->kind != ETX_C_SIGN) return 0;
  for (size_t i = 0; i < sizeof signs / sizeof *signs; ++i) {
    if (etx_text_is(token->text, signs[i].sign)) return signs[i].strength;
  }
  return 0;
}

static etx_c_value number_of(const etx_c_token* token) {
  const etx_text text = token->text;
  const bool is_hex =
      text.size > 2 && (text.data[1] == 'x' || text.data[1] == 'X');
  uint64_t number = 0;
  for (size_t i = is_hex ? 2 : 0; i < text.size; ++i) {
    const char c = text.data[i];
    const bool is_letter =
        is_hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
    if (c == '.' || c == 'p' || c == 'e') {
      if (!is_letter) return unknown;
    }
    if (c >= '0' && c <= '9') {
      number = number * (is_hex ? 16 : 10) + (uint64_t)(c - '0');
    } else if (is_letter) {
      number = number * 16 + (uint64_t)((c | 0x20) - 'a') + 10;
    } else if (c != 'u' && c != 'U' && c != 'l' && c != 'L') {
      return unknown;
    }
  }
  return (etx_c_value){true, (int64_t)number};
}

static etx_c_value value_of_name(etx_c_scan* s, const etx_c_token* token) {
  if (etx_text_is(token->text, "true")) return (etx_c_value){true, 1};
  if (etx_text_is(token->text, "false")) return (etx_c_value){true, 0};
  if (etx_text_is(token->text, "UINT32_MAX")) {
    return (etx_c_value){true, UINT32_MAX};
  }
  const etx_c_entry* const entry = etx_c_entry_of(s->macros, token->name);
  if (entry == NULL || !entry->has_value) return unknown;
  return (etx_c_value){true, entry->value};
}

// True if the bracket at `at` encloses a type of numbers and an operand
// follows.
static bool is_cast(const etx_c_scan* s, size_t at) {
  static const char* const types[] = {
      "int",     "unsigned", "long",    "char",   "bool",     "short",
      "int64_t", "uint64_t", "int32_t", "size_t", "uint32_t", "uint8_t"};
  for (++at; at < s->count && !etx_c_is(&s->items[at], ")"); ++at) {
    bool is_type = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
      is_type = is_type || etx_text_is(s->items[at].text, types[i]);
    }
    if (!is_type) return false;
  }
  if (at + 1 >= s->count) return false;
  const etx_c_token* const next = &s->items[at + 1];
  return next->kind == ETX_C_NAME || next->kind == ETX_C_NUMBER ||
         is_one_of(next, "(~-!");
}

static bool is_constant_macro(const etx_c_token* token) {
  return etx_text_is(token->text, "UINT32_C") ||
         etx_text_is(token->text, "INT32_C") ||
         etx_text_is(token->text, "UINT64_C") ||
         etx_text_is(token->text, "INT64_C");
}

// Reads calls, indices and members behind an operand.
static etx_c_value scan_postfix(etx_c_scan* s, bool is_live, etx_c_value value,
                                bool keeps_group) {
  for (;;) {
    const etx_c_token* const token = peek(s);
    if (token == NULL || token->kind != ETX_C_SIGN) return value;
    if (is_one_of(token, "([{")) {
      const etx_c_value group = etx_c_scan_group(s, is_live);
      value = keeps_group ? group : unknown;
    } else if (is_one_of(token, ".") || etx_c_is(token, "->")) {
      s->next += 2;  // and the member
      value = unknown;
    } else if (etx_c_is(token, "++") || etx_c_is(token, "--")) {
      ++s->next;
      value = unknown;
    } else {
      return value;
    }
    keeps_group = false;
  }
}

static etx_c_value scan_operand(etx_c_scan* s, bool is_live);

static etx_c_value scan_prefix(etx_c_scan* s, bool is_live) {
  const etx_c_token* const sign = &s->items[s->next++];
  if (is_one_of(sign, ".")) {  // a member that is initialised
    ++s->next;
    return unknown;
  }
  if (!is_one_of(sign, "!-~+*&") && !etx_c_is(sign, "++") &&
      !etx_c_is(sign, "--")) {
    return unknown;
  }
  if (s->next == s->count || is_one_of(&s->items[s->next], ",;:)]}")) {
    return unknown;
  }
  etx_c_value v = scan_operand(s, is_live);
  switch (sign->text.size == 1 ? sign->text.data[0] : '\0') {
    case '!':
      v.number = v.number == 0;
      return v;
    case '-':
      v.number = (int64_t)(0 - (uint64_t)v.number);
      return v;
    case '~':
      v.number = ~v.number;
      return v;
    case '+':
      return v;
    default:
      return unknown;
  }
}

static etx_c_value scan_operand(etx_c_scan* s, bool is_live) {
  const etx_c_token* const token = &s->items[s->next];
  if (token->kind == ETX_C_NAME) {
    ++s->next;
    // A function may be called by the name of another block's variable.
    if (!is_local(s, token->name) || next_is(s, "(")) {
      refer(s, token->name, is_live);
    }
    const bool is_constant = is_constant_macro(token);
    const etx_c_value v =
        scan_postfix(s, is_live, value_of_name(s, token), is_constant);
    return token->is_uncertain ? unknown : v;
  }
  if (token->kind == ETX_C_NUMBER) {
    ++s->next;
    return token->is_uncertain ? unknown : number_of(token);
  }
  if (token->kind == ETX_C_TEXT) {
    ++s->next;
    return unknown;
  }
  if (is_one_of(token, "(") && is_cast(s, s->next)) {
    (void)etx_c_scan_group(s, is_live);
    return scan_operand(s, is_live);
  }
  if (is_one_of(token, "([{")) {
    const etx_c_value v = etx_c_scan_group(s, is_live);
    return scan_postfix(s, is_live, v, false);
  }
  return scan_prefix(s, is_live);
}

static etx_c_value computed(const etx_c_token* sign, etx_c_value a,
                            etx_c_value b) {
  if (!a.is_known || !b.is_known) return unknown;
  const uint64_t x = (uint64_t)a.number, y = (uint64_t)b.number;
  if (etx_c_is(sign, "+")) return (etx_c_value){true, (int64_t)(x + y)};
  if (etx_c_is(sign, "-")) return (etx_c_value){true, (int64_t)(x - y)};
  if (etx_c_is(sign, "*")) return (etx_c_value){true, (int64_t)(x * y)};
  if (etx_c_is(sign, "|")) return (etx_c_value){true, (int64_t)(x | y)};
  if (etx_c_is(sign, "&")) return (etx_c_value){true, (int64_t)(x & y)};
  if (etx_c_is(sign, "^")) return (etx_c_value){true, (int64_t)(x ^ y)};
  if (etx_c_is(sign, "==")) return (etx_c_value){true, x == y};
  if (etx_c_is(sign, "!=")) return (etx_c_value){true, x != y};
  if (etx_c_is(sign, "<")) return (etx_c_value){true, a.number < b.number};
  if (etx_c_is(sign, ">")) return (etx_c_value){true, a.number > b.number};
  if (etx_c_is(sign, "<=")) return (etx_c_value){true, a.number <= b.number};
  if (etx_c_is(sign, ">=")) return (etx_c_value){true, a.number >= b.number};
  if (y < 64 && etx_c_is(sign, "<<")) {
    return (etx_c_value){true, (int64_t)(x << y)};
  }
  if (y < 64 && etx_c_is(sign, ">>")) {
    return (etx_c_value){true, (int64_t)(x >> y)};
  }
  return unknown;  // quotients decide nothing here
}

static etx_c_value scan_binary(etx_c_scan* s, bool is_live, int least);

static etx_c_value scan_ternary(etx_c_scan* s, bool is_live,
                                etx_c_value condition) {
  const etx_c_value first = scan_binary(s, is_live && !is_false(condition), 1);
  if (next_is(s, ":")) ++s->next;
  const etx_c_value second =
      scan_binary(s, is_live && !is_true(condition), TERNARY);
  if (!condition.is_known) return unknown;
  return condition.number != 0 ? first : second;
}

static etx_c_value scan_right(etx_c_scan* s, bool is_live, etx_c_value left,
                              int strength) {
  const etx_c_token* const sign = &s->items[s->next++];
  if (strength == TERNARY) return scan_ternary(s, is_live, left);
  if (strength == AND) {
    const etx_c_value right =
        scan_binary(s, is_live && !is_false(left), strength + 1);
    if (is_false(left) || is_false(right)) return (etx_c_value){true, 0};
    return is_true(left) && is_true(right) ? (etx_c_value){true, 1} : unknown;
  }
  if (strength == OR) {
    const etx_c_value right =
        scan_binary(s, is_live && !is_true(left), strength + 1);
    if (is_true(left) || is_true(right)) return (etx_c_value){true, 1};
    return is_false(left) && is_false(right) ? (etx_c_value){true, 0} : unknown;
  }
  const etx_c_value right =
      scan_binary(s, is_live, strength == 1 ? 1 : strength + 1);
  return strength == 1 ? unknown : computed(sign, left, right);
}

static etx_c_value scan_binary(etx_c_scan* s, bool is_live, int least) {
  const etx_c_token* token = peek(s);
  if (token == NULL || is_one_of(token, ",;:)]}")) return unknown;
  etx_c_value value = scan_operand(s, is_live);
  while ((token = peek(s)) != NULL && !is_one_of(token, ",;:)]}")) {
    const int strength = strength_of(token);
    if (strength == 0) {  // words side by side: a type and a name
      (void)scan_operand(s, is_live);
      value = unknown;
    } else if (strength < least) {
      return value;
    } else {
      value = scan_right(s, is_live, value, strength);
    }
  }
  return value;
}

etx_c_value etx_c_scan_expression(etx_c_scan* s, bool is_live) {
  return scan_binary(s, is_live, 1);
}

etx_c_value etx_c_scan_group(etx_c_scan* s, bool is_live) {
  const etx_c_token* const open = &s->items[s->next++];
  const char* const close = etx_c_is(open, "(")   ? ")"
                            : etx_c_is(open, "[") ? "]"
                                                  : "}";
  etx_c_value value = unknown;
  size_t expressions = 0;
  while (s->next < s->count && !next_is(s, close)) {
    if (is_one_of(&s->items[s->next], ",;:)]}")) {
      ++s->next;
      ++expressions;
    } else {
      value = etx_c_scan_expression(s, is_live);
    }
  }
  ++s->next;
  return expressions == 0 ? value : unknown;
}
