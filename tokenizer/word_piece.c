// WordPiece: the longest token that the word begins with, then the longest with
// the prefix that the rest begins with, and so on; a word that cannot be
// divided so is unknown as a whole.

#include "tokenizer/model_data.h"

// The longest token at `at`; *out_end is its end.
static int32_t longest_at(const etx_token_model* model, etx_text word,
                          size_t at, size_t* out_end) {
  const etx_text rest = {word.data + at, word.size - at};
  etx_token_walk walk = at > 0 ? model->inner_walk : model->first_walk;
  int32_t found = ETX_TOKEN_NONE;
  size_t size = 0;
  uint32_t id = 0;
  while (etx_token_walk_next(&walk, rest, &size, &id)) {
    // A token ends where a character ends.
    const size_t end = at + size;
    if (end < word.size && ((uint8_t)word.data[end] & 0xC0) == 0x80) continue;
    found = (int32_t)id;
    *out_end = end;
  }
  return found;
}

etx_status etx_word_piece_encode(const etx_token_model* model,
                                 etx_encode_work* work, size_t begin,
                                 size_t end, etx_id_sink sink, etx_diag* diag) {
  const etx_text word = {(const char*)work->now.bytes + begin, end - begin};
  uint32_t* const parts = (void*)work->tail;  // id, end of each
  const size_t limit = work->tail_bytes / (2 * sizeof *parts);
  size_t characters = 0, count = 0, at = 0, next = 0;
  for (size_t i = 0; i < word.size; ++i) {
    characters += ((uint8_t)word.data[i] & 0xC0) != 0x80;
  }
  bool known = characters <= model->longest_word;
  while (known && at < word.size) {
    if (count == limit) return etx_model_no_memory(diag);
    const int32_t id = longest_at(model, word, at, &next);
    known = id >= 0;
    if (!known) break;
    parts[2 * count] = (uint32_t)id;
    parts[2 * count + 1] = (uint32_t)next;
    ++count;
    at = next;
  }
  if (!known && model->unknown < 0) return etx_model_no_unknown(diag);
  if (!known) {
    sink.put(sink.context, (uint32_t)model->unknown, begin, end);
    return ETX_OK;
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t from = i == 0 ? 0 : parts[2 * i - 1];
    sink.put(sink.context, parts[2 * i], begin + from,
             begin + parts[2 * i + 1]);
  }
  return ETX_OK;
}
