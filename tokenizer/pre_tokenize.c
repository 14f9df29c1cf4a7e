#include "tokenizer/normalize.h"
#include "tokenizer/unicode/unicode.h"

// How a division goes through one piece.
typedef struct piece_division {
  const etx_token_step* step;
  etx_encode_work* work;
  size_t begin, end;  // of the piece
  etx_split_behavior behavior;
  bool removes;       // bytes are left out, so kept ones are copied
  bool last_matched;  // the part before was a match
  bool any;           // there was a part before
} piece_division;

static void begin_part(piece_division* d, size_t begin) {
  if (d->removes) {
    etx_work_begin_piece(d->work, ETX_PIECE_TEXT);
  } else {
    etx_work_divide(d->work, begin, ETX_PIECE_TEXT);
  }
}

// Takes the next part of the piece. Parts cover it from begin to end.
static void take_part(piece_division* d, size_t begin, size_t end,
                      bool matched) {
  bool begins = true;
  if (begin == end) return;
  switch (d->behavior) {
    case ETX_SPLIT_REMOVED:
      if (matched) return;
      break;
    case ETX_SPLIT_ISOLATED:
      break;
    case ETX_SPLIT_CONTIGUOUS:
      begins = !d->any || matched != d->last_matched;
      break;
    case ETX_SPLIT_WITH_PREVIOUS:
      begins = !d->any || !matched || d->last_matched;
      break;
    case ETX_SPLIT_WITH_NEXT:
      begins = !d->any || matched || !d->last_matched;
      break;
  }
  if (begins) begin_part(d, begin);
  if (d->removes) etx_work_keep(d->work, begin, end);
  d->any = true;
  d->last_matched = matched;
}

static void begin_division(piece_division* d, const etx_token_step* step,
                           etx_encode_work* work, size_t index) {
  memset(d, 0, sizeof *d);
  d->step = step;
  d->work = work;
  d->behavior = step->behavior;
  d->begin = work->now.pieces[index].begin;
  d->end = etx_piece_end(&work->now, index);
}

static bool removes(const etx_token_step* step) {
  switch (step->kind) {
    case ETX_STEP_WHITESPACE:
    case ETX_STEP_WHITESPACE_SPLIT:
    case ETX_STEP_BERT_PRE:
      return true;
    case ETX_STEP_SPLIT:
    case ETX_STEP_PUNCTUATION:
    case ETX_STEP_DELIMITER:
      return step->behavior == ETX_SPLIT_REMOVED;
    default:
      return false;
  }
}

static etx_status divide_by_pattern(piece_division* d, etx_diag* diag) {
  etx_encode_work* const work = d->work;
  const etx_bytes text = {work->now.bytes + d->begin, d->end - d->begin};
  const etx_bytes_mut stack = {work->tail, work->tail_bytes};
  const bool invert = d->step->invert;
  etx_pattern_search search;
  size_t done = 0, from = 0, begin = 0, end = 0;
  etx_pattern_search_init(&search, &d->step->pattern, text, stack);
  while (from <= text.size && !work->full &&
         etx_step_find(d->step, &search, from, &begin, &end)) {
    take_part(d, d->begin + done, d->begin + begin, invert);
    take_part(d, d->begin + begin, d->begin + end, !invert);
    done = from = end;
    if (begin == end)
      from += end < text.size ? etx_utf8_length(text.data[end]) : 1;
  }
  take_part(d, d->begin + done, d->end, invert);
  return etx_pattern_failed(search.status, diag);
}

// What a pre-tokenizer without a pattern sees in a character: parts are runs of
// one class; 0 is left out, and classes from 16 on are parts of one character.
static int class_of(const etx_token_step* step, uint32_t code) {
  const uint32_t kind = etx_unicode_kind_of(code);
  const bool space = (kind & ETX_UNICODE_PLAIN_SPACE) != 0;
  switch (step->kind) {
    case ETX_STEP_WHITESPACE:
      if ((kind & ETX_UNICODE_PLAIN_WORD) != 0) return 1;
      return space ? 0 : 2;
    case ETX_STEP_WHITESPACE_SPLIT:
      return space ? 0 : 1;
    case ETX_STEP_BERT_PRE:
      if (space) return 0;
      return (kind & ETX_UNICODE_PUNCTUATION) != 0 ? 16 : 1;
    case ETX_STEP_DIGITS:
      return (kind & ETX_UNICODE_NUMERIC) != 0;
    default:
      return (kind & ETX_UNICODE_PUNCTUATION) != 0;
  }
}

// Pre-tokenizers that divide into runs.
static void divide_into_runs(piece_division* d) {
  const etx_aligned_text* const now = &d->work->now;
  int run = 0;
  d->behavior = ETX_SPLIT_ISOLATED;
  size_t begin = d->begin, size = 0;
  for (size_t at = d->begin; at < d->end; at += size) {
    uint32_t code = 0;
    size = etx_utf8_read(now->bytes + at, d->end - at, &code);
    const int class = class_of(d->step, code);
    if (class != run || class >= 16) {
      if (run != 0) take_part(d, begin, at, false);
      begin = at;
    }
    run = class;
  }
  if (run != 0) take_part(d, begin, d->end, false);
}

// Punctuation and Digits: each character that has the flag is a match.
static void divide_by_flag(piece_division* d) {
  const etx_aligned_text* const now = &d->work->now;
  size_t done = d->begin, size = 0;
  for (size_t at = d->begin; at < d->end; at += size) {
    uint32_t code = 0;
    size = etx_utf8_read(now->bytes + at, d->end - at, &code);
    if (class_of(d->step, code) == 0) continue;
    take_part(d, done, at, false);
    take_part(d, at, at + size, true);
    done = at + size;
  }
  take_part(d, done, d->end, false);
}

static etx_status divide_piece(const etx_token_step* step,
                               etx_encode_work* work, size_t index,
                               etx_diag* diag) {
  piece_division d;
  begin_division(&d, step, work, index);
  d.removes = removes(step);
  switch (step->kind) {
    case ETX_STEP_WHITESPACE:
    case ETX_STEP_WHITESPACE_SPLIT:
    case ETX_STEP_BERT_PRE:
      divide_into_runs(&d);
      return ETX_OK;
    case ETX_STEP_PUNCTUATION:
    case ETX_STEP_DIGITS:
      divide_by_flag(&d);
      return ETX_OK;
    default:
      return divide_by_pattern(&d, diag);
  }
}

// Divides all pieces that are text.
static etx_status divide_all(const etx_token_step* step, etx_encode_work* work,
                             etx_diag* diag) {
  const bool copies = removes(step);
  for (size_t i = 0; i < work->now.piece_count && !work->full; ++i) {
    const etx_text_piece piece = work->now.pieces[i];
    if (piece.token == ETX_PIECE_TEXT) {
      const etx_status status = divide_piece(step, work, i, diag);
      if (status != ETX_OK) return status;
    } else if (copies) {
      etx_work_begin_piece(work, piece.token);
      etx_work_keep(work, piece.begin, etx_piece_end(&work->now, i));
    } else {
      etx_work_divide(work, piece.begin, piece.token);
    }
  }
  if (copies) {
    etx_work_turn(work);
  } else {
    etx_work_turn_pieces(work);
  }
  return ETX_OK;
}

typedef enum rewrite_kind {
  PREFIX_SPACE,
  TO_BYTES,
  SPACES,
  PREFIX_META
} rewrite_kind;

static bool starts_with(const etx_encode_work* work, size_t index,
                        etx_text text) {
  const size_t begin = work->now.pieces[index].begin;
  const etx_text piece = {(const char*)work->now.bytes + begin,
                          etx_piece_end(&work->now, index) - begin};
  return etx_text_starts_with(piece, text);
}

// Writes every piece anew in one way.
static etx_status rewrite_all(const etx_token_step* step, rewrite_kind kind,
                              etx_encode_work* work, etx_diag* diag) {
  for (size_t i = 0; i < work->now.piece_count && !work->full; ++i) {
    const etx_text_piece piece = work->now.pieces[i];
    const bool text = piece.token == ETX_PIECE_TEXT;
    const bool first = work->now.places[piece.begin] >> 3 == 0;
    const etx_text prefix =
        kind == PREFIX_META ? step->content : etx_text_of(" ");
    if (text && kind == TO_BYTES) {
      etx_byte_level_piece(work, i);
    } else if (text && kind == SPACES) {
      etx_token_step spaces = *step;
      spaces.literal = etx_text_of(" ");
      const etx_status status = etx_replace_piece(&spaces, work, i, diag);
      if (status != ETX_OK) return status;
    } else if (text && (first || !step->first_only) &&
               !starts_with(work, i, prefix)) {
      etx_prepend_piece(prefix, work, i);
    } else {
      etx_work_begin_piece(work, piece.token);
      etx_work_keep(work, piece.begin, etx_piece_end(&work->now, i));
    }
  }
  etx_work_turn(work);
  return ETX_OK;
}

static etx_status byte_level(const etx_token_step* step, etx_encode_work* work,
                             etx_diag* diag) {
  etx_status status = ETX_OK;
  if (step->options[0]) status = rewrite_all(step, PREFIX_SPACE, work, diag);
  if (status == ETX_OK && step->options[1])
    status = divide_all(step, work, diag);
  return status != ETX_OK ? status : rewrite_all(step, TO_BYTES, work, diag);
}

static etx_status metaspace(const etx_token_step* step, etx_encode_work* work,
                            etx_diag* diag) {
  etx_token_step divide = *step;
  divide.literal = step->content;
  divide.behavior = ETX_SPLIT_WITH_NEXT;
  etx_status status = rewrite_all(step, SPACES, work, diag);
  if (status == ETX_OK && step->options[1]) {
    status = rewrite_all(step, PREFIX_META, work, diag);
  }
  if (status != ETX_OK || !step->options[0]) return status;
  return divide_all(&divide, work, diag);
}

etx_status etx_pre_tokenize(const etx_token_steps* steps, etx_encode_work* work,
                            etx_diag* diag) {
  for (size_t i = 0; i < steps->count && !work->full; ++i) {
    const etx_token_step* const step = &steps->steps[i];
    etx_status status = ETX_OK;
    if (step->kind == ETX_STEP_BYTE_LEVEL) {
      status = byte_level(step, work, diag);
    } else if (step->kind == ETX_STEP_METASPACE) {
      status = metaspace(step, work, diag);
    } else {
      status = divide_all(step, work, diag);
    }
    if (status != ETX_OK) return status;
  }
  return ETX_OK;
}
