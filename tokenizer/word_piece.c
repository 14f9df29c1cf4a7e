// WordPiece: the longest token that the word begins with, then the longest with
// the prefix that the rest begins with, and so on; a word that cannot be
// divided so is unknown as a whole.

#include "tokenizer/model_data.h"

// The longest token at `at`; *out_end is its end.
static int32_t longest_at(const etx_token_model* model, etx_text word,
                          size_t at, char* buffer, size_t* out_end) {
  const etx_vocabulary* const v = &model->vocabulary;
  const size_t prefix = at > 0 ? model->prefix.size : 0;
  if (prefix > v->longest) return ETX_TOKEN_NONE;
  const size_t rest = word.size - at, room = v->longest - prefix;
  const size_t most = rest < room ? rest : room;
  if (prefix > 0) memcpy(buffer, model->prefix.data, prefix);
  memcpy(buffer + prefix, word.data + at, most);
  uint32_t hash = ETX_HASH_START;
  int32_t found = ETX_TOKEN_NONE;
  for (size_t i = 0; i < prefix + most; ++i) {
    hash = etx_hash_byte(hash, (uint8_t)buffer[i]);
    if (i < prefix) continue;
    // A token ends where a character ends.
    const size_t next = at + i + 1 - prefix;
    if (next < word.size && ((uint8_t)word.data[next] & 0xC0) == 0x80) continue;
    const etx_text text = {buffer, i + 1};
    const int32_t id = etx_vocabulary_find_hashed(v, text, hash);
    if (id >= 0) {
      found = id;
      *out_end = next;
    }
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
  // The next text is not in use, so a candidate is put together there.
  char* const buffer = (char*)work->next.bytes;
  bool known = characters <= model->longest_word;
  while (known && at < word.size) {
    if (count == limit || model->vocabulary.longest > work->capacity) {
      return etx_model_no_memory(diag);
    }
    const int32_t id = longest_at(model, word, at, buffer, &next);
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
