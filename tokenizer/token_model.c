#include "tokenizer/token_model.h"

#include "tokenizer/token_step.h"

// Members of 'model'.
enum {
  TYPE,
  VOCAB,
  MERGES,
  UNK_ID,
  UNK_TOKEN,
  PREFIX,
  SUFFIX,
  LONGEST_WORD,
  FUSE_UNKNOWN,
  BYTE_FALLBACK,
  IGNORE_MERGES,
  DROPOUT,
  MEMBER_COUNT
};

static const char* const members[MEMBER_COUNT] = {
    [TYPE] = "type",
    [VOCAB] = "vocab",
    [MERGES] = "merges",
    [UNK_ID] = "unk_id",
    [UNK_TOKEN] = "unk_token",
    [PREFIX] = "continuing_subword_prefix",
    [SUFFIX] = "end_of_word_suffix",
    [LONGEST_WORD] = "max_input_chars_per_word",
    [FUSE_UNKNOWN] = "fuse_unk",
    [BYTE_FALLBACK] = "byte_fallback",
    [IGNORE_MERGES] = "ignore_merges",
    [DROPOUT] = "dropout"};

static etx_status find_kind(const etx_cursor_value* model, etx_model_kind* out,
                            etx_diag* diag) {
  static const char* const names[] = {"BPE", "Unigram", "WordPiece",
                                      "WordLevel"};
  const etx_cursor_value type = model[TYPE];
  for (int i = 0; i < 4; ++i) {
    if (etx_cursor_string_is(type, names[i])) {
      *out = (etx_model_kind)i;
      return ETX_OK;
    }
  }
  // Old files name no type: only BPE has merges, only Unigram a list of pieces.
  const char vocabulary = etx_cursor_kind(model[VOCAB]);
  if (type.at == NULL && vocabulary == '[') {
    *out = ETX_MODEL_UNIGRAM;
  } else if (type.at == NULL && model[MERGES].at != NULL) {
    *out = ETX_MODEL_BPE;
  } else if (type.at == NULL && vocabulary == '{') {
    const bool words = model[LONGEST_WORD].at != NULL;
    *out = words ? ETX_MODEL_WORD_PIECE : ETX_MODEL_WORD_LEVEL;
  } else {
    return etx_diag_fail(
        diag, ETX_UNSUPPORTED,
        "'model' is none of BPE, Unigram, WordPiece, WordLevel");
  }
  return ETX_OK;
}

etx_status etx_token_model_id_count(etx_cursor_value model, size_t* out,
                                    etx_diag* diag) {
  const etx_cursor_value vocabulary = etx_cursor_get(model, "vocab");
  etx_cursor_walk walk = etx_cursor_items(vocabulary);
  etx_cursor_value key = {NULL, NULL}, value;
  uint32_t largest = 0, id = 0;
  if (walk.next.at == NULL) {
    return etx_diag_fail(diag, ETX_BAD_FILE, "'model' has no 'vocab'");
  }
  *out = 0;
  for (size_t count = 0; etx_cursor_next(&walk, &key, &value); ++count) {
    if (!walk.object) {
      id = (uint32_t)count;
    } else if (!etx_cursor_unsigned_at(value, ETX_TOKEN_ID_MAX, &id)) {
      return etx_diag_fail(diag, ETX_BAD_FILE,
                           "'vocab' has an id that is no integer from 0 to %u",
                           (uint64_t)ETX_TOKEN_ID_MAX);
    }
    if (id > largest) largest = id;
    *out = (size_t)largest + 1;
  }
  if (*out > (size_t)ETX_TOKEN_ID_MAX + 1) {
    return etx_diag_fail(diag, ETX_BAD_FILE, "'vocab' has more than %u pieces",
                         (uint64_t)ETX_TOKEN_ID_MAX + 1);
  }
  return ETX_OK;
}

static size_t item_count(etx_cursor_value list) {
  etx_cursor_walk walk = etx_cursor_items(list);
  etx_cursor_value value;
  size_t count = 0;
  while (etx_cursor_next(&walk, NULL, &value)) ++count;
  return count;
}

static etx_status load_words(etx_cursor_value list, etx_arena* arena,
                             etx_token_model* out, etx_diag* diag) {
  etx_cursor_walk walk = etx_cursor_items(list);
  etx_cursor_value key, value;
  while (etx_cursor_next(&walk, &key, &value)) {
    etx_text text;
    uint32_t id = 0;
    const etx_status status = etx_token_text_load(key, arena, &text, diag);
    if (status != ETX_OK) return status;
    if (arena->counting) continue;
    if (etx_cursor_unsigned_at(value, ETX_TOKEN_ID_MAX, &id)) {
      etx_vocabulary_add(&out->vocabulary, text, id);
    }
  }
  return ETX_OK;
}

// Unigram: a list of [piece, score].
static etx_status load_pieces(etx_cursor_value list, size_t id_count,
                              etx_arena* arena, etx_token_model* out,
                              etx_diag* diag) {
  etx_cursor_walk walk = etx_cursor_items(list);
  etx_cursor_value pair;
  out->scores = etx_arena_take(arena, id_count * sizeof *out->scores, 16);
  if (!arena->counting && out->scores == NULL) {
    return etx_model_no_memory(diag);
  }
  double least = 0;
  for (uint32_t id = 0; etx_cursor_next(&walk, NULL, &pair); ++id) {
    etx_cursor_walk parts = etx_cursor_items(pair);
    etx_cursor_value piece = {NULL, NULL}, score = {NULL, NULL};
    if (!etx_cursor_next(&parts, NULL, &piece) ||
        !etx_cursor_next(&parts, NULL, &score) ||
        etx_cursor_kind(piece) != '"') {
      return etx_diag_fail(diag, ETX_BAD_FILE,
                           "item %u of 'vocab' is not [piece, score]",
                           (uint64_t)id);
    }
    etx_text text;
    const etx_status status = etx_token_text_load(piece, arena, &text, diag);
    if (status != ETX_OK) return status;
    if (arena->counting) continue;
    etx_vocabulary_add(&out->vocabulary, text, id);
    out->scores[id] = etx_cursor_real(score);
    if (id == 0 || out->scores[id] < least) least = out->scores[id];
  }
  out->unknown_score = least - 10.0;
  return ETX_OK;
}

// Finds tokens by what a text begins with.
static etx_status load_tree(etx_arena* arena, etx_token_model* out,
                            etx_diag* diag) {
  const size_t count = out->vocabulary.id_count;
  ETX_TRY(etx_token_tree_init(&out->tree, count, arena, diag));
  if (arena->counting) return ETX_OK;
  for (uint32_t id = 0; id < count; ++id) {
    etx_token_tree_add(&out->tree, &out->vocabulary, id);
  }
  etx_token_tree_build(&out->tree, &out->vocabulary, out->scores);
  out->first_walk = etx_token_walk_from(&out->tree, (etx_text){NULL, 0});
  out->inner_walk = etx_token_walk_from(&out->tree, out->prefix);
  return ETX_OK;
}

// The two halves of a rule, written as "left right" or ["left", "right"],
// copied to `buffer`. False: it is neither.
static bool read_halves(etx_cursor_value rule, etx_bytes_mut buffer,
                        etx_text* left, etx_text* right) {
  char* const bytes = (char*)buffer.data;
  if (etx_cursor_kind(rule) == '"') {
    const size_t size = etx_cursor_string_size(rule);
    if (size > buffer.size) return false;
    etx_cursor_string_copy(rule, buffer.data);
    const char* const space = size == 0 ? NULL : memchr(bytes, ' ', size);
    if (space == NULL) return false;
    *left = (etx_text){bytes, (size_t)(space - bytes)};
    *right = (etx_text){space + 1, size - left->size - 1};
    return true;
  }
  etx_cursor_walk parts = etx_cursor_items(rule);
  etx_cursor_value first, second;
  if (!etx_cursor_next(&parts, NULL, &first) ||
      !etx_cursor_next(&parts, NULL, &second)) {
    return false;
  }
  left->size = etx_cursor_string_size(first);
  right->size = etx_cursor_string_size(second);
  if (left->size > buffer.size || right->size > buffer.size - left->size)
    return false;
  left->data = bytes;
  right->data = bytes + left->size;
  etx_cursor_string_copy(first, buffer.data);
  etx_cursor_string_copy(second, buffer.data + left->size);
  return true;
}

enum { RULE_BYTES_MAX = 2048 };  // of both halves

// Reads one rule and adds it.
static etx_status load_merge(etx_cursor_value rule, uint32_t rank,
                             etx_token_model* out, etx_diag* diag) {
  uint8_t halves[RULE_BYTES_MAX], joined[RULE_BYTES_MAX];
  const etx_bytes_mut buffer = {halves, sizeof halves};
  etx_text left, right;
  if (!read_halves(rule, buffer, &left, &right)) {
    return etx_diag_fail(
        diag, ETX_BAD_FILE,
        "rule %u of 'merges' is not two texts of at most %u bytes",
        (uint64_t)rank, (uint64_t)RULE_BYTES_MAX);
  }
  const size_t prefix =
      out->prefix.size < right.size ? out->prefix.size : right.size;
  memcpy(joined, left.data, left.size);
  memcpy(joined + left.size, right.data + prefix, right.size - prefix);
  const etx_text whole = {(const char*)joined, left.size + right.size - prefix};
  const int32_t ids[3] = {etx_vocabulary_find(&out->vocabulary, left),
                          etx_vocabulary_find(&out->vocabulary, right),
                          etx_vocabulary_find(&out->vocabulary, whole)};
  if (ids[0] < 0 || ids[1] < 0 || ids[2] < 0) {
    return etx_diag_fail(
        diag, ETX_BAD_FILE,
        "rule %u of 'merges' has '%t' and '%t', but the vocabulary "
        "lacks one of them or both together",
        (uint64_t)rank, left, right);
  }
  out->joins_mark = out->joins_mark || etx_bpe_joins_mark(left, right);
  etx_bpe_add(out, (etx_bpe_merge){(uint32_t)ids[0], (uint32_t)ids[1], rank,
                                   (uint32_t)ids[2]});
  return ETX_OK;
}

static etx_status load_merges(etx_cursor_value list, etx_arena* arena,
                              etx_token_model* out, etx_diag* diag) {
  const size_t slots = etx_hash_slots(item_count(list));
  out->merges = etx_arena_take(arena, slots * sizeof *out->merges, 16);
  out->merge_mask = slots - 1;
  out->is_whole = etx_arena_take(arena, out->vocabulary.id_count, 16);
  if (arena->counting) return ETX_OK;
  if (out->merges == NULL || out->is_whole == NULL) {
    return etx_model_no_memory(diag);
  }
  memset(out->merges, 0xFF, slots * sizeof *out->merges);
  etx_cursor_walk walk = etx_cursor_items(list);
  etx_cursor_value rule;
  for (uint32_t rank = 0; etx_cursor_next(&walk, NULL, &rule); ++rank) {
    const etx_status status = load_merge(rule, rank, out, diag);
    if (status != ETX_OK) return status;
  }
  return ETX_OK;
}

// The token for unknown text: its number for Unigram, else its text.
static void load_unknown(const etx_cursor_value* model, etx_token_model* out) {
  uint8_t bytes[256];
  uint32_t id = 0;
  out->unknown = ETX_TOKEN_NONE;
  if (out->kind == ETX_MODEL_UNIGRAM) {
    out->has_unknown =
        etx_cursor_unsigned_at(model[UNK_ID], ETX_TOKEN_ID_MAX, &id) &&
        id < out->vocabulary.id_count;
    if (out->has_unknown) out->unknown = (int32_t)id;
    return;
  }
  const etx_cursor_value name = model[UNK_TOKEN];
  out->has_unknown = etx_cursor_kind(name) == '"';
  if (!out->has_unknown || etx_cursor_string_size(name) > sizeof bytes) return;
  const etx_text text = {(const char*)bytes,
                         etx_cursor_string_copy(name, bytes)};
  out->unknown = etx_vocabulary_find(&out->vocabulary, text);
}

static etx_status load_parts(const etx_cursor_value* model, etx_arena* arena,
                             etx_token_model* out, etx_diag* diag) {
  etx_status status =
      etx_token_text_load(model[PREFIX], arena, &out->prefix, diag);
  if (status == ETX_OK) {
    status = etx_token_text_load(model[SUFFIX], arena, &out->suffix, diag);
  }
  if (out->kind == ETX_MODEL_WORD_PIECE && model[PREFIX].at == NULL) {
    out->prefix = etx_text_of("##");
  }
  out->longest_word = 100;
  etx_cursor_unsigned_at(model[LONGEST_WORD], UINT32_MAX - 1,
                         &out->longest_word);
  out->fuse_unknown = out->kind == ETX_MODEL_UNIGRAM ||
                      etx_cursor_bool(model[FUSE_UNKNOWN], false);
  out->byte_fallback = etx_cursor_bool(model[BYTE_FALLBACK], false);
  out->ignore_merges = etx_cursor_bool(model[IGNORE_MERGES], false);
  if (status == ETX_OK && etx_cursor_real(model[DROPOUT]) != 0) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "'dropout' of BPE gives random ids; set it to null");
  }
  return status;
}

etx_status etx_token_model_load(etx_cursor_value object, size_t id_count,
                                etx_arena* arena, etx_token_model* out,
                                etx_diag* diag) {
  etx_cursor_value model[MEMBER_COUNT];
  etx_cursor_get_all(object, members, MEMBER_COUNT, model);
  const etx_cursor_value list = model[VOCAB];
  memset(out, 0, sizeof *out);
  etx_status status = find_kind(model, &out->kind, diag);
  if (status != ETX_OK) return status;
  if ((etx_cursor_kind(list) == '[') != (out->kind == ETX_MODEL_UNIGRAM)) {
    return etx_diag_fail(
        diag, ETX_BAD_FILE,
        "'vocab' must be a list for Unigram and else an object");
  }
  status = etx_vocabulary_init(&out->vocabulary, item_count(list), id_count,
                               arena, diag);
  if (status == ETX_OK) status = load_parts(model, arena, out, diag);
  if (status != ETX_OK) return status;
  if (out->kind == ETX_MODEL_UNIGRAM) {
    status = load_pieces(list, id_count, arena, out, diag);
  } else {
    status = load_words(list, arena, out, diag);
  }
  if (status == ETX_OK && out->kind == ETX_MODEL_BPE) {
    status = load_merges(model[MERGES], arena, out, diag);
  }
  if (status == ETX_OK &&
      (out->kind == ETX_MODEL_UNIGRAM || out->kind == ETX_MODEL_WORD_PIECE)) {
    status = load_tree(arena, out, diag);
  }
  if (status != ETX_OK || arena->counting) return status;
  load_unknown(model, out);
  if (out->kind == ETX_MODEL_BPE) etx_bpe_finish(out);
  return status;
}

static etx_status word_level_encode(const etx_token_model* model,
                                    const etx_encode_work* work, size_t begin,
                                    size_t end, etx_id_sink sink,
                                    etx_diag* diag) {
  const etx_text word = {(const char*)work->now.bytes + begin, end - begin};
  int32_t id = etx_vocabulary_find(&model->vocabulary, word);
  if (id < 0) id = model->unknown;
  if (id < 0) return etx_model_no_unknown(diag);
  sink.put(sink.context, (uint32_t)id, begin, end);
  return ETX_OK;
}

etx_status etx_token_model_encode(const etx_token_model* model,
                                  etx_encode_work* work, size_t begin,
                                  size_t end, etx_id_sink sink,
                                  etx_diag* diag) {
  switch (model->kind) {
    case ETX_MODEL_BPE:
      return etx_bpe_encode(model, work, begin, end, sink, diag);
    case ETX_MODEL_UNIGRAM:
      return etx_unigram_encode(model, work, begin, end, sink, diag);
    case ETX_MODEL_WORD_PIECE:
      return etx_word_piece_encode(model, work, begin, end, sink, diag);
    default:
      return word_level_encode(model, work, begin, end, sink, diag);
  }
}
