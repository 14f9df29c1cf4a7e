#include "cli/amalgamate/c/function_declarations.h"

static bool is_opening(const etx_c_token* token) {
  return etx_c_is(token, "(") || etx_c_is(token, "[") || etx_c_is(token, "{");
}

static bool is_closing(const etx_c_token* token) {
  return etx_c_is(token, ")") || etx_c_is(token, "]") || etx_c_is(token, "}");
}

// The token behind the brackets that open at `at`.
static size_t behind_brackets(const etx_c_tokens* tokens, size_t at) {
  size_t depth = 0;
  for (; at < tokens->count; ++at) {
    if (is_opening(&tokens->items[at])) ++depth;
    if (is_closing(&tokens->items[at]) && --depth == 0) return at + 1;
  }
  return at;
}

// The token behind words that are not written; `at` itself if it is written.
static size_t behind_words(const etx_c_tokens* tokens, size_t at) {
  const etx_c_token* const token = &tokens->items[at];
  if (etx_text_is(token->text, "static") ||
      etx_text_is(token->text, "inline")) {
    return at + 1;
  }
  if (etx_text_is(token->text, "__attribute__") ||
      etx_text_is(token->text, "_Pragma")) {
    return behind_brackets(tokens, at + 1);
  }
  return at;
}

// Writes the declaration that begins at `*at`; false if it is none of a
// function.
static bool declare(const etx_c_tokens* tokens, size_t* at,
                    etx_text_buffer* out) {
  size_t depth = 0, i = *at;
  bool has_parameters = false, is_behind_word = false;
  while (i < tokens->count) {
    const etx_c_token* const token = &tokens->items[i];
    if (depth == 0 && (etx_c_is(token, ";") || etx_c_is(token, "{"))) break;
    const size_t next = behind_words(tokens, i);
    if (next > i) {
      i = next;
      continue;
    }
    if (etx_c_is(token, "=") || etx_c_is(token, "{") || token->is_uncertain ||
        etx_text_is(token->text, "typedef")) {
      return false;
    }
    if (etx_c_is(token, "(")) has_parameters = true;
    if (is_opening(token)) ++depth;
    if (is_closing(token)) --depth;
    if (token->kind != ETX_C_SIGN && is_behind_word) {
      etx_text_put(out, " ", 1);
    }
    etx_text_put(out, token->text.data, token->text.size);
    is_behind_word = token->kind != ETX_C_SIGN;
    ++i;
  }
  if (i == tokens->count || !has_parameters) return false;
  etx_text_put(out, ";", 1);
  *at = etx_c_is(&tokens->items[i], "{") ? behind_brackets(tokens, i) : i + 1;
  return true;
}

bool etx_c_declare_functions(const etx_c_tokens* tokens, etx_text_buffer* out) {
  size_t i = 0;
  while (i < tokens->count) {
    if (etx_c_is(&tokens->items[i], ";")) {
      ++i;
    } else {
      if (i > 0) etx_text_put(out, "\n", 1);
      if (!declare(tokens, &i, out)) return false;
    }
  }
  return true;
}
