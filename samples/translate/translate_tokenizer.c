// Pieces are sorted by their bytes. The longest match at a position is found by
// trying lengths downwards, each with a binary search: a few hundred
// comparisons per sentence, which is little beside the model.

#include "samples/translate/translate_tokenizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

// U+2581, which begins a word.
static const char mark[] = "\xe2\x96\x81";
enum { MARK_BYTES = 3 };

static etx_status read_file(const char* path, char** out_text, size_t* out_size,
                            etx_diag* diag) {
  FILE* const file = fopen(path, "rb");
  if (file == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot open '%s': %s", path,
                         strerror(errno));
  }
  size_t capacity = 4096;
  size_t size = 0;
  char* text = malloc(capacity);
  while (text != NULL) {
    size += fread(text + size, 1, capacity - size, file);
    if (size < capacity) break;
    capacity *= 2;
    char* const bigger = realloc(text, capacity);
    if (bigger == NULL) free(text);
    text = bigger;
  }
  const bool is_read = text != NULL && ferror(file) == 0;
  fclose(file);
  if (!is_read) {
    free(text);
    return etx_diag_fail(diag, ETX_HOST_FAILED, "cannot read '%s'", path);
  }
  *out_text = text;
  *out_size = size;
  return ETX_OK;
}

static void split_lines(etx_translate_tokenizer* tokenizer, size_t size) {
  const char* line = tokenizer->text;
  const char* const end = line + size;
  for (const char* at = line; at != end; ++at) {
    if (*at != '\n') continue;
    const etx_text piece = {line, (size_t)(at - line)};
    tokenizer->pieces[tokenizer->piece_count++] = piece;
    if (piece.size > tokenizer->longest_bytes) {
      tokenizer->longest_bytes = piece.size;
    }
    line = at + 1;
  }
}

// Insertion sort: the vocabulary has some hundred pieces and is read once.
static void sort_pieces(etx_translate_tokenizer* tokenizer) {
  for (size_t id = 2; id + 1 < tokenizer->piece_count; ++id) {
    size_t at = tokenizer->sorted_count++;
    while (at > 0 &&
           etx_text_compare(tokenizer->pieces[tokenizer->sorted[at - 1]],
                            tokenizer->pieces[id]) > 0) {
      tokenizer->sorted[at] = tokenizer->sorted[at - 1];
      --at;
    }
    tokenizer->sorted[at] = (uint32_t)id;
  }
}

static etx_status index_pieces(etx_translate_tokenizer* tokenizer, size_t size,
                               etx_diag* diag) {
  size_t lines = 0;
  for (size_t i = 0; i < size; ++i) lines += tokenizer->text[i] == '\n';
  if (lines < 4 || lines > UINT32_MAX) {
    return etx_diag_fail(diag, ETX_BAD_FILE, "a vocabulary of %z lines", lines);
  }
  tokenizer->pieces = calloc(lines, sizeof *tokenizer->pieces);
  tokenizer->sorted = calloc(lines, sizeof *tokenizer->sorted);
  if (tokenizer->pieces == NULL || tokenizer->sorted == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for a vocabulary");
  }
  split_lines(tokenizer, size);
  tokenizer->end_id = 0;
  tokenizer->unknown_id = 1;
  tokenizer->padding_id = (int64_t)tokenizer->piece_count - 1;
  if (!etx_text_is(tokenizer->pieces[0], "</s>") ||
      !etx_text_is(tokenizer->pieces[1], "<unk>") ||
      !etx_text_is(tokenizer->pieces[tokenizer->piece_count - 1], "<pad>")) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "a vocabulary begins with </s>, <unk> and ends with "
                         "<pad>");
  }
  sort_pieces(tokenizer);
  return ETX_OK;
}

etx_status etx_translate_tokenizer_open(etx_translate_tokenizer* tokenizer, const char* path,
                              etx_diag* diag) {
  const etx_translate_tokenizer empty = {.text = NULL};
  size_t size = 0;
  *tokenizer = empty;
  ETX_TRY(read_file(path, &tokenizer->text, &size, diag));
  const etx_status status = index_pieces(tokenizer, size, diag);
  if (status != ETX_OK) etx_translate_tokenizer_close(tokenizer);
  return status;
}

void etx_translate_tokenizer_close(etx_translate_tokenizer* tokenizer) {
  const etx_translate_tokenizer empty = {.text = NULL};
  free(tokenizer->text);
  free(tokenizer->pieces);
  free(tokenizer->sorted);
  *tokenizer = empty;
}

static bool find_piece(const etx_translate_tokenizer* tokenizer, etx_text wanted,
                       int64_t* out_id) {
  size_t low = 0;
  size_t high = tokenizer->sorted_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const uint32_t id = tokenizer->sorted[middle];
    const int order = etx_text_compare(tokenizer->pieces[id], wanted);
    if (order == 0) {
      *out_id = id;
      return true;
    }
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return false;
}

// Bytes of the code point that `text` begins with; 1 for a stray byte.
static size_t code_point_bytes(etx_text text) {
  size_t bytes = 1;
  while (bytes < text.size && bytes < 4 &&
         ((unsigned char)text.data[bytes] & 0xc0) == 0x80) {
    ++bytes;
  }
  return bytes;
}

// Removes the next piece from the front of `word`.
static int64_t take_piece(const etx_translate_tokenizer* tokenizer, etx_text* word) {
  int64_t id = tokenizer->unknown_id;
  size_t bytes = word->size < tokenizer->longest_bytes
                     ? word->size
                     : tokenizer->longest_bytes;
  for (; bytes != 0; --bytes) {
    const etx_text part = {word->data, bytes};
    if (find_piece(tokenizer, part, &id)) break;
  }
  if (bytes == 0) bytes = code_point_bytes(*word);
  word->data += bytes;
  word->size -= bytes;
  return id;
}

// An array of ids that counts beyond its capacity.
typedef struct id_list {
  int64_t* ids;
  size_t capacity;
  size_t count;
} id_list;

static void add_id(id_list* list, int64_t id) {
  if (list->count < list->capacity) list->ids[list->count] = id;
  ++list->count;
}

// Only the first piece can contain the mark, so only the beginning of the word
// is copied behind a mark.
static void encode_word(const etx_translate_tokenizer* tokenizer, etx_text word,
                        id_list* list) {
  char begin[256];
  const size_t joined = word.size < sizeof begin - MARK_BYTES
                            ? word.size
                            : sizeof begin - MARK_BYTES;
  memcpy(begin, mark, MARK_BYTES);
  memcpy(begin + MARK_BYTES, word.data, joined);
  etx_text rest = {begin, joined + MARK_BYTES};
  add_id(list, take_piece(tokenizer, &rest));
  // The first piece is the mark alone, or the mark and a part of the word.
  const size_t taken = (size_t)(rest.data - begin);
  rest.data = word.data + (taken - MARK_BYTES);
  rest.size = word.size - (taken - MARK_BYTES);
  while (rest.size != 0) add_id(list, take_piece(tokenizer, &rest));
}

static bool is_space(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

size_t etx_translate_tokenizer_encode(const etx_translate_tokenizer* tokenizer, etx_text text,
                            int64_t* out_ids, size_t capacity) {
  id_list list = {out_ids, capacity, 0};
  size_t at = 0;
  while (at < text.size) {
    size_t end = at;
    while (end < text.size && !is_space(text.data[end])) ++end;
    const etx_text word = {text.data + at, end - at};
    if (word.size != 0) encode_word(tokenizer, word, &list);
    at = end + 1;
  }
  add_id(&list, tokenizer->end_id);
  return list.count;
}

// Appends a piece, with marks as spaces; returns the new length.
static size_t append_piece(etx_text piece, char* out, size_t length,
                           size_t capacity) {
  size_t at = 0;
  while (at < piece.size && length + 1 < capacity) {
    const bool is_mark = piece.size - at >= MARK_BYTES &&
                         memcmp(piece.data + at, mark, MARK_BYTES) == 0;
    // The space of the first word is dropped.
    if (!is_mark || length != 0) out[length++] = is_mark ? ' ' : piece.data[at];
    at += is_mark ? MARK_BYTES : 1;
  }
  return length;
}

size_t etx_translate_tokenizer_decode(const etx_translate_tokenizer* tokenizer, const int64_t* ids,
                            size_t count, char* out, size_t capacity) {
  size_t length = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t id = ids[i];
    if (id < 0 || (uint64_t)id >= tokenizer->piece_count) continue;
    if (id == tokenizer->end_id || id == tokenizer->padding_id) continue;
    length = append_piece(tokenizer->pieces[id], out, length, capacity);
  }
  if (capacity != 0) out[length] = '\0';
  return length;
}
