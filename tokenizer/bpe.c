// Byte pair encoding (Sennrich, Haddow, Birch 2016): of all neighbours that
// have a rule, the ones of lowest rank, leftmost first, become one, until none
// has. Neighbours wait in a binary heap, so that n symbols take O(n log n).

#include "tokenizer/model_data.h"
#include "tokenizer/unicode/unicode.h"

// A part of the piece. bytes 0: it became part of the one before it.
typedef struct symbol {
  uint32_t id, bytes;
  int32_t before, behind;  // -1: none
} symbol;

// Two neighbours that have a rule.
typedef struct merge_candidate {
  uint32_t rank, at, whole;
} merge_candidate;

typedef struct bpe {
  const etx_token_model* model;
  symbol* symbols;
  merge_candidate* heap;
  size_t symbol_count, heap_count, symbol_limit, heap_limit;
  bool full;
  bool open_unknown;  // unknown text that is not yet a symbol
  uint32_t unknown_bytes;
} bpe;

static size_t slot_of(const etx_token_model* model, uint32_t left,
                      uint32_t right) {
  uint64_t mixed = ((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u;
  mixed ^= mixed >> 32;
  return (size_t)mixed & model->merge_mask;
}

const etx_bpe_merge* etx_bpe_find(const etx_token_model* model, uint32_t left,
                                  uint32_t right) {
  for (size_t at = slot_of(model, left, right);;
       at = (at + 1) & model->merge_mask) {
    const etx_bpe_merge* const merge = &model->merges[at];
    if (merge->rank == UINT32_MAX) return NULL;
    if (merge->left == left && merge->right == right) return merge;
  }
}

void etx_bpe_add(etx_token_model* model, etx_bpe_merge merge) {
  size_t at = slot_of(model, merge.left, merge.right);
  for (;; at = (at + 1) & model->merge_mask) {
    const etx_bpe_merge* const here = &model->merges[at];
    if (here->rank == UINT32_MAX ||
        (here->left == merge.left && here->right == merge.right)) {
      break;
    }
  }
  model->merges[at] = merge;
}

static void add_symbol(bpe* b, uint32_t id, size_t bytes) {
  if (b->symbol_count == b->symbol_limit) {
    b->full = true;
    return;
  }
  const int32_t index = (int32_t)b->symbol_count++;
  b->symbols[index] = (symbol){id, (uint32_t)bytes, index - 1, index + 1};
}

static void end_unknown(bpe* b) {
  if (b->open_unknown)
    add_symbol(b, (uint32_t)b->model->unknown, b->unknown_bytes);
  b->open_unknown = false;
}

// A character as the tokens of its bytes; false if one of them is missing.
static bool add_bytes(bpe* b, etx_text text) {
  for (size_t i = 0; i < text.size; ++i) {
    if (etx_vocabulary_byte(&b->model->vocabulary, (uint8_t)text.data[i]) < 0) {
      return false;
    }
  }
  for (size_t i = 0; i < text.size; ++i) {
    const int32_t id =
        etx_vocabulary_byte(&b->model->vocabulary, (uint8_t)text.data[i]);
    add_symbol(b, (uint32_t)id, 1);
  }
  return true;
}

// `text` is the character with prefix and suffix, `bytes` is without.
static etx_status add_character(bpe* b, etx_text text, size_t bytes,
                                etx_diag* diag) {
  const etx_token_model* const model = b->model;
  const int32_t id = etx_vocabulary_find(&model->vocabulary, text);
  if (id >= 0) {
    end_unknown(b);
    add_symbol(b, (uint32_t)id, bytes);
    return ETX_OK;
  }
  if (model->byte_fallback && add_bytes(b, text)) return ETX_OK;
  if (!model->has_unknown) return ETX_OK;  // the text is left out
  if (model->unknown < 0) return etx_model_no_unknown(diag);
  if (b->open_unknown && model->fuse_unknown) {
    b->unknown_bytes += (uint32_t)bytes;
    return ETX_OK;
  }
  end_unknown(b);
  b->open_unknown = true;
  b->unknown_bytes = (uint32_t)bytes;
  return ETX_OK;
}

enum { AFFIX_BYTES_MAX = 256 };

static etx_status add_characters(bpe* b, etx_text piece, etx_diag* diag) {
  const etx_token_model* const model = b->model;
  const bool plain = model->prefix.size == 0 && model->suffix.size == 0;
  char bytes[2 * AFFIX_BYTES_MAX + 4];
  if (model->prefix.size > AFFIX_BYTES_MAX ||
      model->suffix.size > AFFIX_BYTES_MAX) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "prefix or suffix of words has more than 256 bytes");
  }
  for (size_t at = 0, size = 0; at < piece.size && !b->full; at += size) {
    size = etx_utf8_length((uint8_t)piece.data[at]);
    etx_text text = {piece.data + at, size};
    if (!plain) {
      const size_t prefix = at > 0 ? model->prefix.size : 0;
      const size_t suffix = at + size == piece.size ? model->suffix.size : 0;
      if (prefix > 0) memcpy(bytes, model->prefix.data, prefix);
      memcpy(bytes + prefix, text.data, size);
      if (suffix > 0) memcpy(bytes + prefix + size, model->suffix.data, suffix);
      text = (etx_text){bytes, prefix + size + suffix};
    }
    const etx_status status = add_character(b, text, size, diag);
    if (status != ETX_OK) return status;
  }
  end_unknown(b);
  if (b->symbol_count > 0) b->symbols[b->symbol_count - 1].behind = -1;
  return ETX_OK;
}

static bool is_before(merge_candidate a, merge_candidate b) {
  return a.rank != b.rank ? a.rank < b.rank : a.at < b.at;
}

static void push(bpe* b, merge_candidate c) {
  if (b->heap_count == b->heap_limit) {
    b->full = true;
    return;
  }
  size_t at = b->heap_count++;
  for (; at > 0 && is_before(c, b->heap[(at - 1) / 2]); at = (at - 1) / 2) {
    b->heap[at] = b->heap[(at - 1) / 2];
  }
  b->heap[at] = c;
}

static merge_candidate pop(bpe* b) {
  const merge_candidate top = b->heap[0];
  const merge_candidate last = b->heap[--b->heap_count];
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= b->heap_count) break;
    if (child + 1 < b->heap_count &&
        is_before(b->heap[child + 1], b->heap[child])) {
      ++child;
    }
    if (!is_before(b->heap[child], last)) break;
    b->heap[at] = b->heap[child];
    at = child;
  }
  b->heap[at] = last;
  return top;
}

// Adds the symbol at `at` and the one behind it if they have a rule.
static void consider(bpe* b, int32_t at) {
  if (at < 0 || b->symbols[at].behind < 0) return;
  const etx_bpe_merge* const merge = etx_bpe_find(
      b->model, b->symbols[at].id, b->symbols[b->symbols[at].behind].id);
  if (merge != NULL)
    push(b, (merge_candidate){merge->rank, (uint32_t)at, merge->whole});
}

static void merge_all(bpe* b) {
  for (size_t i = 0; i + 1 < b->symbol_count; ++i) consider(b, (int32_t)i);
  while (b->heap_count > 0 && !b->full) {
    const merge_candidate c = pop(b);
    symbol* const left = &b->symbols[c.at];
    if (left->bytes == 0 || left->behind < 0) continue;
    symbol* const right = &b->symbols[left->behind];
    const etx_bpe_merge* const merge =
        etx_bpe_find(b->model, left->id, right->id);
    if (merge == NULL || merge->whole != c.whole) continue;
    left->id = c.whole;
    left->bytes += right->bytes;
    right->bytes = 0;
    left->behind = right->behind;
    if (right->behind >= 0) b->symbols[right->behind].before = (int32_t)c.at;
    consider(b, left->before);
    consider(b, (int32_t)c.at);
  }
}

// Finds the token of a whole part that needs no search: `piece` with the
// suffix of words.
static int32_t find_whole(const etx_token_model* model, etx_text piece) {
  char bytes[ETX_BPE_WHOLE_MAX];
  const size_t size = piece.size + model->suffix.size;
  if (size > sizeof bytes) return ETX_TOKEN_NONE;
  if (model->suffix.size > 0) {
    memcpy(bytes, piece.data, piece.size);
    memcpy(bytes + piece.size, model->suffix.data, model->suffix.size);
    piece = (etx_text){bytes, size};
  }
  const int32_t id = etx_vocabulary_find(&model->vocabulary, piece);
  return id >= 0 && model->is_whole[id] ? id : ETX_TOKEN_NONE;
}

// Encodes bytes `begin` to `end` of the present text by merging.
static etx_status merge_part(const etx_token_model* model,
                             etx_encode_work* work, size_t begin, size_t end,
                             etx_id_sink sink, etx_diag* diag) {
  const etx_text piece = {(const char*)work->now.bytes + begin, end - begin};
  bpe b;
  memset(&b, 0, sizeof b);
  b.model = model;
  // A heap holds at most two candidates for each symbol.
  const size_t room =
      work->tail_bytes / (sizeof(symbol) + 2 * sizeof(merge_candidate));
  b.symbol_limit = room;
  b.heap_limit = 2 * room;
  b.symbols = (void*)work->tail;
  b.heap = (void*)(work->tail + room * sizeof(symbol));
  ETX_TRY(add_characters(&b, piece, diag));
  merge_all(&b);
  if (b.full) return etx_model_no_memory(diag);
  size_t at = begin;
  for (int32_t i = b.symbol_count > 0 ? 0 : -1; i >= 0;
       i = b.symbols[i].behind) {
    sink.put(sink.context, b.symbols[i].id, at, at + b.symbols[i].bytes);
    at += b.symbols[i].bytes;
  }
  return ETX_OK;
}

static const char space_mark[] = "\xE2\x96\x81";  // U+2581
enum { MARK_BYTES = 3 };

// Where the next run of space marks begins behind `begin`, or the end.
static size_t part_end(etx_text piece, size_t begin) {
  size_t at = begin;
  bool is_behind_mark = true;
  while (at < piece.size) {
    const bool is_mark = piece.size - at >= MARK_BYTES &&
                         memcmp(piece.data + at, space_mark, MARK_BYTES) == 0;
    if (is_mark && !is_behind_mark) return at;
    is_behind_mark = is_mark;
    at += is_mark ? MARK_BYTES : etx_utf8_length((uint8_t)piece.data[at]);
  }
  return piece.size;
}

etx_status etx_bpe_encode(const etx_token_model* model, etx_encode_work* work,
                          size_t begin, size_t end, etx_id_sink sink,
                          etx_diag* diag) {
  const etx_text piece = {(const char*)work->now.bytes + begin, end - begin};
  if (model->ignore_merges) {
    const int32_t id = etx_vocabulary_find(&model->vocabulary, piece);
    if (id >= 0) {
      sink.put(sink.context, (uint32_t)id, begin, end);
      return ETX_OK;
    }
  }
  for (size_t at = 0, next = 0; at < piece.size; at = next) {
    next = model->divides_at_marks ? part_end(piece, at) : piece.size;
    const int32_t id =
        find_whole(model, (etx_text){piece.data + at, next - at});
    if (id >= 0) {
      sink.put(sink.context, (uint32_t)id, begin + at, begin + next);
    } else {
      ETX_TRY(merge_part(model, work, begin + at, begin + next, sink, diag));
    }
  }
  return ETX_OK;
}

// ---- what is known of all texts ----

bool etx_bpe_joins_mark(etx_text left, etx_text right) {
  if (right.size < MARK_BYTES ||
      memcmp(right.data, space_mark, MARK_BYTES) != 0) {
    return false;
  }
  for (size_t at = 0; at < left.size; at += MARK_BYTES) {
    if (left.size - at < MARK_BYTES ||
        memcmp(left.data + at, space_mark, MARK_BYTES) != 0) {
      return true;
    }
  }
  return false;
}

// What merging gives for a text: how many ids, and the last one.
typedef struct merged_ids {
  size_t count;
  uint32_t last;
} merged_ids;

// etx_id_sink.put
static void count_id(void* context, uint32_t id, size_t begin, size_t end) {
  merged_ids* const found = context;
  (void)begin;
  (void)end;
  ++found->count;
  found->last = id;
}

// True if merging the text of a token, without the suffix, gives the token.
static bool is_whole(const etx_token_model* model, uint32_t id) {
  enum { SYMBOL_BYTES = sizeof(symbol) + 2 * sizeof(merge_candidate) };
  _Alignas(16) uint8_t memory[ETX_BPE_WHOLE_MAX * SYMBOL_BYTES];
  uint8_t bytes[ETX_BPE_WHOLE_MAX];
  const etx_text text = etx_vocabulary_at(&model->vocabulary, id);
  const size_t suffix = model->suffix.size;
  if (text.data == NULL || text.size <= suffix || text.size > sizeof bytes ||
      memcmp(text.data + text.size - suffix, model->suffix.data, suffix) != 0) {
    return false;
  }
  memcpy(bytes, text.data, text.size);
  etx_encode_work work = {.tail = memory, .tail_bytes = sizeof memory};
  work.now.bytes = bytes;
  merged_ids found = {0, 0};
  const etx_id_sink sink = {&found, count_id};
  return merge_part(model, &work, 0, text.size - suffix, sink, NULL) ==
             ETX_OK &&
         found.count == 1 && found.last == id;
}

void etx_bpe_finish(etx_token_model* model) {
  const etx_text mark = {space_mark, MARK_BYTES};
  model->divides_at_marks = !model->joins_mark && model->prefix.size == 0 &&
                            model->suffix.size == 0 &&
                            etx_vocabulary_find(&model->vocabulary, mark) >= 0;
  for (uint32_t id = 0; id < model->vocabulary.id_count; ++id) {
    model->is_whole[id] = is_whole(model, id);
  }
}
