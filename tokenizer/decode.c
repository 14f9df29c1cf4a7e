// Decoders: ids become tokens, tokens become text, step by step as the file
// says.

#include "tokenizer/normalize.h"
#include "tokenizer/sentence_piece.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_content.h"
#include "tokenizer/unicode/unicode.h"

// Texts one after another; ends[i] is the end of the i-th.
typedef struct text_list {
  char* bytes;
  uint32_t* ends;
  size_t count, size;
} text_list;

// A step reads `now` and writes `next`.
typedef struct decoding {
  text_list now, next;
  size_t byte_limit, count_limit;
  etx_bytes_mut stack;  // of patterns
  bool full;
} decoding;

enum {
  STACK_BYTES = 16384,
  LIST_BYTES = 2 * (1 + sizeof(uint32_t))  // for each byte of both lists
};

static void put(decoding* d, const char* bytes, size_t size) {
  if (size > d->byte_limit - d->next.size) {
    d->full = true;
    return;
  }
  if (size > 0) memcpy(d->next.bytes + d->next.size, bytes, size);
  d->next.size += size;
}

static void put_text(decoding* d, etx_text text) {
  put(d, text.data, text.size);
}

static void end_text(decoding* d) {
  if (d->next.count == d->count_limit) {
    d->full = true;
    return;
  }
  d->next.ends[d->next.count++] = (uint32_t)d->next.size;
}

static void turn(decoding* d) {
  const text_list done = d->next;
  d->next = d->now;
  d->next.count = d->next.size = 0;
  d->now = done;
}

static etx_text text_at(const decoding* d, size_t index) {
  const size_t begin = index == 0 ? 0 : d->now.ends[index - 1];
  return (etx_text){d->now.bytes + begin, d->now.ends[index] - begin};
}

// Writes `text` with `to` for each `from`.
static void put_replaced(decoding* d, etx_text text, etx_text from,
                         etx_text to) {
  size_t at = 0;
  while (at < text.size) {
    const etx_text rest = {text.data + at, text.size - at};
    if (from.size > 0 && etx_text_starts_with(rest, from)) {
      put_text(d, to);
      at += from.size;
    } else {
      put(d, text.data + at, 1);
      ++at;
    }
  }
}

// ---- steps ----

// Bytes that are no UTF-8 become U+FFFD.
static void put_valid(decoding* d, etx_text text) {
  const uint8_t* const bytes = (const uint8_t*)text.data;
  uint8_t written[4];
  for (size_t at = 0; at < text.size;) {
    uint32_t code = 0;
    at += etx_utf8_read(bytes + at, text.size - at, &code);
    put(d, (const char*)written, etx_utf8_write(code, written));
  }
}

// A token as its bytes, or as it is if one of its characters stands for none.
static void put_bytes_of(decoding* d, etx_text token) {
  const uint8_t* const bytes = (const uint8_t*)token.data;
  const size_t before = d->next.size;
  for (size_t at = 0; at < token.size;) {
    uint32_t code = 0;
    at += etx_utf8_read(bytes + at, token.size - at, &code);
    const int byte = etx_code_to_byte(code);
    if (byte < 0) {
      d->next.size = before;
      put_text(d, token);
      return;
    }
    const char character = (char)(uint8_t)byte;
    put(d, &character, 1);
  }
}

static void byte_level(decoding* d) {
  for (size_t i = 0; i < d->now.count; ++i) put_bytes_of(d, text_at(d, i));
  end_text(d);
  turn(d);
  const etx_text all = {d->now.bytes, d->now.size};
  put_valid(d, all);
  end_text(d);
  turn(d);
}

// The byte of <0xHH>, or -1.
static int byte_of(etx_text token) {
  int value = 0;
  if (token.size != 6 || memcmp(token.data, "<0x", 3) != 0 ||
      token.data[5] != '>') {
    return -1;
  }
  for (int i = 3; i < 5; ++i) {
    const char c = token.data[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

// Makes text of the bytes since `begin`: U+FFFD for each if they are no UTF-8.
static void end_bytes(decoding* d, size_t begin, bool any) {
  if (!any) return;
  const uint8_t* const bytes = (const uint8_t*)d->next.bytes + begin;
  const size_t size = d->next.size - begin;
  bool valid = true;
  for (size_t at = 0; at < size && valid;) {
    uint32_t code = 0;
    const size_t length = etx_utf8_read(bytes + at, size - at, &code);
    valid =
        code != ETX_UNICODE_REPLACEMENT || (length == 3 && bytes[at] == 0xEF);
    at += length;
  }
  if (!valid) {
    d->next.size = begin;
    for (size_t i = 0; i < size; ++i) {
      put(d, "\xEF\xBF\xBD", 3);
    }
  }
  end_text(d);
}

static void byte_fallback(decoding* d) {
  size_t begin = 0;
  bool any = false;
  for (size_t i = 0; i < d->now.count; ++i) {
    const etx_text token = text_at(d, i);
    const int byte = byte_of(token);
    if (byte >= 0) {
      if (!any) begin = d->next.size;
      const char character = (char)(uint8_t)byte;
      put(d, &character, 1);
      any = true;
      continue;
    }
    end_bytes(d, begin, any);
    any = false;
    put_text(d, token);
    end_text(d);
  }
  end_bytes(d, begin, any);
  turn(d);
}

// Joins what English tokenization divided, one rule after another.
static void clean_up(decoding* d) {
  static const char* const rules[][2] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (size_t rule = 0; rule < sizeof rules / sizeof rules[0]; ++rule) {
    for (size_t i = 0; i < d->now.count; ++i) {
      put_replaced(d, text_at(d, i), etx_text_of(rules[rule][0]),
                   etx_text_of(rules[rule][1]));
      end_text(d);
    }
    turn(d);
  }
}

static void word_piece(decoding* d, const etx_token_step* step) {
  for (size_t i = 0; i < d->now.count; ++i) {
    etx_text token = text_at(d, i);
    if (i > 0 && etx_text_starts_with(token, step->content)) {
      token.data += step->content.size;
      token.size -= step->content.size;
    } else if (i > 0) {
      put(d, " ", 1);
    }
    put_text(d, token);
    end_text(d);
  }
  turn(d);
  if (step->options[0]) clean_up(d);
}

static void metaspace(decoding* d, const etx_token_step* step) {
  for (size_t i = 0; i < d->now.count; ++i) {
    const bool drops = i == 0 && step->options[1];
    put_replaced(d, text_at(d, i), step->content,
                 etx_text_of(drops ? "" : " "));
    end_text(d);
  }
  turn(d);
}

static void bpe_suffix(decoding* d, const etx_token_step* step) {
  for (size_t i = 0; i < d->now.count; ++i) {
    const bool last = i + 1 == d->now.count;
    put_replaced(d, text_at(d, i), step->content, etx_text_of(last ? "" : " "));
    end_text(d);
  }
  turn(d);
}

static void strip(decoding* d, const etx_token_step* step) {
  for (size_t i = 0; i < d->now.count; ++i) {
    etx_text token = text_at(d, i);
    const size_t size = step->content.size;
    for (uint32_t n = 0; n < step->start &&
                         etx_text_starts_with(token, step->content) && size > 0;
         ++n) {
      token.data += size;
      token.size -= size;
    }
    for (uint32_t n = 0; n < step->stop && size > 0 && token.size >= size;
         ++n) {
      const etx_text end = {token.data + token.size - size, size};
      if (!etx_text_equal(end, step->content)) break;
      token.size -= size;
    }
    put_text(d, token);
    end_text(d);
  }
  turn(d);
}

static etx_status replace(decoding* d, const etx_token_step* step,
                          etx_diag* diag) {
  for (size_t i = 0; i < d->now.count; ++i) {
    const etx_text token = text_at(d, i);
    const etx_bytes bytes = {(const uint8_t*)token.data, token.size};
    etx_pattern_search search;
    size_t kept = 0, from = 0, begin = 0, end = 0;
    etx_pattern_search_init(&search, &step->pattern, bytes, d->stack);
    while (from <= token.size &&
           etx_step_find(step, &search, from, &begin, &end)) {
      put(d, token.data + kept, begin - kept);
      put_text(d, step->content);
      kept = from = end;
      if (begin == end) {
        from +=
            end < token.size ? etx_utf8_length((uint8_t)token.data[end]) : 1;
      }
    }
    put(d, token.data + kept, token.size - kept);
    end_text(d);
    const etx_status status = etx_pattern_failed(search.status, diag);
    if (status != ETX_OK) return status;
  }
  turn(d);
  return ETX_OK;
}

// Keeps texts that are not empty.
static void drop_empty(decoding* d) {
  for (size_t i = 0; i < d->now.count; ++i) {
    if (text_at(d, i).size == 0) continue;
    put_text(d, text_at(d, i));
    end_text(d);
  }
  turn(d);
}

static void ctc(decoding* d, const etx_token_step* step) {
  for (size_t i = 0; i < d->now.count; ++i) {
    if (i > 0 && etx_text_equal(text_at(d, i), text_at(d, i - 1))) continue;
    put_replaced(d, text_at(d, i), step->content, etx_text_of(""));
    end_text(d);
  }
  turn(d);
  if (step->options[0]) {
    clean_up(d);
    for (size_t i = 0; i < d->now.count; ++i) {
      put_replaced(d, text_at(d, i), step->literal, etx_text_of(" "));
      end_text(d);
    }
    turn(d);
  }
  drop_empty(d);
}

static void fuse(decoding* d) {
  d->now.count = d->now.count > 0 ? 1 : 0;
  if (d->now.count > 0) d->now.ends[0] = (uint32_t)d->now.size;
}

static etx_status apply(decoding* d, const etx_token_step* step,
                        etx_diag* diag) {
  switch (step->kind) {
    case ETX_STEP_BYTE_LEVEL_DECODER:
      byte_level(d);
      break;
    case ETX_STEP_WORD_PIECE_DECODER:
      word_piece(d, step);
      break;
    case ETX_STEP_METASPACE_DECODER:
      metaspace(d, step);
      break;
    case ETX_STEP_BPE_DECODER:
      bpe_suffix(d, step);
      break;
    case ETX_STEP_BYTE_FALLBACK:
      byte_fallback(d);
      break;
    case ETX_STEP_STRIP_DECODER:
      strip(d, step);
      break;
    case ETX_STEP_CTC:
      ctc(d, step);
      break;
    case ETX_STEP_REPLACE_DECODER:
      return replace(d, step, diag);
    default:
      fuse(d);
      break;
  }
  return ETX_OK;
}

// ---- decoding ----

// How much longer steps may make a text, at most.
static size_t growth(const etx_tokenizer_content* content) {
  size_t factor = 4;
  for (size_t i = 0; i < content->decoder.count && factor < 4096; ++i) {
    const etx_token_step* const step = &content->decoder.steps[i];
    if (step->kind == ETX_STEP_REPLACE_DECODER)
      factor *= 1 + step->content.size;
    if (step->kind == ETX_STEP_BYTE_LEVEL_DECODER) factor *= 3;
  }
  return factor;
}

size_t etx_tokenizer_decode_needed(const etx_tokenizer* tokenizer,
                                   size_t count) {
  const etx_tokenizer_content* const content = tokenizer->content;
  size_t longest = content->model.vocabulary.longest;
  for (size_t i = 0; i < content->added.count; ++i) {
    const size_t size = content->added.tokens[i].content.size;
    if (size > longest) longest = size;
  }
  const size_t each = (longest + 2) * growth(content) * LIST_BYTES;
  if (count > (SIZE_MAX / 4 - 2 * STACK_BYTES) / each) return SIZE_MAX / 4;
  return count * each + 2 * STACK_BYTES;
}

static void begin_decoding(decoding* d, etx_bytes_mut memory) {
  memset(d, 0, sizeof *d);
  const size_t shift = (16 - ((uintptr_t)memory.data & 15)) & 15;
  if (memory.data == NULL || memory.size < STACK_BYTES + 64) return;
  uint8_t* at = memory.data + shift;
  d->stack = (etx_bytes_mut){at, STACK_BYTES};
  at += STACK_BYTES;
  const size_t share = (memory.size - STACK_BYTES - 16) / LIST_BYTES;
  d->byte_limit = d->count_limit =
      share < UINT32_MAX / 2 ? share : UINT32_MAX / 2;
  d->now.ends = (void*)at;
  d->next.ends = d->now.ends + d->count_limit;
  d->now.bytes = (char*)(d->next.ends + d->count_limit);
  d->next.bytes = d->now.bytes + d->byte_limit;
}

// `continues`: other tokens stand before the ids.
static etx_status decode(const etx_tokenizer_content* content,
                         const etx_decode_request* request, bool continues,
                         etx_bytes_mut memory, etx_text* out_text,
                         etx_diag* diag) {
  decoding d;
  if (content->pieces != NULL) {
    const etx_piece_ids ids = {request->ids, request->count,
                               request->skip_special_tokens, continues};
    return etx_sentence_piece_decode(content, &ids, memory, out_text, diag);
  }
  begin_decoding(&d, memory);
  for (size_t i = 0; i < request->count; ++i) {
    const uint32_t id = request->ids[i];
    const etx_added_token* const added =
        etx_added_token_at(&content->added, id, content->id_count);
    const etx_text token = etx_content_token(content, id);
    const bool skips =
        request->skip_special_tokens && added != NULL && added->special;
    if (token.data == NULL || skips) continue;
    if (content->decoder.count == 0 && d.next.count > 0) put(&d, " ", 1);
    put_text(&d, token);
    end_text(&d);
  }
  turn(&d);
  for (size_t i = 0; i < content->decoder.count && !d.full; ++i) {
    const etx_status status = apply(&d, &content->decoder.steps[i], diag);
    if (status != ETX_OK) return status;
  }
  if (d.full) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "too little memory to decode %z ids; see "
                         "etx_tokenizer_decode_needed",
                         request->count);
  }
  *out_text = (etx_text){d.now.bytes, d.now.size};
  return ETX_OK;
}

etx_status etx_tokenizer_decode(const etx_tokenizer* tokenizer,
                                const etx_decode_request* request,
                                etx_bytes_mut memory, etx_text* out_text,
                                etx_diag* diag) {
  return etx_diag_seal(
      diag, decode(tokenizer->content, request, false, memory, out_text, diag));
}

// ---- streams ----

void etx_token_stream_init(etx_token_stream* stream,
                           const etx_tokenizer* tokenizer,
                           bool skip_special_tokens) {
  memset(stream, 0, sizeof *stream);
  stream->tokenizer = tokenizer;
  stream->skip_special_tokens = skip_special_tokens;
}

static bool is_whole(etx_text text) {
  return text.size < 3 ||
         memcmp(text.data + text.size - 3, "\xEF\xBF\xBD", 3) != 0;
}

// Decodes all ids, and gives what the ones that are not shown add.
static etx_status decode_new(const etx_token_stream* stream,
                             etx_bytes_mut memory, etx_text* out,
                             etx_diag* diag) {
  const etx_tokenizer_content* const content = stream->tokenizer->content;
  etx_decode_request request = {stream->ids, stream->shown,
                                stream->skip_special_tokens};
  etx_text shown, all;
  const bool continues = stream->is_begun;
  etx_status status =
      decode(content, &request, continues, memory, &shown, diag);
  if (status != ETX_OK) return status;
  request.count = stream->count;
  status = decode(content, &request, continues, memory, &all, diag);
  if (status != ETX_OK) return status;
  // Bytes that are no character may turn shown text into U+FFFD.
  size_t known = shown.size < all.size ? shown.size : all.size;
  while (known < all.size && ((uint8_t)all.data[known] & 0xC0) == 0x80) ++known;
  *out = (etx_text){all.data + known, all.size - known};
  return ETX_OK;
}

// What came out is kept only as far as the next ids depend on it.
static void forget(etx_token_stream* stream) {
  const size_t kept = stream->count - stream->shown;
  stream->is_begun = stream->is_begun || stream->shown > 0;
  memmove(stream->ids, stream->ids + stream->shown,
          kept * sizeof stream->ids[0]);
  stream->count = kept;
  stream->shown = kept;
}

etx_status etx_token_stream_push(etx_token_stream* stream, uint32_t id,
                                 etx_bytes_mut memory, etx_text* out_text,
                                 etx_diag* diag) {
  etx_text text = {NULL, 0};
  stream->ids[stream->count++] = id;
  etx_status status = decode_new(stream, memory, &text, diag);
  if (status != ETX_OK) {
    --stream->count;
    return etx_diag_seal(diag, status);
  }
  const bool last = stream->count == ETX_TOKEN_STREAM_IDS;
  *out_text = (etx_text){text.data, 0};
  if ((text.size > 0 && is_whole(text)) || last) {
    *out_text = text;
    forget(stream);
  }
  return ETX_OK;
}

etx_status etx_token_stream_end(etx_token_stream* stream, etx_bytes_mut memory,
                                etx_text* out_text, etx_diag* diag) {
  etx_text text = {NULL, 0};
  const etx_status status = decode_new(stream, memory, &text, diag);
  if (status != ETX_OK) return etx_diag_seal(diag, status);
  *out_text = text;
  stream->count = stream->shown = 0;
  return ETX_OK;
}
