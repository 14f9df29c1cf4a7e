#include "tokenizer/normalize.h"

#include "tokenizer/unicode/unicode.h"

static uint32_t code_at(const etx_aligned_text* text, size_t at, size_t* size) {
  uint32_t code = 0;
  *size = etx_utf8_read(text->bytes + at, text->size - at, &code);
  return code;
}

// ---- NFC, NFD, NFKC, NFKD ----

enum { MARKS_MAX = 64 };  // marks of one character that are sorted

// A character of the decomposition with its change.
typedef struct composed {
  uint32_t code;
  int32_t delta;
  uint8_t class;
} composed;

// Marks behind a starter, and where they go.
typedef struct composer {
  etx_piece_change change;
  bool compose;
  composed marks[MARKS_MAX];  // a starter first, if has_starter
  size_t count;
  bool has_starter;
} composer;

// Insertion sort by class, which keeps the order of equal ones.
static void sort_marks(composer* c) {
  for (size_t i = c->has_starter ? 2 : 1; i < c->count; ++i) {
    const composed mark = c->marks[i];
    size_t at = i;
    for (; at > (size_t)c->has_starter && c->marks[at - 1].class > mark.class;
         --at) {
      c->marks[at] = c->marks[at - 1];
    }
    c->marks[at] = mark;
  }
}

// Composes the starter with its marks (Unicode Standard, 3.11, D117).
static void compose_marks(composer* c) {
  size_t kept = 1;
  uint8_t last = 0;
  if (!c->has_starter) return;
  for (size_t i = 1; i < c->count; ++i) {
    const composed mark = c->marks[i];
    const bool blocked = kept > 1 && last >= mark.class;
    const uint32_t whole =
        blocked ? 0 : etx_unicode_compose(c->marks[0].code, mark.code);
    if (whole != 0) {
      c->marks[0].code = whole;
      c->marks[0].delta += mark.delta - 1;
    } else {
      c->marks[kept++] = mark;
      last = mark.class;
    }
  }
  c->count = kept;
}

static void flush_marks(composer* c) {
  for (size_t i = 0; i < c->count; ++i) {
    etx_change_put(&c->change, c->marks[i].code, c->marks[i].delta);
  }
  c->count = 0;
  c->has_starter = false;
}

static void end_marks(composer* c) {
  sort_marks(c);
  if (c->compose) compose_marks(c);
}

static void add_decomposed(composer* c, uint32_t code, int32_t delta) {
  const uint8_t class = etx_unicode_combining_class(code);
  if (class == 0 || c->count == MARKS_MAX) {
    end_marks(c);
    if (c->compose && class == 0 && c->has_starter && c->count == 1) {
      // Two starters that become one, such as Hangul L and V.
      const uint32_t whole = etx_unicode_compose(c->marks[0].code, code);
      if (whole != 0) {
        c->marks[0].code = whole;
        c->marks[0].delta += delta - 1;
        return;
      }
    }
    flush_marks(c);
    c->has_starter = class == 0;
  }
  c->marks[c->count++] = (composed){code, delta, class};
}

// ASCII stays as it is; only its last character may be joined with what is
// behind it. Returns where that one begins.
static size_t keep_ascii(composer* c, size_t at) {
  const uint8_t* const bytes = c->change.work->now.bytes;
  size_t last = at;
  while (last + 1 < c->change.end && bytes[last + 1] < 0x80) ++last;
  if (last == at) return at;
  end_marks(c);
  flush_marks(c);
  etx_work_keep(c->change.work, at, last);
  c->change.at = last;
  return last;
}

static void normalize_form(etx_encode_work* work, size_t index, bool compatible,
                           bool compose) {
  composer c;
  uint32_t codes[ETX_UNICODE_TEXT_MAX];
  c.change = etx_change_piece(work, index);
  c.compose = compose;
  c.count = 0;
  c.has_starter = false;
  size_t size = 0;
  for (size_t at = c.change.begin; at < c.change.end; at += size) {
    if (work->now.bytes[at] < 0x80) at = keep_ascii(&c, at);
    const uint32_t code = code_at(&work->now, at, &size);
    const size_t count = etx_unicode_decompose(code, compatible, codes);
    for (size_t i = 0; i < count; ++i) add_decomposed(&c, codes[i], i > 0);
  }
  end_marks(&c);
  flush_marks(&c);
}

// ---- single characters ----

static void lower_piece(etx_encode_work* work, size_t index) {
  uint32_t codes[ETX_UNICODE_TEXT_MAX];
  etx_piece_change change = etx_change_piece(work, index);
  size_t size = 0;
  for (size_t at = change.begin; at < change.end; at += size) {
    const size_t count =
        etx_unicode_to_lower(code_at(&work->now, at, &size), codes);
    for (size_t i = 0; i < count; ++i) etx_change_put(&change, codes[i], i > 0);
  }
}

// Deletes characters with a flag.
static void delete_flagged(etx_encode_work* work, size_t index, uint32_t flag) {
  const etx_piece_change piece = etx_change_piece(work, index);
  size_t size = 0;
  for (size_t at = piece.begin; at < piece.end; at += size) {
    const uint32_t kind = etx_unicode_kind_of(code_at(&work->now, at, &size));
    if ((kind & flag) == 0) etx_work_keep(work, at, at + size);
  }
}

static bool is_space(uint32_t code) {
  return (etx_unicode_kind_of(code) & ETX_UNICODE_PLAIN_SPACE) != 0;
}

static void strip_piece(const etx_token_step* step, etx_encode_work* work,
                        size_t index) {
  const etx_aligned_text* const now = &work->now;
  const etx_piece_change piece = etx_change_piece(work, index);
  size_t begin = piece.begin, end = piece.end, size = 0;
  while (step->options[0] && begin < end &&
         is_space(code_at(now, begin, &size))) {
    begin += size;
  }
  while (step->options[1] && end > begin) {
    size_t last = end - 1;
    while ((now->bytes[last] & 0xC0) == 0x80) --last;
    if (!is_space(code_at(now, last, &size))) break;
    end = last;
  }
  etx_work_keep(work, begin, end);
}

// ---- Bert ----

static bool is_chinese(uint32_t code) {
  static const uint32_t ranges[][2] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},
                                       {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
                                       {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                                       {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; ++i) {
    if (code >= ranges[i][0] && code <= ranges[i][1]) return true;
  }
  return false;
}

static void clean_piece(etx_encode_work* work, size_t index) {
  etx_piece_change change = etx_change_piece(work, index);
  size_t size = 0;
  for (size_t at = change.begin; at < change.end; at += size) {
    const uint32_t code = code_at(&work->now, at, &size);
    const bool space =
        code == '\t' || code == '\n' || code == '\r' || is_space(code);
    if ((etx_unicode_kind_of(code) & ETX_UNICODE_CONTROL) != 0) continue;
    change.at = at;
    etx_change_put(&change, space ? ' ' : code, 0);
  }
}

static void chinese_piece(etx_encode_work* work, size_t index) {
  etx_piece_change change = etx_change_piece(work, index);
  size_t size = 0;
  for (size_t at = change.begin; at < change.end; at += size) {
    const uint32_t code = code_at(&work->now, at, &size);
    if (!is_chinese(code)) {
      etx_change_put(&change, code, 0);
      continue;
    }
    etx_change_put(&change, ' ', 0);
    etx_change_put(&change, code, 1);
    etx_change_put(&change, ' ', 1);
  }
}

// ---- replacing ----

etx_status etx_pattern_failed(etx_status status, etx_diag* diag) {
  if (status == ETX_OUT_OF_MEMORY) {
    return etx_diag_fail(diag, status, "too little memory to match a pattern");
  }
  if (status == ETX_OUT_OF_RANGE) {
    return etx_diag_fail(
        diag, status,
        "a pattern needs more steps for this text than the limit");
  }
  return status;
}

bool etx_step_find(const etx_token_step* step, etx_pattern_search* search,
                   size_t from, size_t* begin, size_t* end) {
  if (step->has_pattern) return etx_pattern_find(search, from, begin, end);
  const size_t size = step->literal.size;
  if (size == 0 || search->text.size < size) return false;
  const uint8_t* at = search->text.data + from;
  const uint8_t* const last = search->text.data + search->text.size - size;
  while (at <= last) {
    at = memchr(at, (uint8_t)step->literal.data[0], (size_t)(last - at) + 1);
    if (at == NULL) return false;
    if (memcmp(at, step->literal.data, size) == 0) {
      *begin = (size_t)(at - search->text.data);
      *end = *begin + size;
      return true;
    }
    ++at;
  }
  return false;
}

static void put_text(etx_encode_work* work, etx_text text, etx_place place) {
  etx_work_put(work, (const uint8_t*)text.data, text.size, place);
}

etx_status etx_replace_piece(const etx_token_step* step, etx_encode_work* work,
                             size_t index, etx_diag* diag) {
  const etx_piece_change piece = etx_change_piece(work, index);
  const etx_bytes text = {work->now.bytes + piece.begin,
                          piece.end - piece.begin};
  const etx_bytes_mut stack = {work->tail, work->tail_bytes};
  etx_pattern_search search;
  size_t kept = 0, from = 0, begin = 0, end = 0;
  etx_pattern_search_init(&search, &step->pattern, text, stack);
  while (from <= text.size &&
         etx_step_find(step, &search, from, &begin, &end)) {
    etx_work_keep(work, piece.begin + kept, piece.begin + begin);
    const etx_place* const places = work->now.places + piece.begin;
    put_text(work, step->content,
             end == 0 ? places[0] & ~(etx_place)7 : places[end - 1]);
    kept = end;
    from = end;
    if (end == begin)
      from += end < text.size ? etx_utf8_length(text.data[end]) : 1;
  }
  etx_work_keep(work, piece.begin + kept, piece.end);
  return etx_pattern_failed(search.status, diag);
}

void etx_prepend_piece(etx_text text, etx_encode_work* work, size_t index) {
  const etx_piece_change piece = etx_change_piece(work, index);
  put_text(work, text, work->now.places[piece.begin]);
  etx_work_keep(work, piece.begin, piece.end);
}

// ---- Precompiled ----

// A grapheme cluster that is read (Unicode Standard Annex 29); right only for
// clusters of less than six bytes, and for where those end.
typedef struct cluster_end {
  uint32_t last;  // character
  // The last characters are a pictograph and marks, and behind them a
  // zero-width joiner: another pictograph belongs to the cluster (GB11).
  bool in_pictograph, joins;
} cluster_end;

enum { ZERO_WIDTH_JOINER = 0x200D };

static void add_to_cluster(cluster_end* c, uint32_t code) {
  const uint32_t kind = etx_unicode_kind_of(code);
  const bool is_joiner = code == ZERO_WIDTH_JOINER;
  c->joins = c->in_pictograph && is_joiner;
  c->in_pictograph =
      (kind & ETX_UNICODE_PICTOGRAPH) != 0 ||
      (c->in_pictograph && !is_joiner && (kind & ETX_UNICODE_EXTEND) != 0);
  c->last = code;
}

// True if the cluster ends in front of `right`.
static bool cluster_ends(const cluster_end* c, uint32_t right) {
  const uint32_t before = etx_unicode_kind_of(c->last),
                 behind = etx_unicode_kind_of(right);
  if (c->last == '\r' && right == '\n') return false;
  if (((before | behind) & ETX_UNICODE_BREAK) != 0) return true;
  if ((behind & ETX_UNICODE_EXTEND) != 0) return false;
  if (c->joins && (behind & ETX_UNICODE_PICTOGRAPH) != 0) return false;
  return (before & ETX_UNICODE_PREPEND) == 0;
}

static size_t code_count(const uint8_t* bytes, size_t size) {
  size_t count = 0;
  for (size_t i = 0; i < size; ++i) count += (bytes[i] & 0xC0) != 0x80;
  return count;
}

// The last character waits, since a text that is deleted behind it counts for
// it.
typedef struct waiting_code {
  etx_piece_change change;
  uint32_t code;
  int32_t delta;
  bool any;
} waiting_code;

static void put_waiting(waiting_code* w, uint32_t code, int32_t delta) {
  if (w->any) etx_change_put(&w->change, w->code, w->delta);
  w->code = code;
  w->delta = delta;
  w->any = true;
}

// Writes `text` for `old_count` characters.
static void put_mapped(waiting_code* w, etx_text text, size_t old_count) {
  const uint8_t* const bytes = (const uint8_t*)text.data;
  const size_t new_count = code_count(bytes, text.size);
  size_t number = 0;
  for (size_t at = 0; at < text.size; ++number) {
    uint32_t code = 0;
    at += etx_utf8_read(bytes + at, text.size - at, &code);
    put_waiting(w, code, number >= old_count ? 1 : 0);
  }
  if (new_count < old_count) w->delta -= (int32_t)(old_count - new_count);
}

// Where the cluster at `at` ends; *out_code is its first character. Two of
// ASCII are two clusters, but for a line end of two.
static size_t end_of_cluster(const etx_aligned_text* now, size_t at,
                             size_t piece_end, uint32_t* out_code) {
  const uint8_t first = now->bytes[at];
  if (first < 0x80 && first != '\r' &&
      (at + 1 == piece_end || now->bytes[at + 1] < 0x80)) {
    *out_code = first;
    return at + 1;
  }
  cluster_end last = {0, false, false};
  size_t size = 0;
  *out_code = code_at(now, at, &size);
  add_to_cluster(&last, *out_code);
  size_t end = at + size;
  for (; end < piece_end; end += size) {
    const uint32_t right = code_at(now, end, &size);
    if (cluster_ends(&last, right)) break;
    add_to_cluster(&last, right);
  }
  return end;
}

// Keeps characters of ASCII that stay as they are, but for the last one, behind
// which a text may be deleted. Returns where that one begins.
static size_t keep_those_that_stay(const etx_charsmap* map, waiting_code* w,
                                   size_t at) {
  const uint8_t* const bytes = w->change.work->now.bytes;
  size_t last = at;
  while (last + 1 < w->change.end && bytes[last] < 0x80 &&
         bytes[last + 1] < 0x80 && map->stays[bytes[last]]) {
    ++last;
  }
  if (last - at < 2) return at;
  if (bytes[last] >= 0x80 || !map->stays[bytes[last]]) --last;
  if (w->any) etx_change_put(&w->change, w->code, w->delta);
  w->any = false;
  // Behind a text that was deleted at the start, places lag.
  if (w->change.at != at) return at;
  etx_work_keep(w->change.work, at, last);
  w->change.at = last;
  return last;
}

static void precompiled_piece(const etx_token_step* step, etx_encode_work* work,
                              size_t index) {
  waiting_code w = {etx_change_piece(work, index), 0, 0, false};
  const size_t piece_end = w.change.end;
  const etx_aligned_text* const now = &work->now;
  size_t size = 0, end = 0;
  for (size_t at = w.change.begin; at < piece_end; at = end) {
    uint32_t first = 0;
    at = keep_those_that_stay(&step->charsmap, &w, at);
    end = end_of_cluster(now, at, piece_end, &first);
    etx_text text;
    const etx_bytes cluster = {now->bytes + at, end - at};
    if (cluster.size < 6 &&
        etx_charsmap_find(&step->charsmap, cluster, &text)) {
      put_mapped(&w, text, code_count(cluster.data, cluster.size));
      continue;
    }
    if (cluster.size == etx_utf8_length(now->bytes[at])) {
      put_waiting(&w, first, 0);  // looked up already
      continue;
    }
    for (size_t part = at; part < end; part += size) {
      const uint32_t code = code_at(now, part, &size);
      const etx_bytes character = {now->bytes + part, size};
      if (etx_charsmap_find(&step->charsmap, character, &text)) {
        put_mapped(&w, text, 1);
      } else {
        put_waiting(&w, code, 0);
      }
    }
  }
  if (w.any) etx_change_put(&w.change, w.code, w.delta);
}

// ---- ByteLevel ----

uint32_t etx_byte_to_code(uint8_t byte) {
  if (byte < 33) return 256u + byte;
  if (byte < 127) return byte;
  if (byte < 161) return 256u + 33u + (byte - 127u);
  return byte == 173 ? 256u + 67u : byte;
}

int etx_code_to_byte(uint32_t code) {
  if (code >= 33 && code < 127) return (int)code;
  if (code >= 161 && code < 256 && code != 173) return (int)code;
  if (code < 256 || code > 256 + 67) return -1;
  const uint32_t index = code - 256;
  if (index < 33) return (int)index;
  return index < 67 ? (int)(index - 33 + 127) : 173;
}

void etx_byte_level_piece(etx_encode_work* work, size_t index) {
  const etx_piece_change piece = etx_change_piece(work, index);
  etx_aligned_text* const next = &work->next;
  if (2 * (piece.end - piece.begin) > work->capacity - next->size) {
    work->full = true;
    return;
  }
  for (size_t at = piece.begin; at < piece.end; ++at) {
    const size_t size = etx_utf8_write(etx_byte_to_code(work->now.bytes[at]),
                                       next->bytes + next->size);
    for (size_t i = 0; i < size; ++i) {
      next->places[next->size + i] = work->now.places[at];
    }
    next->size += size;
  }
}

// ---- all steps ----

static void keep_piece(etx_encode_work* work, size_t index) {
  const etx_piece_change piece = etx_change_piece(work, index);
  etx_work_keep(work, piece.begin, piece.end);
}

// Applies one pass of a step; Bert has several.
static etx_status pass(const etx_token_step* step, int number,
                       etx_encode_work* work, size_t index, etx_diag* diag) {
  switch (step->kind) {
    case ETX_STEP_NFC:
      normalize_form(work, index, false, true);
      break;
    case ETX_STEP_NFD:
      normalize_form(work, index, false, false);
      break;
    case ETX_STEP_NFKC:
      normalize_form(work, index, true, true);
      break;
    case ETX_STEP_NFKD:
      normalize_form(work, index, true, false);
      break;
    case ETX_STEP_LOWERCASE:
      lower_piece(work, index);
      break;
    case ETX_STEP_STRIP:
      strip_piece(step, work, index);
      break;
    case ETX_STEP_STRIP_ACCENTS:
      delete_flagged(work, index, ETX_UNICODE_MARK);
      break;
    case ETX_STEP_PRECOMPILED:
      precompiled_piece(step, work, index);
      break;
    case ETX_STEP_BYTES:
      etx_byte_level_piece(work, index);
      break;
    case ETX_STEP_PREPEND:
      etx_prepend_piece(step->content, work, index);
      break;
    case ETX_STEP_REPLACE:
      return etx_replace_piece(step, work, index, diag);
    default:
      if (number == 0) clean_piece(work, index);
      if (number == 1) chinese_piece(work, index);
      if (number == 2) normalize_form(work, index, false, false);
      if (number == 3) delete_flagged(work, index, ETX_UNICODE_ACCENT);
      if (number == 4) lower_piece(work, index);
  }
  return ETX_OK;
}

static bool has_pass(const etx_token_step* step, int number) {
  static const int options[] = {0, 1, 2, 2, 3};
  if (step->kind != ETX_STEP_BERT) return number == 0;
  return step->options[options[number]];
}

etx_status etx_normalize(const etx_token_steps* steps, etx_encode_work* work,
                         etx_diag* diag) {
  for (size_t i = 0; i < 5 * steps->count; ++i) {
    const etx_token_step* const step = &steps->steps[i / 5];
    const int number = (int)(i % 5);
    if (!has_pass(step, number)) continue;
    for (size_t p = 0; p < work->now.piece_count && !work->full; ++p) {
      etx_status status = ETX_OK;
      if (work->now.pieces[p].token == ETX_PIECE_TEXT) {
        status = pass(step, number, work, p, diag);
      } else {
        keep_piece(work, p);
      }
      if (status != ETX_OK) return status;
    }
    etx_work_turn(work);
  }
  return ETX_OK;
}
