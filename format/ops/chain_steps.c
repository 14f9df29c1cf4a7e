#include "format/ops/chain_steps.h"

// An array of characters, not of pointers, so that the table needs no
// relocations.
static const char names[][12] = {
#define ONE(name, operator) #name,
#define TWO(name, operator) #name,
#define THREE(name, operator) #name,
#define WITH(name, operator, count) #name,
#include "format/ops/chain_steps.def"
#undef ONE
#undef TWO
#undef THREE
#undef WITH
};

static const uint8_t takes[] = {
#define ONE(name, operator) 1,
#define TWO(name, operator) 2,
#define THREE(name, operator) 3,
#define WITH(name, operator, count) 1 + (count),
#include "format/ops/chain_steps.def"
#undef ONE
#undef TWO
#undef THREE
#undef WITH
};

static const uint8_t parameters[] = {
#define ONE(name, operator) 0,
#define TWO(name, operator) 0,
#define THREE(name, operator) 0,
#define WITH(name, operator, count) count,
#include "format/ops/chain_steps.def"
#undef ONE
#undef TWO
#undef THREE
#undef WITH
};

const char* etx_chain_step_name(uint8_t step) {
  return names[step - ETX_STEP_X - 1];
}

size_t etx_chain_step_operands(uint8_t step) {
  return step <= ETX_STEP_X ? 0 : takes[step - ETX_STEP_X - 1];
}

size_t etx_chain_step_parameters(uint8_t step) {
  return step <= ETX_STEP_X ? 0 : parameters[step - ETX_STEP_X - 1];
}

// The next word, without the space after it.
static etx_text next_word(etx_text* rest) {
  etx_text word = {rest->data, 0};
  while (word.size < rest->size && rest->data[word.size] != ' ') ++word.size;
  const size_t used = word.size < rest->size ? word.size + 1 : word.size;
  rest->data += used;
  rest->size -= used;
  return word;
}

static bool read_number(etx_text word, size_t other_count, uint8_t* out_step) {
  size_t number = 0;
  if (word.size > 2) return false;
  for (size_t i = 0; i < word.size; ++i) {
    if (word.data[i] < '0' || word.data[i] > '9') return false;
    number = number * 10 + (size_t)(word.data[i] - '0');
  }
  *out_step = (uint8_t)number;
  return number < other_count && number < ETX_CHAIN_MAX_OTHERS;
}

static bool read_word(etx_text word, size_t other_count, uint8_t* out_step) {
  if (word.size == 0) return false;
  const char first = word.data[0];
  if (first >= '0' && first <= '9') {
    return read_number(word, other_count, out_step);
  }
  if (word.size == 1 && first == 'x') {
    *out_step = ETX_STEP_X;
    return true;
  }
  for (int step = ETX_STEP_X + 1; step < ETX_STEP_END; ++step) {
    const char* const name = etx_chain_step_name((uint8_t)step);
    if (name[0] != first || !etx_text_is(word, name)) continue;
    *out_step = (uint8_t)step;
    return true;
  }
  return false;
}

// True if the words before the next one are the parameters of its step.
static bool has_parameters(const uint8_t* steps, size_t count, uint8_t step) {
  const size_t wanted = etx_chain_step_parameters(step);
  for (size_t i = 0; i < wanted; ++i) {
    if (count < wanted || steps[count - 1 - i] >= ETX_STEP_X) return false;
  }
  return true;
}

bool etx_chain_steps_read(etx_text text, size_t other_count,
                          uint8_t out_steps[ETX_CHAIN_STEPS_MAX],
                          size_t* out_count) {
  size_t depth = 0;
  *out_count = 0;
  if (text.size > 0 && text.data[text.size - 1] == ' ') return false;
  while (text.size > 0) {
    uint8_t step = 0;
    if (*out_count == ETX_CHAIN_STEPS_MAX ||
        !read_word(next_word(&text), other_count, &step)) {
      return false;
    }
    const size_t taken = etx_chain_step_operands(step);
    if (depth < taken || !has_parameters(out_steps, *out_count, step)) {
      return false;
    }
    depth += 1 - taken;
    if (depth > ETX_CHAIN_MAX_DEPTH) return false;
    out_steps[(*out_count)++] = step;
  }
  return depth == 1;
}
