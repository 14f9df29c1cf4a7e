// Functions that graphs spell out, word by word, against the words that a chain
// has so far: rows are few and short.

#include "exporter/fuse/chain_expression.h"

enum { MOST_NUMBERS = 5 };

static const struct {
  uint8_t step;
  const char* words;
  float numbers[MOST_NUMBERS];
} spellings[] = {
#define SPELLED(step, words, ...) {ETX_STEP_##step, words, {__VA_ARGS__}},
#include "exporter/fuse/chain_idioms.def"
#undef SPELLED
};

// A number of the chain, or a constant of one element.
static bool is_number(const etx_rewrite* rewrite, const etx_chain_token* word,
                      float wanted) {
  double number = 0;
  if (word->step == ETX_CHAIN_NUMBER) return word->number == wanted;
  if (word->step != ETX_STEP_X) return false;
  const etx_ir_constant* const constant = etx_rewrite_constant(
      rewrite->lower.module, rewrite->lower.method, word->value);
  return constant != NULL && constant->data.size == sizeof(float) &&
         etx_rewrite_number(constant, &number) && number == (double)wanted;
}

// True if `text` is the word; moves on over a number.
static bool is_word(const etx_rewrite* rewrite, const etx_chain_token* word,
                    etx_text text, uint32_t x, const float** numbers) {
  if (etx_text_is(text, "#")) return is_number(rewrite, word, *(*numbers)++);
  if (etx_text_is(text, "x")) {
    return word->step == ETX_STEP_X && word->value == x;
  }
  return word->step > ETX_STEP_X && word->step < ETX_STEP_END &&
         etx_text_is(text, etx_chain_step_name(word->step));
}

static bool is_spelled(const etx_rewrite* rewrite,
                       const etx_chain_expression* words, const char* text,
                       const float* numbers) {
  const uint32_t x = words->items[0].value;
  size_t i = 0;
  for (; *text != '\0'; ++i) {
    const size_t size = strcspn(text, " ");
    if (i == words->count || !is_word(rewrite, &words->items[i],
                                      (etx_text){text, size}, x, &numbers)) {
      return false;
    }
    text += text[size] == ' ' ? size + 1 : size;
  }
  return i == words->count;
}

void etx_chain_expression_shorten(const etx_rewrite* rewrite,
                                  etx_chain_expression* words) {
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; ++i) {
    if (!is_spelled(rewrite, words, spellings[i].words, spellings[i].numbers)) {
      continue;
    }
    words->items[1] = (etx_chain_token){spellings[i].step, ETX_IR_NONE, 0};
    words->count = 2;
    return;
  }
}
