#include "cli/amalgamate/decided_tables.h"

#include <string.h>

#include "cli/amalgamate/c/c_scan.h"

enum { COLUMNS = 80 };

typedef struct table_choice {
  const etx_c_tokens* in;
  etx_c_macros* macros;
  etx_c_tokens* out;
  bool is_decided;
} table_choice;

static bool is_opening(const etx_c_token* token) {
  return etx_c_is(token, "(") || etx_c_is(token, "[") || etx_c_is(token, "{");
}

static bool is_closing(const etx_c_token* token) {
  return etx_c_is(token, ")") || etx_c_is(token, "]") || etx_c_is(token, "}");
}

// The first token from `at` on that is this sign outside of inner brackets;
// `end` if there is none. `skips` counts as an opening bracket of `sign`.
static size_t find_sign(const etx_c_tokens* in, size_t at, size_t end,
                        const char* sign, const char* skips) {
  size_t depth = 0, skipped = 0;
  for (; at < end; ++at) {
    const etx_c_token* const token = &in->items[at];
    if (depth == 0 && etx_c_is(token, sign) && skipped-- == 0) return at;
    if (depth == 0 && skips != NULL && etx_c_is(token, skips)) ++skipped;
    if (is_opening(token)) ++depth;
    if (is_closing(token) && depth > 0) --depth;
  }
  return end;
}

static etx_status refer_to_nothing(void* context, uint32_t name, bool is_live) {
  (void)context;
  (void)name;
  (void)is_live;
  return ETX_OK;
}

static etx_c_value value_of(const table_choice* c, size_t first, size_t end) {
  const etx_c_listener listener = {.refer = refer_to_nothing};
  etx_c_scan scan = {.items = c->in->items + first,
                     .count = end - first,
                     .macros = c->macros,
                     .listener = &listener};
  const etx_c_value value = etx_c_scan_expression(&scan, true);
  return scan.next == scan.count ? value : (etx_c_value){false, 0};
}

// Takes the brackets from around the single word that ends `out`.
static void strip_brackets(etx_c_tokens* out) {
  for (;;) {
    const size_t n = out->count;
    if (n < 4 || !etx_c_is(&out->items[n - 3], "(") ||
        out->items[n - 2].kind == ETX_C_SIGN ||
        !etx_c_is(&out->items[n - 1], ")")) {
      return;
    }
    const etx_c_token* const before = &out->items[n - 4];
    if (before->kind != ETX_C_SIGN || is_closing(before)) return;
    out->items[n - 3] = out->items[n - 2];
    out->count -= 2;
  }
}

// Appends the tokens from `first` to before `end`.
static etx_status decide(table_choice* c, size_t first, size_t end) {
  const etx_c_tokens* const in = c->in;
  for (size_t i = first; i < end; ++i) {
    const etx_c_token* const token = &in->items[i];
    ETX_TRY(etx_c_token_add(c->out, token));
    if (!etx_c_is(token, "(")) {
      if (etx_c_is(token, ")")) strip_brackets(c->out);
      continue;
    }
    const size_t close = find_sign(in, i + 1, end, ")", NULL);
    const size_t question = find_sign(in, i + 1, close, "?", NULL);
    const size_t colon = find_sign(in, question + 1, close, ":", "?");
    if (close == end || colon >= close) continue;
    const etx_c_value v = value_of(c, i + 1, question);
    if (!v.is_known) continue;
    c->is_decided = true;
    ETX_TRY(v.number != 0 ? decide(c, question + 1, colon)
                          : decide(c, colon + 1, close));
    i = close - 1;  // the bracket is next
  }
  return ETX_OK;
}

// True if each declaration has a list of values, and all tokens are certain.
static bool is_table(const etx_c_tokens* in) {
  size_t at = 0;
  for (size_t i = 0; i < in->count; ++i) {
    if (in->items[i].is_uncertain) return false;
  }
  while (at < in->count) {
    const size_t end = find_sign(in, at, in->count, ";", NULL);
    const size_t values = find_sign(in, at, end, "=", NULL);
    if (end == in->count || values + 2 >= end ||
        !etx_c_is(&in->items[values + 1], "{") ||
        !etx_c_is(&in->items[end - 1], "}")) {
      return false;
    }
    at = end + 1;
  }
  return in->count > 0;
}

etx_status etx_c_decide_table(const etx_c_tokens* in, etx_c_macros* macros,
                              etx_c_tokens* out, bool* out_is_decided) {
  table_choice c = {in, macros, out, false};
  *out_is_decided = false;
  if (!is_table(in)) return ETX_OK;
  ETX_TRY(decide(&c, 0, in->count));
  *out_is_decided = c.is_decided;
  return ETX_OK;
}

static bool is_spaced(const etx_c_token* before, const etx_c_token* token) {
  if (token->kind != ETX_C_SIGN && before->kind != ETX_C_SIGN) return true;
  if (etx_c_is(token, ",") || etx_c_is(token, ";") || is_opening(before)) {
    return false;
  }
  return token->follows_space || etx_c_is(before, ",") ||
         (token->kind == ETX_C_SIGN && before->kind == ETX_C_SIGN &&
          !is_opening(token) && !is_closing(token) && !is_closing(before));
}

void etx_c_put_tokens(const etx_c_tokens* tokens, etx_text_buffer* out) {
  size_t column = 0, depth = 0;
  for (size_t i = 0; i < tokens->count; ++i) {
    const etx_c_token* const token = &tokens->items[i];
    const etx_c_token* const before = i > 0 ? token - 1 : NULL;
    // A comma or semicolon follows on the same line.
    if (before != NULL && depth == 0 && etx_c_is(before, ";")) {
      etx_text_put(out, "\n", 1);
      column = 0;
    } else if (before != NULL && !etx_c_is(token, ",") &&
               !etx_c_is(token, ";") &&
               column + 1 + token->text.size >= COLUMNS) {
      etx_text_put(out, "\n ", 2);
      column = 1;
    } else if (before != NULL && is_spaced(before, token)) {
      etx_text_put(out, " ", 1);
      ++column;
    }
    if (is_opening(token)) ++depth;
    if (is_closing(token) && depth > 0) --depth;
    etx_text_put_text(out, token->text);
    column += token->text.size;
  }
}
