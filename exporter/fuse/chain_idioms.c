// Recognises functions that a graph spells out, such as gelu, by comparing the
// tokens of a chain with each row of chain_idioms.def.

#include "exporter/fuse/chain_expression.h"

enum { MOST_NUMBERS = 5 };

static const struct {
  uint8_t step;
  const char* tokens;
  float numbers[MOST_NUMBERS];
} idioms[] = {
#define IDIOM(step, tokens, ...) {ETX_STEP_##step, tokens, {__VA_ARGS__}},
#include "exporter/fuse/chain_idioms.def"
#undef IDIOM
};

// True for this number, or a constant of one element with this number.
static bool is_number(const etx_rewrite* rewrite, const etx_chain_token* token,
                      float wanted) {
  double number = 0;
  if (token->step == ETX_CHAIN_NUMBER) return token->number == wanted;
  if (token->step != ETX_STEP_X) return false;
  const etx_ir_constant* const constant = etx_rewrite_constant(
      rewrite->builder.module, rewrite->builder.method, token->value);
  return constant != NULL && constant->data.size == sizeof(float) &&
         etx_rewrite_number(constant, &number) && number == (double)wanted;
}

// True if `text`, one token of an idiom, matches the token of the chain. A #
// takes the next of the numbers.
static bool token_matches(const etx_rewrite* rewrite,
                          const etx_chain_token* token, etx_text text,
                          uint32_t x, const float** numbers) {
  if (etx_text_is(text, "#")) return is_number(rewrite, token, *(*numbers)++);
  if (etx_text_is(text, "x")) {
    return token->step == ETX_STEP_X && token->value == x;
  }
  return token->step > ETX_STEP_X && token->step < ETX_STEP_END &&
         etx_text_is(text, etx_chain_step_name(token->step));
}

static bool chain_matches(const etx_rewrite* rewrite,
                          const etx_chain_expression* chain, const char* text,
                          const float* numbers) {
  const uint32_t x = chain->items[0].value;
  size_t i = 0;
  for (; *text != '\0'; ++i) {
    const size_t size = strcspn(text, " ");
    if (i == chain->count ||
        !token_matches(rewrite, &chain->items[i], (etx_text){text, size}, x,
                       &numbers)) {
      return false;
    }
    text += text[size] == ' ' ? size + 1 : size;
  }
  return i == chain->count;
}

void etx_chain_expression_shorten(const etx_rewrite* rewrite,
                                  etx_chain_expression* chain) {
  for (size_t i = 0; i < sizeof idioms / sizeof *idioms; ++i) {
    if (!chain_matches(rewrite, chain, idioms[i].tokens, idioms[i].numbers)) {
      continue;
    }
    chain->items[1] = (etx_chain_token){idioms[i].step, ETX_IR_NONE, 0};
    chain->count = 2;
    return;
  }
}
