#include "tokenizer/sentence_piece.h"
#include "tokenizer/unicode/unicode.h"

typedef struct piece_decoding {
  const etx_tokenizer_content* content;
  const etx_piece_ids* request;
  char* bytes;
  size_t size, limit;
  bool full;
} piece_decoding;

static void put(piece_decoding* d, const char* bytes, size_t size) {
  if (d->full || size > d->limit - d->size) {
    d->full = true;
    return;
  }
  if (size > 0) memcpy(d->bytes + d->size, bytes, size);
  d->size += size;
}

// U+2581 becomes a space.
static void put_piece(piece_decoding* d, etx_text text) {
  for (size_t at = 0; at < text.size;) {
    const bool is_space =
        text.size - at >= 3 && memcmp(text.data + at, "\xE2\x96\x81", 3) == 0;
    put(d, is_space ? " " : text.data + at, 1);
    at += is_space ? 3 : 1;
  }
}

// The byte that an id stands for, or -1.
static int byte_of(const piece_decoding* d, size_t index) {
  const etx_sentence_piece* const model = d->content->pieces;
  const uint32_t id = d->request->ids[index];
  if (id >= d->content->id_count || model->kinds[id] != ETX_PIECE_BYTE) {
    return -1;
  }
  for (int byte = 0; byte < 256; ++byte) {
    if (model->bytes[byte] == (int32_t)id) return byte;
  }
  return -1;
}

// Writes the character whose first byte is the id at `index`: U+FFFD if the
// bytes are none. Returns the number of ids.
static size_t put_bytes(piece_decoding* d, size_t index) {
  uint8_t bytes[4];
  uint8_t written[4];
  size_t count = 0;
  uint32_t code = 0;
  for (; count < 4 && index + count < d->request->count; ++count) {
    const int byte = byte_of(d, index + count);
    if (byte < 0) break;
    bytes[count] = (uint8_t)byte;
  }
  const size_t size = etx_utf8_read(bytes, count, &code);
  put(d, (const char*)written, etx_utf8_write(code, written));
  const bool is_valid =
      code != ETX_UNICODE_REPLACEMENT || (size == 3 && bytes[0] == 0xEF);
  return is_valid ? size : 1;
}

// A space at the beginning was put there by the normalizer.
static bool drop_space(const etx_sentence_piece* model, etx_text* piece) {
  if (!(model->prefix || model->trims_spaces) || piece->size < 3 ||
      memcmp(piece->data, "\xE2\x96\x81", 3) != 0) {
    return false;
  }
  piece->data += 3;
  piece->size -= 3;
  return !model->trims_spaces;  // then all spaces at the beginning are
}

// Writes a piece. True: it had the only space that is dropped.
static bool put_id(piece_decoding* d, uint32_t id, bool is_first) {
  const etx_sentence_piece* const model = d->content->pieces;
  etx_text piece = etx_vocabulary_at(&d->content->model.vocabulary, id);
  if (piece.data == NULL) return false;
  if (model->kinds[id] == ETX_PIECE_CONTROL) {
    if (!d->request->skip_special_tokens) put(d, piece.data, piece.size);
    return false;
  }
  if (model->kinds[id] == ETX_PIECE_UNKNOWN) {
    put(d, model->unknown_text.data, model->unknown_text.size);
    return false;
  }
  const bool is_dropped = is_first && drop_space(model, &piece);
  put_piece(d, piece);
  return is_dropped;
}

etx_status etx_sentence_piece_decode(const etx_tokenizer_content* content,
                                     const etx_piece_ids* request,
                                     etx_bytes_mut memory, etx_text* out_text,
                                     etx_diag* diag) {
  piece_decoding d = {content, request,     (char*)memory.data,
                      0,       memory.size, false};
  bool is_first = !request->continues;
  bool is_dropped = false;
  for (size_t i = 0; i < request->count;) {
    if (byte_of(&d, i) >= 0) {
      i += put_bytes(&d, i);
      continue;
    }
    if (is_dropped || d.size > 0) is_first = false;
    is_dropped = put_id(&d, request->ids[i++], is_first);
  }
  if (d.full) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "too little memory to decode %z ids; see "
                         "etx_tokenizer_decode_needed",
                         request->count);
  }
  *out_text = (etx_text){d.bytes, d.size};
  return ETX_OK;
}
