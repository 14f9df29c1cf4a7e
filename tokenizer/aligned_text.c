#include "tokenizer/aligned_text.h"

#include "tokenizer/unicode/unicode.h"

static void* take(uint8_t** at, size_t bytes) {
  void* const taken = *at;
  *at += bytes;
  return taken;
}

void etx_work_init(etx_encode_work* work, etx_bytes_mut memory) {
  memset(work, 0, sizeof *work);
  const size_t shift = (16 - ((uintptr_t)memory.data & 15)) & 15;
  if (memory.data == NULL || memory.size < ETX_WORK_FIXED_BYTES) return;
  uint8_t* at = memory.data + shift;
  const size_t share = (memory.size - ETX_WORK_FIXED_BYTES / 2) /
                       (ETX_WORK_TEXT_BYTES + ETX_WORK_TAIL_BYTES);
  work->capacity = share & ~(size_t)15;
  for (int i = 0; i < 2; ++i) {
    etx_aligned_text* const text = i == 0 ? &work->now : &work->next;
    text->pieces = take(&at, work->capacity * sizeof(etx_text_piece));
    text->places = take(&at, work->capacity * sizeof(etx_place));
    text->bytes = take(&at, work->capacity);
  }
  work->tail = at;
  work->tail_bytes = (size_t)(memory.data + memory.size - at) & ~(size_t)15;
}

size_t etx_piece_end(const etx_aligned_text* text, size_t index) {
  return index + 1 < text->piece_count ? text->pieces[index + 1].begin
                                       : text->size;
}

void etx_work_begin_piece(etx_encode_work* work, int32_t token) {
  etx_aligned_text* const text = &work->next;
  if (text->piece_count > 0 &&
      text->pieces[text->piece_count - 1].begin == text->size) {
    --text->piece_count;
  }
  if (text->piece_count == work->capacity) {
    work->full = true;
    return;
  }
  text->pieces[text->piece_count++] =
      (etx_text_piece){(uint32_t)text->size, token};
}

void etx_work_put(etx_encode_work* work, const uint8_t* bytes, size_t size,
                  etx_place place) {
  etx_aligned_text* const text = &work->next;
  if (size > work->capacity - text->size) {
    work->full = true;
    return;
  }
  for (size_t i = 0; i < size; ++i) {
    text->bytes[text->size] = bytes[i];
    text->places[text->size++] = place;
  }
}

void etx_work_keep(etx_encode_work* work, size_t begin, size_t end) {
  etx_aligned_text* const text = &work->next;
  if (end - begin > work->capacity - text->size) {
    work->full = true;
    return;
  }
  memcpy(text->bytes + text->size, work->now.bytes + begin, end - begin);
  memcpy(text->places + text->size, work->now.places + begin,
         (end - begin) * sizeof(etx_place));
  text->size += end - begin;
}

static void drop_empty_end(etx_aligned_text* text) {
  if (text->piece_count > 0 &&
      text->pieces[text->piece_count - 1].begin == text->size) {
    --text->piece_count;
  }
}

void etx_work_turn(etx_encode_work* work) {
  const etx_aligned_text done = work->next;
  drop_empty_end(&work->next);
  const size_t count = work->next.piece_count;
  work->next = work->now;
  work->next.size = work->next.piece_count = 0;
  work->now = done;
  work->now.piece_count = count;
}

void etx_work_divide(etx_encode_work* work, size_t begin, int32_t token) {
  const size_t size = work->next.size;
  work->next.size = begin;
  etx_work_begin_piece(work, token);
  work->next.size = size;
}

void etx_work_turn_pieces(etx_encode_work* work) {
  etx_text_piece* const pieces = work->now.pieces;
  work->now.pieces = work->next.pieces;
  work->now.piece_count = work->next.piece_count;
  drop_empty_end(&work->now);
  work->next.pieces = pieces;
  work->next.piece_count = work->next.size = 0;
}

void etx_work_read(etx_encode_work* work, etx_text input) {
  const uint8_t* const bytes = (const uint8_t*)input.data;
  uint8_t written[4];
  work->now.size = work->now.piece_count = 0;
  work->next.size = work->next.piece_count = 0;
  work->full = false;
  etx_work_begin_piece(work, ETX_PIECE_TEXT);
  for (size_t at = 0; at < input.size && !work->full;) {
    uint32_t code = 0;
    const size_t size = etx_utf8_read(bytes + at, input.size - at, &code);
    etx_work_put(work, written, etx_utf8_write(code, written),
                 (etx_place)(at << 3 | size));
    at += size;
  }
  etx_work_turn(work);
}

etx_piece_change etx_change_piece(etx_encode_work* work, size_t index) {
  const etx_text_piece piece = work->now.pieces[index];
  etx_work_begin_piece(work, piece.token);
  const etx_piece_change change = {work, piece.begin, piece.begin,
                                   etx_piece_end(&work->now, index)};
  return change;
}

void etx_change_put(etx_piece_change* change, uint32_t code, int32_t delta) {
  const etx_aligned_text* const text = &change->work->now;
  uint8_t bytes[4];
  const size_t size = etx_utf8_write(code, bytes);
  etx_place place = 0;
  if (delta == 0 && change->at < change->end) {
    place = text->places[change->at];
    change->at += etx_utf8_length(text->bytes[change->at]);
  } else if (delta > 0) {
    place = change->at == change->begin
                ? text->places[change->begin] & ~(etx_place)7
                : text->places[change->at - 1];
  } else {
    place =
        text->places[change->at < change->end ? change->at : change->end - 1];
    for (; delta <= 0 && change->at < change->end; ++delta) {
      change->at += etx_utf8_length(text->bytes[change->at]);
    }
  }
  etx_work_put(change->work, bytes, size, place);
}
