// Protobuf is a list of fields, each a number, a wire type and a value. Fields
// that are not known are passed over, as readers of protobuf do; of a field
// that is there twice the last value counts.

#include <math.h>

#include "tokenizer/normalize.h"
#include "tokenizer/sentence_piece.h"
#include "tokenizer/unicode/unicode.h"

// ---- protobuf ----

typedef enum wire_type {
  WIRE_VARINT = 0,
  WIRE_FIXED64 = 1,
  WIRE_BYTES = 2,
  WIRE_FIXED32 = 5
} wire_type;

// What is left of a message.
typedef struct field_reader {
  const uint8_t* start;  // of the file
  const uint8_t* at;
  const uint8_t* end;
  etx_diag* diag;
  etx_status status;
} field_reader;

typedef struct proto_field {
  uint32_t number;
  wire_type wire;
  uint64_t value;   // of a number
  etx_bytes bytes;  // of WIRE_BYTES
} proto_field;

static bool stop(field_reader* r, const char* what) {
  r->status =
      etx_diag_fail_at(r->diag, ETX_BAD_FILE, (uint64_t)(r->at - r->start),
                       "SentencePiece model: %s", what);
  return false;
}

static bool read_varint(field_reader* r, uint64_t* out) {
  *out = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (r->at == r->end) return stop(r, "a number is cut off");
    const uint8_t byte = *r->at++;
    *out |= (uint64_t)(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return stop(r, "a number has more than 64 bits");
}

static bool read_fixed(field_reader* r, size_t size, uint64_t* out) {
  if ((size_t)(r->end - r->at) < size) return stop(r, "a number is cut off");
  *out = 0;
  for (size_t i = 0; i < size; ++i) *out |= (uint64_t)r->at[i] << (8 * i);
  r->at += size;
  return true;
}

static bool read_bytes(field_reader* r, etx_bytes* out) {
  uint64_t size = 0;
  if (!read_varint(r, &size)) return false;
  if (size > (uint64_t)(r->end - r->at)) {
    return stop(r, "a field is longer than what holds it");
  }
  *out = (etx_bytes){r->at, (size_t)size};
  r->at += size;
  return true;
}

// The next field. False at the end, or after an error.
static bool next_field(field_reader* r, proto_field* out) {
  uint64_t key = 0;
  if (r->status != ETX_OK || r->at == r->end || !read_varint(r, &key)) {
    return false;
  }
  *out = (proto_field){.number = (uint32_t)(key >> 3),
                       .wire = (wire_type)(key & 7)};
  if (key >> 3 == 0 || key >> 3 > 536870911) {
    return stop(r, "a field has a number that protobuf does not have");
  }
  switch (out->wire) {
    case WIRE_VARINT:
      return read_varint(r, &out->value);
    case WIRE_FIXED64:
      return read_fixed(r, 8, &out->value);
    case WIRE_FIXED32:
      return read_fixed(r, 4, &out->value);
    case WIRE_BYTES:
      return read_bytes(r, &out->bytes);
    default:
      return stop(r, "a field has a wire type that is not used");
  }
}

static field_reader reader_of(const field_reader* outer, etx_bytes bytes) {
  return (field_reader){outer->start, bytes.data, bytes.data + bytes.size,
                        outer->diag, ETX_OK};
}

static bool is_number(const proto_field* field, uint32_t number) {
  return field->number == number && field->wire == WIRE_VARINT;
}

static bool is_bytes(const proto_field* field, uint32_t number) {
  return field->number == number && field->wire == WIRE_BYTES;
}

// ---- the file ----

enum {  // fields of ModelProto
  MODEL_PIECES = 1,
  MODEL_TRAINER = 2,
  MODEL_NORMALIZER = 3,
  MODEL_DENORMALIZER = 5,
  TYPE_UNIGRAM = 1,  // of TrainerSpec.model_type
  TYPE_BPE = 2
};

typedef struct model_header {
  size_t piece_count, piece_bytes;
  uint64_t type;
  bool byte_fallback, space_behind;
  bool prefix, trims_spaces, marks_spaces;
  etx_bytes charsmap;
  etx_text unknown_text;
  bool has_denormalizer;
} model_header;

static void read_trainer(field_reader* r, model_header* out) {
  proto_field field;
  while (next_field(r, &field)) {
    if (is_number(&field, 3)) out->type = field.value;
    if (is_number(&field, 24)) out->space_behind = field.value != 0;
    if (is_number(&field, 35)) out->byte_fallback = field.value != 0;
    if (is_bytes(&field, 44)) {
      out->unknown_text =
          (etx_text){(const char*)field.bytes.data, field.bytes.size};
    }
  }
}

static void read_normalizer(field_reader* r, model_header* out) {
  proto_field field;
  while (next_field(r, &field)) {
    if (is_bytes(&field, 2)) out->charsmap = field.bytes;
    if (is_number(&field, 3)) out->prefix = field.value != 0;
    if (is_number(&field, 4)) out->trims_spaces = field.value != 0;
    if (is_number(&field, 5)) out->marks_spaces = field.value != 0;
  }
}

static void read_denormalizer(field_reader* r, model_header* out) {
  proto_field field;
  while (next_field(r, &field)) {
    if (is_bytes(&field, 2) && field.bytes.size != 0) {
      out->has_denormalizer = true;
    }
  }
}

typedef struct piece_field {
  etx_text text;
  float score;
  uint64_t kind;
} piece_field;

static void read_piece(field_reader* r, piece_field* out) {
  proto_field field;
  *out = (piece_field){{NULL, 0}, 0.0f, ETX_PIECE_NORMAL};
  while (next_field(r, &field)) {
    if (is_bytes(&field, 1)) {
      out->text = (etx_text){(const char*)field.bytes.data, field.bytes.size};
    }
    if (field.number == 2 && field.wire == WIRE_FIXED32) {
      const uint32_t bits = (uint32_t)field.value;
      memcpy(&out->score, &bits, sizeof out->score);
    }
    if (is_number(&field, 3)) out->kind = field.value;
  }
}

static etx_status read_header(field_reader* r, model_header* out) {
  proto_field field;
  piece_field piece;
  *out = (model_header){.type = TYPE_UNIGRAM,
                        .prefix = true,
                        .trims_spaces = true,
                        .marks_spaces = true,
                        .unknown_text = etx_text_of(" \xE2\x81\x87 ")};
  while (next_field(r, &field)) {
    if (field.wire != WIRE_BYTES) continue;
    field_reader inner = reader_of(r, field.bytes);
    if (field.number == MODEL_PIECES) {
      read_piece(&inner, &piece);
      ++out->piece_count;
      out->piece_bytes += piece.text.size;
    }
    if (field.number == MODEL_TRAINER) read_trainer(&inner, out);
    if (field.number == MODEL_NORMALIZER) read_normalizer(&inner, out);
    if (field.number == MODEL_DENORMALIZER) read_denormalizer(&inner, out);
    if (inner.status != ETX_OK) return inner.status;
  }
  return r->status;
}

static bool is_utf8(etx_text text) {
  const uint8_t* const bytes = (const uint8_t*)text.data;
  for (size_t at = 0; at < text.size;) {
    uint32_t code = 0;
    const size_t size = etx_utf8_read(bytes + at, text.size - at, &code);
    if (code == ETX_UNICODE_REPLACEMENT && (size != 3 || bytes[at] != 0xEF)) {
      return false;
    }
    at += size;
  }
  return true;
}

static etx_status check_header(const model_header* header, etx_diag* diag) {
  if (header->piece_count == 0 || header->piece_count > ETX_TOKEN_ID_MAX) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "SentencePiece model has %z pieces, expected 1 to %z",
                         header->piece_count, (size_t)ETX_TOKEN_ID_MAX);
  }
  if (header->type != TYPE_UNIGRAM && header->type != TYPE_BPE) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "SentencePiece model has type %u, expected Unigram "
                         "(1) or BPE (2)",
                         header->type);
  }
  if (!is_utf8(header->unknown_text)) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "SentencePiece model has a text for unknown tokens "
                         "that is not UTF-8");
  }
  if (header->has_denormalizer) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "SentencePiece model changes decoded text by a "
                         "denormalizer, which is not supported");
  }
  return ETX_OK;
}

// ---- pieces ----

// What is filled while pieces are read.
typedef struct piece_loader {
  etx_vocabulary* vocabulary;
  etx_sentence_piece* model;
  uint8_t* texts;  // copies
  size_t text_bytes;
  etx_diag* diag;
} piece_loader;

// The byte of <0xHH>, or -1.
static int byte_of(etx_text text) {
  static const char digits[] = "0123456789ABCDEF";
  if (text.size != 6 || memcmp(text.data, "<0x", 3) != 0 ||
      text.data[5] != '>') {
    return -1;
  }
  const char* const high = memchr(digits, text.data[3], 16);
  const char* const low = memchr(digits, text.data[4], 16);
  if (high == NULL || low == NULL) return -1;
  return (int)(high - digits) * 16 + (int)(low - digits);
}

static etx_status refuse_piece(const piece_loader* loader, uint32_t id,
                               etx_text text, const char* why) {
  return etx_diag_fail(loader->diag, ETX_BAD_FILE,
                       "piece %u of the SentencePiece model, '%t', %s",
                       (uint64_t)id, text, why);
}

static etx_status check_piece(const piece_loader* loader, uint32_t id,
                              const piece_field* piece) {
  const char* why = NULL;
  if (piece->text.size == 0) why = "is empty";
  if (!is_utf8(piece->text)) why = "is not UTF-8";
  if (!isfinite(piece->score)) why = "has a score that is not finite";
  if (piece->kind < ETX_PIECE_NORMAL || piece->kind > ETX_PIECE_BYTE) {
    why = "has a type that is not known";
  }
  if (etx_vocabulary_find(loader->vocabulary, piece->text) >= 0) {
    why = "is there twice";
  }
  if (piece->kind == ETX_PIECE_UNKNOWN && loader->model->unknown >= 0) {
    why = "is a second piece for unknown text";
  }
  if (piece->kind == ETX_PIECE_BYTE &&
      (byte_of(piece->text) < 0 || !loader->model->byte_fallback)) {
    why = "is no byte, or the model does not divide text into bytes";
  }
  if (why != NULL) return refuse_piece(loader, id, piece->text, why);
  if (piece->kind == ETX_PIECE_UNUSED && loader->model->is_bpe) {
    return etx_diag_fail(loader->diag, ETX_UNSUPPORTED,
                         "piece %u of the SentencePiece model is unused, which "
                         "is not supported for BPE",
                         (uint64_t)id);
  }
  return ETX_OK;
}

static void add_score(etx_sentence_piece* model, float score) {
  if (score < model->least_score) model->least_score = score;
  if (score > model->most_score) model->most_score = score;
}

static etx_status add_piece(piece_loader* loader, uint32_t id,
                            const piece_field* piece) {
  etx_sentence_piece* const model = loader->model;
  ETX_TRY(check_piece(loader, id, piece));
  uint8_t* const copy = loader->texts + loader->text_bytes;
  memcpy(copy, piece->text.data, piece->text.size);
  loader->text_bytes += piece->text.size;
  const etx_text text = {(const char*)copy, piece->text.size};
  etx_vocabulary_add(loader->vocabulary, text, id);
  model->kinds[id] = (uint8_t)piece->kind;
  model->scores[id] = piece->score;
  switch ((etx_piece_kind)piece->kind) {
    case ETX_PIECE_NORMAL:
      add_score(model, piece->score);
      etx_token_tree_add(&model->pieces, loader->vocabulary, id);
      break;
    case ETX_PIECE_USER_DEFINED:
      etx_token_tree_add(&model->pieces, loader->vocabulary, id);
      etx_token_tree_add(&model->user_symbols, loader->vocabulary, id);
      break;
    case ETX_PIECE_UNKNOWN:
      model->unknown = (int32_t)id;
      break;
    case ETX_PIECE_BYTE:
      model->bytes[byte_of(text)] = (int32_t)id;
      break;
    default:
      break;
  }
  return ETX_OK;
}

static etx_status check_pieces(const etx_sentence_piece* model,
                               etx_diag* diag) {
  if (model->unknown < 0) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "SentencePiece model has no piece for unknown text");
  }
  for (unsigned byte = 0; model->byte_fallback && byte < 256; ++byte) {
    if (model->bytes[byte] >= 0) continue;
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "SentencePiece model divides text into bytes, but has "
                         "no piece <0x%x>",
                         (uint64_t)byte);
  }
  return ETX_OK;
}

static etx_status add_pieces(field_reader r, piece_loader* loader) {
  etx_sentence_piece* const model = loader->model;
  proto_field field;
  piece_field piece;
  uint32_t id = 0;
  model->unknown = ETX_TOKEN_NONE;
  // As SentencePiece starts them.
  model->least_score = 3.402823466e+38f;
  model->most_score = 1.175494351e-38f;
  memset(model->bytes, 0xFF, sizeof model->bytes);
  while (next_field(&r, &field)) {
    if (!is_bytes(&field, MODEL_PIECES)) continue;
    field_reader inner = reader_of(&r, field.bytes);
    read_piece(&inner, &piece);
    ETX_TRY(add_piece(loader, id++, &piece));
  }
  etx_token_tree_build(&model->pieces, loader->vocabulary, NULL);
  etx_token_tree_build(&model->user_symbols, loader->vocabulary, NULL);
  return check_pieces(model, loader->diag);
}

// ---- the whole ----

bool etx_sentence_piece_is(etx_bytes file) {
  size_t at = 0;
  while (at < file.size && memchr(" \t\r\n", file.data[at], 4) != NULL) ++at;
  if (at == file.size || file.data[at] == '{') return false;
  return file.data[0] == (MODEL_PIECES << 3 | WIRE_BYTES) ||
         file.data[0] == (MODEL_TRAINER << 3 | WIRE_BYTES) ||
         file.data[0] == (MODEL_NORMALIZER << 3 | WIRE_BYTES);
}

static etx_status load_charsmap(etx_bytes map, etx_arena* arena,
                                etx_charsmap* out, etx_diag* diag) {
  uint8_t* const copy = etx_arena_take(arena, map.size, 4);
  if (arena->counting || map.size == 0) return ETX_OK;
  if (copy == NULL) return etx_model_no_memory(diag);
  memcpy(copy, map.data, map.size);
  return etx_charsmap_read((etx_bytes){copy, map.size}, out, diag);
}

// Bytes of the longest text of a map, each of which ends with a zero byte.
static size_t longest_text(const etx_charsmap* map) {
  size_t longest = 0;
  size_t size = 0;
  for (size_t i = 0; i < map->texts.size; ++i) {
    size = map->texts.data[i] == '\0' ? 0 : size + 1;
    if (size > longest) longest = size;
  }
  return longest;
}

static void set_options(const model_header* header, etx_sentence_piece* out) {
  out->is_bpe = header->type == TYPE_BPE;
  out->byte_fallback = header->byte_fallback;
  out->prefix = header->prefix;
  out->space_behind = header->space_behind;
  out->trims_spaces = header->trims_spaces;
  out->marks_spaces = header->marks_spaces;
  out->longest_mapped = longest_text(&out->charsmap);
}

static etx_status take_arrays(const model_header* header, etx_arena* arena,
                              etx_tokenizer_content* out, uint8_t** texts,
                              etx_diag* diag) {
  const size_t count = header->piece_count;
  etx_sentence_piece unused;
  etx_sentence_piece* const taken =
      etx_arena_take(arena, sizeof *out->pieces, 16);
  etx_sentence_piece* const model = arena->counting ? &unused : taken;
  if (model == NULL) return etx_model_no_memory(diag);
  memset(model, 0, sizeof *model);
  out->pieces = taken;
  ETX_TRY(
      etx_vocabulary_init(&out->model.vocabulary, count, count, arena, diag));
  ETX_TRY(load_charsmap(header->charsmap, arena, &model->charsmap, diag));
  model->scores = etx_arena_take(arena, count * sizeof *model->scores, 16);
  ETX_TRY(etx_token_tree_init(&model->pieces, count, arena, diag));
  ETX_TRY(etx_token_tree_init(&model->user_symbols, count, arena, diag));
  out->added.by_id = etx_arena_take(arena, count * sizeof(uint32_t), 16);
  model->kinds = etx_arena_take(arena, count, 16);
  *texts = etx_arena_take(arena,
                          header->piece_bytes + header->unknown_text.size, 16);
  if (arena->counting) return ETX_OK;
  if (model->scores == NULL || out->added.by_id == NULL ||
      model->kinds == NULL || *texts == NULL) {
    return etx_model_no_memory(diag);
  }
  memset(out->added.by_id, 0, count * sizeof(uint32_t));
  return ETX_OK;
}

etx_status etx_sentence_piece_load(etx_bytes file, etx_arena* arena,
                                   etx_tokenizer_content* out, etx_diag* diag) {
  const field_reader start = {file.data, file.data, file.data + file.size, diag,
                              ETX_OK};
  field_reader r = start;
  model_header header;
  uint8_t* texts = NULL;
  memset(out, 0, sizeof *out);
  ETX_TRY(read_header(&r, &header));
  ETX_TRY(check_header(&header, diag));
  out->id_count = header.piece_count;
  out->single = (etx_template){{{ETX_TEMPLATE_TEXT, 0}}, 1};
  out->pair =
      (etx_template){{{ETX_TEMPLATE_TEXT, 0}, {ETX_TEMPLATE_PAIR, 1}}, 2};
  ETX_TRY(take_arrays(&header, arena, out, &texts, diag));
  if (arena->counting) return ETX_OK;
  set_options(&header, out->pieces);
  piece_loader loader = {&out->model.vocabulary, out->pieces, texts, 0, diag};
  ETX_TRY(add_pieces(start, &loader));
  etx_text* const unknown = &out->pieces->unknown_text;
  *unknown = (etx_text){(const char*)texts + loader.text_bytes,
                        header.unknown_text.size};
  memcpy(texts + loader.text_bytes, header.unknown_text.data, unknown->size);
  if (unknown->size > out->model.vocabulary.longest) {
    out->model.vocabulary.longest = unknown->size;
  }
  return ETX_OK;
}
