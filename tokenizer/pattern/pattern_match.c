// A backtracking matcher whose choices lie on a stack in the caller's memory. A
// repeated set is one choice, not one for each character.

#include "tokenizer/pattern/pattern.h"
#include "tokenizer/pattern/pattern_code.h"
#include "tokenizer/unicode/unicode.h"

// A choice. `low` < `at`: a greedy set that may end earlier, down to `low`;
// lazy: `low` is how often it may still match.
typedef struct match_frame {
  uint32_t code;
  uint32_t at;
  uint32_t low;
  uint32_t kind;  // FRAME_*
} match_frame;

enum {
  FRAME_GO_ON,
  FRAME_GREEDY,
  FRAME_LAZY,
  FRAME_LOOK,
  FRAME_LOOK_NOT,
  FRAME_ATOMIC
};

void etx_pattern_search_init(etx_pattern_search* search,
                             const etx_pattern* pattern, etx_bytes text,
                             etx_bytes_mut stack) {
  memset(search, 0, sizeof *search);
  search->pattern = pattern;
  search->text = text;
  search->stack = stack;
  search->steps = ETX_PATTERN_STEPS_FIXED +
                  (uint64_t)ETX_PATTERN_STEPS_PER_BYTE * text.size;
  search->status = ETX_OK;
}

static bool in_ranges(const etx_pattern* p, const etx_pattern_set* set,
                      uint32_t code) {
  for (size_t i = 0; i < set->range_count; ++i) {
    const etx_pattern_range range = p->ranges[set->range_first + i];
    if (code >= range.first && code <= range.last) return true;
  }
  return false;
}

static bool in_set(const etx_pattern* p, const etx_pattern_set* set,
                   uint32_t code) {
  if (code < 128) return (set->ascii[code >> 5] >> (code & 31) & 1) != 0;
  const uint32_t kind = etx_unicode_kind_of(code);
  const bool has =
      (set->categories >> (kind & ETX_UNICODE_CATEGORY_MASK) & 1) != 0 ||
      (kind & set->flags) != 0 || (~kind & set->lacks) != 0 ||
      in_ranges(p, set, code);
  return has != set->negated;
}

// Bytes of the character at `at` if it is in the set, else 0.
static size_t one(const etx_pattern_search* s, const etx_pattern_set* set,
                  size_t at) {
  uint32_t code = 0;
  if (at >= s->text.size) return 0;
  const size_t size =
      etx_utf8_read(s->text.data + at, s->text.size - at, &code);
  return in_set(s->pattern, set, code) ? size : 0;
}

static void push(etx_pattern_search* s, uint32_t kind, size_t code, size_t at,
                 size_t low) {
  match_frame* const frames = (void*)s->stack.data;
  if ((s->used + 1) * sizeof(match_frame) > s->stack.size) {
    s->status = ETX_OUT_OF_MEMORY;
    return;
  }
  frames[s->used++] =
      (match_frame){(uint32_t)code, (uint32_t)at, (uint32_t)low, kind};
}

static bool is_word(const etx_pattern_search* s, size_t at) {
  uint32_t code = 0;
  if (at >= s->text.size) return false;
  etx_utf8_read(s->text.data + at, s->text.size - at, &code);
  return (etx_unicode_kind_of(code) & ETX_UNICODE_WORD) != 0;
}

static size_t before(const etx_pattern_search* s, size_t at) {
  do {
    --at;
  } while ((s->text.data[at] & 0xC0) == 0x80 && at > 0);
  return at;
}

static bool holds(const etx_pattern_search* s, uint8_t kind, size_t at) {
  const size_t size = s->text.size;
  const uint8_t* const text = s->text.data;
  const bool edge = (at > 0 && is_word(s, before(s, at))) != is_word(s, at);
  switch (kind) {
    case ETX_PATTERN_LINE_BEGIN:
      return at == 0 || (text[at - 1] == '\n' && at < size);
    case ETX_PATTERN_LINE_END:
      return at == size || text[at] == '\n';
    case ETX_PATTERN_TEXT_BEGIN:
      return at == 0;
    case ETX_PATTERN_TEXT_END:
      return at == size;
    case ETX_PATTERN_TEXT_END_LINE:
      return at == size || (at + 1 == size && text[at] == '\n');
    case ETX_PATTERN_EDGE:
      return edge;
    default:
      return !edge;
  }
}

// Matches the set of an instruction. False: it does not match often enough.
static bool match_set(etx_pattern_search* s, size_t index, size_t* at) {
  const etx_pattern_code* const code = &s->pattern->code[index];
  const etx_pattern_set* const set = &s->pattern->sets[code->set];
  const uint32_t often =
      code->mode == ETX_PATTERN_LAZY ? code->least : code->most;
  size_t place = *at, low = *at;
  uint32_t count = 0;
  while (count < often) {
    const size_t size = one(s, set, place);
    if (size == 0) break;
    place += size;
    ++count;
    if (count == code->least) low = place;
  }
  s->steps = s->steps > count ? s->steps - count : 0;
  if (count < code->least) return false;
  if (code->mode == ETX_PATTERN_GREEDY && place > low) {
    push(s, FRAME_GREEDY, index + 1, place, low);
  }
  if (code->mode == ETX_PATTERN_LAZY && code->most > code->least) {
    push(s, FRAME_LAZY, index, place, code->most - code->least);
  }
  *at = place;
  return true;
}

// Ends the innermost look or atomic group. False: it was a look that must not
// match.
static bool end_inner(etx_pattern_search* s, size_t* index, size_t* at) {
  const match_frame* const frames = (const void*)s->stack.data;
  do {
    --s->used;
  } while (frames[s->used].kind < FRAME_LOOK);
  const match_frame inner = frames[s->used];
  if (inner.kind == FRAME_LOOK_NOT) return false;
  if (inner.kind == FRAME_LOOK) {
    *at = inner.at;
    *index = inner.code;
  } else {
    ++*index;
  }
  return true;
}

// Takes up the last choice that is left. False: there is none.
static bool back(etx_pattern_search* s, size_t* index, size_t* at) {
  match_frame* const frames = (void*)s->stack.data;
  while (s->used > 0) {
    match_frame* const last = &frames[s->used - 1];
    if (last->kind == FRAME_GREEDY) {
      last->at = (uint32_t)before(s, last->at);
      *at = last->at;
      *index = last->code;
      if (last->at <= last->low) --s->used;
      return true;
    }
    if (last->kind == FRAME_LAZY) {
      const etx_pattern_code* const code = &s->pattern->code[last->code];
      const size_t size = one(s, &s->pattern->sets[code->set], last->at);
      *index = last->code + 1u;
      *at = last->at + size;
      last->at = (uint32_t)*at;
      if (size == 0 || (code->most != UINT32_MAX && --last->low == 0))
        --s->used;
      if (size > 0) return true;
      continue;
    }
    --s->used;
    if (last->kind == FRAME_GO_ON || last->kind == FRAME_LOOK_NOT) {
      *index = last->code;
      *at = last->at;
      return true;
    }
  }
  return false;
}

// One instruction. False: it does not match here.
static bool step(etx_pattern_search* s, size_t* index, size_t* at) {
  const size_t here = *index;
  const etx_pattern_code* const code = &s->pattern->code[here];
  const size_t first = (size_t)((int64_t)here + code->first);
  switch (code->kind) {
    case ETX_PATTERN_SET:
      ++*index;
      return match_set(s, here, at);
    case ETX_PATTERN_SPLIT:
      push(s, FRAME_GO_ON, (size_t)((int64_t)here + code->second), *at, 0);
      *index = first;
      return true;
    case ETX_PATTERN_JUMP:
      *index = first;
      return true;
    case ETX_PATTERN_LOOK:
    case ETX_PATTERN_LOOK_NOT:
      push(s, code->kind == ETX_PATTERN_LOOK ? FRAME_LOOK : FRAME_LOOK_NOT,
           first, *at, 0);
      ++*index;
      return true;
    case ETX_PATTERN_ATOMIC:
      push(s, FRAME_ATOMIC, first, *at, 0);
      ++*index;
      return true;
    case ETX_PATTERN_END_INNER:
      return end_inner(s, index, at);
    default:
      ++*index;
      return holds(s, code->kind, *at);
  }
}

static bool match_at(etx_pattern_search* s, size_t at, size_t* out_end) {
  size_t index = 0;
  s->used = 0;
  while (s->status == ETX_OK) {
    if (s->pattern->code[index].kind == ETX_PATTERN_MATCH) {
      *out_end = at;
      return true;
    }
    if (s->steps == 0) {
      s->status = ETX_OUT_OF_RANGE;
      break;
    }
    --s->steps;
    if (!step(s, &index, &at) && s->status == ETX_OK && !back(s, &index, &at)) {
      return false;
    }
  }
  return false;
}

bool etx_pattern_find(etx_pattern_search* search, size_t from,
                      size_t* out_begin, size_t* out_end) {
  for (size_t at = from; at <= search->text.size && search->status == ETX_OK;) {
    if (match_at(search, at, out_end)) {
      *out_begin = at;
      return true;
    }
    at += at < search->text.size ? etx_utf8_length(search->text.data[at]) : 1;
  }
  return false;
}
