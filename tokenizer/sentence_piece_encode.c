#include "tokenizer/normalize.h"
#include "tokenizer/sentence_piece.h"
#include "tokenizer/unicode/unicode.h"

static const char space_mark[] = "\xE2\x96\x81";  // U+2581

// Bytes of the input.
typedef struct piece_span {
  uint32_t begin, end;
} piece_span;

// What an encoding needs everywhere.
typedef struct piece_encoding {
  const etx_sentence_piece* model;
  const etx_vocabulary* vocabulary;
  etx_encode_work* work;
  etx_text text;  // normalized
  uint32_t end;   // byte of the input behind what was normalized
  etx_piece_sink sink;
  bool is_unknown;  // unknown text waits for more of it
  piece_span unknown;
} piece_encoding;

// ---- normalizing ----

// Appends bytes that stand for the input from `from` on. Each byte knows only
// where its character begins: it ends where the next one begins.
static void put(etx_encode_work* work, const char* bytes, size_t size,
                size_t from) {
  etx_aligned_text* const now = &work->now;
  if (work->full || size > work->capacity - now->size) {
    work->full = true;
    return;
  }
  memcpy(now->bytes + now->size, bytes, size);
  for (size_t i = 0; i < size; ++i) {
    now->places[now->size + i] = (etx_place)from << 3;
  }
  now->size += size;
}

static void put_space(const piece_encoding* e, size_t from) {
  if (e->model->marks_spaces) {
    put(e->work, space_mark, 3, from);
  } else {
    put(e->work, " ", 1, from);
  }
}

// Bytes of the longest symbol of the user that a text begins with, or 0.
static size_t find_symbol(const piece_encoding* e, etx_text text) {
  etx_token_walk walk =
      etx_token_walk_from(&e->model->user_symbols, (etx_text){NULL, 0});
  size_t longest = 0;
  uint32_t id = 0;
  while (etx_token_walk_next(&walk, text, &longest, &id)) {
  }
  return longest;
}

// What a text begins with, after normalization. Returns the bytes of the input
// that it stands for.
static size_t normalize_prefix(const piece_encoding* e, etx_text text,
                               etx_text* out) {
  const etx_bytes bytes = {(const uint8_t*)text.data, text.size};
  const size_t symbol = find_symbol(e, text);
  *out = (etx_text){text.data, symbol};
  if (symbol != 0) return symbol;
  const size_t mapped =
      etx_charsmap_find_longest(&e->model->charsmap, bytes, out);
  if (mapped != 0) return mapped;
  uint32_t code = 0;
  const size_t size = etx_utf8_read(bytes.data, bytes.size, &code);
  *out = (etx_text){text.data, size};
  if (code != ETX_UNICODE_REPLACEMENT || (size == 3 && bytes.data[0] == 0xEF)) {
    return size;
  }
  *out = etx_text_of("\xEF\xBF\xBD");  // for each byte that is no UTF-8
  return 1;
}

static size_t skip_spaces(const piece_encoding* e, etx_text input) {
  size_t at = 0;
  etx_text found;
  while (at < input.size) {
    const etx_text rest = {input.data + at, input.size - at};
    const size_t size = normalize_prefix(e, rest, &found);
    if (!etx_text_is(found, " ")) break;
    at += size;
  }
  return at;
}

// Spaces at the end are dropped. Returns where the rest ends in the input.
static size_t drop_spaces(const piece_encoding* e, size_t at) {
  etx_aligned_text* const now = &e->work->now;
  const char* const space = e->model->marks_spaces ? space_mark : " ";
  const size_t size = e->model->marks_spaces ? 3 : 1;
  while (now->size >= size &&
         memcmp(now->bytes + now->size - size, space, size) == 0) {
    now->size -= size;
    at = now->places[now->size] >> 3;
  }
  return at;
}

static void put_normalized(const piece_encoding* e, etx_text text, size_t at) {
  for (size_t i = 0; i < text.size; ++i) {
    if (text.data[i] == ' ') {
      put_space(e, at);
    } else {
      put(e->work, text.data + i, 1, at);
    }
  }
}

static void normalize(piece_encoding* e, etx_text input) {
  const etx_sentence_piece* const model = e->model;
  e->work->now.size = 0;
  size_t at = model->trims_spaces ? skip_spaces(e, input) : 0;
  if (at == input.size) return;
  if (model->prefix && !model->space_behind) put_space(e, at);
  bool is_behind_space = model->trims_spaces;
  while (at < input.size && !e->work->full) {
    etx_text found;
    const etx_text rest = {input.data + at, input.size - at};
    const size_t size = normalize_prefix(e, rest, &found);
    while (is_behind_space && found.size > 0 && found.data[0] == ' ') {
      ++found.data;
      --found.size;
    }
    put_normalized(e, found, at);
    if (found.size > 0) {
      is_behind_space =
          model->trims_spaces && found.data[found.size - 1] == ' ';
    }
    at += size;
  }
  if (model->trims_spaces) at = drop_spaces(e, at);
  if (model->prefix && model->space_behind) put_space(e, at);
  e->end = (uint32_t)at;
}

// ---- ids ----

static uint32_t place_of(const piece_encoding* e, size_t at) {
  return at < e->text.size ? e->work->now.places[at] >> 3 : e->end;
}

static void end_unknown(piece_encoding* e) {
  if (e->is_unknown) {
    e->sink.put(e->sink.context, (uint32_t)e->model->unknown, e->unknown.begin,
                e->unknown.end);
  }
  e->is_unknown = false;
}

// Unknown pieces in a row are one, or the tokens of their bytes.
static void put_piece(piece_encoding* e, uint32_t id, size_t begin,
                      size_t end) {
  const piece_span span = {place_of(e, begin), place_of(e, end)};
  if ((int32_t)id != e->model->unknown) {
    end_unknown(e);
    e->sink.put(e->sink.context, id, span.begin, span.end);
    return;
  }
  if (!e->model->byte_fallback) {
    if (!e->is_unknown) e->unknown = span;
    e->unknown.end = span.end;
    e->is_unknown = true;
    return;
  }
  for (size_t i = begin; i < end; ++i) {
    const int32_t byte = e->model->bytes[(uint8_t)e->text.data[i]];
    e->sink.put(e->sink.context, (uint32_t)byte, span.begin, span.end);
  }
}

// Bytes of the character at `at`.
static size_t character_at(const piece_encoding* e, size_t at) {
  const size_t size = etx_utf8_length((uint8_t)e->text.data[at]);
  const size_t left = e->text.size - at;
  return size == 0 ? 1 : size < left ? size : left;
}

// ---- Unigram ----

// The best way to the byte behind it.
typedef struct piece_way {
  float score;
  uint32_t begin;  // of its last piece; UINT32_MAX: there is no way yet. Later
                   // the end of the piece that begins here.
  uint32_t id;
} piece_way;

static void offer(piece_way* way, float score, size_t begin, uint32_t id) {
  if (way->begin != UINT32_MAX && !(score > way->score)) return;
  *way = (piece_way){score, (uint32_t)begin, id};
}

// Symbols of the user win against any division into other pieces.
static float score_of(const etx_sentence_piece* model, uint32_t id,
                      size_t size) {
  if (model->kinds[id] != ETX_PIECE_USER_DEFINED) {
    return model->scores[id];
  }
  return (float)size * model->most_score - 0.1f;
}

static void offer_pieces(const piece_encoding* e, size_t at, piece_way* ways) {
  const etx_sentence_piece* const model = e->model;
  const size_t character = character_at(e, at);
  const float before = ways[at].score;
  const etx_text rest = {e->text.data + at, e->text.size - at};
  etx_token_walk walk =
      etx_token_walk_from(&model->pieces, (etx_text){NULL, 0});
  bool is_known = false;
  size_t size = 0;
  uint32_t id = 0;
  while (etx_token_walk_next(&walk, rest, &size, &id)) {
    offer(&ways[at + size], score_of(model, id, size) + before, at, id);
    is_known = is_known || size == character;
  }
  if (is_known) return;
  const float unknown = model->least_score - 10.0f;
  const float sum = unknown + ways[at].score;
  offer(&ways[at + character], sum, at, (uint32_t)model->unknown);
}

static etx_status encode_unigram(piece_encoding* e, etx_diag* diag) {
  const size_t size = e->text.size;
  piece_way* const ways = (void*)e->work->tail;
  if ((size + 1) * sizeof *ways > e->work->tail_bytes) {
    return etx_model_no_memory(diag);
  }
  for (size_t i = 0; i <= size; ++i) ways[i] = (piece_way){0, UINT32_MAX, 0};
  for (size_t at = 0; at < size; at += character_at(e, at)) {
    offer_pieces(e, at, ways);
  }
  size_t behind = size;
  for (size_t at = size; at > 0;) {
    const size_t begin = ways[at].begin;
    ways[at].begin = (uint32_t)behind;
    behind = at;
    at = begin;
  }
  for (size_t at = 0; at < size;) {
    const size_t end = behind;
    put_piece(e, ways[end].id, at, end);
    behind = ways[end].begin;
    at = end;
  }
  return ETX_OK;
}

// ---- BPE ----

// A part of the text. size 0: it became part of the one before it.
typedef struct text_part {
  uint32_t begin, size;
  int32_t before, behind;  // -1: none
} text_part;

// Two neighbours whose join is a piece. Candidates that came true elsewhere are
// recognised by their size.
typedef struct join {
  float score;
  uint32_t left, right, size;
} join;

typedef struct piece_joiner {
  piece_encoding* e;
  text_part* parts;
  uint8_t* is_frozen;  // by part: a symbol of the user, which is not joined
  join* heap;
  size_t part_count, heap_count, part_limit, heap_limit;
  bool full;
} piece_joiner;

static bool is_before(const join* a, const join* b) {
  return a->score != b->score ? a->score > b->score : a->left < b->left;
}

static void push(piece_joiner* b, join item) {
  if (b->heap_count == b->heap_limit) {
    b->full = true;
    return;
  }
  size_t at = b->heap_count++;
  for (; at > 0 && is_before(&item, &b->heap[(at - 1) / 2]);
       at = (at - 1) / 2) {
    b->heap[at] = b->heap[(at - 1) / 2];
  }
  b->heap[at] = item;
}

static join pop(piece_joiner* b) {
  const join top = b->heap[0];
  const join last = b->heap[--b->heap_count];
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= b->heap_count) break;
    if (child + 1 < b->heap_count &&
        is_before(&b->heap[child + 1], &b->heap[child])) {
      ++child;
    }
    if (!is_before(&b->heap[child], &last)) break;
    b->heap[at] = b->heap[child];
    at = child;
  }
  b->heap[at] = last;
  return top;
}

static void consider(piece_joiner* b, int32_t left, int32_t right) {
  if (left < 0 || right < 0 || b->is_frozen[left] || b->is_frozen[right]) {
    return;
  }
  const etx_sentence_piece* const model = b->e->model;
  const size_t size = b->parts[left].size + b->parts[right].size;
  if (size > b->e->vocabulary->longest) return;
  const etx_text whole = {b->e->text.data + b->parts[left].begin, size};
  const int32_t id = etx_vocabulary_find(b->e->vocabulary, whole);
  if (id < 0 || (model->kinds[id] != ETX_PIECE_NORMAL &&
                 model->kinds[id] != ETX_PIECE_USER_DEFINED)) {
    return;
  }
  push(b, (join){model->scores[id], (uint32_t)left, (uint32_t)right,
                 (uint32_t)size});
}

static void add_parts(piece_joiner* b) {
  const etx_text text = b->e->text;
  size_t size = 0;
  for (size_t at = 0; at < text.size && !b->full; at += size) {
    const etx_text rest = {text.data + at, text.size - at};
    const size_t symbol = find_symbol(b->e, rest);
    size = symbol != 0 ? symbol : character_at(b->e, at);
    if (b->part_count == b->part_limit) {
      b->full = true;
      return;
    }
    const int32_t index = (int32_t)b->part_count++;
    b->is_frozen[index] = symbol != 0;
    b->parts[index] =
        (text_part){(uint32_t)at, (uint32_t)size, index - 1, index + 1};
  }
  if (b->part_count > 0) b->parts[b->part_count - 1].behind = -1;
}

static void join_all(piece_joiner* b) {
  for (size_t i = 1; i < b->part_count; ++i) {
    consider(b, (int32_t)i - 1, (int32_t)i);
  }
  while (b->heap_count > 0 && !b->full) {
    const join top = pop(b);
    text_part* const left = &b->parts[top.left];
    text_part* const right = &b->parts[top.right];
    if (left->size == 0 || right->size == 0 ||
        left->size + right->size != top.size) {
      continue;
    }
    left->size += right->size;
    left->behind = right->behind;
    if (right->behind >= 0) b->parts[right->behind].before = (int32_t)top.left;
    right->size = 0;
    consider(b, left->before, (int32_t)top.left);
    consider(b, (int32_t)top.left, left->behind);
  }
}

static etx_status encode_bpe(piece_encoding* e, etx_diag* diag) {
  // A heap holds at most two candidates for each part.
  const size_t room =
      e->work->tail_bytes / (sizeof(text_part) + 2 * sizeof(join) + 1);
  piece_joiner b = {.e = e, .part_limit = room, .heap_limit = 2 * room};
  b.parts = (void*)e->work->tail;
  b.heap = (void*)(e->work->tail + room * sizeof(text_part));
  b.is_frozen = e->work->tail + room * (sizeof(text_part) + 2 * sizeof(join));
  add_parts(&b);
  join_all(&b);
  if (b.full) return etx_model_no_memory(diag);
  for (int32_t i = b.part_count > 0 ? 0 : -1; i >= 0; i = b.parts[i].behind) {
    const text_part* const p = &b.parts[i];
    const etx_text piece = {e->text.data + p->begin, p->size};
    const int32_t id = etx_vocabulary_find(e->vocabulary, piece);
    put_piece(e, (uint32_t)(id >= 0 ? id : e->model->unknown), p->begin,
              (size_t)p->begin + p->size);
  }
  return ETX_OK;
}

// ---- the whole ----

size_t etx_sentence_piece_bound(const etx_sentence_piece* model,
                                size_t text_bytes) {
  // A space becomes three bytes, and so does a byte that is no UTF-8.
  const size_t factor =
      3 * (model->longest_mapped > 1 ? model->longest_mapped : 1);
  return text_bytes > (SIZE_MAX / 4 - 8) / factor ? SIZE_MAX / 4
                                                  : text_bytes * factor + 8;
}

etx_status etx_sentence_piece_encode(const etx_tokenizer_content* content,
                                     etx_encode_work* work, etx_text text,
                                     etx_piece_sink sink, etx_diag* diag) {
  piece_encoding e = {.model = content->pieces,
                      .vocabulary = &content->model.vocabulary,
                      .work = work,
                      .sink = sink};
  normalize(&e, text);
  if (work->full) return etx_model_no_memory(diag);
  e.text = (etx_text){(const char*)work->now.bytes, work->now.size};
  const etx_status status =
      e.model->is_bpe ? encode_bpe(&e, diag) : encode_unigram(&e, diag);
  end_unknown(&e);
  return status;
}
