#include "tokenizer/tokenizer.h"

#include "tokenizer/normalize.h"
#include "tokenizer/sentence_piece.h"
#include "tokenizer/tokenizer_content.h"
#include "tokenizer/unicode/unicode.h"

// ---- loading ----

// Members of the file.
enum {
  MODEL,
  ADDED_TOKENS,
  NORMALIZER,
  PRE_TOKENIZER,
  POST_PROCESSOR,
  DECODER,
  MEMBER_COUNT
};

static const char* const members[MEMBER_COUNT] = {
    [MODEL] = "model",
    [ADDED_TOKENS] = "added_tokens",
    [NORMALIZER] = "normalizer",
    [PRE_TOKENIZER] = "pre_tokenizer",
    [POST_PROCESSOR] = "post_processor",
    [DECODER] = "decoder"};

// One more than the largest id of the model and of the added tokens.
static etx_status count_ids(const etx_cursor_value* root, size_t* out,
                            etx_diag* diag) {
  etx_cursor_walk walk = etx_cursor_items(root[ADDED_TOKENS]);
  etx_cursor_value value;
  etx_status status = etx_token_model_id_count(root[MODEL], out, diag);
  while (status == ETX_OK && etx_cursor_next(&walk, NULL, &value)) {
    uint32_t id = 0;
    if (etx_cursor_unsigned_at(etx_cursor_get(value, "id"), ETX_TOKEN_ID_MAX,
                               &id) &&
        id >= *out) {
      *out = (size_t)id + 1;
    }
  }
  return status;
}

// A text that has two ids is special, or not, for both.
static void share_added(etx_tokenizer_content* content) {
  const etx_vocabulary* const v = &content->model.vocabulary;
  uint32_t* const by_id = content->added.by_id;
  for (uint32_t id = 0; id < v->id_count; ++id) {
    const etx_text text = etx_vocabulary_at(v, id);
    if (text.data == NULL || by_id[id] != 0) continue;
    const int32_t other = etx_vocabulary_find(v, text);
    if (other >= 0) by_id[id] = by_id[other];
  }
}

static etx_status load_content(etx_cursor_value file, etx_arena* arena,
                               etx_tokenizer_content* out, etx_diag* diag) {
  etx_cursor_value root[MEMBER_COUNT];
  etx_cursor_get_all(file, members, MEMBER_COUNT, root);
  memset(out, 0, sizeof *out);
  etx_status status = count_ids(root, &out->id_count, diag);
  if (status == ETX_OK) {
    status = etx_token_model_load(root[MODEL], out->id_count, arena,
                                  &out->model, diag);
  }
  if (status == ETX_OK) {
    status = etx_token_steps_load(root[NORMALIZER], ETX_NORMALIZER, arena,
                                  &out->normalizer, diag);
  }
  if (status == ETX_OK) {
    status = etx_token_steps_load(root[PRE_TOKENIZER], ETX_PRE_TOKENIZER, arena,
                                  &out->pre_tokenizer, diag);
  }
  if (status == ETX_OK) {
    status = etx_token_steps_load(root[DECODER], ETX_DECODER, arena,
                                  &out->decoder, diag);
  }
  if (status == ETX_OK) {
    status = etx_post_processor_load(root[POST_PROCESSOR], out, diag);
  }
  if (status != ETX_OK) return status;
  status = etx_added_tokens_load(root[ADDED_TOKENS], out->id_count,
                                 &out->normalizer, arena, &out->added, diag);
  if (status == ETX_OK && !arena->counting) share_added(out);
  return status;
}

static etx_status load_file(etx_bytes file, etx_arena* arena,
                            etx_tokenizer_content* out, etx_diag* diag) {
  etx_cursor_value root;
  if (etx_sentence_piece_is(file)) {
    return etx_sentence_piece_load(file, arena, out, diag);
  }
  ETX_TRY(etx_cursor_check(file, &root, diag));
  return load_content(root, arena, out, diag);
}

etx_status etx_tokenizer_needed(etx_bytes file, size_t* out_bytes,
                                etx_diag* diag) {
  etx_tokenizer_content content;
  etx_arena arena;
  etx_arena_init_counting(&arena);
  etx_arena_take(&arena, sizeof content, 16);
  const etx_status status = load_file(file, &arena, &content, diag);
  if (status != ETX_OK) return etx_diag_seal(diag, status);
  // Blocks may be counted in another order than they are taken.
  *out_bytes = arena.peak_bytes + 1024;
  return ETX_OK;
}

etx_status etx_tokenizer_init(etx_tokenizer* tokenizer, etx_bytes file,
                              etx_bytes_mut block, etx_diag* diag) {
  etx_arena arena;
  etx_arena_init(&arena, block.data, block.size);
  etx_tokenizer_content* const content =
      etx_arena_take(&arena, sizeof *content, 16);
  if (content == NULL) return etx_diag_seal(diag, etx_model_no_memory(diag));
  const etx_status status = load_file(file, &arena, content, diag);
  if (status != ETX_OK) return etx_diag_seal(diag, status);
  tokenizer->content = content;
  return ETX_OK;
}

// ---- encoding ----

// The text that is encoded, and where its ids go.
typedef struct encoding {
  const etx_tokenizer_content* content;
  etx_encode_work* work;
  etx_encode_output* output;
  etx_text text;
  uint8_t type;
  size_t first;  // number of ids before this text
} encoding;

static void put_id(encoding* e, uint32_t id, etx_token_span span) {
  etx_encode_output* const out = e->output;
  if (out->count < out->capacity) {
    out->ids[out->count] = id;
    if (out->spans != NULL) out->spans[out->count] = span;
    if (out->types != NULL) out->types[out->count] = e->type;
  }
  ++out->count;
}

static bool is_trimmed(uint32_t code) {
  return code == 0x120 ||
         (etx_unicode_kind_of(code) & ETX_UNICODE_PLAIN_SPACE) != 0;
}

// Leaves out as many characters of the span as the token has spaces.
static etx_token_span trim(const encoding* e, etx_text token,
                           etx_token_span span) {
  const uint8_t* const bytes = (const uint8_t*)token.data;
  size_t leading = 0, trailing = 0;
  bool inner = false;
  for (size_t at = 0; at < token.size;) {
    uint32_t code = 0;
    at += etx_utf8_read(bytes + at, token.size - at, &code);
    const bool space = is_trimmed(code);
    trailing = space ? trailing + 1 : 0;
    inner = inner || !space;
    if (!inner) ++leading;
  }
  const bool first = e->output->count == e->first || span.begin == 0;
  // One space was put there by the pre-tokenizer; more are of the text.
  if (leading == 1 && first && e->content->prefix_space) leading = 0;
  const uint8_t* const text = (const uint8_t*)e->text.data;
  uint32_t code = 0;
  for (; leading > 0 && span.begin < span.end; --leading) {
    span.begin += (uint32_t)etx_utf8_read(text + span.begin,
                                          span.end - span.begin, &code);
  }
  for (; trailing > 0 && span.end > span.begin; --trailing) {
    do {
      --span.end;
    } while (span.end > span.begin && (text[span.end] & 0xC0) == 0x80);
  }
  return span;
}

// The bytes of the input that bytes of the present text are from.
static etx_token_span span_of(const encoding* e, size_t begin, size_t end) {
  const etx_token_span none = {0, 0};
  if (e->output->spans == NULL || end <= begin) return none;
  const etx_place first = e->work->now.places[begin];
  const etx_place last = e->work->now.places[end - 1];
  return (etx_token_span){first >> 3, (last >> 3) + (last & 7)};
}

// etx_id_sink.put. The text of a token is elsewhere in memory, so it is not
// looked at without need.
static void put_token(void* context, uint32_t id, size_t begin, size_t end) {
  encoding* const e = context;
  etx_token_span span = span_of(e, begin, end);
  if (e->content->trims && e->output->spans != NULL && end > begin) {
    const etx_vocabulary* const v = &e->content->model.vocabulary;
    span = trim(e, etx_vocabulary_at(v, id), span);
  }
  put_id(e, id, span);
}

// Bytes of the present text are an added token.
static void put_added(encoding* e, uint32_t id, size_t begin, size_t end) {
  const etx_text found = {(const char*)e->work->now.bytes + begin, end - begin};
  etx_token_span span = span_of(e, begin, end);
  if (e->content->trims && e->output->spans != NULL && end > begin)
    span = trim(e, found, span);
  put_id(e, id, span);
}

static etx_status encode_pieces(encoding* e, etx_diag* diag) {
  const etx_aligned_text* const now = &e->work->now;
  const etx_id_sink sink = {e, put_token};
  for (size_t i = 0; i < now->piece_count; ++i) {
    const size_t begin = now->pieces[i].begin, end = etx_piece_end(now, i);
    if (now->pieces[i].token != ETX_PIECE_TEXT) {
      put_added(e, (uint32_t)now->pieces[i].token, begin, end);
      continue;
    }
    const etx_status status = etx_token_model_encode(
        &e->content->model, e->work, begin, end, sink, diag);
    if (status != ETX_OK) return status;
  }
  return ETX_OK;
}

// etx_piece_sink.put
static void put_piece(void* context, uint32_t id, uint32_t begin,
                      uint32_t end) {
  put_id(context, id, (etx_token_span){begin, end});
}

static etx_status encode_text(encoding* e, etx_diag* diag) {
  etx_encode_work* const work = e->work;
  etx_status status = ETX_OK;
  e->first = e->output->count;
  if (e->text.size > ETX_ENCODE_INPUT_MAX) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "a text of %z bytes, at most %z", e->text.size,
                         (size_t)ETX_ENCODE_INPUT_MAX);
  }
  if (e->content->pieces != NULL) {
    const etx_piece_sink sink = {e, put_piece};
    return etx_sentence_piece_encode(e->content, work, e->text, sink, diag);
  }
  etx_work_read(work, e->text);
  if (!work->full) etx_added_tokens_divide(&e->content->added, false, work);
  if (!work->full) status = etx_normalize(&e->content->normalizer, work, diag);
  if (status == ETX_OK && !work->full) {
    etx_added_tokens_divide(&e->content->added, true, work);
  }
  if (status == ETX_OK && !work->full) {
    status = etx_pre_tokenize(&e->content->pre_tokenizer, work, diag);
  }
  if (status != ETX_OK) return status;
  return work->full ? etx_model_no_memory(diag) : encode_pieces(e, diag);
}

etx_status etx_tokenizer_encode(const etx_tokenizer* tokenizer,
                                const etx_encode_request* request,
                                etx_bytes_mut memory, etx_encode_output* output,
                                etx_diag* diag) {
  const etx_tokenizer_content* const content = tokenizer->content;
  const etx_template* const items =
      request->has_pair ? &content->pair : &content->single;
  etx_encode_work work;
  etx_work_init(&work, memory);
  output->count = 0;
  encoding e = {content, &work, output, {NULL, 0}, 0, 0};
  for (size_t i = 0; i < items->count; ++i) {
    const etx_template_item item = items->items[i];
    e.type = item.type;
    if (item.id >= 0) {
      const etx_token_span none = {0, 0};
      if (!request->no_special_tokens) put_id(&e, (uint32_t)item.id, none);
      continue;
    }
    e.text = item.id == ETX_TEMPLATE_PAIR ? request->pair : request->text;
    const etx_status status = encode_text(&e, diag);
    if (status != ETX_OK) return etx_diag_seal(diag, status);
  }
  if (output->count <= output->capacity) return ETX_OK;
  return etx_diag_seal(
      diag, etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                          "the text has %z ids, room is for %z", output->count,
                          output->capacity));
}

// Bytes that a step may write for each byte it reads, and in addition for each.
static void growth(const etx_token_step* step, size_t* factor, size_t* extra) {
  *factor = 1;
  *extra = 0;
  switch (step->kind) {
    case ETX_STEP_NFC:
    case ETX_STEP_NFD:
    case ETX_STEP_LOWERCASE:
      *factor = 3;
      break;
    case ETX_STEP_NFKC:
    case ETX_STEP_NFKD:
      *factor = 11;
      break;
    case ETX_STEP_BERT:
      *factor = 9;
      break;
    case ETX_STEP_BYTES:
    case ETX_STEP_BYTE_LEVEL:
      *factor = 2;
      *extra = 2;
      break;
    case ETX_STEP_PRECOMPILED:
      *factor = 36;
      break;
    case ETX_STEP_REPLACE:
    case ETX_STEP_METASPACE:
    case ETX_STEP_PREPEND:
      *factor = 1 + step->content.size;
      *extra = *factor;
      break;
    default:
      break;
  }
}

static size_t capped_product(size_t a, size_t b) {
  return b != 0 && a > SIZE_MAX / 4 / b ? SIZE_MAX / 4 : a * b;
}

size_t etx_tokenizer_encode_needed(const etx_tokenizer* tokenizer,
                                   size_t text_bytes) {
  const etx_tokenizer_content* const content = tokenizer->content;
  // A broken byte becomes the three bytes of U+FFFD.
  size_t bytes = content->pieces != NULL
                     ? etx_sentence_piece_bound(content->pieces, text_bytes)
                     : capped_product(text_bytes, 3) + 64;
  const etx_token_steps* const lists[2] = {&content->normalizer,
                                           &content->pre_tokenizer};
  for (int list = 0; list < 2; ++list) {
    for (size_t i = 0; i < lists[list]->count; ++i) {
      size_t factor = 0, extra = 0;
      growth(&lists[list]->steps[i], &factor, &extra);
      bytes = capped_product(bytes, factor) + extra;
    }
  }
  if (bytes < content->model.vocabulary.longest)
    bytes = content->model.vocabulary.longest;
  return capped_product(bytes + 32, ETX_WORK_TEXT_BYTES + ETX_WORK_TAIL_BYTES) +
         ETX_WORK_FIXED_BYTES;
}

// ---- tokens ----

etx_text etx_content_token(const etx_tokenizer_content* content, uint32_t id) {
  const etx_added_token* const added =
      etx_added_token_at(&content->added, id, content->id_count);
  if (added != NULL) return added->content;
  return etx_vocabulary_at(&content->model.vocabulary, id);
}

bool etx_tokenizer_is_sentence_piece(const etx_tokenizer* tokenizer) {
  return tokenizer->content->pieces != NULL;
}

size_t etx_tokenizer_id_count(const etx_tokenizer* tokenizer) {
  return tokenizer->content->id_count;
}

int64_t etx_tokenizer_find(const etx_tokenizer* tokenizer, etx_text token) {
  const etx_added_tokens* const added = &tokenizer->content->added;
  for (size_t i = 0; i < added->count; ++i) {
    if (etx_text_equal(added->tokens[i].content, token))
      return added->tokens[i].id;
  }
  return etx_vocabulary_find(&tokenizer->content->model.vocabulary, token);
}

etx_text etx_tokenizer_token(const etx_tokenizer* tokenizer, uint32_t id) {
  return etx_content_token(tokenizer->content, id);
}
