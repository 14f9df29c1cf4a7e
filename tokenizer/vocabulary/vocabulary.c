#include "tokenizer/vocabulary/vocabulary.h"

size_t etx_hash_slots(size_t count) {
  size_t slots = 2;
  while (slots < 2 * count) slots *= 2;
  return slots;
}

etx_status etx_vocabulary_init(etx_vocabulary* vocabulary, size_t entry_count,
                               size_t id_count, etx_arena* arena,
                               etx_diag* diag) {
  const size_t slots = etx_hash_slots(entry_count);
  vocabulary->id_count = id_count;
  vocabulary->slot_mask = slots - 1;
  vocabulary->longest = 0;
  vocabulary->tokens =
      etx_arena_take(arena, id_count * sizeof *vocabulary->tokens, 16);
  vocabulary->slots =
      etx_arena_take(arena, slots * sizeof *vocabulary->slots, 16);
  if (arena->counting) return ETX_OK;
  if (vocabulary->tokens == NULL || vocabulary->slots == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "too little memory for %z tokens", entry_count);
  }
  memset(vocabulary->tokens, 0, id_count * sizeof *vocabulary->tokens);
  memset(vocabulary->slots, 0, slots * sizeof *vocabulary->slots);
  return ETX_OK;
}

#define HASH_START 2166136261u

// The slot of the text, or the empty one where it would be.
static uint32_t* slot_of(const etx_vocabulary* v, etx_text text) {
  uint32_t hash = HASH_START;
  for (size_t i = 0; i < text.size; ++i) {
    hash = (hash ^ (uint8_t)text.data[i]) * 16777619u;
  }
  // The low bits of FNV-1a are its best mixed ones, but for the very last.
  for (size_t at = (hash ^ hash >> 15) & v->slot_mask;;
       at = (at + 1) & v->slot_mask) {
    const uint32_t id = v->slots[at];
    if (id == 0 || etx_text_equal(v->tokens[id - 1].text, text))
      return &v->slots[at];
  }
}

void etx_vocabulary_add(etx_vocabulary* vocabulary, etx_text text,
                        uint32_t id) {
  // Two texts of one id would leave a slot whose text is another one's.
  if (vocabulary->tokens[id].text.data != NULL) return;
  uint32_t* const slot = slot_of(vocabulary, text);
  vocabulary->tokens[id].text = text;
  *slot = id + 1;
  if (text.size > vocabulary->longest) vocabulary->longest = text.size;
}

int32_t etx_vocabulary_find(const etx_vocabulary* vocabulary, etx_text text) {
  return (int32_t)*slot_of(vocabulary, text) - 1;
}

etx_text etx_vocabulary_at(const etx_vocabulary* vocabulary, uint32_t id) {
  const etx_text none = {NULL, 0};
  return id < vocabulary->id_count ? vocabulary->tokens[id].text : none;
}

int32_t etx_vocabulary_byte(const etx_vocabulary* vocabulary, uint8_t byte) {
  static const char digits[] = "0123456789ABCDEF";
  const char text[6] = {'<', '0', 'x', digits[byte >> 4], digits[byte & 15],
                        '>'};
  const etx_text name = {text, sizeof text};
  return etx_vocabulary_find(vocabulary, name);
}

// ---- sorted ids ----

static int compare(const etx_vocabulary* vocabulary, uint32_t a, uint32_t b) {
  return etx_text_compare(vocabulary->tokens[a].text,
                          vocabulary->tokens[b].text);
}

static void sift_down(const etx_vocabulary* vocabulary, uint32_t* ids,
                      size_t at, size_t count) {
  for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count &&
        compare(vocabulary, ids[child], ids[child + 1]) < 0) {
      ++child;
    }
    if (compare(vocabulary, ids[at], ids[child]) >= 0) return;
    const uint32_t id = ids[at];
    ids[at] = ids[child];
    ids[child] = id;
    at = child;
  }
}

void etx_vocabulary_sort(const etx_vocabulary* vocabulary, uint32_t* ids,
                         size_t count) {
  for (size_t i = count / 2; i > 0; --i) {
    sift_down(vocabulary, ids, i - 1, count);
  }
  for (size_t end = count; end > 1; --end) {
    const uint32_t id = ids[0];
    ids[0] = ids[end - 1];
    ids[end - 1] = id;
    sift_down(vocabulary, ids, 0, end - 1);
  }
}
