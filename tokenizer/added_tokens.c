#include "tokenizer/normalize.h"
#include "tokenizer/tokenizer_content.h"
#include "tokenizer/unicode/unicode.h"

enum { LOAD_CAPACITY = 4096 };  // bytes of a normalized token

static etx_status load_token(etx_cursor_value value, etx_arena* arena,
                             etx_added_token* out, etx_diag* diag) {
  const etx_cursor_value content = etx_cursor_get(value, "content");
  memset(out, 0, sizeof *out);
  if (etx_cursor_kind(content) != '"' ||
      !etx_cursor_unsigned_at(etx_cursor_get(value, "id"), ETX_TOKEN_ID_MAX,
                              &out->id)) {
    return etx_diag_fail(
        diag, ETX_BAD_FILE,
        "an item of 'added_tokens' lacks 'content' or an 'id' from 0 "
        "to %u",
        (uint64_t)ETX_TOKEN_ID_MAX);
  }
  out->special = etx_cursor_bool(etx_cursor_get(value, "special"), false);
  out->single_word =
      etx_cursor_bool(etx_cursor_get(value, "single_word"), false);
  out->left_strip = etx_cursor_bool(etx_cursor_get(value, "lstrip"), false);
  out->right_strip = etx_cursor_bool(etx_cursor_get(value, "rstrip"), false);
  out->normalized =
      etx_cursor_bool(etx_cursor_get(value, "normalized"), !out->special);
  const etx_status status =
      etx_token_text_load(content, arena, &out->content, diag);
  out->match = out->content;
  return status;
}

// Normalizes what is searched. `work` is used and left empty.
static etx_status normalize_match(const etx_token_steps* normalizer,
                                  etx_encode_work* work, etx_arena* arena,
                                  etx_added_token* token, etx_diag* diag) {
  etx_work_read(work, token->content);
  etx_status status = ETX_OK;
  if (work->now.size > 0) status = etx_normalize(normalizer, work, diag);
  if (status != ETX_OK) return status;
  uint8_t* const copy =
      work->full ? NULL : etx_arena_take(arena, work->now.size, 1);
  if (copy == NULL) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "added token %u is too long to be normalized",
                         (uint64_t)token->id);
  }
  memcpy(copy, work->now.bytes, work->now.size);
  token->match = (etx_text){(const char*)copy, work->now.size};
  return ETX_OK;
}

static etx_text match_at(const etx_added_tokens* added, int list,
                         size_t index) {
  return added->tokens[added->sorted[list][index]].match;
}

static void sift_down(etx_added_tokens* added, int list, size_t at,
                      size_t count) {
  uint32_t* const ids = added->sorted[list];
  for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count &&
        etx_text_compare(match_at(added, list, child),
                         match_at(added, list, child + 1)) < 0) {
      ++child;
    }
    if (etx_text_compare(match_at(added, list, at),
                         match_at(added, list, child)) >= 0) {
      return;
    }
    const uint32_t id = ids[at];
    ids[at] = ids[child];
    ids[child] = id;
    at = child;
  }
}

static void sort_matches(etx_added_tokens* added, int list) {
  const size_t count = added->sorted_count[list];
  for (size_t i = count / 2; i > 0; --i) sift_down(added, list, i - 1, count);
  for (size_t end = count; end > 1; --end) {
    const uint32_t id = added->sorted[list][0];
    added->sorted[list][0] = added->sorted[list][end - 1];
    added->sorted[list][end - 1] = id;
    sift_down(added, list, 0, end - 1);
  }
}

// Memory for `count` tokens and for normalizing them.
static etx_status take_memory(etx_added_tokens* out, size_t count,
                              size_t id_count, etx_arena* arena,
                              etx_diag* diag) {
  out->tokens = etx_arena_take(arena, count * sizeof *out->tokens, 16);
  out->sorted[0] = etx_arena_take(arena, count * sizeof(uint32_t), 16);
  out->sorted[1] = etx_arena_take(arena, count * sizeof(uint32_t), 16);
  out->by_id = etx_arena_take(arena, id_count * sizeof(uint32_t), 16);
  if (arena->counting) return ETX_OK;
  if (out->tokens == NULL || out->sorted[0] == NULL || out->sorted[1] == NULL ||
      out->by_id == NULL) {
    return etx_model_no_memory(diag);
  }
  memset(out->by_id, 0, id_count * sizeof(uint32_t));
  return ETX_OK;
}

static void list_token(etx_added_tokens* out, uint32_t index) {
  const etx_added_token* const token = &out->tokens[index];
  const int list = token->normalized;
  out->by_id[token->id] = index + 1;
  if (token->match.size > 0)
    out->sorted[list][out->sorted_count[list]++] = index;
}

etx_status etx_added_tokens_load(etx_cursor_value list, size_t id_count,
                                 const etx_token_steps* normalizer,
                                 etx_arena* arena, etx_added_tokens* out,
                                 etx_diag* diag) {
  enum {
    WORK_BYTES = LOAD_CAPACITY * (ETX_WORK_TEXT_BYTES + ETX_WORK_TAIL_BYTES) +
                 ETX_WORK_FIXED_BYTES
  };
  etx_cursor_walk walk = etx_cursor_items(list);
  etx_cursor_value value;
  size_t count = 0, normalized_bytes = 0;
  memset(out, 0, sizeof *out);
  while (etx_cursor_next(&walk, NULL, &value)) {
    normalized_bytes +=
        etx_cursor_string_size(etx_cursor_get(value, "content"));
    ++count;
  }
  etx_status status = take_memory(out, count, id_count, arena, diag);
  // What normalized tokens take: at most their share of the work.
  const size_t limit = 40 * normalized_bytes + 1024 * count;
  etx_arena matches;
  uint8_t* const matches_memory = etx_arena_take(arena, limit, 16);
  etx_arena_init(&matches, matches_memory, matches_memory == NULL ? 0 : limit);
  const size_t mark = etx_arena_mark(arena);
  uint8_t* const block = etx_arena_take(arena, WORK_BYTES, 16);
  etx_encode_work work;
  if (status != ETX_OK) return status;
  if (!arena->counting && block == NULL) return etx_model_no_memory(diag);
  if (arena->counting) etx_arena_rewind(arena, mark);
  etx_work_init(&work, (etx_bytes_mut){block, WORK_BYTES});
  walk = etx_cursor_items(list);
  for (uint32_t i = 0; etx_cursor_next(&walk, NULL, &value); ++i) {
    etx_added_token unused;
    etx_added_token* const token = arena->counting ? &unused : &out->tokens[i];
    // Texts lie behind the work, which is in use until the end.
    status = load_token(value, arena, token, diag);
    if (status != ETX_OK) return status;
    if (arena->counting) continue;
    if (token->normalized) {
      status = normalize_match(normalizer, &work, &matches, token, diag);
      if (status != ETX_OK) return status;
    }
    list_token(out, i);
    out->count = i + 1;
  }
  if (arena->counting) {
    etx_arena_take(arena, WORK_BYTES, 16);
    return ETX_OK;
  }
  sort_matches(out, 0);
  sort_matches(out, 1);
  return ETX_OK;
}

const etx_added_token* etx_added_token_at(const etx_added_tokens* added,
                                          uint32_t id, size_t id_count) {
  if (id >= id_count || added->by_id[id] == 0) return NULL;
  return &added->tokens[added->by_id[id] - 1];
}

// Keeps the matches whose byte at `depth` is `byte`, of those between the
// bounds.
static void narrow(const etx_added_tokens* added, int list, size_t depth,
                   uint8_t byte, size_t bounds[2]) {
  size_t kept[2];
  for (int upper = 0; upper < 2; ++upper) {
    size_t from = bounds[0], to = bounds[1];
    while (from < to) {
      const size_t middle = from + (to - from) / 2;
      const etx_text text = match_at(added, list, middle);
      const int here = text.size > depth ? (uint8_t)text.data[depth] : -1;
      if (here < byte || (upper == 1 && here == byte)) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    kept[upper] = from;
  }
  bounds[0] = kept[0];
  bounds[1] = kept[1];
}

// The longest token at `at`, or NULL.
static const etx_added_token* longest(const etx_added_tokens* added, int list,
                                      etx_text text, size_t at) {
  size_t bounds[2] = {0, added->sorted_count[list]};
  const etx_added_token* found = NULL;
  for (size_t depth = 0; at + depth < text.size; ++depth) {
    narrow(added, list, depth, (uint8_t)text.data[at + depth], bounds);
    if (bounds[0] == bounds[1]) break;
    if (match_at(added, list, bounds[0]).size == depth + 1) {
      // The last of equal texts counts.
      found = &added->tokens[added->sorted[list][bounds[0]]];
    }
  }
  return found;
}

static uint32_t kind_at(etx_text text, size_t at) {
  uint32_t code = 0;
  if (at >= text.size) return 0;
  etx_utf8_read((const uint8_t*)text.data + at, text.size - at, &code);
  return etx_unicode_kind_of(code);
}

static size_t before(etx_text text, size_t at) {
  do {
    --at;
  } while (at > 0 && ((uint8_t)text.data[at] & 0xC0) == 0x80);
  return at;
}

static bool stands_alone(etx_text text, size_t begin, size_t end) {
  const bool word_before = begin > 0 && (kind_at(text, before(text, begin)) &
                                         ETX_UNICODE_PLAIN_WORD) != 0;
  return !word_before && (kind_at(text, end) & ETX_UNICODE_PLAIN_WORD) == 0;
}

// Divides one piece.
static void divide_piece(const etx_added_tokens* added, int list,
                         etx_encode_work* work, size_t index,
                         const bool first_bytes[256]) {
  const size_t start = work->now.pieces[index].begin;
  const etx_text text = {(const char*)work->now.bytes + start,
                         etx_piece_end(&work->now, index) - start};
  size_t done = 0;
  for (size_t at = 0; at < text.size;) {
    const etx_added_token* const token = first_bytes[(uint8_t)text.data[at]]
                                             ? longest(added, list, text, at)
                                             : NULL;
    if (token == NULL) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + token->match.size;
    at = end;
    if (token->single_word && !stands_alone(text, begin, end)) continue;
    while (token->left_strip && begin > done &&
           (kind_at(text, before(text, begin)) & ETX_UNICODE_PLAIN_SPACE) !=
               0) {
      begin = before(text, begin);
    }
    while (token->right_strip &&
           (kind_at(text, end) & ETX_UNICODE_PLAIN_SPACE) != 0) {
      end += etx_utf8_length((uint8_t)text.data[end]);
    }
    if (begin > done) etx_work_divide(work, start + done, ETX_PIECE_TEXT);
    etx_work_divide(work, start + begin, (int32_t)token->id);
    done = end;
    if (at < end) at = end;
  }
  if (done < text.size) etx_work_divide(work, start + done, ETX_PIECE_TEXT);
}

void etx_added_tokens_divide(const etx_added_tokens* added, bool normalized,
                             etx_encode_work* work) {
  const int list = normalized;
  bool first_bytes[256] = {false};
  if (added->sorted_count[list] == 0) return;
  for (size_t i = 0; i < added->sorted_count[list]; ++i) {
    first_bytes[(uint8_t)match_at(added, list, i).data[0]] = true;
  }
  for (size_t i = 0; i < work->now.piece_count && !work->full; ++i) {
    const etx_text_piece piece = work->now.pieces[i];
    if (piece.token == ETX_PIECE_TEXT) {
      divide_piece(added, list, work, i, first_bytes);
    } else {
      etx_work_divide(work, piece.begin, piece.token);
    }
  }
  etx_work_turn_pieces(work);
}
