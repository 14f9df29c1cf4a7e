// Unigram (Kudo 2018): the division into pieces whose scores have the largest
// sum, found by the Viterbi algorithm from left to right.

#include "tokenizer/model_data.h"
#include "tokenizer/unicode/unicode.h"

// The best way to the byte behind it.
typedef struct best_way {
  double score;
  uint32_t begin;  // of its last piece; UINT32_MAX: there is no way yet
  uint32_t id;
} best_way;

static void offer(best_way* way, double score, size_t begin, uint32_t id) {
  if (way->begin != UINT32_MAX && score <= way->score) return;
  *way = (best_way){score, (uint32_t)begin, id};
}

// Offers all pieces that begin at `at`. True: one of them is its character.
static bool offer_pieces(const etx_token_model* model, etx_text text, size_t at,
                         size_t character, best_way* ways) {
  const etx_text rest = {text.data + at, text.size - at};
  const double before = ways[at].score;
  etx_token_walk walk = model->first_walk;
  bool single = false;
  size_t size = 0;
  uint32_t id = 0;
  while (etx_token_walk_next(&walk, rest, &size, &id)) {
    const double score = etx_token_walk_score(&walk);
    offer(&ways[at + size], score + before, at, id);
    single = single || size == character;
  }
  return single;
}

// A part that is unknown, or several.
static etx_status put_part(const etx_token_model* model, etx_encode_work* work,
                           size_t begin, size_t end, etx_id_sink sink,
                           etx_diag* diag) {
  const etx_text part = {(const char*)work->now.bytes + begin, end - begin};
  const int32_t id = etx_vocabulary_find(&model->vocabulary, part);
  if (id >= 0) {
    sink.put(sink.context, (uint32_t)id, begin, end);
    return ETX_OK;
  }
  bool bytes = model->byte_fallback;
  for (size_t i = 0; i < part.size && bytes; ++i) {
    bytes = etx_vocabulary_byte(&model->vocabulary, (uint8_t)part.data[i]) >= 0;
  }
  for (size_t i = 0; i < part.size && bytes; ++i) {
    const int32_t byte =
        etx_vocabulary_byte(&model->vocabulary, (uint8_t)part.data[i]);
    sink.put(sink.context, (uint32_t)byte, begin, end);
  }
  if (bytes) return ETX_OK;
  if (model->unknown < 0) return etx_model_no_unknown(diag);
  sink.put(sink.context, (uint32_t)model->unknown, begin, end);
  return ETX_OK;
}

// Turns the links of the best way round, so that ways[begin].score is the end
// of the part that begins there. Unknown parts in a row become one.
static void turn_round(const etx_token_model* model, best_way* ways,
                       size_t size) {
  uint32_t behind_id = UINT32_MAX;
  size_t part_end = size;
  for (size_t end = size; end > 0; end = ways[end].begin) {
    const uint32_t id = ways[end].id;
    const bool unknown = (int32_t)id == model->unknown && model->unknown >= 0;
    const bool fuse = unknown && model->fuse_unknown && id == behind_id;
    if (!fuse) part_end = end;
    behind_id = id;
    ways[end].score = (double)part_end;  // of the part that ends here
  }
  double behind = ways[size].score;
  for (size_t end = size; end > 0;) {
    const size_t begin = ways[end].begin;
    const double before = ways[begin].score;
    ways[begin].score = behind;
    behind = before;
    end = begin;
  }
}

etx_status etx_unigram_encode(const etx_token_model* model,
                              etx_encode_work* work, size_t begin, size_t end,
                              etx_id_sink sink, etx_diag* diag) {
  const etx_text text = {(const char*)work->now.bytes + begin, end - begin};
  best_way* const ways = (void*)work->tail;
  if ((text.size + 1) * sizeof *ways > work->tail_bytes)
    return etx_model_no_memory(diag);
  for (size_t i = 0; i <= text.size; ++i)
    ways[i] = (best_way){0, UINT32_MAX, 0};
  for (size_t at = 0, size = 0; at < text.size; at += size) {
    size = etx_utf8_length((uint8_t)text.data[at]);
    if (offer_pieces(model, text, at, size, ways)) continue;
    if (model->unknown < 0) return etx_model_no_unknown(diag);
    offer(&ways[at + size], model->unknown_score + ways[at].score, at,
          (uint32_t)model->unknown);
  }
  turn_round(model, ways, text.size);
  for (size_t at = 0; at < text.size;) {
    const size_t part_end = (size_t)ways[at].score;
    const uint32_t id = ways[part_end].id;
    if ((int32_t)id != model->unknown) {
      sink.put(sink.context, id, begin + at, begin + part_end);
    } else {
      ETX_TRY(put_part(model, work, begin + at, begin + part_end, sink, diag));
    }
    at = part_end;
  }
  return ETX_OK;
}
