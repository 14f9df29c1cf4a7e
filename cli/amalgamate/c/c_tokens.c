#include "cli/amalgamate/c/c_tokens.h"

#include <string.h>

enum { FIRST_SLOTS = 1 << 15 };

static bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (c >= '0' && c <= '9');
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

etx_status etx_c_names_init(etx_c_names* names, etx_pool* pool) {
  *names = (etx_c_names){.pool = pool, .slot_count = FIRST_SLOTS};
  names->slots = etx_pool_take(pool, FIRST_SLOTS * sizeof *names->slots);
  if (names->slots == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_pool_grow(pool, &names->texts, 0, &names->capacity,
                        sizeof *names->texts));
  names->texts[names->count++] = (etx_text){"", 0};
  return ETX_OK;
}

static size_t hash_of(etx_text text) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < text.size; ++i) {
    hash = (hash ^ (uint8_t)text.data[i]) * 16777619u;
  }
  return hash;
}

// The slot of a name, or the free one where it belongs.
static uint32_t* find_slot(const etx_c_names* names, etx_text text) {
  size_t slot = hash_of(text) & (names->slot_count - 1);
  while (names->slots[slot] != 0) {
    const etx_text other = names->texts[names->slots[slot]];
    if (other.size == text.size &&
        memcmp(other.data, text.data, text.size) == 0) {
      break;
    }
    slot = (slot + 1) & (names->slot_count - 1);
  }
  return &names->slots[slot];
}

static bool grow_slots(etx_c_names* names) {
  names->slot_count *= 2;
  names->slots =
      etx_pool_take(names->pool, names->slot_count * sizeof *names->slots);
  if (names->slots == NULL) return false;
  for (size_t i = 1; i < names->count; ++i) {
    *find_slot(names, names->texts[i]) = (uint32_t)i;
  }
  return true;
}

uint32_t etx_c_name(etx_c_names* names, etx_text text) {
  uint32_t* slot = find_slot(names, text);
  if (*slot != 0) return *slot;
  if (2 * names->count > names->slot_count) {
    if (!grow_slots(names)) return 0;
    slot = find_slot(names, text);
  }
  if (etx_pool_grow(names->pool, &names->texts, names->count, &names->capacity,
                    sizeof *names->texts) != ETX_OK) {
    return 0;
  }
  names->texts[names->count] = text;
  *slot = (uint32_t)names->count++;
  return *slot;
}

etx_status etx_c_token_add(etx_c_tokens* tokens, const etx_c_token* token) {
  ETX_TRY(etx_pool_grow(tokens->pool, &tokens->items, tokens->count,
                        &tokens->capacity, sizeof *tokens->items));
  tokens->items[tokens->count++] = *token;
  return ETX_OK;
}

// Bytes of the space and comments that the text begins with.
static size_t space_size(etx_text text) {
  size_t i = 0;
  while (i < text.size) {
    const char c = text.data[i];
    const char next = i + 1 < text.size ? text.data[i + 1] : '\0';
    if (c == ' ' || c == '\t' || c == '\n' || (c == '\\' && next == '\n')) {
      ++i;
    } else if (c == '/' && next == '/') {
      while (i < text.size && text.data[i] != '\n') ++i;
    } else if (c == '/' && next == '*') {
      i += 2;
      while (i + 1 < text.size &&
             !(text.data[i] == '*' && text.data[i + 1] == '/')) {
        ++i;
      }
      i = i + 2 < text.size ? i + 2 : text.size;
    } else {
      break;
    }
  }
  return i;
}

static size_t number_size(etx_text text) {
  size_t i = 1;
  for (; i < text.size; ++i) {
    const char c = text.data[i];
    const char before = text.data[i - 1];
    const bool is_exponent_sign =
        (c == '+' || c == '-') &&
        (before == 'e' || before == 'E' || before == 'p' || before == 'P');
    // In 0x1e+1 the sign is an operator, which no source here writes.
    if (!is_name_byte(c) && c != '.' && !is_exponent_sign) break;
  }
  return i;
}

static size_t quoted_size(etx_text text) {
  size_t i = 1;
  while (i < text.size && text.data[i] != text.data[0]) {
    i += text.data[i] == '\\' ? 2 : 1;
  }
  return i < text.size ? i + 1 : text.size;
}

static size_t sign_size(etx_text text) {
  static const char* const signs[] = {
      "...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=",
      "&&",  "||",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##"};
  for (size_t i = 0; i < sizeof signs / sizeof *signs; ++i) {
    const size_t size = strlen(signs[i]);
    if (text.size >= size && memcmp(text.data, signs[i], size) == 0) {
      return size;
    }
  }
  return 1;
}

static etx_c_token token_of(etx_text rest) {
  etx_c_token token = {.text = rest, .kind = ETX_C_SIGN};
  const char c = rest.data[0];
  const char next = rest.size > 1 ? rest.data[1] : '\0';
  if (is_digit(c) || (c == '.' && is_digit(next))) {
    token.kind = ETX_C_NUMBER;
    token.text.size = number_size(rest);
  } else if (is_name_byte(c)) {
    token.kind = ETX_C_NAME;
    token.text.size = 1;
    while (token.text.size < rest.size &&
           is_name_byte(rest.data[token.text.size])) {
      ++token.text.size;
    }
  } else if (c == '"' || c == '\'') {
    token.kind = ETX_C_TEXT;
    token.text.size = quoted_size(rest);
  } else {
    token.text.size = sign_size(rest);
  }
  return token;
}

etx_status etx_c_tokens_read(etx_c_tokens* tokens, etx_c_names* names,
                             etx_text text) {
  bool follows_space = true;
  for (;;) {
    const size_t space = space_size(text);
    text = (etx_text){text.data + space, text.size - space};
    if (text.size == 0) return ETX_OK;
    etx_c_token token = token_of(text);
    token.follows_space = follows_space || space > 0;
    follows_space = false;
    if (token.kind == ETX_C_NAME) {
      token.name = etx_c_name(names, token.text);
      if (token.name == 0) return ETX_OUT_OF_MEMORY;
    }
    ETX_TRY(etx_c_token_add(tokens, &token));
    text = (etx_text){text.data + token.text.size, text.size - token.text.size};
  }
}
